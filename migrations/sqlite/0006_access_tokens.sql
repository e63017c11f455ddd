-- Personal access tokens: what scripts and agents of a user show instead of a login.
CREATE TABLE access_tokens (
    user_id       BLOB    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id            BLOB    NOT NULL CHECK (length(id) = 16),
    -- SHA-256 of the secret, which itself is nowhere. The one thing that is looked up without knowing the user, because it
    -- says who the user is.
    digest        BLOB    NOT NULL UNIQUE CHECK (length(digest) = 32),
    name          TEXT    NOT NULL,
    -- As in OAuth: words with spaces between.
    scopes        TEXT    NOT NULL,
    created_at    INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL,
    -- Written once a minute at most.
    last_used_at  INTEGER,
    PRIMARY KEY (user_id, id)
) STRICT, WITHOUT ROWID;
