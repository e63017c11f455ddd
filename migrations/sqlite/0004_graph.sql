-- What a graph engine has to be told: one row per thing that was ever changed, with the number of its latest change. A log
-- that is compacted as it is written: whoever reads it from 0 gets everything once, whoever comes back after an hour or a year
-- gets what changed since, and nothing has to be pruned. Event logs could not serve this, because they are kept for a day.

-- One row. Nothing is recorded until a graph engine is configured for the first time.
CREATE TABLE graph_feed (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    -- Names this feed. A graph made from another database must not be mistaken for one that is up to date.
    name       TEXT    NOT NULL,
    recording  INTEGER NOT NULL CHECK (recording IN (0, 1))
) STRICT;
INSERT INTO graph_feed (id, name, recording) VALUES (1, lower(hex(randomblob(8))), 0);

CREATE TABLE graph_changes (
    -- AUTOINCREMENT: a number is never given again, or a reader that stands at it would miss the change.
    number   INTEGER PRIMARY KEY AUTOINCREMENT,
    -- No foreign key: that a user's things are gone has to be told as well.
    user_id  BLOB    NOT NULL CHECK (length(user_id) = 16),
    kind     TEXT    NOT NULL CHECK (kind IN ('session', 'entity', 'message', 'fact')),
    id       BLOB    NOT NULL CHECK (length(id) = 16)
) STRICT;
CREATE UNIQUE INDEX graph_changes_of_thing ON graph_changes (user_id, kind, id);
CREATE INDEX graph_changes_in_order ON graph_changes (user_id, number);

-- Triggers and not statements of the program, so that no path that changes or cascades can be forgotten. They delete and
-- insert instead of replacing, because the conflict clause of the statement that fires a trigger overrides the trigger's own.

CREATE TRIGGER graph_session_added AFTER INSERT ON sessions WHEN (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = NEW.user_id AND kind = 'session' AND id = NEW.id;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (NEW.user_id, 'session', NEW.id);
END;
CREATE TRIGGER graph_session_changed AFTER UPDATE OF title ON sessions
WHEN NEW.title IS NOT OLD.title AND (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = NEW.user_id AND kind = 'session' AND id = NEW.id;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (NEW.user_id, 'session', NEW.id);
END;
CREATE TRIGGER graph_session_gone AFTER DELETE ON sessions WHEN (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = OLD.user_id AND kind = 'session' AND id = OLD.id;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (OLD.user_id, 'session', OLD.id);
END;

CREATE TRIGGER graph_entity_added AFTER INSERT ON entities WHEN (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = NEW.user_id AND kind = 'entity' AND id = NEW.id;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (NEW.user_id, 'entity', NEW.id);
END;
CREATE TRIGGER graph_entity_changed AFTER UPDATE ON entities WHEN (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = NEW.user_id AND kind = 'entity' AND id = NEW.id;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (NEW.user_id, 'entity', NEW.id);
END;
CREATE TRIGGER graph_entity_gone AFTER DELETE ON entities WHEN (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = OLD.user_id AND kind = 'entity' AND id = OLD.id;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (OLD.user_id, 'entity', OLD.id);
END;

-- The graph has neither the text nor the status of a message.
CREATE TRIGGER graph_message_added AFTER INSERT ON messages WHEN (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = NEW.user_id AND kind = 'message' AND id = NEW.id;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (NEW.user_id, 'message', NEW.id);
END;
CREATE TRIGGER graph_message_changed AFTER UPDATE OF kind ON messages
WHEN NEW.kind IS NOT OLD.kind AND (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = NEW.user_id AND kind = 'message' AND id = NEW.id;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (NEW.user_id, 'message', NEW.id);
END;
CREATE TRIGGER graph_message_gone AFTER DELETE ON messages WHEN (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = OLD.user_id AND kind = 'message' AND id = OLD.id;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (OLD.user_id, 'message', OLD.id);
END;

-- A mention is a part of its message.
CREATE TRIGGER graph_mention_added AFTER INSERT ON mentions WHEN (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = NEW.user_id AND kind = 'message' AND id = NEW.message_id;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (NEW.user_id, 'message', NEW.message_id);
END;
CREATE TRIGGER graph_mention_changed AFTER UPDATE OF entity_id ON mentions WHEN (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = NEW.user_id AND kind = 'message' AND id = NEW.message_id;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (NEW.user_id, 'message', NEW.message_id);
END;
CREATE TRIGGER graph_mention_gone AFTER DELETE ON mentions WHEN (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = OLD.user_id AND kind = 'message' AND id = OLD.message_id;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (OLD.user_id, 'message', OLD.message_id);
END;

CREATE TRIGGER graph_fact_added AFTER INSERT ON facts WHEN (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = NEW.user_id AND kind = 'fact' AND id = NEW.id;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (NEW.user_id, 'fact', NEW.id);
END;
CREATE TRIGGER graph_fact_changed AFTER UPDATE ON facts WHEN (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = NEW.user_id AND kind = 'fact' AND id = NEW.id;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (NEW.user_id, 'fact', NEW.id);
END;
CREATE TRIGGER graph_fact_gone AFTER DELETE ON facts WHEN (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = OLD.user_id AND kind = 'fact' AND id = OLD.id;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (OLD.user_id, 'fact', OLD.id);
END;

-- Where a fact comes from is a part of it: evidence that is added, moved to another fact or deleted changes that.
CREATE TRIGGER graph_evidence_added AFTER INSERT ON evidence WHEN (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = NEW.user_id AND kind = 'fact' AND id = NEW.fact_id;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (NEW.user_id, 'fact', NEW.fact_id);
END;
CREATE TRIGGER graph_evidence_moved AFTER UPDATE ON evidence WHEN (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = NEW.user_id AND kind = 'fact' AND id IN (OLD.fact_id, NEW.fact_id);
    INSERT INTO graph_changes (user_id, kind, id) SELECT NEW.user_id, 'fact', OLD.fact_id UNION SELECT NEW.user_id, 'fact', NEW.fact_id;
END;
CREATE TRIGGER graph_evidence_gone AFTER DELETE ON evidence WHEN (SELECT recording FROM graph_feed) BEGIN
    DELETE FROM graph_changes WHERE user_id = OLD.user_id AND kind = 'fact' AND id = OLD.fact_id;
    INSERT INTO graph_changes (user_id, kind, id) VALUES (OLD.user_id, 'fact', OLD.fact_id);
END;
