//! Browser logins. The browser holds a secret; the store holds its digest.

use std::fmt;

use super::{Timestamp, TokenDigest, UserText};

/// A login.
#[derive(Clone, Debug, PartialEq)]
pub struct Login {
    /// Digest of the secret in the browser's cookie. The secret itself is not stored.
    pub digest: TokenDigest,
    /// The issuer that authenticated the user.
    pub issuer: String,
    /// The issuer's id of its session with the browser (`sid`).
    pub provider_session: Option<String>,
    /// The person's name as given by the issuer.
    pub name: Option<UserText>,
    /// Its OAuth scopes, separated by spaces.
    pub scopes: String,
    /// How to check with the issuer that the login is still valid; `None` if it is not checked.
    pub renewal: Option<Renewal>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends unless it is used earlier; never after `expires_at`.
    pub idle_until: Timestamp,
    /// When it ends in any case.
    pub expires_at: Timestamp,
}

/// How to check with the issuer that a login is still valid.
#[derive(Clone, Debug, PartialEq)]
pub struct Renewal {
    /// The refresh token.
    pub token: ProviderToken,
    /// Time of the next check.
    pub at: Timestamp,
}

/// An issuer's token, stored for the server's own use. It never appears in logs.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderToken(pub String);

impl fmt::Debug for ProviderToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<token>")
    }
}
