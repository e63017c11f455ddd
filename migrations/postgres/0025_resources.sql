-- Images, recordings, files and pages that a text contains or links to. Their bytes are not stored.
CREATE TABLE resources (
    user_id     uuid   NOT NULL,
    id          uuid   NOT NULL,
    -- The message that contains it. Other kinds of texts get a column of their own.
    message_id  uuid,
    -- Order of appearance in its text, from 0.
    ordinal     bigint NOT NULL,
    -- The address in standard form, or the name of the content (RFC 6920).
    uri         text   NOT NULL,
    media_type  text,
    -- Size and SHA-256 digest of the content, if the client sent it.
    bytes       bigint,
    sha256      text,
    -- 'part': the client sent it with the text. 'link': the text contains its address.
    origin      text   COLLATE "C" NOT NULL CHECK (origin IN ('part', 'link')),
    PRIMARY KEY (user_id, id),
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX resources_of_message ON resources (user_id, message_id, ordinal);
SELECT guard_rows('resources');

CREATE VIEW visible_resources WITH (security_invoker = true) AS
    SELECT * FROM resources WHERE (user_id, message_id) NOT IN (SELECT user_id, id FROM hidden_messages);
