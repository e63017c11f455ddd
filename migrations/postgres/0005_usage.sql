-- Tokens that model servers used. Two tables, because the sum of a day must outlive its messages: budgets are read from it, and
-- deleting a session gives nothing back.

CREATE TABLE usage_days (
    user_id        uuid    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- Days since 1970, in UTC.
    day            integer NOT NULL,
    operation      text    COLLATE "C" NOT NULL CHECK (operation IN ('extract', 'answer')),
    requests       bigint  NOT NULL,
    input_tokens   bigint  NOT NULL,
    output_tokens  bigint  NOT NULL,
    PRIMARY KEY (user_id, day, operation)
) WITH (fillfactor = 70);
-- The budget of all users is one sum over the day.
CREATE INDEX usage_days_of_all ON usage_days (day);

CREATE TABLE usage_messages (
    user_id        uuid    NOT NULL,
    message_id     uuid    NOT NULL,
    input_tokens   bigint  NOT NULL,
    output_tokens  bigint  NOT NULL,
    PRIMARY KEY (user_id, message_id),
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE
);
