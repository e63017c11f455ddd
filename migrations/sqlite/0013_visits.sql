-- Visits: people who came without a login, whose browser holds a secret in a cookie. Each is a user of its own.
CREATE TABLE visits (
    user_id        BLOB    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- SHA-256 of the secret, which itself is nowhere. Looked up without knowing the user, because it says who the user is. The user's
    -- id is random and not made from the secret: ids are shown and logged, and a visit can so be ended without losing track of its data.
    digest         BLOB    NOT NULL UNIQUE CHECK (length(digest) = 32),
    -- What may still be stored. Taken in the transaction that stores it, so that no two requests share the last one, and deleting
    -- gives nothing back.
    messages_left  INTEGER NOT NULL CHECK (messages_left >= 0),
    sessions_left  INTEGER NOT NULL CHECK (sessions_left >= 0),
    created_at     INTEGER NOT NULL,
    -- Written once a minute at most. When it is over, everything of the user's is deleted.
    ends_at        INTEGER NOT NULL,
    PRIMARY KEY (user_id, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX visits_end ON visits (ends_at);

-- Entities that came from a visit into an account and are still to be compared with what the account knows.
CREATE TABLE adopted (
    user_id    BLOB    NOT NULL,
    entity_id  BLOB    NOT NULL,
    -- Whether it was the visitor, who is the account's user now.
    is_viewer  INTEGER NOT NULL CHECK (is_viewer IN (0, 1)),
    PRIMARY KEY (user_id, entity_id),
    FOREIGN KEY (user_id, entity_id) REFERENCES entities (user_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Whether the user came on a visit. Of these nothing is left in the end, not even this row: their ids never come back.
ALTER TABLE users ADD COLUMN visitor INTEGER NOT NULL DEFAULT 0 CHECK (visitor IN (0, 1));
CREATE INDEX users_on_visits ON users (id) WHERE visitor = 1;
