//! Personal access tokens for the scripts and agents of a user.

use std::sync::Arc;

use async_trait::async_trait;
use axum::http::StatusCode;
use chrono::TimeDelta;
use ring::{
    digest::{SHA256, digest},
    rand::{SecureRandom, SystemRandom},
};
use uuid::Builder;

use super::identity::{Identity, Permission, Proof};
use crate::error::ApiError;
use recall_domain::{AccessToken, AccessTokenId, Timestamp, TokenDigest, UserText};
use recall_ports::{AccessTokenStore, Clock};

/// Prefix of every token, so that people and secret scanners recognize it.
const PREFIX: &str = "recall_pat_";
/// Random bytes of a token, written as hexadecimal digits.
const SECRET_BYTES: usize = 32;
/// Maximum number of tokens of one user.
const MAX_TOKENS: usize = 50;
const MAX_NAME_CHARS: usize = 100;
/// Default lifetime of a token.
const DEFAULT_DAYS: i32 = 90;
/// Maximum lifetime of a token.
const MAX_DAYS: i32 = 366;

/// Properties of a token that is to be created.
pub(crate) struct NewAccessToken {
    pub(crate) name: String,
    pub(crate) scopes: Vec<String>,
    pub(crate) days: Option<i32>,
}

/// Whether the text has the form of a personal access token. No token of an issuer has it.
pub(super) fn is_personal_token(token: &str) -> bool {
    token
        .strip_prefix(PREFIX)
        .is_some_and(|rest| rest.len() == 2 * SECRET_BYTES && rest.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
}

pub(super) fn digest_of(secret: &str) -> TokenDigest {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest(&SHA256, secret.as_bytes()).as_ref());
    TokenDigest(bytes)
}

/// A personal access token as the proof of a stream.
pub(super) struct PersonalTokenProof {
    pub(super) store: Arc<dyn AccessTokenStore>,
    pub(super) digest: TokenDigest,
    pub(super) clock: Arc<dyn Clock>,
}

#[async_trait]
impl Proof for PersonalTokenProof {
    async fn is_revoked(&self) -> bool {
        matches!(self.store.use_access_token(self.digest, self.clock.now()).await, Ok(None))
    }
}

/// The personal access tokens of all users.
pub(crate) struct AccessTokens(pub(crate) Arc<dyn AccessTokenStore>);

impl AccessTokens {
    /// Returns the tokens of a user who may read and change them.
    ///
    /// # Errors
    /// 403 `ACCESS_TOKENS_FORBIDDEN` for other identities.
    pub(crate) fn managed_by<'t>(&'t self, identity: &'t Identity) -> Result<ManagedTokens<'t>, ApiError> {
        let message = "Access tokens can be managed only after a login. Log in first.";
        match identity.manages_tokens {
            true => Ok(ManagedTokens { store: &*self.0, identity }),
            false => Err(ApiError::refused(StatusCode::FORBIDDEN, "ACCESS_TOKENS_FORBIDDEN", message)),
        }
    }
}

/// The personal access tokens of one user.
pub(crate) struct ManagedTokens<'t> {
    store: &'t dyn AccessTokenStore,
    identity: &'t Identity,
}

