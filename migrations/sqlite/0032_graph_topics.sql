-- Topics and views of documents in the change feed. A change of a topic is listed as one of a session with its id, which a server of an
-- earlier version takes for a deleted session. So the feed needs no further kinds.

-- Parts whose names may be shown. Sessions under deletion are left in, because the feed lists them until their rows are deleted.
CREATE VIEW graph_topic_parts AS
    SELECT * FROM topic_parts p WHERE NOT EXISTS (
        SELECT 1 FROM topic_messages t CROSS JOIN messages m
        WHERE t.user_id = p.user_id AND t.session_id = p.session_id AND t.part = p.part
        AND m.user_id = t.user_id AND m.id = t.message_id AND m.forgotten IS NOT NULL);

CREATE TRIGGER graph_topic_added AFTER INSERT ON topic_parts WHEN (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = NEW.user_id AND kind = 'session' AND id = NEW.topic_id;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (NEW.user_id, 'session', NEW.topic_id);
END;
CREATE TRIGGER graph_topic_gone AFTER DELETE ON topic_parts WHEN (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = OLD.user_id AND kind = 'session' AND id = OLD.topic_id;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (OLD.user_id, 'session', OLD.topic_id);
END;
-- A part may have been stored before its messages were forgotten, and the other way round.
CREATE TRIGGER graph_topic_message_added AFTER INSERT ON topic_messages WHEN (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = NEW.user_id AND kind = 'session' AND id = NEW.topic_id;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (NEW.user_id, 'session', NEW.topic_id);
END;
CREATE TRIGGER graph_topic_hidden AFTER UPDATE OF forgotten ON messages
WHEN NEW.forgotten IS NOT OLD.forgotten AND (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = NEW.user_id AND kind = 'session'
        AND id IN (SELECT topic_id FROM topic_messages WHERE user_id = NEW.user_id AND message_id = NEW.id);
    INSERT INTO graph_changes (user_id, kind, id)
        SELECT user_id, 'session', topic_id FROM topic_messages WHERE user_id = NEW.user_id AND message_id = NEW.id;
END;

DROP TRIGGER graph_document_changed;
CREATE TRIGGER graph_document_changed AFTER UPDATE OF status, title, media_type, pages, links, chunk_count, viewed_at ON documents
WHEN (NEW.status IS NOT OLD.status OR NEW.title IS NOT OLD.title OR NEW.media_type IS NOT OLD.media_type OR NEW.pages IS NOT OLD.pages
      OR NEW.links IS NOT OLD.links OR NEW.chunk_count IS NOT OLD.chunk_count OR NEW.viewed_at IS NOT OLD.viewed_at)
     AND (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = NEW.user_id AND kind = 'session' AND id = NEW.id;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (NEW.user_id, 'session', NEW.id);
END;

-- Topics that exist already. The engine gets everything again, because the format of the graph is new.
INSERT INTO graph_changes (user_id, kind, id)
    SELECT DISTINCT user_id, 'session', topic_id FROM topic_parts WHERE (SELECT recording FROM graph_feed);
