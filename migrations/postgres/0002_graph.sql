-- What a graph engine has to be told: one row per thing that was ever changed, with the number of its latest change. A log
-- that is compacted as it is written: whoever reads it from 0 gets everything once, whoever comes back after an hour or a year
-- gets what changed since, and nothing has to be pruned. Event logs could not serve this, because they are kept for a day.

-- One row. Nothing is recorded until a graph engine is configured for the first time.
CREATE TABLE graph_feed (
    id         integer PRIMARY KEY CHECK (id = 1),
    -- Names this feed. A graph made from another database must not be mistaken for one that is up to date.
    name       text    NOT NULL DEFAULT replace(gen_random_uuid()::text, '-', ''),
    recording  boolean NOT NULL DEFAULT false
);
INSERT INTO graph_feed (id) VALUES (1);

-- The number of each user's latest change. A counter in a locked row and not a sequence: changes become visible in the order of
-- their numbers, so a reader that stands at one never misses a smaller one that is committed later. No foreign key: that a
-- user's things are gone has to be told as well.
CREATE TABLE graph_heads (
    user_id     uuid   NOT NULL PRIMARY KEY,
    head        bigint NOT NULL,
    -- The transaction of that change. Numbers of transactions are the order of all users' changes: those below the oldest one
    -- that still runs are all there.
    changed_in  xid8   NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX graph_heads_changed ON graph_heads (changed_in);

CREATE TABLE graph_changes (
    user_id  uuid   NOT NULL,
    number   bigint NOT NULL,
    kind     text   COLLATE "C" NOT NULL CHECK (kind IN ('session', 'entity', 'message', 'fact')),
    id       uuid   NOT NULL,
    PRIMARY KEY (user_id, number)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE UNIQUE INDEX graph_changes_of_thing ON graph_changes (user_id, kind, id);

CREATE FUNCTION graph_note(whose uuid, what text, which uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    next bigint;
BEGIN
    -- Once for a transaction is enough: things are read as they are when it has ended.
    IF EXISTS (SELECT FROM graph_changes
               WHERE user_id = whose AND kind = what AND id = which AND xmin = pg_current_xact_id()::xid) THEN
        RETURN;
    END IF;
    INSERT INTO graph_heads AS h (user_id, head, changed_in) VALUES (whose, 1, pg_current_xact_id())
        ON CONFLICT (user_id) DO UPDATE SET head = h.head + 1, changed_in = excluded.changed_in RETURNING head INTO next;
    INSERT INTO graph_changes (user_id, number, kind, id) VALUES (whose, next, what, which)
        ON CONFLICT (user_id, kind, id) DO UPDATE SET number = excluded.number;
END $$;

-- Triggers and not statements of the program, so that no path that changes or cascades can be forgotten. Deferred to the end of
-- the transaction, so that the row of graph_heads is locked after everything else, and no two transactions wait for each other.

CREATE FUNCTION graph_thing() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM graph_note(OLD.user_id, TG_ARGV[0], OLD.id);
    ELSE
        PERFORM graph_note(NEW.user_id, TG_ARGV[0], NEW.id);
    END IF;
    RETURN NULL;
END $$;

-- A mention is a part of its message.
CREATE FUNCTION graph_mention() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM graph_note(OLD.user_id, 'message', OLD.message_id);
    ELSE
        PERFORM graph_note(NEW.user_id, 'message', NEW.message_id);
    END IF;
    RETURN NULL;
END $$;

-- Where a fact comes from is a part of it: evidence that is added, moved to another fact or deleted changes that.
CREATE FUNCTION graph_evidence() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        PERFORM graph_note(OLD.user_id, 'fact', OLD.fact_id);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        PERFORM graph_note(NEW.user_id, 'fact', NEW.fact_id);
    END IF;
    RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER graph_session AFTER INSERT OR DELETE ON sessions
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION graph_thing('session');
-- Of a session the graph has the title only, and neither text nor status of a message.
CREATE CONSTRAINT TRIGGER graph_session_changed AFTER UPDATE OF title ON sessions
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.title IS DISTINCT FROM OLD.title) EXECUTE FUNCTION graph_thing('session');
CREATE CONSTRAINT TRIGGER graph_entity AFTER INSERT OR UPDATE OR DELETE ON entities
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION graph_thing('entity');
CREATE CONSTRAINT TRIGGER graph_message AFTER INSERT OR DELETE ON messages
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION graph_thing('message');
CREATE CONSTRAINT TRIGGER graph_message_changed AFTER UPDATE OF kind ON messages
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.kind IS DISTINCT FROM OLD.kind) EXECUTE FUNCTION graph_thing('message');
CREATE CONSTRAINT TRIGGER graph_mention AFTER INSERT OR DELETE ON mentions
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION graph_mention();
CREATE CONSTRAINT TRIGGER graph_mention_changed AFTER UPDATE OF entity_id ON mentions
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.entity_id IS DISTINCT FROM OLD.entity_id) EXECUTE FUNCTION graph_mention();
CREATE CONSTRAINT TRIGGER graph_fact AFTER INSERT OR UPDATE OR DELETE ON facts
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION graph_thing('fact');
CREATE CONSTRAINT TRIGGER graph_evidence AFTER INSERT OR UPDATE OR DELETE ON evidence
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION graph_evidence();

