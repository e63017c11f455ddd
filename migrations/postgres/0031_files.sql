-- Files of documents outside the database. A file is in exactly one of two tables: in document_files if a document has it, and in
-- unowned_files otherwise. It is written there before it is created and removed after it is deleted. So no crash can lose track of a file.

CREATE TABLE document_files (
    user_id      uuid  NOT NULL,
    document_id  uuid  NOT NULL,
    -- Names it in the folder, and says nothing about its document.
    file         uuid  NOT NULL,
    PRIMARY KEY (user_id, document_id),
    FOREIGN KEY (user_id, document_id) REFERENCES documents (user_id, id) ON DELETE CASCADE
);
SELECT guard_rows('document_files');

-- Files that no document has: those that are about to be added, and those that must be deleted. They belong to no user.
CREATE TABLE unowned_files (
    file      uuid         NOT NULL PRIMARY KEY,
    -- When it must be deleted.
    due_at    timestamptz  NOT NULL,
    -- True from the moment at which its deletion may have begun. No document can have it any more.
    is_taken  boolean      NOT NULL DEFAULT false
);
CREATE INDEX unowned_files_due ON unowned_files (due_at);

-- Triggers, so that no way of deleting or moving a document can be forgotten.
CREATE FUNCTION document_file() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        INSERT INTO unowned_files (file, due_at) VALUES (OLD.file, 'epoch');
    ELSE
        DELETE FROM unowned_files WHERE file = NEW.file AND NOT is_taken;
        IF NOT FOUND THEN
            RAISE foreign_key_violation USING MESSAGE = 'the file is not stored';
        END IF;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER document_file AFTER INSERT OR DELETE ON document_files FOR EACH ROW EXECUTE FUNCTION document_file();

CREATE OR REPLACE VIEW visible_documents WITH (security_invoker = true) AS
    SELECT user_id, id, collection, path, version, filename, media_type, bytes, sha256, status, error, title, pages, links, chunk_count,
           stored, understood, chunk_chars, chunk_overlap, digest, created_at, updated_at,
           path IS NULL OR NOT EXISTS (
               SELECT 1 FROM documents n WHERE n.user_id = d.user_id AND n.collection = d.collection AND n.path = d.path
               AND n.version > d.version AND n.chunk_count > 0 AND n.stored = n.chunk_count
               AND (n.user_id, n.id) NOT IN (SELECT user_id, id FROM hidden_sessions)) AS is_current,
           EXISTS (SELECT 1 FROM document_files f WHERE f.user_id = d.user_id AND f.document_id = d.id)
               OR EXISTS (SELECT 1 FROM document_originals o WHERE o.user_id = d.user_id AND o.document_id = d.id) AS has_original,
           CASE WHEN summary IS NOT NULL AND (user_id, id) NOT IN (
               SELECT user_id, session_id FROM messages WHERE forgotten IS NOT NULL) THEN summary END AS summary,
           viewed_at
    FROM documents d WHERE (user_id, id) NOT IN (SELECT user_id, id FROM hidden_sessions);
