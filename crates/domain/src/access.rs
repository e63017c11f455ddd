//! Personal access tokens: what scripts and agents of a user show instead of a login.

use super::{AccessTokenId, Timestamp, UserText};

/// What is known of a token. Its secret is shown once, to whoever makes it, and kept nowhere.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessToken {
    /// Identity.
    pub id: AccessTokenId,
    /// What its owner calls it.
    pub name: UserText,
    /// What it allows, as in OAuth: words with spaces between.
    pub scopes: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it is not accepted.
    pub expires_at: Timestamp,
    /// When it was last shown, to the minute.
    pub last_used_at: Option<Timestamp>,
}

/// The SHA-256 by which a token is known without being kept: of the secret of a personal one, which with its 32 random bytes
/// needs nothing slower; of issuer and `jti` of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenDigest(pub [u8; 32]);
