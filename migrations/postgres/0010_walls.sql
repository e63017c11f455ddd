-- A second wall between users. The first one is the program: every statement names the user. This one holds when a statement
-- forgets it: PostgreSQL itself shows and changes nothing but the rows of the user for whom the transaction was begun. FORCE,
-- because the program may be the owner of the tables, whom row-level security would pass by otherwise. It passes by superusers
-- and roles with BYPASSRLS whatever is said here; the program warns of that at start.
--
-- Every transaction says first for whom it is, with SET LOCAL, so that a connection that goes back to a pool, be it another
-- program's, keeps nothing of it:
--   recall.caller  the user whose rows it may read and write
--   recall.scope   a word for the few things that look beyond one user; each opens what its policy below says, and no more
-- Neither set: no row of anybody.
--
-- A later migration that changes rows says NO FORCE for its tables first and FORCE again at the end; else it is refused.

CREATE FUNCTION row_caller() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('recall.caller', true), '')::uuid;

CREATE FUNCTION row_scope() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('recall.scope', true), '');

-- Puts a table behind the wall. A migration that makes a table with users in it says: SELECT guard_rows('name').
-- In a subquery, so that the setting is read once for a statement and not once for a row.
CREATE FUNCTION guard_rows(guarded regclass, whose name DEFAULT 'user_id') RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', guarded);
    EXECUTE format('CREATE POLICY own ON %s USING (%I = (SELECT row_caller()))', guarded, whose);
END $$;

SELECT guard_rows('users', 'id');
DO $$
DECLARE
    guarded regclass;
BEGIN
    FOREACH guarded IN ARRAY (
        SELECT array_agg(c.oid::regclass) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
              AND NOT c.relispartition AND a.attname = 'user_id' AND NOT a.attisdropped)
    LOOP
        PERFORM guard_rows(guarded);
    END LOOP;
END $$;

-- What looks beyond one user.

-- Workers take whatever is due, prolong, retry and give back what they took, and count what waits.
CREATE POLICY queue ON jobs USING ((SELECT row_scope()) = 'queue');

-- Old events go by age and number, whose log it may be. Here logs are found and locked; their events are removed for their user.
CREATE POLICY pruning ON sessions FOR SELECT USING ((SELECT row_scope()) = 'pruning');
CREATE POLICY pruning_locks ON sessions FOR UPDATE USING ((SELECT row_scope()) = 'pruning') WITH CHECK (false);

-- Whoever shows a secret is the user whose secret it is.
CREATE POLICY token ON access_tokens FOR SELECT USING ((SELECT row_scope()) = 'token');

-- Whoever shows the secret of a login, ends a session at the issuer, or waits too long; what is changed then is changed for its user.
CREATE POLICY login ON logins FOR SELECT USING ((SELECT row_scope()) = 'login');

-- Erasures that nobody goes on with, and those that can be forgotten.
CREATE POLICY erasures ON erasures FOR SELECT USING ((SELECT row_scope()) = 'erasures');

-- Sessions in which nobody wrote for long. They are deleted for their user.
CREATE POLICY unused ON sessions FOR SELECT USING ((SELECT row_scope()) = 'unused');

-- Users whose vectors are to be made are found and locked; what is made is made for each of them.
CREATE POLICY vectors ON users FOR SELECT USING ((SELECT row_scope()) = 'vectors');
CREATE POLICY vectors_locks ON users FOR UPDATE USING ((SELECT row_scope()) = 'vectors') WITH CHECK (false);

-- The budget of all users together.
CREATE POLICY budget ON usage_days FOR SELECT USING ((SELECT row_scope()) = 'budget');

-- Which users have news for the graph engine.
CREATE POLICY graph ON graph_heads FOR SELECT USING ((SELECT row_scope()) = 'graph');

-- Who there is: for the archive of the operator, and for the beginning of the change feed.
CREATE POLICY owners ON users FOR SELECT USING ((SELECT row_scope()) = 'owners');

-- Long logs by a column of their own: PostgreSQL looks at a difference only after the policy, so an index of differences would
-- not be used. The old one served nothing else.
ALTER TABLE sessions ADD COLUMN log_length bigint NOT NULL GENERATED ALWAYS AS (event_head - event_floor) STORED;
DROP INDEX sessions_log_length;
CREATE INDEX sessions_log_length ON sessions (log_length) WHERE oldest_event_at IS NOT NULL;

-- As in 0002, but user by user: not even the beginning of the feed reads the rows of several users in one statement.
-- Called in the scope `owners`.
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

-- How many users have vectors of another model, and how many of their messages: user by user too. Called in the scope `vectors`.
CREATE FUNCTION vector_backlog(wanted text, OUT users bigint, OUT messages bigint) LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    whose uuid;
BEGIN
    users := 0;
    messages := 0;
    FOR whose IN
        SELECT u.id FROM users u
        WHERE (u.embedding_model < wanted OR u.embedding_model > wanted OR NOT u.embedding_settled) AND u.feed_head > 0
    LOOP
        PERFORM set_config('recall.caller', whose::text, true);
        users := users + 1;
        messages := messages + (
            SELECT count(*) FROM message_index i WHERE i.user_id = whose AND i.model <> wanted
            AND NOT EXISTS (SELECT 1 FROM message_vectors v WHERE v.user_id = whose AND v.message_id = i.message_id AND v.model = wanted));
    END LOOP;
    PERFORM set_config('recall.caller', '', true);
END $$;