impl ManagedTokens<'_> {
    /// Returns all tokens, newest first.
    pub(crate) async fn list(&self) -> Result<Vec<AccessToken>, ApiError> {
        Ok(self.store.access_tokens(&self.identity.caller).await?)
    }

    /// Revokes a token.
    ///
    /// # Errors
    /// 404 if it is not the user's.
    pub(crate) async fn revoke(&self, id: AccessTokenId) -> Result<(), ApiError> {
        Ok(self.store.revoke_access_token(&self.identity.caller, id).await?)
    }

    /// Creates a token with at most the permissions of the identity. Returns it with its secret, which is stored nowhere.
    ///
    /// # Errors
    /// When the name, the lifetime or the scopes are invalid, or the user has too many tokens.
    pub(crate) async fn create(&self, wanted: NewAccessToken, now: Timestamp) -> Result<(AccessToken, String), ApiError> {
        let name = wanted.name.trim();
        if name.is_empty() || name.chars().count() > MAX_NAME_CHARS {
            return Err(ApiError::invalid(
                "INVALID_NAME",
                format!("The name is empty or too long. Give it 1 to {MAX_NAME_CHARS} characters."),
                "input.name",
            ));
        }
        let days = wanted.days.unwrap_or(DEFAULT_DAYS);
        if !(1..=MAX_DAYS).contains(&days) {
            return Err(ApiError::invalid(
                "INVALID_EXPIRY",
                format!("The number of days is out of range. A token lives for 1 to {MAX_DAYS} days."),
                "input.expiresInDays",
            ));
        }
        let scopes = check_scopes(&wanted.scopes, self.identity)?;
        if self.list().await?.len() >= MAX_TOKENS {
            let message = format!("There are {MAX_TOKENS} access tokens already. Revoke one first.");
            return Err(ApiError::refused(StatusCode::CONFLICT, "TOO_MANY_ACCESS_TOKENS", message));
        }
        let (id, secret) = (random_bytes::<16>()?, random_bytes::<SECRET_BYTES>()?);
        let secret: String = std::iter::once(PREFIX.to_owned()).chain(secret.iter().map(|byte| format!("{byte:02x}"))).collect();
        let token = AccessToken {
            id: AccessTokenId(Builder::from_random_bytes(id).into_uuid()),
            name: UserText::from(name),
            scopes,
            created_at: now,
            expires_at: now + TimeDelta::days(days.into()),
            last_used_at: None,
        };
        self.store.create_access_token(&self.identity.caller, &token, digest_of(&secret)).await?;
        Ok((token, secret))
    }
}

fn check_scopes(wanted: &[String], identity: &Identity) -> Result<String, ApiError> {
    let mut scopes = Vec::new();
    for permission in [Permission::Read, Permission::Write] {
        if wanted.iter().any(|scope| scope == permission.scope()) {
            identity.require(permission)?;
            scopes.push(permission.scope());
        }
    }
    let known = wanted.iter().all(|scope| scopes.contains(&scope.as_str()));
    if scopes.is_empty() || !known {
        let message = "The scopes are not those of an access token. Give `recall.read`, `recall.write` or both.";
        return Err(ApiError::invalid("INVALID_SCOPES", message, "input.scopes"));
    }
    Ok(scopes.join(" "))
}

fn random_bytes<const N: usize>() -> Result<[u8; N], ApiError> {
    let mut bytes = [0; N];
    let unavailable = |_| ApiError::internal(Arc::new(std::io::Error::other("the system's random number generator failed")) as Arc<_>);
    SystemRandom::new().fill(&mut bytes).map_err(unavailable)?;
    Ok(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::auth::identity::Permissions;
    use recall_domain::{Caller, UserId, ViewerRole};

    #[test]
    fn only_personal_tokens_have_their_form() {
        let good = format!("{PREFIX}{}", "0f".repeat(SECRET_BYTES));
        assert!(is_personal_token(&good));
        for bad in ["", PREFIX, &good[1..], &good[..good.len() - 1], &format!("{good}0"), &good.to_uppercase(), "a.b.c"] {
            assert!(!is_personal_token(bad), "{bad}");
        }
    }

    #[test]
    fn token_cannot_exceed_permissions_of_its_creator() {
        let identity = |held: &[&str]| Identity {
            permissions: Permissions::of_scopes(held.iter().copied()),
            ..Caller::verified(UserId(uuid::Uuid::nil()), ViewerRole::Admin).into()
        };
        let ask = |wanted: &[&str], held: &[&str]| {
            check_scopes(&wanted.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>(), &identity(held)).map_err(|e| e.code())
        };
        let (read, write, admin) = ("recall.read", "recall.write", "recall.admin");
        assert_eq!(ask(&[write, read, read], &[read, write]).as_deref(), Ok("recall.read recall.write"));
        assert_eq!(ask(&[read], &[write]), Err("INSUFFICIENT_SCOPE"));
        assert_eq!(ask(&[read, write], &[read]), Err("INSUFFICIENT_SCOPE"));
        for bad in [&[][..], &[admin], &[read, admin], &["recall.reads"], &["recall.read recall.write"]] {
            assert_eq!(ask(bad, &[read, write, admin]), Err("INVALID_SCOPES"), "{bad:?}");
        }
    }
}
