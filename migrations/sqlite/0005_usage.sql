-- Tokens that model servers used. Two tables, because the sum of a day must outlive its messages: budgets are read from it, and
-- deleting a session gives nothing back.

CREATE TABLE usage_days (
    user_id        BLOB    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- Days since 1970, in UTC.
    day            INTEGER NOT NULL,
    operation      TEXT    NOT NULL CHECK (operation IN ('extract', 'answer')),
    requests       INTEGER NOT NULL,
    input_tokens   INTEGER NOT NULL,
    output_tokens  INTEGER NOT NULL,
    PRIMARY KEY (user_id, day, operation)
) STRICT, WITHOUT ROWID;
-- The budget of all users is one sum over the day, read from the index alone.
CREATE INDEX usage_days_of_all ON usage_days (day, input_tokens, output_tokens);

CREATE TABLE usage_messages (
    user_id        BLOB    NOT NULL,
    message_id     BLOB    NOT NULL,
    input_tokens   INTEGER NOT NULL,
    output_tokens  INTEGER NOT NULL,
    PRIMARY KEY (user_id, message_id),
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
