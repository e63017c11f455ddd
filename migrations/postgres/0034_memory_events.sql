-- The events of all sessions of a user are also one log, that of the memory.

-- Number of its newest event. A counter in the row that storing a message and committing knowledge lock anyway: numbers have no
-- holes, and become visible in their order, whatever session they belong to. It grows without an event when so much changes that
-- everything must be read again.
ALTER TABLE users ADD COLUMN memory_head bigint NOT NULL DEFAULT 0;
-- Number of the oldest event from which on all are there, memory_head + 1 when there is none. Grows past events that are deleted.
ALTER TABLE users ADD COLUMN memory_floor bigint NOT NULL DEFAULT 1;

-- Number in the log of the memory. NULL in older events, 0 in those of an adopted visit.
ALTER TABLE events ADD COLUMN memory_seq bigint;
CREATE UNIQUE INDEX events_of_memory ON events (user_id, memory_seq) WHERE memory_seq > 0;
CREATE OR REPLACE VIEW visible_events WITH (security_invoker = true) AS
    SELECT * FROM events WHERE (user_id, session_id) NOT IN (SELECT user_id, id FROM hidden_sessions);

-- Servers of the version before give no number. The row of the user is locked after that of the session, as everywhere.
CREATE FUNCTION number_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE users SET memory_head = memory_head + 1 WHERE id = NEW.user_id RETURNING memory_head INTO NEW.memory_seq;
    RETURN NEW;
END $$;
CREATE TRIGGER event_without_number BEFORE INSERT ON events FOR EACH ROW
    WHEN (NEW.memory_seq IS NULL) EXECUTE FUNCTION number_event();

-- Events about sessions as a whole: one was created, renamed or deleted. Only the log of the memory has them.
CREATE TABLE session_changes (
    user_id     uuid        NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    memory_seq  bigint      NOT NULL,
    id          uuid        NOT NULL,
    kind        text        NOT NULL,
    created_at  timestamptz NOT NULL,
    -- It names the session. No foreign key: that a session is gone has to be told as well.
    data        json        NOT NULL,
    PRIMARY KEY (user_id, memory_seq)
);
CREATE INDEX session_changes_age ON session_changes (created_at);
SELECT guard_rows('session_changes');
-- Old ones are found for all users, and deleted for their user.
CREATE POLICY pruning ON session_changes FOR SELECT USING ((SELECT row_scope()) = 'pruning');
