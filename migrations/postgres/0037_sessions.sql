-- What a user decides about a session, and about remembering. Each flag is true or null.
ALTER TABLE sessions ADD COLUMN pinned boolean CHECK (pinned);
ALTER TABLE sessions ADD COLUMN archived boolean CHECK (archived);
-- Nothing is learned from the messages that this session gets.
ALTER TABLE sessions ADD COLUMN paused boolean CHECK (paused);
-- The title in lower case, whatever the collation of the database.
ALTER TABLE sessions ADD COLUMN search text COLLATE "C";
-- The update concerns all users.
ALTER TABLE sessions NO FORCE ROW LEVEL SECURITY;
UPDATE sessions SET search = translate(lower(title), 'ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞ', 'àáâãäåæçèéêëìíîïðñòóôõöøùúûüýþ') WHERE title IS NOT NULL;
ALTER TABLE sessions FORCE ROW LEVEL SECURITY;
-- Nothing is learned from the messages that this user gets.
ALTER TABLE users ADD COLUMN paused boolean CHECK (paused);

-- Stored while remembering was paused: the message is in its session, and nothing is learned from it or found in it.
ALTER TABLE messages ADD COLUMN unremembered boolean CHECK (unremembered);
CREATE OR REPLACE VIEW visible_sessions WITH (security_invoker = true) AS SELECT * FROM sessions WHERE deletion_at IS NULL;
CREATE OR REPLACE VIEW visible_messages WITH (security_invoker = true) AS
    SELECT user_id, id, session_id, position, feed_row, role, speaker,
           CASE WHEN forgotten IS NULL THEN text ELSE '' END AS text, kind, status, sent_at, created_at,
           CASE WHEN forgotten IS NULL THEN source_metadata END AS source_metadata, external_id, answer_to,
           CASE WHEN forgotten IS NULL THEN citations ELSE '[]'::json END AS citations, forgotten, chunk, unremembered
    FROM messages
    WHERE forgotten IS DISTINCT FROM 'hidden' AND (user_id, session_id) NOT IN (SELECT user_id, id FROM hidden_sessions);
