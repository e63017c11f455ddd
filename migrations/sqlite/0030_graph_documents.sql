-- Documents in the change feed. A change of a document is a change of the session that stores it, and a change of a chunk is one of its
-- message. So the feed needs no further kinds.

-- The documents that answers cite, with a row for each citation. Documents of shared memory belong to another user's graph.
CREATE VIEW cited_documents AS
    SELECT m.user_id, m.id AS message_id, m.answer_to, d.id AS document_id
    FROM messages m CROSS JOIN json_each(m.citations) c
    CROSS JOIN documents d ON d.user_id = m.user_id AND d.id = unhex(c.value ->> '$.chunk.document_id', '-')
    WHERE m.answer_to IS NOT NULL AND m.forgotten IS NULL AND (c.value ->> '$.shared') IS NOT 1;

CREATE TRIGGER graph_document_added AFTER INSERT ON documents WHEN (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = NEW.user_id AND kind = 'session' AND id = NEW.id;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (NEW.user_id, 'session', NEW.id);
END;
-- The graph has not the progress, which changes with every step.
CREATE TRIGGER graph_document_changed AFTER UPDATE OF status, title, media_type, pages, links, chunk_count ON documents
WHEN (NEW.status IS NOT OLD.status OR NEW.title IS NOT OLD.title OR NEW.media_type IS NOT OLD.media_type OR NEW.pages IS NOT OLD.pages
      OR NEW.links IS NOT OLD.links OR NEW.chunk_count IS NOT OLD.chunk_count) AND (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = NEW.user_id AND kind = 'session' AND id = NEW.id;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (NEW.user_id, 'session', NEW.id);
END;
CREATE TRIGGER graph_document_gone AFTER DELETE ON documents WHEN (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = OLD.user_id AND kind = 'session' AND id = OLD.id;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (OLD.user_id, 'session', OLD.id);
END;

-- The place of a chunk may be written in another transaction than its message.
CREATE TRIGGER graph_chunk_added AFTER INSERT ON document_chunks WHEN (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = NEW.user_id AND kind = 'message' AND id = NEW.message_id;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (NEW.user_id, 'message', NEW.message_id);
END;
CREATE TRIGGER graph_chunk_gone AFTER DELETE ON document_chunks WHEN (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = OLD.user_id AND kind = 'message' AND id = OLD.message_id;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (OLD.user_id, 'message', OLD.message_id);
END;

-- The documents that answered a question are a part of the question.
CREATE TRIGGER graph_answer_added AFTER INSERT ON messages WHEN NEW.answer_to IS NOT NULL AND (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = NEW.user_id AND kind = 'message' AND id = NEW.answer_to;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (NEW.user_id, 'message', NEW.answer_to);
END;
CREATE TRIGGER graph_answer_changed AFTER UPDATE OF forgotten ON messages
WHEN NEW.answer_to IS NOT NULL AND NEW.forgotten IS NOT OLD.forgotten AND (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = NEW.user_id AND kind = 'message' AND id = NEW.answer_to;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (NEW.user_id, 'message', NEW.answer_to);
END;
CREATE TRIGGER graph_answer_gone AFTER DELETE ON messages WHEN OLD.answer_to IS NOT NULL AND (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = OLD.user_id AND kind = 'message' AND id = OLD.answer_to;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (OLD.user_id, 'message', OLD.answer_to);
END;
