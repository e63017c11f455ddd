-- Facts and messages that the user wants to be forgotten. For a while this can be undone; then they are deleted.

-- 'hidden': the message is in no list and no search. 'redacted': it stays as evidence for other facts and shows no text.
ALTER TABLE messages ADD COLUMN forgotten TEXT CHECK (forgotten IN ('hidden', 'redacted'));
-- The forgetting that can still be undone.
ALTER TABLE messages ADD COLUMN forgetting_id BLOB;
-- Most users have no such message, and every search asks.
CREATE INDEX messages_forgotten ON messages (user_id, id) WHERE forgotten IS NOT NULL;
CREATE INDEX messages_of_forgetting ON messages (user_id, forgetting_id) WHERE forgetting_id IS NOT NULL;

-- Set while nothing but forgotten messages and facts names the entity.
ALTER TABLE entities ADD COLUMN forgetting_id BLOB;
CREATE INDEX entities_of_forgetting ON entities (user_id, forgetting_id) WHERE forgetting_id IS NOT NULL;

CREATE TABLE forgettings (
    user_id     BLOB    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id          BLOB    NOT NULL CHECK (length(id) = 16),
    created_at  INTEGER NOT NULL,
    -- Until when it can be undone. After that, what was forgotten is deleted for good.
    until       INTEGER NOT NULL,
    -- JSON object: facts, evidence and mentions as they were.
    record      TEXT    NOT NULL,
    PRIMARY KEY (user_id, id)
) STRICT;
CREATE INDEX forgettings_expired ON forgettings (until);

CREATE VIEW hidden_entities AS SELECT user_id, id FROM entities INDEXED BY entities_of_forgetting WHERE forgetting_id IS NOT NULL;
CREATE VIEW hidden_merges AS
    SELECT h.user_id, m.gone_id AS id FROM hidden_entities h CROSS JOIN entity_merges m
    WHERE m.user_id = h.user_id AND m.into_id = h.id;

-- Messages that no search may find: those of hidden sessions and those that are forgotten.
DROP VIEW hidden_messages;
CREATE VIEW hidden_messages AS
    SELECT h.user_id, m.id FROM hidden_sessions h CROSS JOIN messages m WHERE m.user_id = h.user_id AND m.session_id = h.id
    UNION ALL SELECT user_id, id FROM messages INDEXED BY messages_forgotten WHERE forgotten IS NOT NULL;

-- A migration that adds a column to messages makes this view again, in both engines.
DROP VIEW visible_messages;
CREATE VIEW visible_messages AS
    SELECT user_id, id, session_id, position, feed_row, role, speaker,
           CASE WHEN forgotten IS NULL THEN text ELSE '' END AS text, kind, status, sent_at, created_at,
           CASE WHEN forgotten IS NULL THEN source_metadata END AS source_metadata, external_id, answer_to,
           CASE WHEN forgotten IS NULL THEN citations ELSE '[]' END AS citations, forgotten
    FROM messages
    WHERE forgotten IS NOT 'hidden' AND (user_id, session_id) NOT IN (SELECT user_id, id FROM hidden_sessions);

-- A graph engine is told of hidden messages, too.
DROP TRIGGER graph_message_changed;
CREATE TRIGGER graph_message_changed AFTER UPDATE OF kind, forgotten ON messages
WHEN (NEW.kind IS NOT OLD.kind OR NEW.forgotten IS NOT OLD.forgotten) AND (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = NEW.user_id AND kind = 'message' AND id = NEW.id;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (NEW.user_id, 'message', NEW.id);
END;
