//! The statements that store documents.

use async_trait::async_trait;
use rusqlite::params;

use super::{
    super::{
        codec::{Word, json, millis, signed},
        failure::Failure,
        transaction::WriteTransaction,
    },
    document, needs_original, page_columns, progress,
};
use recall_domain::{Chunk, Document, DocumentId, DocumentProgress, MessageId, Section, Timestamp, UserId, UserText};
use recall_ports::{DocumentOutline, Original};
use recall_store::{DocumentStatements, LockedDocument, Refusal, reject_while_locked};

/// Deletes the file of a document that no longer needs it.
pub(super) async fn delete_original(tx: &mut WriteTransaction<'_>, user: UserId, id: DocumentId, now: Timestamp) -> Result<(), Failure> {
    reject_while_locked(tx, user).await?;
    let known = tx.lock_document(user, id).await?.ok_or(Refusal::NotFound)?;
    needs_original(&known.progress)?;
    tx.0.execute("DELETE FROM document_originals WHERE user_id = ? AND document_id = ?", (user.0, id.0))?;
    tx.0.execute("DELETE FROM document_files WHERE user_id = ? AND document_id = ?", (user.0, id.0))?;
    tx.0.execute("UPDATE documents SET updated_at = ?3 WHERE user_id = ?1 AND id = ?2", (user.0, id.0, millis(now)))?;
    Ok(())
}

#[async_trait]
impl DocumentStatements for WriteTransaction<'_> {
    async fn lock_documents(&mut self, _user: UserId) -> Result<(), Failure> {
        // SQLite has one writer.
        Ok(())
    }

    async fn document_with_content(&mut self, user: UserId, collection: &str, sha256: &str) -> Result<Option<Document>, Failure> {
        let sql =
            "SELECT * FROM visible_documents WHERE user_id = ? AND collection = ? AND sha256 = ? AND status <> 'failed' AND is_current
             ORDER BY created_at, id LIMIT 1";
        self.0.row("documents", sql, (user.0, collection, sha256), document)
    }

    async fn latest_version(&mut self, user: UserId, collection: &str, path: &str) -> Result<u32, Failure> {
        let sql = "SELECT COALESCE(MAX(version), 0) AS version FROM documents WHERE user_id = ? AND collection = ? AND path = ?";
        self.0.only_row("documents", sql, (user.0, collection, path), |c| c.small("version"))
    }

    async fn insert_document(&mut self, user: UserId, d: &Document) -> Result<(), Failure> {
        self.0.execute(
            "INSERT INTO documents (user_id, id, collection, path, version, filename, media_type, bytes, sha256, status, error, title, pages,
                                    links, chunk_count, stored, understood, chunk_chars, chunk_overlap, created_at, updated_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                user.0,
                d.id.0,
                d.collection,
                d.path.as_ref().map(UserText::as_str),
                d.version,
                d.filename.as_str(),
                d.media_type,
                signed(d.bytes),
                d.sha256,
                d.status.word(),
                d.error,
                d.title.as_ref().map(UserText::as_str),
                d.pages,
                json(&d.links, "links")?,
                d.chunk_count,
                d.stored,
                d.understood,
                d.chunk_chars,
                d.chunk_overlap,
                millis(d.created_at),
                millis(d.updated_at),
            ],
        )?;
        Ok(())
    }

    async fn insert_original(&mut self, user: UserId, document: DocumentId, original: &Original) -> Result<(), Failure> {
        match original {
            Original::Pieces(pieces) => {
                for (n, piece) in (0_i64..).zip(pieces) {
                    let sql = "INSERT INTO document_originals (user_id, document_id, piece, data) VALUES (?, ?, ?, ?)";
                    self.0.execute(sql, (user.0, document.0, n, piece))?;
                }
            }
            Original::File(file) => {
                let sql = "INSERT INTO document_files (user_id, document_id, file) VALUES (?, ?, ?)";
                self.0.execute(sql, (user.0, document.0, file.0))?;
            }
        }
        Ok(())
    }

    async fn lock_document(&mut self, user: UserId, document: DocumentId) -> Result<Option<LockedDocument>, Failure> {
        let sql = "SELECT id, status, error, chunk_count, stored, understood, digest FROM visible_documents WHERE user_id = ? AND id = ?";
        self.0.row("documents", sql, (user.0, document.0), |c| Ok(LockedDocument { progress: progress(c)?, digest: c.opt_text("digest")? }))
    }

    async fn save_outline(&mut self, user: UserId, o: &DocumentOutline) -> Result<(), Failure> {
        self.0.execute(
            "UPDATE documents SET status = 'processing', media_type = ?3, title = ?4, pages = ?5, links = ?6, chunk_count = ?7, digest = ?8,
                 updated_at = ?9, summary = ?10 WHERE user_id = ?1 AND id = ?2",
            params![
                user.0,
                o.document.0,
                o.media_type,
                o.title.as_ref().map(UserText::as_str),
                o.pages,
                json(&o.links, "links")?,
                o.chunk_count,
                o.digest,
                millis(o.now),
                o.summary.as_ref().map(UserText::as_str),
            ],
        )?;
        Ok(())
    }

    async fn insert_sections(&mut self, user: UserId, document: DocumentId, sections: &[Section]) -> Result<(), Failure> {
        for s in sections {
            let (first_page, last_page) = page_columns(s.pages);
            self.0.execute(
                "INSERT INTO document_sections (user_id, document_id, position, heading, level, char_offset, chars, first_page, last_page)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                params![
                    user.0,
                    document.0,
                    s.position,
                    s.heading.as_ref().map(UserText::as_str),
                    s.level,
                    signed(s.char_offset),
                    signed(s.chars),
                    first_page,
                    last_page,
                ],
            )?;
        }
        Ok(())
    }

    async fn insert_chunks(&mut self, user: UserId, chunks: &[&Chunk]) -> Result<(), Failure> {
        for c in chunks {
            let (first_page, last_page) = page_columns(c.pages);
            self.0.execute(
                "INSERT INTO document_chunks (user_id, message_id, document_id, position, section, char_offset, first_page, last_page)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                params![user.0, c.id.0, c.document.0, c.position, c.section, signed(c.char_offset), first_page, last_page],
            )?;
        }
        Ok(())
    }

    async fn advance_stored(
        &mut self,
        user: UserId,
        document: DocumentId,
        count: u32,
        now: Timestamp,
    ) -> Result<DocumentProgress, Failure> {
        let sql = "UPDATE documents SET stored = stored + ?3, updated_at = ?4 WHERE user_id = ?1 AND id = ?2
             RETURNING id, status, chunk_count, stored, understood, error";
        self.0.only_row("documents", sql, (user.0, document.0, count, millis(now)), progress)
    }

    async fn end_first_message(&mut self, user: UserId, message: MessageId) -> Result<(), Failure> {
        self.0.execute("UPDATE messages SET status = 'processed', kind = 'other' WHERE user_id = ? AND id = ?", (user.0, message.0))?;
        Ok(())
    }
}
