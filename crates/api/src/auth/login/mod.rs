//! Browser login with OpenID Connect, as a backend for frontend.
//!
//! The browser gets a cookie with a random secret; tokens stay on the server. A login has the same user as a token of the same
//! issuer and subject.

pub(super) mod attempt;
mod claims;
mod client;
pub(super) mod cookies;
mod flow;
mod renew;
pub(crate) mod routes;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::http::{HeaderMap, header, request::Parts};
use chrono::TimeDelta;

use self::{attempt::Secret, claims::Expected, client::OidcClient};
use super::{
    authenticator::{AuthError, Authenticator},
    identity::{Identity, Permissions, Program, Proof},
    origin::{ForeignPage, Origin},
    token::{Provider, Tokens},
};
use recall_domain::{Caller, FrontEndKind, Login, Timestamp, TokenDigest};
use recall_ports::{BackgroundTasks, Clock, LoginStore, PostForms};

/// Path to which the issuer redirects the browser.
const CALLBACK: &str = "/auth/callback";
/// Minimum time between two updates of the last use.
const MIN_USE_INTERVAL: TimeDelta = TimeDelta::minutes(1);

/// Configuration of browser logins.
#[derive(Clone)]
pub struct LoginConfig {
    /// The OpenID provider, one of the issuers whose tokens are accepted.
    pub issuer: String,
    /// The client id of this server at the issuer.
    pub client_id: String,
    /// The client secret; without it this server is a public client.
    pub client_secret: Option<String>,
    /// The scopes to request, if the issuer lists them.
    pub scopes: Vec<String>,
    /// URL under which browsers reach this server, without a trailing slash.
    pub address: String,
    /// How long an unused login lasts.
    pub idle: Duration,
    /// Maximum lifetime of a login.
    pub lifetime: Duration,
}

/// Why the login configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoginConfigError {
    /// The issuer is not one of those whose tokens are accepted.
    #[error("{0} is not an issuer whose tokens are accepted")]
    UnknownIssuer(String),
    /// The address of this server is not an origin.
    #[error("the address of this server {0}")]
    Address(#[from] super::origin::NotAnOrigin),
}

/// Authenticates requests with login cookies, and passes requests with tokens to [`Tokens`].
#[derive(Clone)]
pub struct Logins(Arc<Inner>);

struct Inner {
    config: LoginConfig,
    origin: Origin,
    client: OidcClient,
    provider: Arc<Provider>,
    tokens: Arc<Tokens>,
    store: Arc<dyn LoginStore>,
    clock: Arc<dyn Clock>,
    background_tasks: BackgroundTasks,
}

impl fmt::Debug for Logins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logins").field("issuer", &self.0.config.issuer).finish_non_exhaustive()
    }
}

impl Logins {
    /// Creates the authenticator for one of the issuers of `tokens`.
    ///
    /// # Errors
    /// When `tokens` does not accept the issuer, or the address of this server is not an origin.
    pub fn new(
        config: LoginConfig,
        tokens: Arc<Tokens>,
        forms: Arc<dyn PostForms>,
        store: Arc<dyn LoginStore>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, LoginConfigError> {
        let provider = tokens.provider(&config.issuer).ok_or_else(|| LoginConfigError::UnknownIssuer(config.issuer.clone()))?.clone();
        let redirect = format!("{}{}", config.address, CALLBACK);
        let client = OidcClient::new(config.client_id.clone(), config.client_secret.clone(), redirect, forms);
        let origin = config.address.parse()?;
        Ok(Self(Arc::new(Inner { config, origin, client, provider, tokens, store, clock, background_tasks: BackgroundTasks::default() })))
    }

    /// Tasks that contact the issuer after the request has ended. The owner must stop them at shutdown.
    pub fn background_tasks(&self) -> &BackgroundTasks {
        &self.0.background_tasks
    }
}

impl Inner {
    /// Returns the requirements for ID tokens and logout tokens.
    fn expected(&self) -> Expected<'_> {
        Expected { issuer: &self.config.issuer, client_id: self.client.id(), now: self.clock.now(), skew: self.tokens.rules().skew }
    }

    fn idle_until(&self, now: Timestamp) -> Timestamp {
        now + TimeDelta::from_std(self.config.idle).unwrap_or(TimeDelta::days(1))
    }

    /// Finds an active login and renews it at the issuer if necessary.
    async fn find(self: &Arc<Self>, digest: TokenDigest) -> Result<Option<(Caller, Login)>, AuthError> {
        let found = self.store.login(digest, self.clock.now()).await.map_err(unavailable)?;
        match found {
            Some((caller, login)) => self.renew_if_due(caller, login).await,
            None => Ok(None),
        }
    }
}

fn unavailable(error: impl std::error::Error + Send + Sync + 'static) -> AuthError {
    AuthError::Unavailable(Box::new(error))
}

/// Reads the secret from the login cookie; `None` if the request comes from a foreign page.
fn read_login_secret(headers: &HeaderMap, foreign: bool) -> Option<Secret> {
    if foreign { None } else { cookies::read(headers, cookies::LOGIN).and_then(Secret::parse) }
}

#[async_trait]
impl Authenticator for Logins {
    async fn authenticate(&self, parts: &Parts) -> Result<Identity, AuthError> {
        let inner = &self.0;
        if parts.headers.contains_key(header::AUTHORIZATION) {
            return inner.tokens.authenticate(parts).await;
        }
        // A page of an allowed origin may call the API with its own token, but not with the user's cookie.
        let foreign = parts.extensions.get::<ForeignPage>().is_some();
        let secret = read_login_secret(&parts.headers, foreign).ok_or(AuthError::Missing)?;
        let digest = secret.digest();
        // The cookie of an ended login counts as missing, not as invalid, so that the pages still load.
        let (caller, login) = inner.find(digest).await?.ok_or(AuthError::Missing)?;
        let idle_until = inner.idle_until(inner.clock.now()).min(login.expires_at);
        if idle_until - login.idle_until >= MIN_USE_INTERVAL {
            inner.store.use_login(digest, idle_until).await.map_err(unavailable)?;
        }
        Ok(Identity {
            caller,
            permissions: Permissions::of_scopes(login.scopes.split(' ')),
            manages_tokens: true,
            until: Some(inner.tokens.stream_deadline(login.expires_at, inner.config.lifetime)),
            proof: Some(Arc::new(LoginProof { inner: inner.clone(), digest })),
            csrf: Some(secret.csrf().into()),
            address: None,
            program: Some(Program { kind: FrontEndKind::Login, name: None }),
        })
    }

    async fn authorize(&self, credentials: &str) -> Option<Result<Identity, AuthError>> {
        self.0.tokens.authorize(credentials).await
    }

    fn reads_credentials(&self) -> bool {
        true
    }
}

/// A login as the proof of a stream. A stream does not count as use, so an open page does not prolong the login.
struct LoginProof {
    inner: Arc<Inner>,
    digest: TokenDigest,
}

#[async_trait]
impl Proof for LoginProof {
    async fn is_revoked(&self) -> bool {
        matches!(self.inner.find(self.digest).await, Ok(None))
    }
}
