-- What a user decides about a session, and about remembering. Each flag is 1 or null.
ALTER TABLE sessions ADD COLUMN pinned INTEGER CHECK (pinned = 1);
ALTER TABLE sessions ADD COLUMN archived INTEGER CHECK (archived = 1);
-- Nothing is learned from the messages that this session gets.
ALTER TABLE sessions ADD COLUMN paused INTEGER CHECK (paused = 1);
-- The title in lower case. SQLite knows lower case of ASCII only; a later change of the title stores that of Unicode.
ALTER TABLE sessions ADD COLUMN search TEXT;
UPDATE sessions SET search = lower(title) WHERE title IS NOT NULL;
-- Nothing is learned from the messages that this user gets.
ALTER TABLE users ADD COLUMN paused INTEGER CHECK (paused = 1);

-- Stored while remembering was paused: the message is in its session, and nothing is learned from it or found in it.
ALTER TABLE messages ADD COLUMN unremembered INTEGER CHECK (unremembered = 1);
DROP VIEW visible_messages;
CREATE VIEW visible_messages AS
    SELECT user_id, id, session_id, position, feed_row, role, speaker,
           CASE WHEN forgotten IS NULL THEN text ELSE '' END AS text, kind, status, sent_at, created_at,
           CASE WHEN forgotten IS NULL THEN source_metadata END AS source_metadata, external_id, answer_to,
           CASE WHEN forgotten IS NULL THEN citations ELSE '[]' END AS citations, forgotten, chunk, unremembered
    FROM messages
    WHERE forgotten IS NOT 'hidden' AND (user_id, session_id) NOT IN (SELECT user_id, id FROM hidden_sessions);
