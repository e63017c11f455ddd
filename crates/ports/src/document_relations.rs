//! What is related to a document: messages that cite it or link to the same resource, entities that it mentions, and views.

use async_trait::async_trait;

use super::StoreError;
use recall_domain::{Caller, DocumentId, EntityId, MessageId, Page, Slice, Timestamp};

/// Reads what is related to documents, and records views.
///
/// The messages that cite a document of shared memory belong to the caller, so these reads take the id of any document.
#[async_trait]
pub trait DocumentRelations: Send + Sync {
    /// Lists the caller's messages whose citations name a document, latest first.
    async fn messages_citing(&self, caller: &Caller, document: DocumentId, page: &Page) -> Result<Slice<MessageId>, StoreError>;
    /// Lists the caller's questions whose answers cite a document, latest answer first.
    async fn questions_answered_by(&self, caller: &Caller, document: DocumentId, page: &Page) -> Result<Slice<MessageId>, StoreError>;
    /// Lists the caller's messages that contain or link to a resource, latest first. The URI is in standard form.
    async fn messages_linking_to(&self, caller: &Caller, uri: &str, page: &Page) -> Result<Slice<MessageId>, StoreError>;
    /// Lists the entities that the chunks of a document mention, most mentions in this document first.
    async fn entities_in_document(&self, caller: &Caller, document: DocumentId, page: &Page) -> Result<Slice<EntityId>, StoreError>;
    /// Records that the caller viewed an own document.
    ///
    /// # Errors
    /// `NotFound` if the document is not the caller's.
    async fn view_document(&self, caller: &Caller, document: DocumentId, now: Timestamp) -> Result<(), StoreError>;
    /// Records that the caller viewed a document of shared memory, which the caller could read.
    async fn view_shared_document(&self, caller: &Caller, document: DocumentId, now: Timestamp) -> Result<(), StoreError>;
    /// Returns when the caller last viewed documents of shared memory. Those that were not viewed are left out.
    async fn shared_views(&self, caller: &Caller, documents: &[DocumentId]) -> Result<Vec<(DocumentId, Timestamp)>, StoreError>;
}
