-- Documents: files, their chunks and their progress. A document is stored as a session of its own with the same id: the first message
-- holds its name, and the others are its chunks. So terms, vectors, mentions, evidence, jobs, events and deletion need no second form.

-- 1 if the session stores a document; else null.
ALTER TABLE sessions ADD COLUMN document INTEGER CHECK (document = 1);
-- 1 for messages of documents; their role is that of the assistant. A server of an earlier version reads them as such: it finds them, and
-- takes no facts from them.
ALTER TABLE messages ADD COLUMN chunk INTEGER CHECK (chunk = 1);
-- 1 if the job parses the document whose first message it names.
ALTER TABLE jobs ADD COLUMN document INTEGER CHECK (document = 1);

-- Lists and counts leave out sessions that store documents.
CREATE INDEX sessions_conversations ON sessions (user_id, updated_at, id) WHERE document IS NULL;

CREATE TABLE documents (
    user_id        BLOB    NOT NULL,
    id             BLOB    NOT NULL,
    collection     TEXT    NOT NULL,
    -- Documents of one collection with the same path are versions of each other.
    path           TEXT,
    version        INTEGER NOT NULL,
    filename       TEXT    NOT NULL,
    media_type     TEXT,
    bytes          INTEGER NOT NULL,
    -- In hexadecimal digits.
    sha256         TEXT    NOT NULL CHECK (length(sha256) = 64),
    status         TEXT    NOT NULL CHECK (status IN ('pending', 'processing', 'completed', 'failed')),
    error          TEXT,
    title          TEXT,
    pages          INTEGER,
    -- JSON array of addresses.
    links          TEXT    NOT NULL DEFAULT '[]',
    -- 0 until the document is parsed.
    chunk_count    INTEGER NOT NULL DEFAULT 0,
    -- How many chunks are stored, and of how many the facts are extracted.
    stored         INTEGER NOT NULL DEFAULT 0,
    understood     INTEGER NOT NULL DEFAULT 0,
    chunk_chars    INTEGER NOT NULL,
    chunk_overlap  INTEGER NOT NULL,
    -- Of the chunks that the parser found. A later attempt continues only with the same chunks.
    digest         TEXT,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    PRIMARY KEY (user_id, id),
    FOREIGN KEY (user_id, id) REFERENCES sessions (user_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX documents_latest ON documents (user_id, created_at, id);
CREATE INDEX documents_by_content ON documents (user_id, collection, sha256);
CREATE INDEX documents_by_path ON documents (user_id, collection, path, version) WHERE path IS NOT NULL;

-- The file in pieces, so that no statement handles all of a large one.
CREATE TABLE document_originals (
    user_id      BLOB    NOT NULL,
    document_id  BLOB    NOT NULL,
    piece        INTEGER NOT NULL,
    data         BLOB    NOT NULL,
    PRIMARY KEY (user_id, document_id, piece),
    FOREIGN KEY (user_id, document_id) REFERENCES documents (user_id, id) ON DELETE CASCADE
) STRICT;

-- The text of a section is that of its chunks.
CREATE TABLE document_sections (
    user_id      BLOB    NOT NULL,
    document_id  BLOB    NOT NULL,
    position     INTEGER NOT NULL,
    heading      TEXT,
    level        INTEGER NOT NULL,
    char_offset  INTEGER NOT NULL,
    chars        INTEGER NOT NULL,
    first_page   INTEGER,
    last_page    INTEGER,
    PRIMARY KEY (user_id, document_id, position),
    FOREIGN KEY (user_id, document_id) REFERENCES documents (user_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- The place of a message in its document.
CREATE TABLE document_chunks (
    user_id      BLOB    NOT NULL,
    message_id   BLOB    NOT NULL,
    document_id  BLOB    NOT NULL,
    position     INTEGER NOT NULL,
    section      INTEGER NOT NULL,
    char_offset  INTEGER NOT NULL,
    first_page   INTEGER,
    last_page    INTEGER,
    PRIMARY KEY (user_id, message_id),
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX document_chunks_in_order ON document_chunks (user_id, document_id, position);

-- Documents under deletion must not be read. A version is current while no newer one is searchable.
CREATE VIEW visible_documents AS
    SELECT user_id, id, collection, path, version, filename, media_type, bytes, sha256, status, error, title, pages, links, chunk_count,
           stored, understood, chunk_chars, chunk_overlap, digest, created_at, updated_at,
           path IS NULL OR NOT EXISTS (
               SELECT 1 FROM documents n WHERE n.user_id = d.user_id AND n.collection = d.collection AND n.path = d.path
               AND n.version > d.version AND n.chunk_count > 0 AND n.stored = n.chunk_count
               AND (n.user_id, n.id) NOT IN (SELECT user_id, id FROM hidden_sessions)) AS is_current,
           EXISTS (SELECT 1 FROM document_originals o WHERE o.user_id = d.user_id AND o.document_id = d.id) AS has_original
    FROM documents d WHERE (user_id, id) NOT IN (SELECT user_id, id FROM hidden_sessions);

DROP VIEW visible_messages;
CREATE VIEW visible_messages AS
    SELECT user_id, id, session_id, position, feed_row, role, speaker,
           CASE WHEN forgotten IS NULL THEN text ELSE '' END AS text, kind, status, sent_at, created_at,
           CASE WHEN forgotten IS NULL THEN source_metadata END AS source_metadata, external_id, answer_to,
           CASE WHEN forgotten IS NULL THEN citations ELSE '[]' END AS citations, forgotten, chunk
    FROM messages
    WHERE forgotten IS NOT 'hidden' AND (user_id, session_id) NOT IN (SELECT user_id, id FROM hidden_sessions);
