//! Documents: `statements` writes them, `relations` reads what is related to them, `passages` keeps their vectors, this file reads
//! them.

mod passages;
mod relations;
mod statements;

use async_trait::async_trait;
use rusqlite::params;

use super::{
    SqliteStore,
    codec::{Word, id_list, json, signed},
    failure::Failure,
    keys,
    rows::Columns,
    transaction::run,
};
use recall_domain::{
    Caller, Chunk, Document, DocumentId, DocumentProgress, EventId, MessageId, Page, PageRange, Section, Slice, Timestamp, UserText,
};
use recall_ports::{
    AddedDocument, Claim, CommitError, DocumentFilter, DocumentOutline, DocumentStep, DocumentStore, NewDocument, StoreError,
};
use recall_store::Refusal;

/// The conditions of a filter. `?1` is the user.
macro_rules! filtered {
    ($select:literal, $rest:literal) => {
        concat!(
            "SELECT ",
            $select,
            " FROM visible_documents WHERE user_id = ?1 AND (?2 IS NULL OR collection IN (SELECT value FROM json_each(?2)))
             AND (?3 IS NULL OR id IN (SELECT unhex(value) FROM json_each(?3))) AND (?4 IS NULL OR status = ?4)
             AND (?5 IS NULL OR instr(unicode_lower(filename || char(10) || coalesce(title, '') || char(10) || coalesce(path, '')), ?5))
             AND (NOT ?6 OR is_current) AND (?7 IS NULL OR EXISTS (SELECT 1 FROM json_each(links) WHERE value = ?7)) ",
            $rest
        )
    };
}

/// Chunks with their texts and headings.
macro_rules! chunks {
    ($rest:literal) => {
        concat!(
            "SELECT c.message_id, c.document_id, c.position, c.section, s.heading, c.char_offset, c.first_page, c.last_page, m.text
             FROM document_chunks c JOIN visible_messages m ON m.user_id = c.user_id AND m.id = c.message_id
             LEFT JOIN document_sections s ON s.user_id = c.user_id AND s.document_id = c.document_id AND s.position = c.section ",
            $rest
        )
    };
}

/// The values of a filter, as [`filtered`] needs them.
struct Conditions {
    collections: Option<String>,
    ids: Option<String>,
    status: Option<&'static str>,
    text: Option<String>,
    current: bool,
    links_to: Option<String>,
}

impl Conditions {
    fn of(filter: &DocumentFilter) -> Result<Self, Failure> {
        let collections = &filter.collections;
        Ok(Self {
            collections: if collections.is_empty() { None } else { Some(json(collections, "collections")?) },
            ids: (!filter.ids.is_empty()).then(|| id_list(filter.ids.iter().map(|id| &id.0))),
            status: filter.status.map(Word::word),
            text: filter.text.as_ref().map(|text| text.to_lowercase()),
            current: filter.current,
            links_to: filter.links_to.clone(),
        })
    }
}

#[async_trait]
impl DocumentStore for SqliteStore {
    async fn add_document(&self, caller: &Caller, new: NewDocument) -> Result<AddedDocument, StoreError> {
        let caller = *caller;
        Ok(self.write(move |tx| run(recall_store::add_document(tx, &caller, &new))).await?)
    }

    async fn documents_by_id(&self, caller: &Caller, ids: &[DocumentId]) -> Result<Vec<Document>, StoreError> {
        let values = (caller.user().0, id_list(ids.iter().map(|id| &id.0)));
        let found = self.read(caller, move |db| {
            let sql = "SELECT * FROM visible_documents WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?))";
            db.rows("documents", sql, values, document)
        });
        Ok(found.await?)
    }

    async fn list_documents(&self, caller: &Caller, filter: &DocumentFilter, page: &Page) -> Result<Slice<Document>, StoreError> {
        let (created_at, id) = keys::latest_before(page.after.as_deref())?;
        let (user, c, limit) = (caller.user().0, Conditions::of(filter)?, keys::limit(page));
        let found = self.read(caller, move |db| {
            let sql = filtered!("*", "AND (created_at, id) < (?8, ?9) ORDER BY created_at DESC, id DESC LIMIT ?10");
            let values = params![user, c.collections, c.ids, c.status, c.text, c.current, c.links_to, created_at, id, limit];
            db.rows("documents", sql, values, document)
        });
        let key = |document: &Document| keys::time_and_id(document.created_at, document.id.0);
        Ok(keys::page(found.await?.into_iter().map(Ok::<_, Failure>), page, key)?)
    }