-- Off: who has no graph engine shall not pay for them.
ALTER TABLE sessions DISABLE TRIGGER graph_session, DISABLE TRIGGER graph_session_changed;
ALTER TABLE entities DISABLE TRIGGER graph_entity;
ALTER TABLE messages DISABLE TRIGGER graph_message, DISABLE TRIGGER graph_message_changed;
ALTER TABLE mentions DISABLE TRIGGER graph_mention, DISABLE TRIGGER graph_mention_changed;
ALTER TABLE facts DISABLE TRIGGER graph_fact;
ALTER TABLE evidence DISABLE TRIGGER graph_evidence;

-- Begins to record, and lists everything that is there. Writers wait meanwhile, once in the life of a database: what they had
-- begun without triggers must be there to be listed. With the rights of whoever made the tables, because only he may switch
-- triggers.
CREATE FUNCTION graph_feed_start() RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    feed graph_feed;
BEGIN
    SELECT * INTO feed FROM graph_feed;
    IF feed.recording THEN
        RETURN feed.name;
    END IF;
    LOCK TABLE sessions, messages, entities, facts, mentions, evidence IN SHARE ROW EXCLUSIVE MODE;
    UPDATE graph_feed SET recording = true WHERE NOT recording;
    IF NOT FOUND THEN
        RETURN feed.name;
    END IF;
    ALTER TABLE sessions ENABLE TRIGGER graph_session, ENABLE TRIGGER graph_session_changed;
    ALTER TABLE entities ENABLE TRIGGER graph_entity;
    ALTER TABLE messages ENABLE TRIGGER graph_message, ENABLE TRIGGER graph_message_changed;
    ALTER TABLE mentions ENABLE TRIGGER graph_mention, ENABLE TRIGGER graph_mention_changed;
    ALTER TABLE facts ENABLE TRIGGER graph_fact;
    ALTER TABLE evidence ENABLE TRIGGER graph_evidence;
    INSERT INTO graph_changes (user_id, number, kind, id)
        SELECT user_id, row_number() OVER (PARTITION BY user_id ORDER BY place, id), kind, id FROM (
            SELECT user_id, 1 AS place, 'session' AS kind, id FROM sessions
            UNION ALL SELECT user_id, 2, 'entity', id FROM entities
            UNION ALL SELECT user_id, 3, 'message', id FROM messages
            UNION ALL SELECT user_id, 4, 'fact', id FROM facts) AS things;
    INSERT INTO graph_heads (user_id, head, changed_in)
        SELECT user_id, max(number), pg_current_xact_id() FROM graph_changes GROUP BY user_id;
    RETURN feed.name;
END $$;
