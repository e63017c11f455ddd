-- Documents in the change feed. A change of a document is a change of the session that stores it, and a change of a chunk is one of its
-- message. So the feed needs no further kinds.

-- The documents that answers cite, with a row for each citation. Documents of shared memory belong to another user's graph.
-- PostgreSQL refuses to read JSON that has the escape of the character zero anywhere; nothing that is read here contains it.
CREATE VIEW cited_documents WITH (security_invoker = true) AS
    SELECT m.user_id, m.id AS message_id, m.answer_to, d.id AS document_id
    FROM messages m
    CROSS JOIN LATERAL json_array_elements(replace(m.citations::text, '\u0000', '\u0001')::json) AS c (value)
    CROSS JOIN LATERAL (SELECT c.value -> 'chunk' ->> 'document_id') AS cited (id)
    JOIN documents d ON d.user_id = m.user_id
        AND d.id = CASE WHEN cited.id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN cited.id::uuid END
    WHERE m.answer_to IS NOT NULL AND m.forgotten IS NULL AND (c.value ->> 'shared') IS DISTINCT FROM 'true';

-- The documents that answered a question are a part of the question.
CREATE FUNCTION graph_answer() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM graph_note(OLD.user_id, 'message', OLD.answer_to);
    ELSE
        PERFORM graph_note(NEW.user_id, 'message', NEW.answer_to);
    END IF;
    RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER graph_document AFTER INSERT OR DELETE ON documents
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION graph_thing('session');
-- The graph has not the progress, which changes with every step.
CREATE CONSTRAINT TRIGGER graph_document_changed AFTER UPDATE OF status, title, media_type, pages, links, chunk_count ON documents
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.status IS DISTINCT FROM OLD.status OR NEW.title IS DISTINCT FROM OLD.title
          OR NEW.media_type IS DISTINCT FROM OLD.media_type OR NEW.pages IS DISTINCT FROM OLD.pages
          OR NEW.links::text IS DISTINCT FROM OLD.links::text OR NEW.chunk_count IS DISTINCT FROM OLD.chunk_count)
    EXECUTE FUNCTION graph_thing('session');
-- The place of a chunk may be written in another transaction than its message.
CREATE CONSTRAINT TRIGGER graph_chunk AFTER INSERT OR DELETE ON document_chunks
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION graph_mention();
CREATE CONSTRAINT TRIGGER graph_answer AFTER INSERT ON messages
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.answer_to IS NOT NULL) EXECUTE FUNCTION graph_answer();
CREATE CONSTRAINT TRIGGER graph_answer_changed AFTER UPDATE OF forgotten ON messages
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.answer_to IS NOT NULL AND NEW.forgotten IS DISTINCT FROM OLD.forgotten)
    EXECUTE FUNCTION graph_answer();
CREATE CONSTRAINT TRIGGER graph_answer_gone AFTER DELETE ON messages
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.answer_to IS NOT NULL) EXECUTE FUNCTION graph_answer();

DO $$
BEGIN
    IF NOT (SELECT recording FROM graph_feed) THEN
        ALTER TABLE documents DISABLE TRIGGER graph_document, DISABLE TRIGGER graph_document_changed;
        ALTER TABLE document_chunks DISABLE TRIGGER graph_chunk;
        ALTER TABLE messages DISABLE TRIGGER graph_answer, DISABLE TRIGGER graph_answer_changed, DISABLE TRIGGER graph_answer_gone;
    END IF;
END $$;

-- As in 0010, with the triggers above.
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
    LOCK TABLE sessions, documents, messages, document_chunks, entities, facts, mentions, evidence IN SHARE ROW EXCLUSIVE MODE;
    UPDATE graph_feed SET recording = true WHERE NOT recording;
    IF NOT FOUND THEN
        RETURN feed.name;
    END IF;
    ALTER TABLE sessions ENABLE TRIGGER graph_session, ENABLE TRIGGER graph_session_changed;
    ALTER TABLE documents ENABLE TRIGGER graph_document, ENABLE TRIGGER graph_document_changed;
    ALTER TABLE entities ENABLE TRIGGER graph_entity;
    ALTER TABLE messages ENABLE TRIGGER graph_message, ENABLE TRIGGER graph_message_changed,
        ENABLE TRIGGER graph_answer, ENABLE TRIGGER graph_answer_changed, ENABLE TRIGGER graph_answer_gone;
    ALTER TABLE document_chunks ENABLE TRIGGER graph_chunk;
    ALTER TABLE mentions ENABLE TRIGGER graph_mention, ENABLE TRIGGER graph_mention_changed;
    ALTER TABLE facts ENABLE TRIGGER graph_fact;
    ALTER TABLE evidence ENABLE TRIGGER graph_evidence;
    FOR whose IN SELECT id FROM users LOOP
        PERFORM set_config('recall.caller', whose::text, true);
        INSERT INTO graph_changes (user_id, number, kind, id)
            SELECT whose, row_number() OVER (ORDER BY place, id), kind, id FROM (
                SELECT 1 AS place, 'session' AS kind, id FROM sessions WHERE user_id = whose
                UNION ALL SELECT 2, 'entity', id FROM entities WHERE user_id = whose
                UNION ALL SELECT 3, 'message', id FROM messages WHERE user_id = whose
                UNION ALL SELECT 4, 'fact', id FROM facts WHERE user_id = whose) AS things;
        INSERT INTO graph_heads (user_id, head, changed_in)
            SELECT whose, max(number), pg_current_xact_id() FROM graph_changes WHERE user_id = whose HAVING count(*) > 0;
    END LOOP;
    PERFORM set_config('recall.caller', '', true);
    RETURN feed.name;
END $$;