    async fn count_documents(&self, caller: &Caller, filter: &DocumentFilter) -> Result<u64, StoreError> {
        let (user, c) = (caller.user().0, Conditions::of(filter)?);
        let count = self.read(caller, move |db| {
            db.number(filtered!("COUNT(*)", ""), params![user, c.collections, c.ids, c.status, c.text, c.current, c.links_to])
        });
        Ok(count.await?.unsigned_abs())
    }

    async fn document_ids(&self, caller: &Caller, filter: &DocumentFilter) -> Result<Vec<DocumentId>, StoreError> {
        let (user, c) = (caller.user().0, Conditions::of(filter)?);
        let found = self.read(caller, move |db| {
            let values = params![user, c.collections, c.ids, c.status, c.text, c.current, c.links_to];
            db.rows("documents", filtered!("id", ""), values, document_id)
        });
        Ok(found.await?)
    }

    async fn superseded_documents(&self, caller: &Caller) -> Result<Vec<DocumentId>, StoreError> {
        let user = caller.user().0;
        let found = self.read(caller, move |db| {
            let sql = "SELECT id FROM visible_documents WHERE user_id = ? AND path IS NOT NULL AND NOT is_current";
            db.rows("documents", sql, (user,), document_id)
        });
        Ok(found.await?)
    }

    async fn original_piece(&self, caller: &Caller, id: DocumentId, piece: u32) -> Result<Option<Vec<u8>>, StoreError> {
        let values = (caller.user().0, id.0, piece);
        let found = self.read(caller, move |db| {
            let sql = "SELECT data FROM document_originals WHERE user_id = ?1 AND document_id = ?2 AND piece = ?3
                 AND document_id NOT IN (SELECT id FROM hidden_sessions WHERE user_id = ?1)";
            db.row("document_originals", sql, values, |c| c.get("data"))
        });
        Ok(found.await?)
    }

    async fn delete_original(&self, caller: &Caller, id: DocumentId, now: Timestamp) -> Result<(), StoreError> {
        let user = caller.user();
        Ok(self.write(move |tx| run(statements::delete_original(tx, user, id, now))).await?)
    }

    async fn chunks_by_id(&self, caller: &Caller, ids: &[MessageId]) -> Result<Vec<Chunk>, StoreError> {
        let values = (caller.user().0, id_list(ids.iter().map(|id| &id.0)));
        let found = self.read(caller, move |db| {
            let sql = chunks!("WHERE c.user_id = ? AND c.message_id IN (SELECT unhex(value) FROM json_each(?))");
            db.rows("document_chunks", sql, values, chunk)
        });
        Ok(found.await?)
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
        let values = (caller.user().0, id.0, position, limit);
        let found = self.read(caller, move |db| {
            let sql = "SELECT position, heading, level, char_offset, chars, first_page, last_page FROM document_sections
                 WHERE user_id = ?1 AND document_id = ?2 AND position >= ?3
                 AND document_id NOT IN (SELECT id FROM hidden_sessions WHERE user_id = ?1) ORDER BY position LIMIT ?4";
            db.rows("document_sections", sql, values, |c| {
                Ok(Section {
                    position: c.small("position")?,
                    heading: c.opt_text("heading")?.map(UserText::from),
                    level: u8::try_from(c.small("level")?).unwrap_or(u8::MAX),
                    char_offset: c.count("char_offset")?,
                    chars: c.count("chars")?,
                    pages: pages(c)?,
                })
            })
        });
        Ok(found.await?)
    }

    async fn begin_document(&self, caller: &Caller, claim: &Claim, outline: &DocumentOutline) -> Result<u32, CommitError> {
        let (caller, claim, outline) = (*caller, claim.clone(), outline.clone());
        Ok(self.write(move |tx| run(recall_store::begin_document(tx, &caller, &claim, &outline))).await?)
    }

