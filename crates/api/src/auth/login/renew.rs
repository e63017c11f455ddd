//! Asking the issuer whether a login still holds: its refresh token is exchanged when the access token of before has ended. A
//! refusal ends the login, be it that the person may no longer come in or that somebody else has used the refresh token.

use std::{sync::Arc, time::Duration};

use chrono::TimeDelta;
use serde_json::Value;

use super::{
    Inner,
    client::{ExchangeError, Tokens},
    flow::allowed,
    unavailable,
};
use crate::auth::{
    AuthError,
    token::{ProviderMetadata, claims::user, refused},
};
use recall_domain::{Caller, Login, ProviderToken, Renewal, Timestamp, ViewerRole};
use recall_ports::Renewed;

/// How long one server has for it. The next attempt is made no sooner, so that an issuer that is down is left alone.
const CLAIMED_FOR: TimeDelta = TimeDelta::seconds(20);
/// How long a login goes on while the issuer cannot be asked; as long as its keys serve.
const USABLE_FOR: TimeDelta = TimeDelta::hours(1);
/// How long an access token is good when nothing is said.
const USUAL: Duration = Duration::from_secs(3600);

/// The issuer cannot say whether the login holds, and has not for long.
#[derive(Debug, thiserror::Error)]
#[error("the issuer has not been reached for an hour")]
struct NotAsked;

impl Inner {
    /// The login as the issuer sees it now; `None` when it has ended.
    pub(super) async fn renewed(self: &Arc<Self>, caller: Caller, login: Login) -> Result<Option<(Caller, Login)>, AuthError> {
        let now = self.clock.now();
        let Some(due) = login.renewal.as_ref().map(|r| r.at).filter(|at| *at <= now) else { return Ok(Some((caller, login))) };
        let until = now + CLAIMED_FOR;
        if let Some(token) = self.store.claim_renewal(login.digest, now, until).await.map_err(unavailable)? {
            let (inner, held) = (self.clone(), login.clone());
            // A task of its own: the refresh token is used up at the issuer even if whoever asked has hung up.
            let renewing = self.background_tasks.run(async move { inner.renew(caller, &held, token, until).await });
            match renewing.await.map_err(unavailable)? {
                None => return Err(unavailable(NotAsked)),
                Some(Ok(true)) => return self.store.login(login.digest, now).await.map_err(unavailable),
                Some(Ok(false)) => return Ok(None),
                Some(Err(error)) => tracing::warn!(issuer = self.config.issuer, %error, "a login could not be renewed"),
            }
        }
        // Somebody else is at it, or the issuer cannot be reached.
        if now < due + USABLE_FOR { Ok(Some((caller, login))) } else { Err(unavailable(NotAsked)) }
    }

    /// False when the login has ended.
    async fn renew(&self, caller: Caller, login: &Login, token: ProviderToken, claimed_until: Timestamp) -> Result<bool, RenewError> {
        let metadata = self.provider.metadata().await?;
        let refusal = match self.client.refresh(&metadata, &token).await {
            Ok(tokens) => match self.again(caller, &metadata, &tokens).await {
                Ok(role) => {
                    let renewal = self.renewal(&tokens).unwrap_or_else(|| Renewal { token, at: self.renew_at(&tokens) });
                    let granted = tokens.scopes.as_deref();
                    let scopes = granted.map_or_else(|| login.scopes.clone(), |_| allowed(&self.asked(&metadata), granted));
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

    /// The role that the new tokens prove. They must be those of the same person.
    async fn again(&self, caller: Caller, metadata: &ProviderMetadata, tokens: &Tokens) -> Result<ViewerRole, AuthError> {
        let Some(id_token) = &tokens.id else { return self.role_without_id_token(caller, metadata, tokens).await };
        let (person, claims) = self.person(id_token, None).await?;
        if person.user != caller.user() {
            return Err(refused("subject"));
        }
        Ok(self.role(&person, &claims, tokens).await)
    }

    /// The role that a renewal without an ID token proves, by its access token or by the issuer's userinfo endpoint.
    /// The role of before proves nothing, because the issuer may have taken it back. Without an answer the caller is a user until
    /// the next renewal.
    async fn role_without_id_token(&self, caller: Caller, metadata: &ProviderMetadata, tokens: &Tokens) -> Result<ViewerRole, AuthError> {
        let access = self.tokens.verify(&tokens.access).await.ok().filter(|i| i.caller.user() == caller.user());
        if access.is_some_and(|identity| identity.caller.role() == ViewerRole::Admin) {
            return Ok(ViewerRole::Admin);
        }
        let Some(claims) = self.client.userinfo(metadata, &tokens.access).await else { return Ok(ViewerRole::User) };
        if claims.get("sub").and_then(Value::as_str).map(|subject| user(&self.config.issuer, subject)) != Some(caller.user()) {
            return Err(refused("subject"));
        }
        Ok(if self.tokens.rules().is_admin(&claims) { ViewerRole::Admin } else { ViewerRole::User })
    }

    /// How the issuer is asked the next time, if it gave what is needed for that.
    pub(super) fn renewal(&self, tokens: &Tokens) -> Option<Renewal> {
        Some(Renewal { token: tokens.refresh.clone()?, at: self.renew_at(tokens) })
    }

    fn renew_at(&self, tokens: &Tokens) -> Timestamp {
        let lasts = tokens.expires_in.unwrap_or(USUAL).min(self.config.lifetime);
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
