-- What is known of a document besides its text: a summary, when it was viewed, and which messages cite it. And topics: what
-- documents and conversations are about.

-- Sentences of the document that stand for the rest.
ALTER TABLE documents ADD COLUMN summary text;
-- When its owner last viewed it.
ALTER TABLE documents ADD COLUMN viewed_at timestamptz;

-- When a user last viewed a document of shared memory. No foreign key: the document belongs to another user, whose deletion of it
-- touches no rows of this one. A row that is left over shows nothing.
CREATE TABLE shared_views (
    user_id      uuid        NOT NULL,
    document_id  uuid        NOT NULL,
    viewed_at    timestamptz NOT NULL,
    PRIMARY KEY (user_id, document_id)
);
SELECT guard_rows('shared_views');

-- The messages whose citations name a document, which may belong to shared memory. Made of messages.citations, where a search by
-- document would read all messages.
CREATE TABLE document_citations (
    user_id      uuid   NOT NULL,
    document_id  uuid   NOT NULL,
    -- That of the message. Lists are ordered by it.
    feed_row     bigint NOT NULL,
    message_id   uuid   NOT NULL,
    PRIMARY KEY (user_id, document_id, feed_row),
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE
);
CREATE INDEX document_citations_of_message ON document_citations (user_id, message_id);
SELECT guard_rows('document_citations');

-- Triggers, so that no path that stores or clears citations can be forgotten. PostgreSQL refuses to read JSON that has the escape of
-- the character zero anywhere; no id contains it.
CREATE FUNCTION note_document_citations() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO document_citations (user_id, document_id, feed_row, message_id)
    SELECT DISTINCT NEW.user_id, (c.value -> 'chunk' ->> 'document_id')::uuid, NEW.feed_row, NEW.id
    FROM json_array_elements(replace(NEW.citations::text, '\u0000', '\u0001')::json) AS c (value)
    WHERE c.value -> 'chunk' ->> 'document_id' ~ '^[0-9A-Fa-f]{8}-?([0-9A-Fa-f]{4}-?){3}[0-9A-Fa-f]{12}$';
    RETURN NULL;
END $$;
CREATE TRIGGER document_cited AFTER INSERT ON messages FOR EACH ROW
    WHEN (NEW.citations::text <> '[]') EXECUTE FUNCTION note_document_citations();

CREATE FUNCTION clear_document_citations() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM document_citations WHERE user_id = NEW.user_id AND message_id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER document_citations_cleared AFTER UPDATE OF citations ON messages FOR EACH ROW
    WHEN (NEW.citations::text = '[]') EXECUTE FUNCTION clear_document_citations();

-- A summary may quote any chunk. So it is hidden while a chunk is forgotten.
CREATE OR REPLACE VIEW visible_documents WITH (security_invoker = true) AS
    SELECT user_id, id, collection, path, version, filename, media_type, bytes, sha256, status, error, title, pages, links, chunk_count,
           stored, understood, chunk_chars, chunk_overlap, digest, created_at, updated_at,
           path IS NULL OR NOT EXISTS (
               SELECT 1 FROM documents n WHERE n.user_id = d.user_id AND n.collection = d.collection AND n.path = d.path
               AND n.version > d.version AND n.chunk_count > 0 AND n.stored = n.chunk_count
               AND (n.user_id, n.id) NOT IN (SELECT user_id, id FROM hidden_sessions)) AS is_current,
           EXISTS (SELECT 1 FROM document_originals o WHERE o.user_id = d.user_id AND o.document_id = d.id) AS has_original,
           CASE WHEN summary IS NOT NULL AND (user_id, id) NOT IN (
               SELECT user_id, session_id FROM messages WHERE forgotten IS NOT NULL) THEN summary END AS summary,
           viewed_at
    FROM documents d WHERE (user_id, id) NOT IN (SELECT user_id, id FROM hidden_sessions);

-- A group of texts of one session with about the same meaning. Parts of different sessions have one topic if they mean about the same.
-- A topic is its parts: it exists while it has one, and its name is that of the largest.
CREATE TABLE topic_parts (
    user_id     uuid        NOT NULL,
    session_id  uuid        NOT NULL,
    -- Place in the session, from 0.
    part        bigint      NOT NULL,
    topic_id    uuid        NOT NULL,
    name        text        NOT NULL,
    -- Array of characteristic index terms.
    terms       json        NOT NULL,
    -- The number of its messages.
    size        bigint      NOT NULL,
    model       text        COLLATE "C" NOT NULL,
    -- The mean of its vectors, of unit length.
    centroid    vector      NOT NULL,
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (user_id, session_id, part),
    FOREIGN KEY (user_id, session_id) REFERENCES sessions (user_id, id) ON DELETE CASCADE
);
CREATE INDEX topic_parts_of_topic ON topic_parts (user_id, topic_id, size);
CREATE INDEX topic_parts_by_size ON topic_parts (user_id, model, size, session_id, part);
SELECT guard_rows('topic_parts');

-- The messages of a part.
CREATE TABLE topic_messages (
    user_id     uuid    NOT NULL,
    message_id  uuid    NOT NULL,
    topic_id    uuid    NOT NULL,
    session_id  uuid    NOT NULL,
    part        bigint  NOT NULL,
    -- True for chunks of documents; else null.
    chunk       boolean CHECK (chunk),
    PRIMARY KEY (user_id, message_id),
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, session_id, part) REFERENCES topic_parts (user_id, session_id, part) ON DELETE CASCADE
);
CREATE INDEX topic_messages_of_part ON topic_messages (user_id, session_id, part);
-- Ids of messages are in the order of storing. Lists show no chunks.
CREATE INDEX topic_messages_listed ON topic_messages (user_id, topic_id, message_id) WHERE chunk IS NULL;
SELECT guard_rows('topic_messages');

-- A name may contain words of any message of its part. So a part is hidden while one of them is forgotten.
CREATE VIEW hidden_topic_parts WITH (security_invoker = true) AS
    SELECT p.user_id, p.session_id, p.part FROM hidden_sessions h JOIN topic_parts p ON p.user_id = h.user_id AND p.session_id = h.id
    UNION ALL SELECT t.user_id, t.session_id, t.part FROM messages m JOIN topic_messages t ON t.user_id = m.user_id AND t.message_id = m.id
    WHERE m.forgotten IS NOT NULL;
CREATE VIEW visible_topic_parts WITH (security_invoker = true) AS
    SELECT * FROM topic_parts WHERE (user_id, session_id, part) NOT IN (SELECT user_id, session_id, part FROM hidden_topic_parts);
CREATE VIEW visible_topic_messages WITH (security_invoker = true) AS
    SELECT * FROM topic_messages WHERE (user_id, session_id, part) NOT IN (SELECT user_id, session_id, part FROM hidden_topic_parts);

-- Messages are found by a resource. By a digest, because an entry of an index is shorter than a long URI may be.
CREATE INDEX resources_by_uri ON resources (user_id, md5(uri), message_id);