    async fn store_chunks(&self, caller: &Caller, claim: &Claim, step: &DocumentStep) -> Result<(), CommitError> {
        let (caller, claim, step) = (*caller, claim.clone(), step.clone());
        Ok(self.write(move |tx| run(recall_store::store_chunks(tx, &caller, &claim, &step))).await?)
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
        let (user, claim, error) = (caller.user(), claim.clone(), error.to_owned());
        let failed = self.write(move |tx| run(recall_store::fail_document(tx, user, &claim, document, (&error, event, now))));
        Ok(failed.await?)
    }
}

async fn load_chunks(store: &SqliteStore, caller: &Caller, id: DocumentId, from: i64, limit: i64) -> Result<Vec<Chunk>, Failure> {
    let values = (caller.user().0, id.0, from, limit);
    let found = store.read(caller, move |db| {
        let sql = chunks!("WHERE c.user_id = ? AND c.document_id = ? AND c.position >= ? ORDER BY c.position LIMIT ?");
        db.rows("document_chunks", sql, values, chunk)
    });
    found.await
}

fn document_id(c: &Columns<'_, '_>) -> Result<DocumentId, Failure> {
    Ok(DocumentId(c.id("id")?))
}

/// Reads all columns of `visible_documents`.
fn document(c: &Columns<'_, '_>) -> Result<Document, Failure> {
    Ok(Document {
        id: DocumentId(c.id("id")?),
        collection: c.text("collection")?,
        path: c.opt_text("path")?.map(UserText::from),
        version: c.small("version")?,
        filename: c.text("filename")?.into(),
        media_type: c.opt_text("media_type")?,
        bytes: c.count("bytes")?,
        sha256: c.text("sha256")?,
        status: c.word("status")?,
        error: c.opt_text("error")?,
        title: c.opt_text("title")?.map(UserText::from),
        summary: c.opt_text("summary")?.map(UserText::from),
        pages: c.opt_small("pages")?,
        links: c.json("links")?,
        chunk_count: c.small("chunk_count")?,
        stored: c.small("stored")?,
        understood: c.small("understood")?,
        chunk_chars: c.small("chunk_chars")?,
        chunk_overlap: c.small("chunk_overlap")?,
        created_at: c.time("created_at")?,
        updated_at: c.time("updated_at")?,
        viewed_at: c.opt_time("viewed_at")?,
        is_current: c.flag("is_current")?,
        has_original: c.flag("has_original")?,
    })
}

/// Reads the columns of [`DocumentProgress`].
pub(super) fn progress(c: &Columns<'_, '_>) -> Result<DocumentProgress, Failure> {
    Ok(DocumentProgress {
        document: document_id(c)?,
        status: c.word("status")?,
        chunk_count: c.small("chunk_count")?,
        stored: c.small("stored")?,
        understood: c.small("understood")?,
        error: c.opt_text("error")?,
    })
}

fn chunk(c: &Columns<'_, '_>) -> Result<Chunk, Failure> {
    Ok(Chunk {
        id: MessageId(c.id("message_id")?),
        document: DocumentId(c.id("document_id")?),
        position: c.small("position")?,
        section: c.small("section")?,
        heading: c.opt_text("heading")?.map(UserText::from),
        char_offset: c.count("char_offset")?,
        pages: pages(c)?,
        text: c.text("text")?.into(),
    })
}

fn pages(c: &Columns<'_, '_>) -> Result<Option<PageRange>, Failure> {
    Ok(c.opt_small("first_page")?.zip(c.opt_small("last_page")?).map(|(first, last)| PageRange { first, last }))
}

/// A number of pages as its columns store it.
fn page_columns(pages: Option<PageRange>) -> (Option<i64>, Option<i64>) {
    pages.map(|pages| (signed(pages.first.into()), signed(pages.last.into()))).unzip()
}

/// What [`DocumentStore::delete_original`] refuses: the parser still needs the file.
fn needs_original(progress: &DocumentProgress) -> Result<(), Refusal> {
    let is_read = progress.chunk_count > 0 && progress.stored >= progress.chunk_count;
    if is_read || progress.status == recall_domain::DocumentStatus::Failed { Ok(()) } else { Err(Refusal::NotFound) }
}
