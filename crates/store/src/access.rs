//! Creates personal access tokens, and decides what using one means.

use async_trait::async_trait;
use chrono::TimeDelta;

use super::{UserStatements, reject_while_deleting};
use recall_domain::{AccessToken, Caller, Timestamp, TokenDigest, UserId, ViewerRole};

/// How often the time of the last use is updated. Updating it on every request would make every request write.
pub const LAST_USE_PRECISION: TimeDelta = TimeDelta::minutes(1);

/// Statements on `access_tokens`.
#[async_trait]
pub trait AccessStatements: UserStatements {
    /// Inserts an access token.
    async fn insert_access_token(&mut self, user: UserId, token: &AccessToken, digest: TokenDigest) -> Result<(), Self::Error>;
}

/// Creates an access token.
///
/// # Errors
/// `BeingErased` while the user's data is being deleted.
pub async fn create_access_token<T: AccessStatements>(
    tx: &mut T,
    user: UserId,
    token: &AccessToken,
    digest: TokenDigest,
) -> Result<(), T::Error> {
    tx.ensure_user(user).await?;
    reject_while_deleting(tx, user).await?;
    tx.insert_access_token(user, token, digest).await
}

/// The caller that an access token stands for.
///
/// A token never carries its owner's administrator role: a stolen script must not become an administrator.
pub fn token_caller(owner: UserId) -> Caller {
    Caller::verified(owner, ViewerRole::User)
}

/// Whether the stored time of the last use is too old.
pub fn is_last_use_outdated(token: &AccessToken, now: Timestamp) -> bool {
    token.last_used_at.is_none_or(|at| now - at >= LAST_USE_PRECISION)
}
