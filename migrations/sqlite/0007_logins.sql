-- Logins: people who signed in with a browser, which holds a secret in a cookie.
CREATE TABLE logins (
    user_id           BLOB    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- SHA-256 of the secret, which itself is nowhere. Looked up without knowing the user, because it says who the user is.
    digest            BLOB    NOT NULL UNIQUE CHECK (length(digest) = 32),
    issuer            TEXT    NOT NULL,
    -- What the issuer calls its own session with the browser, by which it can end this one.
    provider_session  TEXT,
    -- What the issuer calls the person.
    name              TEXT,
    role              TEXT    NOT NULL CHECK (role IN ('admin', 'user')),
    -- As in OAuth: words with spaces between.
    scopes            TEXT    NOT NULL,
    -- Opens nothing here, and at the issuer only with the client's own secret.
    refresh_token     TEXT,
    renew_at          INTEGER,
    -- Until when one of the servers may use the refresh token, which is for one use.
    renewing_until    INTEGER,
    created_at        INTEGER NOT NULL,
    -- Written once a minute at most, and never after expires_at.
    idle_until        INTEGER NOT NULL,
    expires_at        INTEGER NOT NULL,
    PRIMARY KEY (user_id, digest),
    CHECK ((refresh_token IS NULL) = (renew_at IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX logins_of_provider_session ON logins (provider_session);
CREATE INDEX logins_end ON logins (idle_until);
