-- The programs through which users use the server: browsers, agents, chat front ends.
CREATE TABLE front_ends (
    user_id        BLOB    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind           TEXT    NOT NULL CHECK (kind IN ('login', 'access_token', 'signed_user', 'client', 'open')),
    name           TEXT    NOT NULL,
    first_used_at  INTEGER NOT NULL,
    -- Written once a minute at most.
    last_used_at   INTEGER NOT NULL,
    PRIMARY KEY (user_id, kind, name)
) STRICT, WITHOUT ROWID;
