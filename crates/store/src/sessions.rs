//! Creates and updates sessions.

use async_trait::async_trait;

use super::{MemoryLogStatements, Quota, Refusal, UserStatements, memory_log::record_change, reject_while_locked, use_quota};
use recall_domain::{
    Caller, EventBody, Session, SessionId, Timestamp, UserId, UserText,
    event::{SessionChanged, ViewerChanged},
    fold,
};
use recall_ports::SessionUpdate;

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

impl NewSession {
    /// The title in lower case, for searches.
    pub fn search(&self) -> Option<String> {
        self.title.as_ref().map(|title| fold(title.as_str()))
    }
}

/// Statements on `sessions`.
#[async_trait]
pub trait SessionStatements: UserStatements + MemoryLogStatements {
    /// Inserts a session and returns it.
    async fn insert_session(&mut self, user: UserId, new: &NewSession) -> Result<Session, Self::Error>;
    /// Changes a session and returns it; `None` if it is unknown or being deleted. `search` is the new title in lower case.
    async fn update_session(
        &mut self,
        user: UserId,
        session: SessionId,
        update: &SessionUpdate,
        search: Option<&str>,
    ) -> Result<Option<Session>, Self::Error>;
    /// Pauses or resumes remembering for all messages of a user. Returns whether this changed anything.
    async fn set_paused(&mut self, user: UserId, paused: bool) -> Result<bool, Self::Error>;
}

/// Creates a session.
///
/// # Errors
/// `BeingErased` or `BeingImported` if the user is locked, `QuotaUsed` if a visitor has no sessions left.
pub async fn create_session<T: SessionStatements>(tx: &mut T, caller: &Caller, new: &NewSession) -> Result<Session, T::Error> {
    tx.ensure_user(caller.user()).await?;
    reject_while_locked(tx, caller.user()).await?;
    let session = tx.insert_session(caller.user(), new).await?;
    record_update(tx, caller.user(), new.id, new.now).await?;
    // After the row of the user is locked, as when messages are stored.
    use_quota(tx, caller, Quota::Sessions, 1).await?;
    Ok(session)
}

/// Changes what the user decides about a session.
///
/// # Errors
/// `NotFound` if the session is unknown or being deleted, `BeingErased` or `BeingImported` if the user is locked.
pub async fn update_session<T: SessionStatements>(
    tx: &mut T,
    user: UserId,
    session: SessionId,
    update: &SessionUpdate,
    now: Timestamp,
) -> Result<Session, T::Error> {
    reject_while_locked(tx, user).await?;
    let search = update.title.as_ref().map(|title| fold(title.as_str()));
    let updated = tx.update_session(user, session, update, search.as_deref()).await?.ok_or(Refusal::NotFound)?;
    record_update(tx, user, session, now).await?;
    Ok(updated)
}

/// Pauses or resumes remembering for all messages of a user. Returns whether this changed anything.
///
/// # Errors
/// `BeingErased` or `BeingImported` if the user is locked.
pub async fn set_paused<T: SessionStatements>(tx: &mut T, user: UserId, paused: bool, now: Timestamp) -> Result<bool, T::Error> {
    tx.ensure_user(user).await?;
    reject_while_locked(tx, user).await?;
    let is_changed = tx.set_paused(user, paused).await?;
    if is_changed {
        record_change(tx, user, &EventBody::ViewerUpdate(ViewerChanged { paused }), now).await?;
    }
    Ok(is_changed)
}

async fn record_update<T: SessionStatements>(tx: &mut T, user: UserId, session_id: SessionId, now: Timestamp) -> Result<(), T::Error> {
    record_change(tx, user, &EventBody::SessionUpdate(SessionChanged { session_id }), now).await
}
