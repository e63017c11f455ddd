-- A change of the embedding model while questions are asked. message_index holds one vector of each message; here are others beside
-- it: those of a new model until all messages of a user have one, and then the user is searched by these. See ports/vectors.rs.
CREATE TABLE message_vectors (
    user_id     uuid    NOT NULL,
    message_id  uuid    NOT NULL,
    model       text    COLLATE "C" NOT NULL,
    embedding   vector,
    -- 0 when there is none, as in message_index.
    dimensions  integer NOT NULL,
    PRIMARY KEY (user_id, message_id, model),
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE,
    CHECK (dimensions = CASE WHEN embedding IS NULL THEN 0 ELSE vector_dims(embedding) END)
);

ALTER TABLE users
    -- By whose vectors the user is searched. NULL until a message was stored.
    ADD COLUMN embedding_model text COLLATE "C",
    -- Whether all vectors of the user are of that model, in message_index. False also where nobody has looked yet.
    ADD COLUMN embedding_settled boolean NOT NULL DEFAULT false,
    -- Who may make vectors of the user: the latest claim's number, and until when no other may be made.
    ADD COLUMN embedding_token bigint NOT NULL DEFAULT 0,
    ADD COLUMN embedding_until timestamptz;
-- Of which model all vectors are to be: what the process configured that started last.
ALTER TABLE installation ADD COLUMN embedding_model text COLLATE "C";

-- The newest message has a vector of the model that was configured last, by which questions were embedded too.
UPDATE users SET embedding_model = (
    SELECT i.model FROM messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
    WHERE m.user_id = users.id ORDER BY m.feed_row DESC LIMIT 1);

-- Both find users whose vectors have to be made; hardly ever is there one. Neither names a counter, or each message would write to
-- them.
CREATE INDEX users_embedding ON users (embedding_model);
CREATE INDEX users_unsettled ON users (id) WHERE NOT embedding_settled;

-- A vector stays in its row. From about 400 numbers on it would be moved out, and a search for the nearest would fetch each of them
-- by an index. Those that were moved out before come back as they are made anew.
ALTER TABLE message_index ALTER COLUMN embedding SET STORAGE MAIN;
ALTER TABLE message_vectors ALTER COLUMN embedding SET STORAGE MAIN;
