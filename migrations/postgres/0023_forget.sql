-- Facts and messages that the user wants to be forgotten. For a while this can be undone; then they are deleted.

-- 'hidden': the message is in no list and no search. 'redacted': it stays as evidence for other facts and shows no text.
ALTER TABLE messages ADD COLUMN forgotten text COLLATE "C" CHECK (forgotten IN ('hidden', 'redacted'));
-- The forgetting that can still be undone.
ALTER TABLE messages ADD COLUMN forgetting_id uuid;
-- Most users have no such message, and every search asks.
CREATE INDEX messages_forgotten ON messages (user_id, id) WHERE forgotten IS NOT NULL;
CREATE INDEX messages_of_forgetting ON messages (user_id, forgetting_id) WHERE forgetting_id IS NOT NULL;

-- Set while nothing but forgotten messages and facts names the entity.
ALTER TABLE entities ADD COLUMN forgetting_id uuid;
CREATE INDEX entities_of_forgetting ON entities (user_id, forgetting_id) WHERE forgetting_id IS NOT NULL;

CREATE TABLE forgettings (
    user_id     uuid        NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id          uuid        NOT NULL,
    created_at  timestamptz NOT NULL,
    -- Until when it can be undone. After that, what was forgotten is deleted for good.
    until       timestamptz NOT NULL,
    -- JSON object: facts, evidence and mentions as they were.
    record      json        NOT NULL,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX forgettings_expired ON forgettings (until);
SELECT guard_rows('forgettings');
-- Forgettings that nobody can undo any more are found for all users. They are deleted for their user.
CREATE POLICY forgettings ON forgettings FOR SELECT USING ((SELECT row_scope()) = 'forgettings');

CREATE VIEW hidden_entities WITH (security_invoker = true) AS SELECT user_id, id FROM entities WHERE forgetting_id IS NOT NULL;
CREATE VIEW hidden_merges WITH (security_invoker = true) AS
    SELECT h.user_id, m.gone_id AS id FROM hidden_entities h JOIN entity_merges m ON m.user_id = h.user_id AND m.into_id = h.id;

-- Messages that no search may find: those of hidden sessions and those that are forgotten.
CREATE OR REPLACE VIEW hidden_messages WITH (security_invoker = true) AS
    SELECT h.user_id, m.id FROM hidden_sessions h JOIN messages m ON m.user_id = h.user_id AND m.session_id = h.id
    UNION ALL SELECT user_id, id FROM messages WHERE forgotten IS NOT NULL;

-- A migration that adds a column to messages makes this view again, in both engines.
CREATE OR REPLACE VIEW visible_messages WITH (security_invoker = true) AS
    SELECT user_id, id, session_id, position, feed_row, role, speaker,
           CASE WHEN forgotten IS NULL THEN text ELSE '' END AS text, kind, status, sent_at, created_at,
           CASE WHEN forgotten IS NULL THEN source_metadata END AS source_metadata, external_id, answer_to,
           CASE WHEN forgotten IS NULL THEN citations ELSE '[]'::json END AS citations, forgotten
    FROM messages
    WHERE forgotten IS DISTINCT FROM 'hidden' AND (user_id, session_id) NOT IN (SELECT user_id, id FROM hidden_sessions);

-- A graph engine is told of hidden messages, too.
DROP TRIGGER graph_message_changed ON messages;
CREATE CONSTRAINT TRIGGER graph_message_changed AFTER UPDATE OF kind, forgotten ON messages
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.kind IS DISTINCT FROM OLD.kind OR NEW.forgotten IS DISTINCT FROM OLD.forgotten) EXECUTE FUNCTION graph_thing('message');
DO $$
BEGIN
    IF NOT (SELECT recording FROM graph_feed) THEN
        ALTER TABLE messages DISABLE TRIGGER graph_message_changed;
    END IF;
END $$;
