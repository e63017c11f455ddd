-- Each chunk also gets a vector for each of its words, by a new version of the network. What the old version made is of no use, and is made again
-- when a search finds the chunk. With row ids, a chunk fits into one page.
DROP TABLE passage_vectors;
CREATE TABLE passage_vectors (
    user_id     BLOB NOT NULL,
    message_id  BLOB NOT NULL,
    model       TEXT NOT NULL,
    -- A signed byte for each dimension. Only the direction counts.
    vector      BLOB NOT NULL,
    -- 32 bytes for each word: a signed number of four bits for each dimension.
    words       BLOB NOT NULL,
    PRIMARY KEY (user_id, message_id),
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE
) STRICT;
