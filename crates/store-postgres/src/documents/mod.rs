//! Documents: `rows` decodes them, `statements` writes them, `relations` reads what is related to them, this file reads them.

mod passages;
mod relations;
mod rows;
mod statements;

use std::borrow::Cow;

use async_trait::async_trait;
use uuid::Uuid;

use self::rows::{ChunkRow, DocumentRow, SectionRow, chunks, documents};
pub(super) use self::rows::{ProgressRow, pages};
use super::{
    PostgresStore,
    codec::{self, Word, column, time},
    failure::Failure,
    keys,
    transaction::WriteTransaction,
};
use recall_domain::{
    Caller, Chunk, Document, DocumentId, DocumentProgress, DocumentStatus, EventId, MessageId, Page, Section, Slice, Timestamp,
};
use recall_ports::{
    AddedDocument, Claim, CommitError, DocumentFilter, DocumentOutline, DocumentStep, DocumentStore, NewDocument, StoreError,
};
use recall_store::Refusal;

/// The values of a filter; an empty list stands for no condition.
struct Conditions<'f> {
    collections: Vec<Cow<'f, str>>,
    ids: Vec<Uuid>,
    status: Option<&'static str>,
    text: Option<String>,
    current: bool,
    links_to: Option<&'f str>,
}

impl<'f> Conditions<'f> {
    fn of(filter: &'f DocumentFilter) -> Self {
        Self {
            collections: codec::texts(filter.collections.iter().map(String::as_str)),
            ids: column(&filter.ids, |id| id.0),
            status: filter.status.map(Word::word),
            // In lower case by the database: some locales know only the letters of ASCII.
            text: filter.text.as_deref().map(|text| codec::text(text).into_owned()),
            current: filter.current,
            links_to: filter.links_to.as_deref(),
        }
    }
}

#[async_trait]
impl DocumentStore for PostgresStore {
    async fn add_document(&self, caller: &Caller, new: NewDocument) -> Result<AddedDocument, StoreError> {
        let input = (caller, &new);
        let added = self.write(caller, &input, |c, &(caller, new)| {
            Box::pin(async move { recall_store::add_document(&mut WriteTransaction(c), caller, new).await })
        });
        let added = added.await?;
        if let AddedDocument::Added(document) = &added {
            self.notifications.queued(caller, document.id.session());
        }
        Ok(added)
    }

    async fn documents_by_id(&self, caller: &Caller, ids: &[DocumentId]) -> Result<Vec<Document>, StoreError> {
        let found = documents!("WHERE user_id = $1 AND id = ANY($2)", caller.user().0, &column(ids, |id| id.0)[..]);
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(found.into_iter().map(DocumentRow::read).collect::<Result<_, _>>()?)
    }

