//! The statements that store documents.

use std::borrow::Cow;

use async_trait::async_trait;

use super::{
    super::{
        codec::{self, Word, column, json, signed},
        failure::Failure,
        transaction::WriteTransaction,
    },
    DocumentRow, needs_original,
    rows::{DigestRow, ProgressRow, documents},
    stored,
};
use recall_domain::{Chunk, Document, DocumentId, DocumentProgress, MessageId, PageRange, Section, Timestamp, UserId, UserText};
use recall_ports::{DocumentOutline, Original};
use recall_store::{DocumentStatements, LockedDocument, Refusal, reject_while_locked};

/// Deletes the file of a document that no longer needs it.
pub(super) async fn delete_original(tx: &mut WriteTransaction<'_>, user: UserId, id: DocumentId, now: Timestamp) -> Result<(), Failure> {
    reject_while_locked(tx, user).await?;
    let known = tx.lock_document(user, id).await?.ok_or(Refusal::NotFound)?;
    needs_original(&known.progress)?;
    let deleted = sqlx::query!("DELETE FROM document_originals WHERE user_id = $1 AND document_id = $2", user.0, id.0);
    deleted.execute(&mut *tx.0).await?;
    let released = sqlx::query!("DELETE FROM document_files WHERE user_id = $1 AND document_id = $2", user.0, id.0);
    released.execute(&mut *tx.0).await?;
    let changed = sqlx::query!("UPDATE documents SET updated_at = $3 WHERE user_id = $1 AND id = $2", user.0, id.0, stored(now));
    changed.execute(&mut *tx.0).await?;
    Ok(())
}

