//! Logging in: the browser goes to the issuer and comes back with a code, which is exchanged for tokens.

use std::sync::Arc;

use axum::http::StatusCode;
use chrono::TimeDelta;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    Inner,
    attempt::{Attempt, Secret},
    claims::Person,
    client::{ExchangeError, Tokens},
};
use crate::{
    auth::{
        AuthError, Permission,
        token::{ProviderMetadata, refused},
    },
    error::ApiError,
};
use recall_domain::{Caller, Login, UserText, ViewerRole};

/// What the issuer sends the browser back with.
#[derive(Deserialize)]
pub(crate) struct Returned {
    #[serde(default)]
    state: String,
    code: Option<String>,
    iss: Option<String>,
    error: Option<String>,
}

/// Longest code; longer ones are work for nothing.
const MAX_CODE: usize = 4 * 1024;

fn failed(code: &'static str, message: &str) -> ApiError {
    metrics::counter!("recall_logins_total", "result" => code).increment(1);
    ApiError::refused(StatusCode::BAD_REQUEST, code, message)
}

fn away(error: impl std::error::Error + Send + Sync + 'static) -> ApiError {
    ApiError::unavailable(std::time::Duration::from_secs(5), Arc::new(error) as Arc<_>)
}

#[derive(Debug, thiserror::Error)]
#[error("the issuer's discovery document names no place to log in")]
struct NoPlace;

impl Inner {
    /// Begins a login: where the browser goes, and what it takes with it.
    pub(super) async fn begin(&self, return_to: &str) -> Result<(String, Attempt), ApiError> {
        let metadata = self.provider.metadata().await?;
        let attempt = Attempt::new(self.clock.now(), return_to).map_err(|e| ApiError::internal(Arc::new(e) as Arc<_>))?;
        let address = self.client.authorization(&metadata, &attempt, &self.asked(&metadata)).ok_or_else(|| away(NoPlace))?;
        Ok((address, attempt))
    }

    /// What the issuer is asked for: no scope that it says it does not know, as some refuse those who ask for one.
    pub(super) fn asked(&self, metadata: &ProviderMetadata) -> Vec<String> {
        let known = |scope: &String| metadata.scopes_supported.as_ref().is_none_or(|all| all.contains(scope));
        self.config.scopes.iter().filter(|scope| *scope == "openid" || known(scope)).cloned().collect()
    }

    /// Ends it with a login, if everything is as it was begun.
    pub(super) async fn finish(&self, attempt: &Attempt, returned: Returned) -> Result<Secret, ApiError> {
        if !attempt.is_state(&returned.state) {
            return Err(failed("LOGIN_STATE_MISMATCH", "This login was begun in another window. Log in again."));
        }
        let metadata = self.provider.metadata().await?;
        // Else the code of one issuer could be brought to another, which would learn it (RFC 9207).
        let names_itself = metadata.authorization_response_iss_parameter_supported == Some(true);
        if returned.iss.as_deref().map_or(names_itself, |iss| iss != self.config.issuer) {
            return Err(failed("LOGIN_WRONG_ISSUER", "The answer is not that of the login provider. Log in again."));
        }
        if returned.error.is_some() {
            return Err(failed("LOGIN_DENIED", "The login provider did not let you in. Log in again, or ask its administrator."));
        }
        let refused = || failed("LOGIN_CODE_REFUSED", "The login provider does not know this login. Log in again.");
        let code = returned.code.filter(|code| !code.is_empty() && code.len() <= MAX_CODE).ok_or_else(refused)?;
        let tokens = match self.client.exchange(&metadata, &code, attempt.verifier()).await {
            Ok(tokens) => tokens,
            Err(ExchangeError::Refused(reason)) => {
                tracing::info!(reason, "a login was refused by its issuer");
                return Err(refused());
            }
            Err(error) => return Err(away(error)),
        };
        let invalid = || failed("LOGIN_TOKEN_INVALID", "What the login provider said cannot be believed. Log in again.");
        let id_token = tokens.id.as_deref().ok_or_else(invalid)?;
        let (person, claims) = match self.person(id_token, Some(&attempt.nonce())).await {
            Err(AuthError::Invalid | AuthError::Missing) => return Err(invalid()),
            told => told?,
        };
        let role = self.role(&person, &claims, &tokens).await;
        let scopes = allowed(&self.asked(&metadata), tokens.scopes.as_deref());
        self.enter(person, role, scopes, &tokens).await
    }

