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

-- Of each vector in message_index three bits a number: whether it is more than -t, 0 and t. How many bits of two codes differ says
-- roughly how far apart the vectors are, and a code is a tenth of its vector: in a user's many messages those that may be nearest are
-- found by it, and the nearest of these by the vectors. t divides what numbers of a unit vector are mostly like into equal parts.
CREATE FUNCTION vector_code(v vector) RETURNS bit varying LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT binary_quantize(v) || binary_quantize(v - t) || binary_quantize(v + t)
    FROM (SELECT array_fill((0.7 / sqrt(vector_dims(v)))::real, ARRAY[vector_dims(v)])::vector AS t) AS threshold
$$;

CREATE TABLE message_codes (
    user_id     uuid        NOT NULL,
    message_id  uuid        NOT NULL,
    code        bit varying NOT NULL,
    PRIMARY KEY (user_id, message_id),
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE
);

-- By triggers, so that a server of the version before, which knows no codes, writes them too. Those of messages that are there
-- already are made in the background; until a user is settled nobody relies on them.
CREATE FUNCTION code_vectors() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO message_codes (user_id, message_id, code)
    SELECT user_id, message_id, vector_code(embedding) FROM written WHERE embedding IS NOT NULL
    ON CONFLICT (user_id, message_id) DO UPDATE SET code = excluded.code;
    RETURN NULL;
END
$$;
CREATE TRIGGER message_index_inserted AFTER INSERT ON message_index REFERENCING NEW TABLE AS written
    FOR EACH STATEMENT EXECUTE FUNCTION code_vectors();
CREATE TRIGGER message_index_updated AFTER UPDATE ON message_index REFERENCING NEW TABLE AS written
    FOR EACH STATEMENT EXECUTE FUNCTION code_vectors();
