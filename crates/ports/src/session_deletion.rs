//! Deletes a large session in steps, so that it does not block other writers.

use async_trait::async_trait;

use super::{SessionDeleted, StoreError};
use recall_domain::{Caller, Evidence, Fact, SessionId, Timestamp};

/// Returns the new state of a fact from its remaining evidence, oldest first; `None` deletes it.
///
/// It is an alias because `async_trait` would otherwise name the lifetimes of its arguments, and no store could pass its own rows.
pub type Reweigh<'a> = &'a (dyn Fn(&Fact, &[Evidence]) -> Option<Fact> + Send + Sync);

/// What remains of a hidden session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionRemainder {
    /// Possibly rows on which facts or entities depend.
    Knowledge,
    /// Rows that have no visible effect.
    Rows,
    /// Nothing.
    Nothing,
}

/// The state of a deletion after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionDeletionStep {
    /// Deleted rows in all steps so far.
    pub deleted: SessionDeleted,
    /// What remains.
    pub left: SessionRemainder,
}

/// Deletes large sessions.
#[async_trait]
pub trait SessionDeletionStore: Send + Sync {
    /// Hides a session in one short transaction. Returns the number of its messages.
    ///
    /// From then on it looks deleted to everybody and accepts no new data, although its rows still exist. With `since`, it is hidden only
    /// if
    /// nobody wrote in it after that moment.
    ///
    /// # Errors
    /// `NotFound` if it is not the caller's, was used, or is already hidden.
    async fn hide_session(&self, caller: &Caller, id: SessionId, since: Option<Timestamp>, now: Timestamp) -> Result<u64, StoreError>;
    /// Deletes about `limit` rows of a hidden session: first those that facts or entities depend on, last the session's row.
    ///
    /// Facts become the same as with [`delete_session`](super::SessionStore::delete_session). Each step updates the counts, so any process
    /// can make the next one.
    ///
    /// # Errors
    /// `NotFound` if no such session is hidden.
    async fn delete_hidden(
        &self,
        caller: &Caller,
        id: SessionId,
        now: Timestamp,
        limit: u32,
        reweigh: Reweigh<'_>,
    ) -> Result<SessionDeletionStep, StoreError>;
    /// Returns some hidden sessions of all users without a step since a moment. Like the job queue, it creates callers.
    async fn hidden_sessions(&self, since: Timestamp) -> Result<Vec<(Caller, SessionId)>, StoreError>;
}