    async fn enter(&self, person: Person, role: ViewerRole, scopes: String, tokens: &Tokens) -> Result<Secret, ApiError> {
        // Always a new one: whoever knew what the browser held before knows nothing of it.
        let secret = Secret::fresh().map_err(|e| ApiError::internal(Arc::new(e) as Arc<_>))?;
        let now = self.clock.now();
        let expires_at = now + TimeDelta::from_std(self.config.lifetime).unwrap_or(TimeDelta::days(7));
        let login = Login {
            digest: secret.digest(),
            issuer: self.config.issuer.clone(),
            provider_session: person.session,
            name: person.name.map(UserText::from),
            scopes,
            renewal: self.renewal(tokens),
            created_at: now,
            idle_until: self.idle_until(now).min(expires_at),
            expires_at,
        };
        self.store.begin_login(&Caller::verified(person.user, role), &login).await?;
        metrics::counter!("recall_logins_total", "result" => "begun").increment(1);
        Ok(secret)
    }

    /// Whom an ID token of the issuer names, with its claims.
    pub(super) async fn person(&self, id_token: &str, nonce: Option<&str>) -> Result<(Person, Map<String, Value>), AuthError> {
        let header = self.tokens.header(id_token)?;
        if header.typ.as_deref().is_some_and(|typ| !typ.eq_ignore_ascii_case("jwt")) {
            return Err(refused("type"));
        }
        let claims = self.provider.signed(id_token, &header).await?;
        let person = self.expected().person(&claims, nonce).map_err(refused)?;
        Ok((person, claims))
    }

    /// The role stands in the ID token, or in the access token where that is one for this server.
    pub(super) async fn role(&self, person: &Person, claims: &Map<String, Value>, tokens: &Tokens) -> ViewerRole {
        if self.tokens.rules().is_admin(claims) {
            return ViewerRole::Admin;
        }
        match self.tokens.verify(&tokens.access).await {
            Ok(identity) if identity.caller.user() == person.user => identity.caller.role(),
            _ => ViewerRole::User,
        }
    }
}

/// What a login allows: of the scopes of this server those that were asked for and granted; everything that the role allows, when
/// the issuer knows none of them.
pub(super) fn allowed(asked: &[String], granted: Option<&[String]>) -> String {
    let ours = Permission::ALL.map(Permission::scope);
    let has = |list: &[String], scope: &str| list.iter().any(|s| s == scope);
    let asked: Vec<_> = ours.into_iter().filter(|scope| has(asked, scope)).collect();
    match asked.is_empty() {
        true => ours.join(" "),
        false => asked.into_iter().filter(|scope| granted.is_none_or(|granted| has(granted, scope))).collect::<Vec<_>>().join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_allows_what_was_asked_for_and_granted() {
        let list = |scopes: &str| scopes.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let all = "recall.read recall.write recall.admin";
        for (asked, granted, expected) in [
            ("openid", Some("openid"), all),
            ("openid", None, all),
            ("openid recall.read recall.write", None, "recall.read recall.write"),
            ("openid recall.read recall.write", Some("recall.read openid"), "recall.read"),
            ("openid recall.read", Some("openid"), ""),
            ("openid recall.read", Some(all), "recall.read"),
        ] {
            assert_eq!(allowed(&list(asked), granted.map(list).as_deref()), expected, "{asked}: {granted:?}");
        }
    }
}
