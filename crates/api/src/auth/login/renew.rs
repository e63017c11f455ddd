//! Renews logins at the issuer.
//!
//! When the access token has expired, the server exchanges the refresh token. If the issuer refuses, the login ends: the user may
//! have lost access, or the refresh token may have been used by someone else.

use std::{sync::Arc, time::Duration};

use chrono::TimeDelta;
use serde_json::Value;

use super::{
    Inner,
    client::{ExchangeError, TokenSet},
    flow::granted_scopes,
    unavailable,
};
use crate::auth::{
    authenticator::{AuthError, refused},
    token::{ProviderMetadata, claims::user_id},
};
use recall_domain::{Caller, Login, ProviderToken, Renewal, Timestamp, ViewerRole};
use recall_ports::Renewed;

/// How long one server may take for a renewal, and the minimum time between two attempts.
const RENEWAL_TIMEOUT: TimeDelta = TimeDelta::seconds(20);
/// How long a login continues while the issuer cannot be reached; the same as for its keys.
const MAX_ISSUER_OUTAGE: TimeDelta = TimeDelta::hours(1);
/// Default lifetime of an access token.
const DEFAULT_TOKEN_LIFETIME: Duration = Duration::from_secs(3600);

/// The issuer has not been reached for too long, so the login cannot be confirmed.
#[derive(Debug, thiserror::Error)]
#[error("the issuer has not been reached for an hour")]
struct IssuerUnreachable;

impl Inner {
    /// Renews a login if its renewal is due; `None` when it has ended.
    pub(super) async fn renew_if_due(self: &Arc<Self>, caller: Caller, login: Login) -> Result<Option<(Caller, Login)>, AuthError> {
        let now = self.clock.now();
        let Some(due) = login.renewal.as_ref().map(|r| r.at).filter(|at| *at <= now) else { return Ok(Some((caller, login))) };
        let until = now + RENEWAL_TIMEOUT;
        if let Some(token) = self.store.claim_renewal(login.digest, now, until).await.map_err(unavailable)? {
            let (inner, held) = (self.clone(), login.clone());
            // A background task: the exchange uses up the refresh token, so it must complete even if the client disconnects.
            let renewing = self.background_tasks.run(async move { inner.renew(caller, &held, token, until).await });
            match renewing.await.map_err(unavailable)? {
                None => return Err(unavailable(IssuerUnreachable)),
                Some(Ok(true)) => return self.store.login(login.digest, now).await.map_err(unavailable),
                Some(Ok(false)) => return Ok(None),
                Some(Err(error)) => tracing::warn!(issuer = self.config.issuer, %error, "cannot renew a login"),
            }
        }
        // Another server is renewing the login, or the issuer cannot be reached.
        if now < due + MAX_ISSUER_OUTAGE { Ok(Some((caller, login))) } else { Err(unavailable(IssuerUnreachable)) }
    }

    /// Exchanges the refresh token and stores the result. `false` when the login has ended.
    async fn renew(&self, caller: Caller, login: &Login, token: ProviderToken, claimed_until: Timestamp) -> Result<bool, RenewError> {
        let metadata = self.provider.metadata().await?;
        let refusal = match self.client.refresh(&metadata, &token).await {
            Ok(tokens) => match self.verified_role(caller, &metadata, &tokens).await {
                Ok(role) => {
                    let renewal = self.renewal_of(&tokens).unwrap_or_else(|| Renewal { token, at: self.next_renewal(&tokens) });
                    let granted = tokens.scopes.as_deref();
                    let scopes =
                        granted.map_or_else(|| login.scopes.clone(), |_| granted_scopes(&self.requested_scopes(&metadata), granted));
                    let renewed = Renewed { role, scopes, renewal };
                    metrics::counter!("recall_login_renewals_total", "result" => "renewed").increment(1);
                    return Ok(self.store.renew_login(login.digest, claimed_until, &renewed).await?);
                }
                Err(AuthError::Invalid | AuthError::Missing) => "id_token",
                Err(error) => return Err(error.into()),
            },
            Err(ExchangeError::Refused(why)) => why,
            Err(error) => return Err(error.into()),
        };
        metrics::counter!("recall_login_renewals_total", "result" => "refused").increment(1);
        tracing::info!(reason = refusal, "the issuer ended a login");
        self.store.end_login(login.digest).await?;
        Ok(false)
    }

    /// Verifies that the new tokens are those of the same user, and returns the role.
    async fn verified_role(&self, caller: Caller, metadata: &ProviderMetadata, tokens: &TokenSet) -> Result<ViewerRole, AuthError> {
        let Some(id_token) = &tokens.id else { return self.role_without_id_token(caller, metadata, tokens).await };
        let (person, claims) = self.verify_id_token(id_token, None).await?;
        if person.user != caller.user() {
            return Err(refused("subject"));
        }
        Ok(self.role(&person, &claims, tokens).await)
    }

    /// Returns the role for a renewal without an ID token.
    ///
    /// It reads the access token, or else the userinfo endpoint.
    ///
    /// The previous role does not count, because the issuer may have revoked it. Without a valid response, the role is `User` until
    /// the next renewal.
    async fn role_without_id_token(&self, caller: Caller, metadata: &ProviderMetadata, tokens: &TokenSet) -> Result<ViewerRole, AuthError> {
        let access = self.tokens.verify(&tokens.access).await.ok().filter(|i| i.caller.user() == caller.user());
        if access.is_some_and(|identity| identity.caller.role() == ViewerRole::Admin) {
            return Ok(ViewerRole::Admin);
        }
        let Some(claims) = self.client.userinfo(metadata, &tokens.access).await else { return Ok(ViewerRole::User) };
        if claims.get("sub").and_then(Value::as_str).map(|subject| user_id(&self.config.issuer, subject)) != Some(caller.user()) {
            return Err(refused("subject"));
        }
        Ok(if self.tokens.rules().is_admin(&claims) { ViewerRole::Admin } else { ViewerRole::User })
    }

    /// Returns the next renewal, if the issuer returned a refresh token.
    pub(super) fn renewal_of(&self, tokens: &TokenSet) -> Option<Renewal> {
        Some(Renewal { token: tokens.refresh.clone()?, at: self.next_renewal(tokens) })
    }

    fn next_renewal(&self, tokens: &TokenSet) -> Timestamp {
        let lasts = tokens.expires_in.unwrap_or(DEFAULT_TOKEN_LIFETIME).min(self.config.lifetime);
        self.clock.now() + TimeDelta::from_std(lasts).unwrap_or(TimeDelta::hours(1))
    }
}

#[derive(Debug, thiserror::Error)]
enum RenewError {
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    #[error(transparent)]
    Auth(#[from] AuthError),
    #[error(transparent)]
    Store(#[from] recall_ports::StoreError),
}
