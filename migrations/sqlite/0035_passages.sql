-- Vectors of chunks by a network that is better and slower than the model of message_index. A search finds chunks by words and by the
-- vectors of the index, and orders them by these. A chunk without one keeps its place.
CREATE TABLE passage_vectors (
    user_id     BLOB NOT NULL,
    message_id  BLOB NOT NULL,
    model       TEXT NOT NULL,
    -- A signed byte for each dimension. Only the direction counts.
    vector      BLOB NOT NULL,
    PRIMARY KEY (user_id, message_id),
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
