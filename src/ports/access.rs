//! Where personal access tokens are kept.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{AccessToken, AccessTokenId, Caller, SecretDigest, Timestamp};

/// Personal access tokens.
#[async_trait]
pub trait AccessTokenStore: Send + Sync {
    /// Keeps a new token.
    async fn create_access_token(&self, caller: &Caller, token: &AccessToken, digest: SecretDigest) -> Result<(), StoreError>;
    /// All tokens of the caller, the newest first.
    async fn access_tokens(&self, caller: &Caller) -> Result<Vec<AccessToken>, StoreError>;
    /// Forgets a token.
    async fn revoke_access_token(&self, caller: &Caller, id: AccessTokenId) -> Result<(), StoreError>;
    /// The token with this secret and whose it is, if it has not expired; notes, to the minute, that it was used. Like the job
    /// queue this makes a caller instead of taking one.
    async fn use_access_token(&self, digest: SecretDigest, now: Timestamp) -> Result<Option<(Caller, AccessToken)>, StoreError>;
}
