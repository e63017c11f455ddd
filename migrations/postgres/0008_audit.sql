-- Deleting all that is kept of a user, and the log of who did what.

-- Set from the beginning of an erasure to its end: whoever writes looks at it in the row whose counters it raises anyway.
ALTER TABLE users ADD COLUMN erasing boolean NOT NULL DEFAULT false;

-- The latest erasure of a user. What it deleted is counted in the transaction that deletes it, so that a receipt is right however
-- often the work was interrupted. Kept until the day is over, as are the tokens used today: budgets are read from them.
CREATE TABLE erasures (
    user_id     uuid        NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    begun_at    timestamptz NOT NULL,
    -- When the last step was made. Whoever finds an old one goes on.
    touched_at  timestamptz NOT NULL,
    ended_at    timestamptz,
    -- Rows deleted, by table.
    deleted     json        NOT NULL DEFAULT '{}'
);
CREATE INDEX erasures_unfinished ON erasures (touched_at) WHERE ended_at IS NULL;

-- Who did what. No texts, no secrets, and no foreign keys: it outlives whom it speaks of.
CREATE TABLE audit (
    number    bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at        timestamptz NOT NULL,
    -- NULL for an operator at the command line, and for the server itself.
    actor     uuid,
    action    text        COLLATE "C" NOT NULL,
    target    text,
    address   text,
    instance  text        NOT NULL
);
CREATE INDEX audit_age ON audit (at);
CREATE INDEX audit_of_actor ON audit (actor, number);
