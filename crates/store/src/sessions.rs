//! Creates sessions.

use async_trait::async_trait;

use super::{Quota, UserStatements, reject_while_locked, use_quota};
use recall_domain::{Caller, Session, SessionId, Timestamp, UserId, UserText};

/// A session to insert.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// Its id.
    pub id: SessionId,
    /// Its title.
    pub title: Option<UserText>,
    /// The name of its event log.
    pub epoch: String,
    /// When it is created.
    pub now: Timestamp,
    /// Whether it stores a document.
    pub document: bool,
}

/// Statements on `sessions`.
#[async_trait]
pub trait SessionStatements: UserStatements {
    /// Inserts a session and returns it.
    async fn insert_session(&mut self, user: UserId, new: &NewSession) -> Result<Session, Self::Error>;
}

/// Creates a session.
///
/// # Errors
/// `BeingErased` or `BeingImported` if the user is locked, `QuotaUsed` if a visitor has no sessions left.
pub async fn create_session<T: SessionStatements>(tx: &mut T, caller: &Caller, new: &NewSession) -> Result<Session, T::Error> {
    tx.ensure_user(caller.user()).await?;
    reject_while_locked(tx, caller.user()).await?;
    use_quota(tx, caller, Quota::Sessions, 1).await?;
    tx.insert_session(caller.user(), new).await
}
