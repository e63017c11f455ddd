//! Where logins are kept: what the secrets in browsers' cookies stand for.

use async_trait::async_trait;

use super::StoreError;
use recall_domain::{Caller, Login, ProviderToken, Renewal, Timestamp, TokenDigest, UserId, ViewerRole};

/// What an issuer said when it was asked again.
#[derive(Clone, Debug, PartialEq)]
pub struct Renewed {
    /// What the person may be from now on.
    pub role: ViewerRole,
    /// What the login allows from now on.
    pub scopes: String,
    /// How it is asked the next time.
    pub renewal: Renewal,
}

/// Which logins an issuer ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoggedOut {
    /// Those of one of its sessions.
    Session(String),
    /// All of one person.
    User(UserId),
}

/// Logins. A login is found by the digest of its secret; like the personal access tokens these functions say whose it is
/// instead of being told.
#[async_trait]
pub trait LoginStore: Send + Sync {
    /// Keeps a new login.
    async fn begin_login(&self, caller: &Caller, login: &Login) -> Result<(), StoreError>;
    /// A login that has not ended, and whose it is.
    async fn login(&self, digest: TokenDigest, now: Timestamp) -> Result<Option<(Caller, Login)>, StoreError>;
    /// Notes that it was used: it ends no sooner than `idle_until`, and never after its expiry.
    async fn use_login(&self, digest: TokenDigest, idle_until: Timestamp) -> Result<(), StoreError>;
    /// The refresh token, for the one who may use it until `until`: refresh tokens are for one use, and of many requests on
    /// many servers only one must. `None` when it is too soon, or somebody else is at it.
    async fn claim_renewal(&self, digest: TokenDigest, now: Timestamp, until: Timestamp) -> Result<Option<ProviderToken>, StoreError>;
    /// Keeps what the issuer said and gives the claim back; false when the claim was lost or the login has ended.
    async fn renew_login(&self, digest: TokenDigest, claimed_until: Timestamp, renewed: &Renewed) -> Result<bool, StoreError>;
    /// Ends a login; whether there was one.
    async fn end_login(&self, digest: TokenDigest) -> Result<bool, StoreError>;
    /// Ends the logins by way of an issuer that are no younger than `begun_by`; whose there were.
    async fn end_logins(&self, issuer: &str, of: &LoggedOut, begun_by: Timestamp) -> Result<Vec<UserId>, StoreError>;
    /// Forgets those that have ended by themselves; how many.
    async fn forget_logins(&self, now: Timestamp) -> Result<u64, StoreError>;
}
