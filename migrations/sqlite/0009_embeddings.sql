-- A change of the embedding model while questions are asked. message_index holds one vector of each message; here are others beside
-- it: those of a new model until all messages of a user have one, and then the user is searched by these. See ports/vectors.rs.
CREATE TABLE message_vectors (
    user_id     BLOB NOT NULL,
    message_id  BLOB NOT NULL,
    model       TEXT NOT NULL,
    -- f32, little endian, as sqlite-vec reads it.
    embedding   BLOB NOT NULL,
    PRIMARY KEY (user_id, message_id, model),
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE
) STRICT;

-- By whose vectors the user is searched. NULL until a message was stored.
ALTER TABLE users ADD COLUMN embedding_model TEXT;
-- Whether all vectors of the user are of that model, in message_index. 0 also where nobody has looked yet.
ALTER TABLE users ADD COLUMN embedding_settled INTEGER NOT NULL DEFAULT 0 CHECK (embedding_settled IN (0, 1));
-- Who may make vectors of the user: the latest claim's number, and until when no other may be made.
ALTER TABLE users ADD COLUMN embedding_token INTEGER NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN embedding_until INTEGER;
-- Of which model all vectors are to be: what the process configured that started last.
ALTER TABLE installation ADD COLUMN embedding_model TEXT;

-- The newest message has a vector of the model that was configured last, by which questions were embedded too.
UPDATE users SET embedding_model = (
    SELECT i.model FROM messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
    WHERE m.user_id = users.id ORDER BY m.feed_row DESC LIMIT 1);

-- Both find users whose vectors have to be made; hardly ever is there one.
CREATE INDEX users_embedding ON users (embedding_model);
CREATE INDEX users_unsettled ON users (id) WHERE embedding_settled = 0;
