-- How much each user may still ask for, counted for all servers together; see ports::allowance. Not logged: a draw waits for no
-- disk, and after a crash of the database all buckets are full again. Never more than a few rows of a user, and no foreign key,
-- because who has stored nothing yet may ask as well.
CREATE UNLOGGED TABLE allowances (
    user_id  uuid             NOT NULL,
    name     text             COLLATE "C" NOT NULL,
    -- Tokens at that moment; below zero what was given in advance.
    tokens   double precision NOT NULL,
    as_of    timestamptz      NOT NULL,
    -- What the latest draw got.
    granted  double precision NOT NULL,
    PRIMARY KEY (user_id, name)
) WITH (fillfactor = 50);
SELECT guard_rows('allowances');
