-- Topics and views of documents in the change feed. A change of a topic is listed as one of a session with its id, which a server of an
-- earlier version takes for a deleted session. So the feed needs no further kinds.

-- Parts whose names may be shown. Sessions under deletion are left in, because the feed lists them until their rows are deleted.
CREATE VIEW graph_topic_parts WITH (security_invoker = true) AS
    SELECT p.user_id, p.session_id, p.part, p.topic_id, p.name, p.size FROM topic_parts p WHERE NOT EXISTS (
        SELECT 1 FROM topic_messages t JOIN messages m ON m.user_id = t.user_id AND m.id = t.message_id
        WHERE t.user_id = p.user_id AND t.session_id = p.session_id AND t.part = p.part AND m.forgotten IS NOT NULL);

CREATE FUNCTION graph_topic() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM graph_note(OLD.user_id, 'session', OLD.topic_id);
    ELSE
        PERFORM graph_note(NEW.user_id, 'session', NEW.topic_id);
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION graph_topic_of_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM graph_note(t.user_id, 'session', t.topic_id) FROM topic_messages t WHERE t.user_id = NEW.user_id AND t.message_id = NEW.id;
    RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER graph_topic AFTER INSERT OR DELETE ON topic_parts
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION graph_topic();
-- A part may have been stored before its messages were forgotten, and the other way round.
CREATE CONSTRAINT TRIGGER graph_topic_message AFTER INSERT ON topic_messages
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION graph_topic();
CREATE CONSTRAINT TRIGGER graph_topic_hidden AFTER UPDATE OF forgotten ON messages
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.forgotten IS DISTINCT FROM OLD.forgotten) EXECUTE FUNCTION graph_topic_of_message();

DROP TRIGGER graph_document_changed ON documents;
CREATE CONSTRAINT TRIGGER graph_document_changed
    AFTER UPDATE OF status, title, media_type, pages, links, chunk_count, viewed_at ON documents
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.status IS DISTINCT FROM OLD.status OR NEW.title IS DISTINCT FROM OLD.title
          OR NEW.media_type IS DISTINCT FROM OLD.media_type OR NEW.pages IS DISTINCT FROM OLD.pages
          OR NEW.links::text IS DISTINCT FROM OLD.links::text OR NEW.chunk_count IS DISTINCT FROM OLD.chunk_count
          OR NEW.viewed_at IS DISTINCT FROM OLD.viewed_at)
    EXECUTE FUNCTION graph_thing('session');

-- Topics that exist already are listed. The engine gets everything again, because the format of the graph is new.
ALTER TABLE topic_parts NO FORCE ROW LEVEL SECURITY;
ALTER TABLE graph_changes NO FORCE ROW LEVEL SECURITY;
ALTER TABLE graph_heads NO FORCE ROW LEVEL SECURITY;
DO $$
BEGIN
    IF (SELECT recording FROM graph_feed) THEN
        PERFORM graph_note(user_id, 'session', topic_id) FROM (SELECT DISTINCT user_id, topic_id FROM topic_parts) topics;
    ELSE
        ALTER TABLE topic_parts DISABLE TRIGGER graph_topic;
        ALTER TABLE topic_messages DISABLE TRIGGER graph_topic_message;
        ALTER TABLE messages DISABLE TRIGGER graph_topic_hidden;
        ALTER TABLE documents DISABLE TRIGGER graph_document_changed;
    END IF;
END $$;
ALTER TABLE topic_parts FORCE ROW LEVEL SECURITY;
ALTER TABLE graph_changes FORCE ROW LEVEL SECURITY;
ALTER TABLE graph_heads FORCE ROW LEVEL SECURITY;

-- As in 0030, with the triggers above.
CREATE OR REPLACE FUNCTION graph_feed_start() RETURNS text LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    feed graph_feed;
    whose uuid;
BEGIN
    SELECT * INTO feed FROM graph_feed;
    IF feed.recording THEN
        RETURN feed.name;
    END IF;
    LOCK TABLE sessions, documents, messages, document_chunks, topic_parts, topic_messages, entities, facts, mentions, evidence
        IN SHARE ROW EXCLUSIVE MODE;
    UPDATE graph_feed SET recording = true WHERE NOT recording;
    IF NOT FOUND THEN
        RETURN feed.name;
    END IF;
    ALTER TABLE sessions ENABLE TRIGGER graph_session, ENABLE TRIGGER graph_session_changed;
    ALTER TABLE documents ENABLE TRIGGER graph_document, ENABLE TRIGGER graph_document_changed;
    ALTER TABLE entities ENABLE TRIGGER graph_entity;
    ALTER TABLE messages ENABLE TRIGGER graph_message, ENABLE TRIGGER graph_message_changed,
        ENABLE TRIGGER graph_answer, ENABLE TRIGGER graph_answer_changed, ENABLE TRIGGER graph_answer_gone,
        ENABLE TRIGGER graph_topic_hidden;
    ALTER TABLE topic_parts ENABLE TRIGGER graph_topic;
    ALTER TABLE topic_messages ENABLE TRIGGER graph_topic_message;
    ALTER TABLE document_chunks ENABLE TRIGGER graph_chunk;
    ALTER TABLE mentions ENABLE TRIGGER graph_mention, ENABLE TRIGGER graph_mention_changed;
    ALTER TABLE facts ENABLE TRIGGER graph_fact;
    ALTER TABLE evidence ENABLE TRIGGER graph_evidence;
    FOR whose IN SELECT id FROM users LOOP
        PERFORM set_config('recall.caller', whose::text, true);
        INSERT INTO graph_changes (user_id, number, kind, id)
            SELECT whose, row_number() OVER (ORDER BY place, id), kind, id FROM (
                SELECT 1 AS place, 'session' AS kind, id FROM sessions WHERE user_id = whose
                UNION ALL SELECT DISTINCT 1, 'session', topic_id FROM topic_parts WHERE user_id = whose
                UNION ALL SELECT 2, 'entity', id FROM entities WHERE user_id = whose
                UNION ALL SELECT 3, 'message', id FROM messages WHERE user_id = whose
                UNION ALL SELECT 4, 'fact', id FROM facts WHERE user_id = whose) AS things;
        INSERT INTO graph_heads (user_id, head, changed_in)
            SELECT whose, max(number), pg_current_xact_id() FROM graph_changes WHERE user_id = whose HAVING count(*) > 0;
    END LOOP;
    PERFORM set_config('recall.caller', '', true);
    RETURN feed.name;
END $$;
