-- The events of all sessions of a user are also one log, that of the memory.

-- Number of its newest event. A counter in the row that storing a message and committing knowledge change anyway: numbers have no
-- holes, and become visible in their order, whatever session they belong to. It grows without an event when so much changes that
-- everything must be read again.
ALTER TABLE users ADD COLUMN memory_head INTEGER NOT NULL DEFAULT 0;
-- Number of the oldest event from which on all are there, memory_head + 1 when there is none. Grows past events that are deleted.
ALTER TABLE users ADD COLUMN memory_floor INTEGER NOT NULL DEFAULT 1;

-- Number in the log of the memory. NULL in older events, and in those of an adopted visit.
ALTER TABLE events ADD COLUMN memory_seq INTEGER;
CREATE UNIQUE INDEX events_of_memory ON events (user_id, memory_seq) WHERE memory_seq IS NOT NULL;

-- Events about sessions as a whole: one was created, renamed or deleted. Only the log of the memory has them.
CREATE TABLE session_changes (
    user_id     BLOB    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    memory_seq  INTEGER NOT NULL,
    id          BLOB    NOT NULL CHECK (length(id) = 16),
    kind        TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    -- It names the session. No foreign key: that a session is gone has to be told as well.
    data        TEXT    NOT NULL,
    PRIMARY KEY (user_id, memory_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_changes_age ON session_changes (created_at);