#[async_trait]
impl DocumentStatements for WriteTransaction<'_> {
    async fn lock_documents(&mut self, user: UserId) -> Result<(), Failure> {
        sqlx::query!("SELECT id FROM users WHERE id = $1 FOR NO KEY UPDATE", user.0).fetch_optional(&mut *self.0).await?;
        Ok(())
    }

    async fn document_with_content(&mut self, user: UserId, collection: &str, sha256: &str) -> Result<Option<Document>, Failure> {
        let found = documents!(
            "WHERE user_id = $1 AND collection = $2 AND sha256 = $3 AND status <> 'failed' AND is_current ORDER BY created_at, id LIMIT 1",
            user.0,
            &*codec::text(collection),
            sha256,
        );
        found.fetch_optional(&mut *self.0).await?.map(DocumentRow::read).transpose()
    }

    async fn latest_version(&mut self, user: UserId, collection: &str, path: &str) -> Result<u32, Failure> {
        let version = sqlx::query_scalar!(
            r#"SELECT coalesce(max(version), 0) AS "version!" FROM documents WHERE user_id = $1 AND collection = $2 AND path = $3"#,
            user.0,
            &*codec::text(collection),
            &*codec::text(path),
        );
        let version = version.fetch_one(&mut *self.0).await?;
        u32::try_from(version).map_err(|_| Refusal::Damaged { table: "documents", column: "version" }.into())
    }

    async fn insert_document(&mut self, user: UserId, d: &Document) -> Result<(), Failure> {
        let [path, error, title] =
            [d.path.as_ref().map(UserText::as_str), d.error.as_deref(), d.title.as_ref().map(UserText::as_str)].map(codec::opt_text);
        let insert = sqlx::query!(
            "INSERT INTO documents (user_id, id, collection, path, version, filename, media_type, bytes, sha256, status, error, title, pages,
                                    links, chunk_count, stored, understood, chunk_chars, chunk_overlap, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14::text::json, $15, $16, $17, $18, $19, $20, $21)",
            user.0,
            d.id.0,
            &*codec::text(&d.collection),
            path.as_deref(),
            i64::from(d.version),
            &*codec::text(d.filename.as_str()),
            d.media_type,
            signed(d.bytes),
            d.sha256,
            d.status.word(),
            error.as_deref(),
            title.as_deref(),
            d.pages.map(i64::from),
            json(&d.links, "links")?,
            i64::from(d.chunk_count),
            i64::from(d.stored),
            i64::from(d.understood),
            i64::from(d.chunk_chars),
            i64::from(d.chunk_overlap),
            stored(d.created_at),
            stored(d.updated_at),
        );
        insert.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn insert_original(&mut self, user: UserId, document: DocumentId, original: &Original) -> Result<(), Failure> {
        let pieces = match original {
            Original::Pieces(pieces) => pieces,
            Original::File(file) => {
                let insert =
                    sqlx::query!("INSERT INTO document_files (user_id, document_id, file) VALUES ($1, $2, $3)", user.0, document.0, file.0);
                insert.execute(&mut *self.0).await?;
                return Ok(());
            }
        };
        // One by one, so that no message of the protocol holds all of a large file.
        for (n, piece) in (0_i64..).zip(pieces) {
            let insert = sqlx::query!(
                "INSERT INTO document_originals (user_id, document_id, piece, data) VALUES ($1, $2, $3, $4)",
                user.0,
                document.0,
                n,
                piece,
            );
            insert.execute(&mut *self.0).await?;
        }
        Ok(())
    }

    async fn lock_document(&mut self, user: UserId, document: DocumentId) -> Result<Option<LockedDocument>, Failure> {
        let found = sqlx::query_as!(
            DigestRow,
            "SELECT id, status, error, chunk_count, stored, understood, digest FROM documents
             WHERE user_id = $1 AND id = $2 AND id NOT IN (SELECT id FROM hidden_sessions WHERE user_id = $1) FOR UPDATE",
            user.0,
            document.0,
        );
        let Some(row) = found.fetch_optional(&mut *self.0).await? else { return Ok(None) };
        let DigestRow { id, status, error, chunk_count, stored, understood, digest } = row;
        let progress = ProgressRow { id, status, error, chunk_count, stored, understood }.read()?;
        Ok(Some(LockedDocument { progress, digest }))
    }

    async fn save_outline(&mut self, user: UserId, o: &DocumentOutline) -> Result<(), Failure> {
        let [title, summary] = [&o.title, &o.summary].map(|text| codec::opt_text(text.as_ref().map(UserText::as_str)));
        let saved = sqlx::query!(
            "UPDATE documents SET status = 'processing', media_type = $3, title = $4, pages = $5, links = $6::text::json, chunk_count = $7,
                 digest = $8, updated_at = $9, summary = $10 WHERE user_id = $1 AND id = $2",
            user.0,
            o.document.0,
            o.media_type,
            title.as_deref(),
            o.pages.map(i64::from),
            json(&o.links, "links")?,
            i64::from(o.chunk_count),
            o.digest,
            stored(o.now),
            summary.as_deref(),
        );
        saved.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn insert_sections(&mut self, user: UserId, document: DocumentId, sections: &[Section]) -> Result<(), Failure> {
        let headings = column(sections, |s| codec::opt_text(s.heading.as_ref().map(UserText::as_str)));
        let insert = sqlx::query!(
            "INSERT INTO document_sections (user_id, document_id, position, heading, level, char_offset, chars, first_page, last_page)
             SELECT $1, $2, position, heading, level, char_offset, chars, first_page, last_page
             FROM unnest($3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[])
                  AS s (position, heading, level, char_offset, chars, first_page, last_page) ON CONFLICT DO NOTHING",
            user.0,
            document.0,
            &column(sections, |s| i64::from(s.position))[..],
            &headings as &[Option<Cow<'_, str>>],
            &column(sections, |s| i64::from(s.level))[..],
            &column(sections, |s| signed(s.char_offset))[..],
            &column(sections, |s| signed(s.chars))[..],
            &column(sections, |s| first_page(s.pages)) as &[Option<i64>],
            &column(sections, |s| last_page(s.pages)) as &[Option<i64>],
        );
        insert.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn insert_chunks(&mut self, user: UserId, chunks: &[&Chunk]) -> Result<(), Failure> {
        let insert = sqlx::query!(
            "INSERT INTO document_chunks (user_id, message_id, document_id, position, section, char_offset, first_page, last_page)
             SELECT $1, message, document, position, section, char_offset, first_page, last_page
             FROM unnest($2::uuid[], $3::uuid[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])
                  AS c (message, document, position, section, char_offset, first_page, last_page)",
            user.0,
            &column(chunks, |c| c.id.0)[..],
            &column(chunks, |c| c.document.0)[..],
            &column(chunks, |c| i64::from(c.position))[..],
            &column(chunks, |c| i64::from(c.section))[..],
            &column(chunks, |c| signed(c.char_offset))[..],
            &column(chunks, |c| first_page(c.pages)) as &[Option<i64>],
            &column(chunks, |c| last_page(c.pages)) as &[Option<i64>],
        );
        insert.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn advance_stored(
        &mut self,
        user: UserId,
        document: DocumentId,
        count: u32,
        now: Timestamp,
    ) -> Result<DocumentProgress, Failure> {
        let progress = sqlx::query_as!(
            ProgressRow,
            "UPDATE documents SET stored = stored + $3, updated_at = $4 WHERE user_id = $1 AND id = $2
             RETURNING id, status, error, chunk_count, stored, understood",
            user.0,
            document.0,
            i64::from(count),
            stored(now),
        );
        progress.fetch_one(&mut *self.0).await?.read()
    }

    async fn end_first_message(&mut self, user: UserId, message: MessageId) -> Result<(), Failure> {
        let ended =
            sqlx::query!("UPDATE messages SET status = 'processed', kind = 'other' WHERE user_id = $1 AND id = $2", user.0, message.0);
        ended.execute(&mut *self.0).await?;
        Ok(())
    }
}

fn first_page(pages: Option<PageRange>) -> Option<i64> {
    pages.map(|pages| pages.first.into())
}

fn last_page(pages: Option<PageRange>) -> Option<i64> {
    pages.map(|pages| pages.last.into())
}
