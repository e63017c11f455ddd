-- The programs through which users use the server: browsers, agents, chat front ends.
CREATE TABLE front_ends (
    user_id        uuid        NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind           text        COLLATE "C" NOT NULL CHECK (kind IN ('login', 'access_token', 'signed_user', 'client', 'open')),
    name           text        NOT NULL,
    first_used_at  timestamptz NOT NULL,
    -- Written once a minute at most.
    last_used_at   timestamptz NOT NULL,
    PRIMARY KEY (user_id, kind, name)
);
SELECT guard_rows('front_ends');
