//! Logins: people who signed in with a browser. The browser holds a secret, the store what it stands for.

use std::fmt;

use super::{Timestamp, TokenDigest, UserText};

/// What is known of a login.
#[derive(Clone, Debug, PartialEq)]
pub struct Login {
    /// Of the secret in the browser's cookie, which is kept nowhere else.
    pub digest: TokenDigest,
    /// The issuer that said who it is.
    pub issuer: String,
    /// What the issuer calls its own session with the browser (`sid`).
    pub provider_session: Option<String>,
    /// What the issuer calls the person.
    pub name: Option<UserText>,
    /// What it allows, as in OAuth: words with spaces between.
    pub scopes: String,
    /// How the issuer is asked whether it still holds; without it the issuer is not asked again.
    pub renewal: Option<Renewal>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends unless it is used before; never after `expires_at`.
    pub idle_until: Timestamp,
    /// When it ends however much it is used.
    pub expires_at: Timestamp,
}

/// How the issuer is asked whether a login still holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Renewal {
    /// The refresh token.
    pub token: ProviderToken,
    /// From when on.
    pub at: Timestamp,
}

/// A token of an issuer, kept on its own behalf. It is shown in no log.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderToken(pub String);

impl fmt::Debug for ProviderToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<token>")
    }
}
