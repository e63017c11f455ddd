-- Where the answer to a message may look. Messages without a row are answered from everything.
CREATE TABLE answer_sources (
    user_id     uuid NOT NULL,
    message_id  uuid NOT NULL,
    -- Kinds of sources, collections, and ids of documents.
    sources     json NOT NULL,
    PRIMARY KEY (user_id, message_id),
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE
);
SELECT guard_rows('answer_sources');
