//! Where personal access tokens are kept, and which tokens of issuers are believed no more.

use async_trait::async_trait;

use super::StoreError;
use recall_domain::{AccessToken, AccessTokenId, Caller, Timestamp, TokenDigest};

/// Personal access tokens.
#[async_trait]
pub trait AccessTokenStore: Send + Sync {
    /// Keeps a new token.
    async fn create_access_token(&self, caller: &Caller, token: &AccessToken, digest: TokenDigest) -> Result<(), StoreError>;
    /// All tokens of the caller, the newest first.
    async fn access_tokens(&self, caller: &Caller) -> Result<Vec<AccessToken>, StoreError>;
    /// Forgets a token.
    async fn revoke_access_token(&self, caller: &Caller, id: AccessTokenId) -> Result<(), StoreError>;
    /// The token with this secret and whose it is, if it has not expired; notes, to the minute, that it was used. Like the job
    /// queue this makes a caller instead of taking one.
    async fn use_access_token(&self, digest: TokenDigest, now: Timestamp) -> Result<Option<(Caller, AccessToken)>, StoreError>;
}

/// Tokens of issuers that are believed no more, whatever they say themselves. They belong to no user of the store: who they
/// were given to is not known here.
#[async_trait]
pub trait RevocationStore: Send + Sync {
    /// Notes that a token is believed no more; from `until` on, when it has expired by itself, that may be forgotten. Noted
    /// again, the later end counts. Whether the caller may is checked before.
    async fn revoke_token(&self, caller: &Caller, token: TokenDigest, until: Option<Timestamp>) -> Result<(), StoreError>;
    /// Whether it is. Asked before there is a caller.
    async fn is_revoked(&self, token: TokenDigest) -> Result<bool, StoreError>;
    /// Forgets what has expired by itself; how many.
    async fn forget_revoked(&self, now: Timestamp) -> Result<u64, StoreError>;
}
