//! Deleting a session in steps: one with a hundred thousand messages must not keep others from writing meanwhile.

use async_trait::async_trait;

use super::{SessionDeleted, StoreError};
use recall_domain::{Caller, Evidence, Fact, SessionId, Timestamp};

/// What becomes of a fact that loses evidence, given all that is left, oldest first; `None` deletes it. An alias, because
/// `async_trait` would otherwise name the lifetimes of its arguments and no store could call it with its own rows.
pub type Reweigh<'a> = &'a (dyn Fn(&Fact, &[Evidence]) -> Option<Fact> + Send + Sync);

/// What is left of a hidden session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionRemainder {
    /// Perhaps something that facts or entities rest on.
    Knowledge,
    /// Rows that nothing shows.
    Rows,
    /// Nothing.
    Nothing,
}

/// What one step left, and what went with the session in all steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionDeletionStep {
    /// In all steps so far.
    pub deleted: SessionDeleted,
    /// What is left.
    pub left: SessionRemainder,
}

/// Deletes large sessions.
#[async_trait]
pub trait SessionDeletionStore: Send + Sync {
    /// Hides a session, in one short transaction: from then on it is for everybody as if it did not exist, and nothing is added to it,
    /// though its rows are still there. With a moment only if nobody wrote in it since. How many messages it has.
    ///
    /// # Errors
    /// `NotFound` when it is not the caller's, was used, or is hidden already.
    async fn hide_session(&self, caller: &Caller, id: SessionId, since: Option<Timestamp>, now: Timestamp) -> Result<u64, StoreError>;
    /// Deletes about `limit` rows of a hidden session, first those that say something, and in the end its row. Facts become what they
    /// would with [`delete_session`](super::SessionStore::delete_session). Each step counts itself, so anybody may make the next one.
    ///
    /// # Errors
    /// `NotFound` when no such session is hidden.
    async fn delete_hidden(
        &self,
        caller: &Caller,
        id: SessionId,
        now: Timestamp,
        limit: u32,
        reweigh: Reweigh<'_>,
    ) -> Result<SessionDeletionStep, StoreError>;
    /// Hidden sessions of all users that had no step since a moment, some of them. Like the job queue this makes callers.
    async fn hidden_sessions(&self, since: Timestamp) -> Result<Vec<(Caller, SessionId)>, StoreError>;
}