    async fn list_documents(&self, caller: &Caller, filter: &DocumentFilter, page: &Page) -> Result<Slice<Document>, StoreError> {
        let (created_at, id) = codec::latest_before(page.after.as_deref())?;
        let c = Conditions::of(filter);
        let found = documents!(
            "WHERE user_id = $1 AND (cardinality($2::text[]) = 0 OR collection = ANY($2)) AND (cardinality($3::uuid[]) = 0 OR id = ANY($3))
             AND ($4::text IS NULL OR status = $4)
             AND ($5::text IS NULL OR strpos(lower(concat_ws(E'\n', filename, title, path)), lower($5)) > 0) AND (NOT $6::boolean OR is_current)
             AND ($7::text IS NULL OR EXISTS (
                 SELECT 1 FROM json_array_elements_text(replace(links::text, '\\u0000', '\\u0001')::json) AS l (uri) WHERE l.uri = $7))
             AND (created_at, id) < ($8, $9) ORDER BY created_at DESC, id DESC LIMIT $10",
            caller.user().0,
            &c.collections[..],
            &c.ids[..],
            c.status,
            c.text,
            c.current,
            c.links_to,
            created_at,
            id,
            keys::limit(page),
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        let key = |document: &Document| keys::time_and_id(document.created_at, document.id.0);
        Ok(keys::page(found.into_iter().map(DocumentRow::read), page, key)?)
    }

    async fn count_documents(&self, caller: &Caller, filter: &DocumentFilter) -> Result<u64, StoreError> {
        Ok(self.document_ids(caller, filter).await?.len() as u64)
    }

    async fn document_ids(&self, caller: &Caller, filter: &DocumentFilter) -> Result<Vec<DocumentId>, StoreError> {
        let c = Conditions::of(filter);
        let found = sqlx::query_scalar!(
            r#"SELECT id AS "id!" FROM visible_documents
             WHERE user_id = $1 AND (cardinality($2::text[]) = 0 OR collection = ANY($2)) AND (cardinality($3::uuid[]) = 0 OR id = ANY($3))
             AND ($4::text IS NULL OR status = $4)
             AND ($5::text IS NULL OR strpos(lower(concat_ws(E'\n', filename, title, path)), lower($5)) > 0) AND (NOT $6::boolean OR is_current)
             AND ($7::text IS NULL OR EXISTS (
                 SELECT 1 FROM json_array_elements_text(replace(links::text, '\u0000', '\u0001')::json) AS l (uri) WHERE l.uri = $7))"#,
            caller.user().0,
            &c.collections[..],
            &c.ids[..],
            c.status,
            c.text,
            c.current,
            c.links_to,
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(found.into_iter().map(DocumentId).collect())
    }

    async fn superseded_documents(&self, caller: &Caller) -> Result<Vec<DocumentId>, StoreError> {
        let found = sqlx::query_scalar!(
            r#"SELECT id AS "id!" FROM visible_documents WHERE user_id = $1 AND path IS NOT NULL AND NOT is_current"#,
            caller.user().0
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(found.into_iter().map(DocumentId).collect())
    }

    async fn original_piece(&self, caller: &Caller, id: DocumentId, piece: u32) -> Result<Option<Vec<u8>>, StoreError> {
        let found = sqlx::query_scalar!(
            "SELECT data FROM document_originals WHERE user_id = $1 AND document_id = $2 AND piece = $3
             AND document_id NOT IN (SELECT id FROM hidden_sessions WHERE user_id = $1)",
            caller.user().0,
            id.0,
            i64::from(piece),
        );
        Ok(found.fetch_optional(self.pool.reading(caller)).await.map_err(Failure::from)?)
    }

    async fn delete_original(&self, caller: &Caller, id: DocumentId, now: Timestamp) -> Result<(), StoreError> {
        let input = (caller.user(), id, now);
        let deleted = self.write(caller, &input, |c, &(user, id, now)| {
            Box::pin(async move { statements::delete_original(&mut WriteTransaction(c), user, id, now).await })
        });
        Ok(deleted.await?)
    }

    async fn chunks_by_id(&self, caller: &Caller, ids: &[MessageId]) -> Result<Vec<Chunk>, StoreError> {
        let found = chunks!("WHERE c.user_id = $1 AND c.message_id = ANY($2)", caller.user().0, &column(ids, |id| id.0)[..]);
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(found.into_iter().map(ChunkRow::read).collect::<Result<_, _>>()?)
    }

    async fn list_chunks(&self, caller: &Caller, id: DocumentId, page: &Page) -> Result<Slice<Chunk>, StoreError> {
        let after = page.after.as_deref().map_or(Ok(-1), keys::parse_number)?;
        let found = load_chunks(self, caller, id, after.saturating_add(1), keys::limit(page)).await?;
        Ok(keys::page(found.into_iter().map(Ok::<_, Failure>), page, |chunk| chunk.position.to_string())?)
    }

    async fn chunks_from(&self, caller: &Caller, id: DocumentId, position: u32, limit: u32) -> Result<Vec<Chunk>, StoreError> {
        Ok(load_chunks(self, caller, id, position.into(), limit.into()).await?)
    }

    async fn sections_from(&self, caller: &Caller, id: DocumentId, position: u32, limit: u32) -> Result<Vec<Section>, StoreError> {
        let found = sqlx::query_as!(
            SectionRow,
            "SELECT position, heading, level, char_offset, chars, first_page, last_page FROM document_sections
             WHERE user_id = $1 AND document_id = $2 AND position >= $3
             AND document_id NOT IN (SELECT id FROM hidden_sessions WHERE user_id = $1) ORDER BY position LIMIT $4",
            caller.user().0,
            id.0,
            i64::from(position),
            i64::from(limit),
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(found.into_iter().map(SectionRow::read).collect::<Result<_, _>>()?)
    }

    async fn begin_document(&self, caller: &Caller, claim: &Claim, outline: &DocumentOutline) -> Result<u32, CommitError> {
        let input = (caller, claim, outline);
        let begun = self.write(caller, &input, |c, &(caller, claim, outline)| {
            Box::pin(async move { recall_store::begin_document(&mut WriteTransaction(c), caller, claim, outline).await })
        });
        let begun = begun.await?;
        self.notifications.committed(caller, outline.document.session());
        Ok(begun)
    }

    async fn store_chunks(&self, caller: &Caller, claim: &Claim, step: &DocumentStep) -> Result<(), CommitError> {
        let input = (caller, claim, step);
        let stored = self.write(caller, &input, |c, &(caller, claim, step)| {
            Box::pin(async move { recall_store::store_chunks(&mut WriteTransaction(c), caller, claim, step).await })
        });
        stored.await?;
        self.notifications.queued(caller, step.document.session());
        self.count_new_rows(step.chunks.len()).await;
        Ok(())
    }

    async fn fail_document(
        &self,
        caller: &Caller,
        claim: &Claim,
        document: DocumentId,
        error: &str,
        event: EventId,
        now: Timestamp,
    ) -> Result<(), CommitError> {
        let input = (caller.user(), claim, document, error, event, now);
        let failed = self.write(caller, &input, |c, &(user, claim, document, error, event, now)| {
            Box::pin(async move { recall_store::fail_document(&mut WriteTransaction(c), user, claim, document, (error, event, now)).await })
        });
        failed.await?;
        self.notifications.committed(caller, document.session());
        Ok(())
    }
}

async fn load_chunks(store: &PostgresStore, caller: &Caller, id: DocumentId, from: i64, limit: i64) -> Result<Vec<Chunk>, Failure> {
    let found = chunks!(
        "WHERE c.user_id = $1 AND c.document_id = $2 AND c.position >= $3 ORDER BY c.position LIMIT $4",
        caller.user().0,
        id.0,
        from,
        limit,
    );
    found.fetch_all(store.pool.reading(caller)).await?.into_iter().map(ChunkRow::read).collect()
}

/// What [`DocumentStore::delete_original`] refuses: the parser still needs the file.
fn needs_original(progress: &DocumentProgress) -> Result<(), Refusal> {
    let is_read = progress.chunk_count > 0 && progress.stored >= progress.chunk_count;
    if is_read || progress.status == DocumentStatus::Failed { Ok(()) } else { Err(Refusal::NotFound) }
}

/// The time as it is stored.
fn stored(now: Timestamp) -> Timestamp {
    time(now)
}
