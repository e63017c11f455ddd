-- Logins: people who signed in with a browser, which holds a secret in a cookie.
CREATE TABLE logins (
    user_id           uuid        NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- SHA-256 of the secret, which itself is nowhere. Looked up without knowing the user, because it says who the user is.
    digest            bytea       NOT NULL UNIQUE CHECK (octet_length(digest) = 32),
    issuer            text        NOT NULL,
    -- What the issuer calls its own session with the browser, by which it can end this one.
    provider_session  text,
    -- What the issuer calls the person.
    name              text,
    role              text        NOT NULL CHECK (role IN ('admin', 'user')),
    -- As in OAuth: words with spaces between.
    scopes            text        NOT NULL,
    -- Opens nothing here, and at the issuer only with the client's own secret.
    refresh_token     text,
    renew_at          timestamptz,
    -- Until when one of the servers may use the refresh token, which is for one use.
    renewing_until    timestamptz,
    created_at        timestamptz NOT NULL,
    -- Written once a minute at most, and never after expires_at.
    idle_until        timestamptz NOT NULL,
    expires_at        timestamptz NOT NULL,
    PRIMARY KEY (user_id, digest),
    CHECK ((refresh_token IS NULL) = (renew_at IS NULL))
);
CREATE INDEX logins_of_provider_session ON logins (provider_session);
CREATE INDEX logins_end ON logins (idle_until);
