//! Personal access tokens, which scripts and agents of a user send instead of a login.

use super::{AccessTokenId, Timestamp, UserText};

/// A personal access token. Its secret is shown once, to its creator, and is not stored.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessToken {
    /// Identity.
    pub id: AccessTokenId,
    /// The name that its owner gave it.
    pub name: UserText,
    /// Its OAuth scopes, separated by spaces.
    pub scopes: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
    /// When it was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
}

/// The SHA-256 digest that identifies a token.
///
/// For a personal token it is the digest of the secret, which has 32 random bytes and so needs no slow hash. For an issuer's token it is
/// the digest of issuer and `jti`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenDigest(pub [u8; 32]);
