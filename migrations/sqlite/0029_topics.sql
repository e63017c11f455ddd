-- What is known of a document besides its text: a summary, when it was viewed, and which messages cite it. And topics: what
-- documents and conversations are about.

-- Sentences of the document that stand for the rest.
ALTER TABLE documents ADD COLUMN summary TEXT;
-- When its owner last viewed it.
ALTER TABLE documents ADD COLUMN viewed_at INTEGER;

-- When a user last viewed a document of shared memory. No foreign key: the document belongs to another user, whose deletion of it
-- touches no rows of this one. A row that is left over shows nothing.
CREATE TABLE shared_views (
    user_id      BLOB    NOT NULL,
    document_id  BLOB    NOT NULL,
    viewed_at    INTEGER NOT NULL,
    PRIMARY KEY (user_id, document_id)
) STRICT, WITHOUT ROWID;

-- The messages whose citations name a document, which may belong to shared memory. Made of messages.citations, where a search by
-- document would read all messages.
CREATE TABLE document_citations (
    user_id      BLOB    NOT NULL,
    document_id  BLOB    NOT NULL CHECK (length(document_id) = 16),
    -- That of the message. Lists are ordered by it.
    feed_row     INTEGER NOT NULL,
    message_id   BLOB    NOT NULL,
    PRIMARY KEY (user_id, document_id, feed_row),
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX document_citations_of_message ON document_citations (user_id, message_id);

-- Triggers, so that no path that stores or clears citations can be forgotten.
CREATE TRIGGER document_cited AFTER INSERT ON messages WHEN NEW.citations <> '[]' BEGIN
    INSERT INTO document_citations (user_id, document_id, feed_row, message_id)
    SELECT DISTINCT NEW.user_id, unhex(replace(c.value ->> '$.chunk.document_id', '-', '')), NEW.feed_row, NEW.id
    FROM json_each(NEW.citations) c WHERE length(unhex(replace(c.value ->> '$.chunk.document_id', '-', ''))) = 16;
END;
CREATE TRIGGER document_citations_cleared AFTER UPDATE OF citations ON messages WHEN NEW.citations = '[]' BEGIN
    DELETE FROM document_citations WHERE user_id = NEW.user_id AND message_id = NEW.id;
END;

-- A summary may quote any chunk. So it is hidden while a chunk is forgotten.
DROP VIEW visible_documents;
CREATE VIEW visible_documents AS
    SELECT user_id, id, collection, path, version, filename, media_type, bytes, sha256, status, error, title, pages, links, chunk_count,
           stored, understood, chunk_chars, chunk_overlap, digest, created_at, updated_at,
           path IS NULL OR NOT EXISTS (
               SELECT 1 FROM documents n WHERE n.user_id = d.user_id AND n.collection = d.collection AND n.path = d.path
               AND n.version > d.version AND n.chunk_count > 0 AND n.stored = n.chunk_count
               AND (n.user_id, n.id) NOT IN (SELECT user_id, id FROM hidden_sessions)) AS is_current,
           EXISTS (SELECT 1 FROM document_originals o WHERE o.user_id = d.user_id AND o.document_id = d.id) AS has_original,
           CASE WHEN summary IS NOT NULL AND (user_id, id) NOT IN (
               SELECT user_id, session_id FROM messages INDEXED BY messages_forgotten WHERE forgotten IS NOT NULL) THEN summary END AS summary,
           viewed_at
    FROM documents d WHERE (user_id, id) NOT IN (SELECT user_id, id FROM hidden_sessions);

-- A group of texts of one session with about the same meaning. Parts of different sessions have one topic if they mean about the same.
-- A topic is its parts: it exists while it has one, and its name is that of the largest.
CREATE TABLE topic_parts (
    user_id     BLOB    NOT NULL,
    session_id  BLOB    NOT NULL,
    -- Place in the session, from 0.
    part        INTEGER NOT NULL,
    topic_id    BLOB    NOT NULL CHECK (length(topic_id) = 16),
    name        TEXT    NOT NULL,
    -- JSON array of characteristic index terms.
    terms       TEXT    NOT NULL,
    -- The number of its messages.
    size        INTEGER NOT NULL,
    model       TEXT    NOT NULL,
    -- The mean of its vectors, of unit length: f32, little endian.
    centroid    BLOB    NOT NULL,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (user_id, session_id, part),
    FOREIGN KEY (user_id, session_id) REFERENCES sessions (user_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX topic_parts_of_topic ON topic_parts (user_id, topic_id, size);
CREATE INDEX topic_parts_by_size ON topic_parts (user_id, model, size, session_id, part);

-- The messages of a part.
CREATE TABLE topic_messages (
    user_id     BLOB    NOT NULL,
    message_id  BLOB    NOT NULL,
    topic_id    BLOB    NOT NULL,
    session_id  BLOB    NOT NULL,
    part        INTEGER NOT NULL,
    -- 1 for chunks of documents; else null.
    chunk       INTEGER CHECK (chunk = 1),
    PRIMARY KEY (user_id, message_id),
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, session_id, part) REFERENCES topic_parts (user_id, session_id, part) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX topic_messages_of_part ON topic_messages (user_id, session_id, part);
-- Ids of messages are in the order of storing. Lists show no chunks.
CREATE INDEX topic_messages_listed ON topic_messages (user_id, topic_id, message_id) WHERE chunk IS NULL;

-- A name may contain words of any message of its part. So a part is hidden while one of them is forgotten.
CREATE VIEW hidden_topic_parts AS
    SELECT p.user_id, p.session_id, p.part FROM hidden_sessions h CROSS JOIN topic_parts p
    WHERE p.user_id = h.user_id AND p.session_id = h.id
    UNION ALL SELECT t.user_id, t.session_id, t.part FROM messages m INDEXED BY messages_forgotten CROSS JOIN topic_messages t
    WHERE m.forgotten IS NOT NULL AND t.user_id = m.user_id AND t.message_id = m.id;
CREATE VIEW visible_topic_parts AS
    SELECT * FROM topic_parts WHERE (user_id, session_id, part) NOT IN (SELECT user_id, session_id, part FROM hidden_topic_parts);
CREATE VIEW visible_topic_messages AS
    SELECT * FROM topic_messages WHERE (user_id, session_id, part) NOT IN (SELECT user_id, session_id, part FROM hidden_topic_parts);

-- Messages are found by a resource.
CREATE INDEX resources_by_uri ON resources (user_id, uri, message_id);
