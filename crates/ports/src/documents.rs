//! Stores documents: their files, their chunks and their progress.
//!
//! A document is stored in a session of its own, with the same id. So [`SessionStore::delete_session`](super::SessionStore::delete_session)
//! deletes it, and the reads of messages, mentions and evidence find its chunks.

use async_trait::async_trait;

use super::{Claim, CommitError, NewMessage, Original, StoreError};
use recall_domain::{Caller, Chunk, Document, DocumentId, DocumentStatus, EventId, MessageId, Page, Section, Slice, Timestamp, UserText};

/// The size of a stored piece of a file, in bytes. The last piece may be smaller.
pub const PIECE_BYTES: usize = 256 * 1024;

/// A document to add, with everything that its transaction writes.
#[derive(Clone, Debug)]
pub struct NewDocument {
    /// The document. Its version and `is_current` are set by the store.
    pub document: Document,
    /// Its file.
    pub original: Original,
    /// Its first message, which holds its name. Its job parses the document.
    pub message: NewMessage,
    /// Names the log of its session.
    pub epoch: String,
    /// Id of its first `document_update` event.
    pub event: EventId,
}

/// The outcome of [`DocumentStore::add_document`].
#[derive(Clone, Debug, PartialEq)]
pub enum AddedDocument {
    /// The document is stored.
    Added(Document),
    /// The collection has a current document with the same content. Nothing was written.
    Duplicate(Document),
}

/// What the parser found, apart from the text.
#[derive(Clone, Debug)]
pub struct DocumentOutline {
    /// The document.
    pub document: DocumentId,
    /// Its media type.
    pub media_type: String,
    /// The title that it states.
    pub title: Option<UserText>,
    /// Sentences of it that stand for the rest.
    pub summary: Option<UserText>,
    /// The number of its pages.
    pub pages: Option<u32>,
    /// The addresses that it links to.
    pub links: Vec<UserText>,
    /// The number of its chunks, at least one.
    pub chunk_count: u32,
    /// A digest of all chunks. A later attempt continues only if it found the same chunks.
    pub digest: String,
    /// Id of the `document_update` event.
    pub event: EventId,
    /// Now.
    pub now: Timestamp,
}

/// Some chunks of a document, which one transaction stores.
#[derive(Clone, Debug)]
pub struct DocumentStep {
    /// The document.
    pub document: DocumentId,
    /// The number of chunks that are stored before.
    pub first: u32,
    /// The sections in which these chunks begin. Stored ones are skipped.
    pub sections: Vec<Section>,
    /// The chunks, each with its message.
    pub chunks: Vec<(NewMessage, Chunk)>,
    /// Id of the `document_update` event.
    pub event: EventId,
    /// Now.
    pub now: Timestamp,
}

/// Which documents to list; all given conditions must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentFilter {
    /// Only these collections; all if empty.
    pub collections: Vec<String>,
    /// Only these documents; all if empty.
    pub ids: Vec<DocumentId>,
    /// Only documents with this status.
    pub status: Option<DocumentStatus>,
    /// Only documents whose file name, title or path contains this, ignoring case.
    pub text: Option<String>,
    /// Only documents that link to this resource, in standard form.
    pub links_to: Option<String>,
    /// Only versions for which no newer version is searchable.
    pub current: bool,
}

/// Stores documents.
#[async_trait]
pub trait DocumentStore: Send + Sync {
    /// Stores a document with its session, file, first message, job and event, in ONE transaction.
    async fn add_document(&self, caller: &Caller, new: NewDocument) -> Result<AddedDocument, StoreError>;
    /// Returns documents by id; unknown ids are left out.
    async fn documents_by_id(&self, caller: &Caller, ids: &[DocumentId]) -> Result<Vec<Document>, StoreError>;
    /// Lists documents, latest first.
    async fn list_documents(&self, caller: &Caller, filter: &DocumentFilter, page: &Page) -> Result<Slice<Document>, StoreError>;
    /// Counts the matching documents.
    async fn count_documents(&self, caller: &Caller, filter: &DocumentFilter) -> Result<u64, StoreError>;
    /// Returns the ids of the matching documents, in no particular order.
    async fn document_ids(&self, caller: &Caller, filter: &DocumentFilter) -> Result<Vec<DocumentId>, StoreError>;
    /// Returns the documents that have a newer searchable version.
    async fn superseded_documents(&self, caller: &Caller) -> Result<Vec<DocumentId>, StoreError>;
    /// Returns a piece of a file in the store, counted from 0; `None` after the last, or if the store does not hold the file.
    async fn original_piece(&self, caller: &Caller, id: DocumentId, piece: u32) -> Result<Option<Vec<u8>>, StoreError>;
    /// Deletes the file and keeps the document. Does nothing if it is not stored.
    ///
    /// # Errors
    /// `NotFound` if the document is not the caller's, or still needs its file.
    async fn delete_original(&self, caller: &Caller, id: DocumentId, now: Timestamp) -> Result<(), StoreError>;
    /// Returns chunks by id; unknown ids are left out.
    async fn chunks_by_id(&self, caller: &Caller, ids: &[MessageId]) -> Result<Vec<Chunk>, StoreError>;
    /// Lists the chunks of a document in order.
    async fn list_chunks(&self, caller: &Caller, id: DocumentId, page: &Page) -> Result<Slice<Chunk>, StoreError>;
    /// Returns up to `limit` chunks of a document from a position on, in order.
    async fn chunks_from(&self, caller: &Caller, id: DocumentId, position: u32, limit: u32) -> Result<Vec<Chunk>, StoreError>;
    /// Lists up to `limit` sections of a document in order, from a position on.
    async fn sections_from(&self, caller: &Caller, id: DocumentId, position: u32, limit: u32) -> Result<Vec<Section>, StoreError>;

    /// Records what the parser found. Returns how many chunks an earlier attempt has stored.
    ///
    /// A visitor's quota of messages is reduced by the number of chunks once.
    ///
    /// # Errors
    /// `Stale` if an earlier attempt has found other chunks and stored some of them, `NotOurs` if the claim was lost.
    async fn begin_document(&self, caller: &Caller, claim: &Claim, outline: &DocumentOutline) -> Result<u32, CommitError>;
    /// Stores chunks with their terms, vectors, jobs and an event, in ONE transaction. With the last chunk the job ends.
    ///
    /// # Errors
    /// `Stale` if another number of chunks is stored than the step says, `NotOurs` if the claim was lost.
    async fn store_chunks(&self, caller: &Caller, claim: &Claim, step: &DocumentStep) -> Result<(), CommitError>;
    /// Marks a document as failed, writes the event and ends the job.
    async fn fail_document(
        &self,
        caller: &Caller,
        claim: &Claim,
        document: DocumentId,
        error: &str,
        event: EventId,
        now: Timestamp,
    ) -> Result<(), CommitError>;
}
