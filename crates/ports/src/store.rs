//! The store: sessions, messages, knowledge, jobs and event logs of all users.
//!
//! The store is the source of truth; the index, the graph engine and the streams are derived from it.
//!
//! Every function takes a [`Caller`] and touches only that user's rows, with these exceptions:
//! - [`JobQueue`], [`ChangeFeed`], [`Archive`] and [`VectorStore`] return the caller together with the user's work or data.
//! - [`AccountDeletionStore::unfinished_erasures`], [`SessionStore::unused_sessions`], [`SessionDeletionStore::hidden_sessions`] and
//!   [`ForgetStore::expired_forgettings`] return the callers whose data must still be deleted.
//! - [`AccessTokenStore::use_access_token`], [`LoginStore`] and [`VisitStore`] return the owner of a secret.
//! - Rows of [`RevocationStore`] and [`AuditLog`] belong to no user, and neither do files of [`FileRegistry`] that no document has.

use async_trait::async_trait;

use super::{
    AccessTokenStore, AccountDeletionStore, Archive, AuditLog, ChangeFeed, ComparisonStore, Connections, DocumentRelations, DocumentStore,
    EventLog, FileRegistry, ForgetStore, FrontEndStore, Inspect, JobQueue, KnowledgeStore, LoginStore, MessageStore, PassageStore,
    RevocationStore, Reweigh, SessionDeletionStore, SessionFilter, TopicStore, UsageStore, VectorStore, VisitStore,
};
use recall_domain::{Caller, Page, Session, SessionId, Slice, Timestamp, UserId, UserText};

/// The complete store.
pub trait Store:
    SessionStore
    + SessionDeletionStore
    + ForgetStore
    + MessageStore
    + DocumentStore
    + FileRegistry
    + ComparisonStore
    + DocumentRelations
    + PassageStore
    + TopicStore
    + KnowledgeStore
    + AccessTokenStore
    + FrontEndStore
    + RevocationStore
    + LoginStore
    + VisitStore
    + JobQueue
    + EventLog
    + UsageStore
    + AuditLog
    + AccountDeletionStore
    + ChangeFeed
    + Connections
    + Inspect
    + Archive
    + VectorStore
{
}
impl<T> Store for T where
    T: SessionStore
        + SessionDeletionStore
        + ForgetStore
        + MessageStore
        + DocumentStore
        + FileRegistry
        + ComparisonStore
        + DocumentRelations
        + PassageStore
        + TopicStore
        + KnowledgeStore
        + AccessTokenStore
        + FrontEndStore
        + RevocationStore
        + LoginStore
        + VisitStore
        + JobQueue
        + EventLog
        + UsageStore
        + AuditLog
        + AccountDeletionStore
        + ChangeFeed
        + Connections
        + Inspect
        + Archive
        + VectorStore
{
}

/// Why a store operation failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The row does not exist or belongs to another user. The two cases must look the same.
    #[error("not found")]
    NotFound,
    /// The pagination key does not come from this store.
    #[error("the cursor is not valid")]
    BadCursor,
    /// All data of the caller is being deleted. Until that ends, nothing new is stored.
    #[error("the data is being deleted")]
    BeingErased,
    /// An archive is being imported for the caller. Until that ends, nothing else is stored.
    #[error("the data is being imported")]
    BeingImported,
    /// A session of the caller is being deleted in steps. Until that ends, the user's data cannot be exported.
    #[error("a session is being deleted")]
    SessionBeingDeleted,
    /// The visitor has reached the limit of stored data.
    #[error("the visit may store no more")]
    QuotaUsed,
    /// May work later: busy, connection lost, disk full.
    #[error("the store is not available: {0}")]
    Transient(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A defect or a damaged store.
    #[error("the store failed: {0}")]
    Permanent(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// How much a user has written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// The number of sessions.
    pub sessions: u64,
    /// The number of messages written in them, including those that were deleted alone.
    pub messages: u64,
    /// When the last message was stored, or the last session created.
    pub latest: Option<Timestamp>,
}

/// Sessions. Those that store documents are in no list and no count.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Creates a session with an empty log. `epoch` names the log.
    async fn create_session(
        &self,
        caller: &Caller,
        id: SessionId,
        title: Option<UserText>,
        epoch: String,
        now: Timestamp,
    ) -> Result<Session, StoreError>;
    /// Returns sessions by id; unknown ids are left out.
    async fn sessions_by_id(&self, caller: &Caller, ids: &[SessionId]) -> Result<Vec<Session>, StoreError>;
    /// Changes what the user decides about a session, and returns it.
    ///
    /// # Errors
    /// `NotFound` if it is not the caller's.
    async fn update_session(&self, caller: &Caller, id: SessionId, update: &SessionUpdate, now: Timestamp) -> Result<Session, StoreError>;
    /// Returns the sessions that match, latest change first.
    async fn list_sessions(&self, caller: &Caller, filter: &SessionFilter, page: &Page) -> Result<Slice<Session>, StoreError>;
    /// Counts the sessions that match.
    async fn count_sessions(&self, caller: &Caller, filter: &SessionFilter) -> Result<u64, StoreError>;
    /// Returns how much the user has written in sessions, and when last.
    async fn activity(&self, caller: &Caller) -> Result<Activity, StoreError>;
    /// Returns whether remembering is paused for all messages of the user.
    async fn is_paused(&self, caller: &Caller) -> Result<bool, StoreError>;
    /// Pauses or resumes remembering for all messages of the user, from the next one on.
    async fn set_paused(&self, caller: &Caller, paused: bool, now: Timestamp) -> Result<(), StoreError>;
    /// Deletes a session with its messages, events, jobs and evidence, in one transaction.
    ///
    /// Facts that lose evidence are re-weighed by `reweigh`. It gets the fact and all remaining evidence, oldest first, and returns the new
    /// fact, or `None` to delete it. Entities without mentions and facts are deleted too.
    async fn delete_session(
        &self,
        caller: &Caller,
        id: SessionId,
        now: Timestamp,
        reweigh: Reweigh<'_>,
    ) -> Result<SessionDeleted, StoreError> {
        self.delete_session_unused_since(caller, id, None, now, reweigh).await
    }
    /// Deletes a session as [`Self::delete_session`] does. With `since`, it returns `NotFound` if somebody wrote in the session after it.
    async fn delete_session_unused_since(
        &self,
        caller: &Caller,
        id: SessionId,
        since: Option<Timestamp>,
        now: Timestamp,
        reweigh: Reweigh<'_>,
    ) -> Result<SessionDeleted, StoreError>;
    /// Returns sessions of all users in which nobody wrote since a moment, ordered by user and id, after a given one.
    ///
    /// Like the job queue, it creates callers instead of taking one.
    async fn unused_sessions(
        &self,
        since: Timestamp,
        after: Option<(UserId, SessionId)>,
        limit: u32,
    ) -> Result<Vec<(Caller, SessionId)>, StoreError>;
}

/// What changes in a session. Absent values stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionUpdate {
    /// The title.
    pub title: Option<UserText>,
    /// Whether it is pinned.
    pub pinned: Option<bool>,
    /// Whether it is archived.
    pub archived: Option<bool>,
    /// Whether remembering is paused in it, from the next message on.
    pub paused: Option<bool>,
}

/// What was deleted with a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SessionDeleted {
    /// Its messages.
    pub messages: u64,
    /// Facts without any other evidence.
    pub facts_deleted: u64,
    /// Facts with other evidence, which were re-weighed.
    pub facts_reweighed: u64,
    /// Entities without other mentions and facts.
    pub entities_deleted: u64,
}
