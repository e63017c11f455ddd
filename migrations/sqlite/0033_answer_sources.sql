-- Where the answer to a message may look. Messages without a row are answered from everything.
CREATE TABLE answer_sources (
    user_id     BLOB NOT NULL,
    message_id  BLOB NOT NULL,
    -- JSON: kinds of sources, collections, and ids of documents.
    sources     TEXT NOT NULL,
    PRIMARY KEY (user_id, message_id),
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
