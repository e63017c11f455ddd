-- Visits: people who came without a login, whose browser holds a secret in a cookie. Each is a user of its own.
CREATE TABLE visits (
    user_id        uuid        NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- SHA-256 of the secret, which itself is nowhere. Looked up without knowing the user, because it says who the user is. The user's
    -- id is random and not made from the secret: ids are shown and logged, and a visit can so be ended without losing track of its data.
    digest         bytea       NOT NULL UNIQUE CHECK (octet_length(digest) = 32),
    -- What may still be stored. Taken in the transaction that stores it, so that no two requests share the last one, and deleting
    -- gives nothing back.
    messages_left  bigint      NOT NULL CHECK (messages_left >= 0),
    sessions_left  bigint      NOT NULL CHECK (sessions_left >= 0),
    created_at     timestamptz NOT NULL,
    -- Written once a minute at most. When it is over, everything of the user's is deleted.
    ends_at        timestamptz NOT NULL,
    PRIMARY KEY (user_id, digest)
);
CREATE INDEX visits_end ON visits (ends_at);

-- Entities that came from a visit into an account and are still to be compared with what the account knows.
CREATE TABLE adopted (
    user_id    uuid    NOT NULL,
    entity_id  uuid    NOT NULL,
    -- Whether it was the visitor, who is the account's user now.
    is_viewer  boolean NOT NULL,
    PRIMARY KEY (user_id, entity_id),
    FOREIGN KEY (user_id, entity_id) REFERENCES entities (user_id, id) ON DELETE CASCADE
);

SELECT guard_rows('visits');
SELECT guard_rows('adopted');

-- Whoever shows the secret of a visit, waits too long, or was interrupted; what is changed then is changed for its user.
CREATE POLICY visit ON visits FOR SELECT USING ((SELECT row_scope()) = 'visit');
CREATE POLICY visit ON adopted FOR SELECT USING ((SELECT row_scope()) = 'visit');

-- Whether the user came on a visit. Of these nothing is left in the end, not even this row: their ids never come back.
ALTER TABLE users ADD COLUMN visitor boolean NOT NULL DEFAULT false;
