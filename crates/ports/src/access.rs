//! Stores personal access tokens, the front ends of users, and the revoked tokens of issuers.

use async_trait::async_trait;

use super::StoreError;
use recall_domain::{AccessToken, AccessTokenId, Caller, FrontEnd, Timestamp, TokenDigest, UsedFrontEnd};

/// Stores personal access tokens.
#[async_trait]
pub trait AccessTokenStore: Send + Sync {
    /// Stores a new token.
    async fn create_access_token(&self, caller: &Caller, token: &AccessToken, digest: TokenDigest) -> Result<(), StoreError>;
    /// Returns the caller's tokens, newest first.
    async fn access_tokens(&self, caller: &Caller) -> Result<Vec<AccessToken>, StoreError>;
    /// Deletes a token.
    async fn revoke_access_token(&self, caller: &Caller, id: AccessTokenId) -> Result<(), StoreError>;
    /// Returns the unexpired token with this secret, and its owner; records its use to the minute.
    ///
    /// Like the job queue, it creates a caller instead of taking one.
    async fn use_access_token(&self, digest: TokenDigest, now: Timestamp) -> Result<Option<(Caller, AccessToken)>, StoreError>;
}

/// Most front ends that are stored of one user. The one that was not used for the longest time goes first.
pub const MAX_FRONT_ENDS: u32 = 50;

/// Stores which front ends users have used.
#[async_trait]
pub trait FrontEndStore: Send + Sync {
    /// Records that the caller used a front end, and returns whether it did.
    ///
    /// It does nothing for a user who has no data, or whose data is being deleted or was deleted lately.
    async fn note_front_end(&self, caller: &Caller, front_end: &FrontEnd, now: Timestamp) -> Result<bool, StoreError>;
    /// Returns the caller's front ends, last used first.
    async fn front_ends(&self, caller: &Caller) -> Result<Vec<UsedFrontEnd>, StoreError>;
}

/// Stores the revoked tokens of issuers. They belong to no user, because their owner is not known here.
#[async_trait]
pub trait RevocationStore: Send + Sync {
    /// Revokes a token. The entry may be deleted after `until`, when the token has expired; of several ends, the latest counts.
    ///
    /// The caller's permission is checked before.
    async fn revoke_token(&self, caller: &Caller, token: TokenDigest, until: Option<Timestamp>) -> Result<(), StoreError>;
    /// Whether a token is revoked. Called before there is a caller.
    async fn is_revoked(&self, token: TokenDigest) -> Result<bool, StoreError>;
    /// Deletes entries of expired tokens. Returns their number.
    async fn forget_revoked(&self, now: Timestamp) -> Result<u64, StoreError>;
}
