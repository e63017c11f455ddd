-- Images, recordings, files and pages that a text contains or links to. Their bytes are not stored.
CREATE TABLE resources (
    user_id     BLOB    NOT NULL,
    id          BLOB    NOT NULL CHECK (length(id) = 16),
    -- The message that contains it. Other kinds of texts get a column of their own.
    message_id  BLOB,
    -- Order of appearance in its text, from 0.
    ordinal     INTEGER NOT NULL,
    -- The address in standard form, or the name of the content (RFC 6920).
    uri         TEXT    NOT NULL,
    media_type  TEXT,
    -- Size and SHA-256 digest of the content, if the client sent it.
    bytes       INTEGER,
    sha256      TEXT,
    -- 'part': the client sent it with the text. 'link': the text contains its address.
    origin      TEXT    NOT NULL CHECK (origin IN ('part', 'link')),
    PRIMARY KEY (user_id, id),
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE
) STRICT;
CREATE UNIQUE INDEX resources_of_message ON resources (user_id, message_id, ordinal);

CREATE VIEW visible_resources AS
    SELECT * FROM resources WHERE (user_id, message_id) NOT IN (SELECT user_id, id FROM hidden_messages);
