-- Documents: files, their chunks and their progress. A document is stored as a session of its own with the same id: the first message
-- holds its name, and the others are its chunks. So terms, vectors, mentions, evidence, jobs, events and deletion need no second form.

-- True if the session stores a document; else null.
ALTER TABLE sessions ADD COLUMN document boolean CHECK (document);
-- True for messages of documents; their role is that of the assistant. A server of an earlier version reads them as such: it finds them,
-- and takes no facts from them.
ALTER TABLE messages ADD COLUMN chunk boolean CHECK (chunk);
-- True if the job parses the document whose first message it names.
ALTER TABLE jobs ADD COLUMN document boolean CHECK (document);

-- Lists and counts leave out sessions that store documents.
CREATE INDEX sessions_conversations ON sessions (user_id, updated_at, id) WHERE document IS NULL;

CREATE TABLE documents (
    user_id        uuid        NOT NULL,
    id             uuid        NOT NULL,
    collection     text        COLLATE "C" NOT NULL,
    -- Documents of one collection with the same path are versions of each other.
    path           text        COLLATE "C",
    version        bigint      NOT NULL,
    filename       text        NOT NULL,
    media_type     text,
    bytes          bigint      NOT NULL,
    -- In hexadecimal digits.
    sha256         text        COLLATE "C" NOT NULL CHECK (length(sha256) = 64),
    status         text        COLLATE "C" NOT NULL CHECK (status IN ('pending', 'processing', 'completed', 'failed')),
    error          text,
    title          text,
    pages          bigint,
    -- Array of addresses.
    links          json        NOT NULL DEFAULT '[]',
    -- 0 until the document is parsed.
    chunk_count    bigint      NOT NULL DEFAULT 0,
    -- How many chunks are stored, and of how many the facts are extracted.
    stored         bigint      NOT NULL DEFAULT 0,
    understood     bigint      NOT NULL DEFAULT 0,
    chunk_chars    bigint      NOT NULL,
    chunk_overlap  bigint      NOT NULL,
    -- Of the chunks that the parser found. A later attempt continues only with the same chunks.
    digest         text,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    PRIMARY KEY (user_id, id),
    FOREIGN KEY (user_id, id) REFERENCES sessions (user_id, id) ON DELETE CASCADE
);
CREATE INDEX documents_latest ON documents (user_id, created_at, id);
CREATE INDEX documents_by_content ON documents (user_id, collection, sha256);
CREATE INDEX documents_by_path ON documents (user_id, collection, path, version) WHERE path IS NOT NULL;
SELECT guard_rows('documents');

-- The file in pieces, so that no statement handles all of a large one.
CREATE TABLE document_originals (
    user_id      uuid   NOT NULL,
    document_id  uuid   NOT NULL,
    piece        bigint NOT NULL,
    data         bytea  NOT NULL,
    PRIMARY KEY (user_id, document_id, piece),
    FOREIGN KEY (user_id, document_id) REFERENCES documents (user_id, id) ON DELETE CASCADE
);
-- Most files are compressed already.
ALTER TABLE document_originals ALTER COLUMN data SET STORAGE EXTERNAL;
SELECT guard_rows('document_originals');

-- The text of a section is that of its chunks.
CREATE TABLE document_sections (
    user_id      uuid   NOT NULL,
    document_id  uuid   NOT NULL,
    position     bigint NOT NULL,
    heading      text,
    level        bigint NOT NULL,
    char_offset  bigint NOT NULL,
    chars        bigint NOT NULL,
    first_page   bigint,
    last_page    bigint,
    PRIMARY KEY (user_id, document_id, position),
    FOREIGN KEY (user_id, document_id) REFERENCES documents (user_id, id) ON DELETE CASCADE
);
SELECT guard_rows('document_sections');

-- The place of a message in its document.
CREATE TABLE document_chunks (
    user_id      uuid   NOT NULL,
    message_id   uuid   NOT NULL,
    document_id  uuid   NOT NULL,
    position     bigint NOT NULL,
    section      bigint NOT NULL,
    char_offset  bigint NOT NULL,
    first_page   bigint,
    last_page    bigint,
    PRIMARY KEY (user_id, message_id),
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX document_chunks_in_order ON document_chunks (user_id, document_id, position);
SELECT guard_rows('document_chunks');

-- Documents under deletion must not be read. A version is current while no newer one is searchable.
CREATE VIEW visible_documents WITH (security_invoker = true) AS
    SELECT user_id, id, collection, path, version, filename, media_type, bytes, sha256, status, error, title, pages, links, chunk_count,
           stored, understood, chunk_chars, chunk_overlap, digest, created_at, updated_at,
           path IS NULL OR NOT EXISTS (
               SELECT 1 FROM documents n WHERE n.user_id = d.user_id AND n.collection = d.collection AND n.path = d.path
               AND n.version > d.version AND n.chunk_count > 0 AND n.stored = n.chunk_count
               AND (n.user_id, n.id) NOT IN (SELECT user_id, id FROM hidden_sessions)) AS is_current,
           EXISTS (SELECT 1 FROM document_originals o WHERE o.user_id = d.user_id AND o.document_id = d.id) AS has_original
    FROM documents d WHERE (user_id, id) NOT IN (SELECT user_id, id FROM hidden_sessions);

CREATE OR REPLACE VIEW visible_sessions WITH (security_invoker = true) AS SELECT * FROM sessions WHERE deletion_at IS NULL;
CREATE OR REPLACE VIEW visible_messages WITH (security_invoker = true) AS
    SELECT user_id, id, session_id, position, feed_row, role, speaker,
           CASE WHEN forgotten IS NULL THEN text ELSE '' END AS text, kind, status, sent_at, created_at,
           CASE WHEN forgotten IS NULL THEN source_metadata END AS source_metadata, external_id, answer_to,
           CASE WHEN forgotten IS NULL THEN citations ELSE '[]'::json END AS citations, forgotten, chunk
    FROM messages
    WHERE forgotten IS DISTINCT FROM 'hidden' AND (user_id, session_id) NOT IN (SELECT user_id, id FROM hidden_sessions);
