-- What a user decides about a session, and about remembering. Each flag is 1 or null.
ALTER TABLE sessions ADD COLUMN pinned INTEGER CHECK (pinned = 1);
ALTER TABLE sessions ADD COLUMN archived INTEGER CHECK (archived = 1);
-- Nothing is learned from the messages that this session gets.
ALTER TABLE sessions ADD COLUMN paused INTEGER CHECK (paused = 1);
-- The title in lower case. Here only letters of Latin-1, because SQLite itself knows ASCII only; a later change of the title stores that
-- of Unicode.
ALTER TABLE sessions ADD COLUMN search TEXT;
UPDATE sessions SET search = replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(lower(title), 'À', 'à'), 'Á', 'á'), 'Â', 'â'), 'Ã', 'ã'), 'Ä', 'ä'), 'Å', 'å'), 'Æ', 'æ'), 'Ç', 'ç'), 'È', 'è'), 'É', 'é'), 'Ê', 'ê'), 'Ë', 'ë'), 'Ì', 'ì'), 'Í', 'í'), 'Î', 'î'), 'Ï', 'ï'), 'Ð', 'ð'), 'Ñ', 'ñ'), 'Ò', 'ò'), 'Ó', 'ó'), 'Ô', 'ô'), 'Õ', 'õ'), 'Ö', 'ö'), 'Ø', 'ø'), 'Ù', 'ù'), 'Ú', 'ú'), 'Û', 'û'), 'Ü', 'ü'), 'Ý', 'ý'), 'Þ', 'þ')
WHERE title IS NOT NULL;
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
