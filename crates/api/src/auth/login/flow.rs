//! Login flow: the browser goes to the issuer and returns with a code, which the server exchanges for tokens.

use std::sync::Arc;

use axum::http::StatusCode;
use chrono::TimeDelta;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    Inner,
    attempt::{Attempt, Secret},
    claims::Person,
    client::{ExchangeError, TokenSet},
};
use crate::{
    auth::{
        authenticator::{AuthError, refused},
        identity::Permission,
        token::ProviderMetadata,
    },
    error::ApiError,
};
use recall_domain::{Caller, Login, UserText, ViewerRole};

/// Query parameters of the callback.
#[derive(Deserialize)]
pub(crate) struct CallbackParameters {
    #[serde(default)]
    state: String,
    code: Option<String>,
    iss: Option<String>,
    error: Option<String>,
}

/// Maximum length of a code.
const MAX_CODE: usize = 4 * 1024;

fn login_failed(code: &'static str, message: &str) -> ApiError {
    metrics::counter!("recall_logins_total", "result" => code).increment(1);
    ApiError::refused(StatusCode::BAD_REQUEST, code, message)
}

fn unavailable(error: impl std::error::Error + Send + Sync + 'static) -> ApiError {
    ApiError::unavailable(std::time::Duration::from_secs(5), Arc::new(error) as Arc<_>)
}

#[derive(Debug, thiserror::Error)]
#[error("the issuer's discovery document names no authorization_endpoint")]
struct NoLoginEndpoint;

impl Inner {
    /// Starts a login. Returns the authorization URL and the attempt for the cookie.
    pub(super) async fn begin(&self, return_to: &str) -> Result<(String, Attempt), ApiError> {
        let metadata = self.provider.metadata().await?;
        let attempt = Attempt::new(self.clock.now(), return_to).map_err(|e| ApiError::internal(Arc::new(e) as Arc<_>))?;
        let address = self
            .client
            .authorization(&metadata, &attempt, &self.requested_scopes(&metadata))
            .ok_or_else(|| unavailable(NoLoginEndpoint))?;
        Ok((address, attempt))
    }

    /// Returns the scopes to request. Scopes that the issuer does not list are left out, because some issuers refuse them.
    pub(super) fn requested_scopes(&self, metadata: &ProviderMetadata) -> Vec<String> {
        let known = |scope: &String| metadata.scopes_supported.as_ref().is_none_or(|all| all.contains(scope));
        self.config.scopes.iter().filter(|scope| *scope == "openid" || known(scope)).cloned().collect()
    }

    /// Completes a login and returns the secret for the login cookie.
    pub(super) async fn finish(&self, attempt: &Attempt, parameters: CallbackParameters) -> Result<Secret, ApiError> {
        if !attempt.matches_state(&parameters.state) {
            return Err(login_failed("LOGIN_STATE_MISMATCH", "This login was started in another window. Log in again."));
        }
        let metadata = self.provider.metadata().await?;
        // Prevents the mix-up attack, in which the code of one issuer is sent to another (RFC 9207).
        let names_itself = metadata.authorization_response_iss_parameter_supported == Some(true);
        if parameters.iss.as_deref().map_or(names_itself, |iss| iss != self.config.issuer) {
            return Err(login_failed("LOGIN_WRONG_ISSUER", "The response does not come from the login provider. Log in again."));
        }
        if parameters.error.is_some() {
            return Err(login_failed("LOGIN_DENIED", "The login provider did not let you in. Log in again, or ask its administrator."));
        }
        let refused = || login_failed("LOGIN_CODE_REFUSED", "The login provider does not know this login. Log in again.");
        let code = parameters.code.filter(|code| !code.is_empty() && code.len() <= MAX_CODE).ok_or_else(refused)?;
        let tokens = match self.client.exchange(&metadata, &code, attempt.verifier()).await {
            Ok(tokens) => tokens,
            Err(ExchangeError::Refused(reason)) => {
                tracing::info!(reason, "the issuer refused a login");
                return Err(refused());
            }
            Err(error) => return Err(unavailable(error)),
        };
        let invalid = || login_failed("LOGIN_TOKEN_INVALID", "The login provider's response is invalid. Log in again.");
        let id_token = tokens.id.as_deref().ok_or_else(invalid)?;
        let (person, claims) = match self.verify_id_token(id_token, Some(&attempt.nonce())).await {
            Err(AuthError::Invalid | AuthError::Missing) => return Err(invalid()),
            told => told?,
        };
        let role = self.role(&person, &claims, &tokens).await;
        let scopes = granted_scopes(&self.requested_scopes(&metadata), tokens.scopes.as_deref());
        self.create_login(person, role, scopes, &tokens).await
    }

