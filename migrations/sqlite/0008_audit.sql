-- Deleting all that is kept of a user, and the log of who did what.

-- Set from the beginning of an erasure to its end: whoever writes looks at it in the row whose counters it raises anyway.
ALTER TABLE users ADD COLUMN erasing INTEGER NOT NULL DEFAULT 0 CHECK (erasing IN (0, 1));

-- The latest erasure of a user. What it deleted is counted in the transaction that deletes it, so that a receipt is right however
-- often the work was interrupted. Kept until the day is over, as are the tokens used today: budgets are read from them.
CREATE TABLE erasures (
    user_id     BLOB    NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    begun_at    INTEGER NOT NULL,
    -- When the last step was made. Whoever finds an old one goes on.
    touched_at  INTEGER NOT NULL,
    ended_at    INTEGER,
    -- JSON object: rows deleted, by table.
    deleted     TEXT    NOT NULL DEFAULT '{}'
) STRICT, WITHOUT ROWID;
CREATE INDEX erasures_unfinished ON erasures (touched_at) WHERE ended_at IS NULL;

-- Who did what. No texts, no secrets, and no foreign keys: it outlives whom it speaks of.
CREATE TABLE audit (
    -- AUTOINCREMENT: a number that was read is never given again.
    number    INTEGER PRIMARY KEY AUTOINCREMENT,
    at        INTEGER NOT NULL,
    -- NULL for an operator at the command line, and for the server itself.
    actor     BLOB    CHECK (length(actor) = 16),
    action    TEXT    NOT NULL,
    target    TEXT,
    address   TEXT,
    instance  TEXT    NOT NULL
) STRICT;
CREATE INDEX audit_age ON audit (at);
CREATE INDEX audit_of_actor ON audit (actor, number);
