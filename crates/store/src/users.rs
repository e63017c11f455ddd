//! The state of a user: the locks of a deletion or an import, and the quota of a visit.

use async_trait::async_trait;

use super::{Refusal, Transaction};
use recall_domain::{Caller, UserId, ViewerRole};

/// What keeps a user's data from being written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserLock {
    /// All data is being deleted.
    pub erasing: bool,
    /// An archive is being imported.
    pub importing: bool,
}

/// What a visit may store only so many of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quota {
    /// Messages. Storing one also ends the time in which an empty visit may be evicted.
    Messages,
    /// Sessions.
    Sessions,
}

/// Statements on `users` and `visits`.
#[async_trait]
pub trait UserStatements: Transaction {
    /// Inserts a user, unless it exists.
    async fn ensure_user(&mut self, user: UserId) -> Result<(), Self::Error>;
    /// Returns the locks of a user; `None` if the user is unknown.
    async fn user_lock(&mut self, user: UserId) -> Result<Option<UserLock>, Self::Error>;
    /// Takes from the quota of a visitor. Returns false, and takes nothing, if less is left.
    async fn take_quota(&mut self, user: UserId, quota: Quota, count: u64) -> Result<bool, Self::Error>;
}

/// Refuses a write while the user's data is being deleted.
///
/// # Errors
/// `BeingErased`.
pub async fn reject_while_deleting<T: UserStatements>(tx: &mut T, user: UserId) -> Result<(), T::Error> {
    match tx.user_lock(user).await? {
        Some(lock) if lock.erasing => Err(Refusal::BeingErased.into()),
        _ => Ok(()),
    }
}

/// Refuses a write while the user's data is being deleted or imported.
///
/// # Errors
/// `BeingErased` or `BeingImported`.
pub async fn reject_while_locked<T: UserStatements>(tx: &mut T, user: UserId) -> Result<(), T::Error> {
    match tx.user_lock(user).await? {
        Some(lock) if lock.erasing => Err(Refusal::BeingErased.into()),
        Some(lock) if lock.importing => Err(Refusal::BeingImported.into()),
        _ => Ok(()),
    }
}

/// Takes from the quota of a visitor. Other callers have no quota.
///
/// # Errors
/// `QuotaUsed` if less is left.
pub async fn use_quota<T: UserStatements>(tx: &mut T, caller: &Caller, quota: Quota, count: usize) -> Result<(), T::Error> {
    if caller.role() != ViewerRole::Anonymous || count == 0 || tx.take_quota(caller.user(), quota, count as u64).await? {
        return Ok(());
    }
    Err(Refusal::QuotaUsed.into())
}