    async fn create_login(&self, person: Person, role: ViewerRole, scopes: String, tokens: &TokenSet) -> Result<Secret, ApiError> {
        // Always a new secret, so that an old cookie gives no access to the new login (session fixation).
        let secret = Secret::fresh().map_err(|e| ApiError::internal(Arc::new(e) as Arc<_>))?;
        let now = self.clock.now();
        let expires_at = now + TimeDelta::from_std(self.config.lifetime).unwrap_or(TimeDelta::days(7));
        let login = Login {
            digest: secret.digest(),
            issuer: self.config.issuer.clone(),
            provider_session: person.session,
            name: person.name.map(UserText::from),
            scopes,
            renewal: self.renewal_of(tokens),
            created_at: now,
            idle_until: self.idle_until(now).min(expires_at),
            expires_at,
        };
        self.store.begin_login(&Caller::verified(person.user, role), &login).await?;
        metrics::counter!("recall_logins_total", "result" => "begun").increment(1);
        Ok(secret)
    }

    /// Verifies an ID token. Returns its user and its claims.
    pub(super) async fn verify_id_token(&self, id_token: &str, nonce: Option<&str>) -> Result<(Person, Map<String, Value>), AuthError> {
        let header = self.tokens.header(id_token)?;
        if header.typ.as_deref().is_some_and(|typ| !typ.eq_ignore_ascii_case("jwt")) {
            return Err(refused("type"));
        }
        let claims = self.provider.verify_signature(id_token, &header).await?;
        let person = self.expected().person(&claims, nonce).map_err(refused)?;
        Ok((person, claims))
    }

    /// Reads the role from the ID token or the access token.
    ///
    /// The access token counts only if it is meant for this server.
    pub(super) async fn role(&self, person: &Person, claims: &Map<String, Value>, tokens: &TokenSet) -> ViewerRole {
        if self.tokens.rules().is_admin(claims) {
            return ViewerRole::Admin;
        }
        match self.tokens.verify(&tokens.access).await {
            Ok(identity) if identity.caller.user() == person.user => identity.caller.role(),
            _ => ViewerRole::User,
        }
    }
}

/// Returns the scopes of this server that were requested and granted.
///
/// If the issuer knows none of them, a login has all of them, within the limits of the role.
pub(super) fn granted_scopes(requested_scopes: &[String], granted: Option<&[String]>) -> String {
    let ours = Permission::ALL.map(Permission::scope);
    let has = |list: &[String], scope: &str| list.iter().any(|s| s == scope);
    let requested_scopes: Vec<_> = ours.into_iter().filter(|scope| has(requested_scopes, scope)).collect();
    match requested_scopes.is_empty() {
        true => ours.join(" "),
        false => {
            requested_scopes.into_iter().filter(|scope| granted.is_none_or(|granted| has(granted, scope))).collect::<Vec<_>>().join(" ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn login_has_requested_and_granted_scopes() {
        let list = |scopes: &str| scopes.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let all = "recall.read recall.write recall.admin";
        for (requested_scopes, granted, expected) in [
            ("openid", Some("openid"), all),
            ("openid", None, all),
            ("openid recall.read recall.write", None, "recall.read recall.write"),
            ("openid recall.read recall.write", Some("recall.read openid"), "recall.read"),
            ("openid recall.read", Some("openid"), ""),
            ("openid recall.read", Some(all), "recall.read"),
        ] {
            assert_eq!(granted_scopes(&list(requested_scopes), granted.map(list).as_deref()), expected, "{requested_scopes}: {granted:?}");
        }
    }
}
