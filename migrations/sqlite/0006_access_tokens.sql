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

-- Tokens of issuers that are believed no more, whatever they say themselves. They belong to no user: who they were given to
-- is not known here.
CREATE TABLE revoked_tokens (
    -- SHA-256 of issuer and jti, so that neither need be short or fit into an index.
    digest      BLOB    NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
    -- When the token has expired by itself and this may go.
    expires_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX revoked_tokens_expiry ON revoked_tokens (expires_at);
