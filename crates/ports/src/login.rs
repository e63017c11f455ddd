//! Stores browser logins.

use async_trait::async_trait;

use super::StoreError;
use recall_domain::{Caller, Login, ProviderToken, Renewal, Timestamp, TokenDigest, UserId, ViewerRole};

/// An issuer's reply to a renewal.
#[derive(Clone, Debug, PartialEq)]
pub struct Renewed {
    /// The new role of the user.
    pub role: ViewerRole,
    /// The new scopes of the login.
    pub scopes: String,
    /// How the next renewal works.
    pub renewal: Renewal,
}

/// The logins that an issuer ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoggedOut {
    /// The logins of one session at the issuer.
    Session(String),
    /// All logins of one user.
    User(UserId),
}

/// Stores logins, found by the digest of their secret. Like those for access tokens, these functions return the owner of a login.
#[async_trait]
pub trait LoginStore: Send + Sync {
    /// Stores a new login.
    async fn begin_login(&self, caller: &Caller, login: &Login) -> Result<(), StoreError>;
    /// Returns an active login and its owner.
    async fn login(&self, digest: TokenDigest, now: Timestamp) -> Result<Option<(Caller, Login)>, StoreError>;
    /// Records the use of a login: it ends no earlier than `idle_until`, and never after its expiry.
    async fn use_login(&self, digest: TokenDigest, idle_until: Timestamp) -> Result<(), StoreError>;
    /// Claims the renewal of a login until `until` and returns its refresh token.
    ///
    /// A refresh token can be used once, so only one request on one server may use it. Returns `None` if it is too early or another request
    /// holds the claim.
    async fn claim_renewal(&self, digest: TokenDigest, now: Timestamp, until: Timestamp) -> Result<Option<ProviderToken>, StoreError>;
    /// Stores the issuer's reply and releases the claim. Returns false if the claim was lost or the login has ended.
    async fn renew_login(&self, digest: TokenDigest, claimed_until: Timestamp, renewed: &Renewed) -> Result<bool, StoreError>;
    /// Ends a login. Returns whether it existed.
    async fn end_login(&self, digest: TokenDigest) -> Result<bool, StoreError>;
    /// Ends the logins of an issuer that began at or before `begun_by`. Returns their owners.
    async fn end_logins(&self, issuer: &str, of: &LoggedOut, begun_by: Timestamp) -> Result<Vec<UserId>, StoreError>;
    /// Deletes expired logins. Returns their number.
    async fn forget_logins(&self, now: Timestamp) -> Result<u64, StoreError>;
}
