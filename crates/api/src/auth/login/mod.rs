//! Login with a browser, where this server is the backend for its pages (backend for frontend): the browser gets a cookie with a
//! random secret, and everything else stays here. The issuer says who somebody is; a login names the same user as a token of
//! that issuer does.

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

use self::{attempt::Secret, claims::Expected, client::Client};
use super::{
    AuthError, Authenticator, Identity, Permissions, Proof,
    origin::{ForeignPage, Origin},
    token::{Provider, Tokens},
};
use recall_domain::{Caller, Login, Timestamp, TokenDigest};
use recall_ports::{BackgroundTasks, Clock, LoginStore, PostForms};

/// How often a use is noted.
const NOTED_EVERY: TimeDelta = TimeDelta::minutes(1);

/// How people log in.
#[derive(Clone)]
pub struct LoginConfig {
    /// The issuer that says who they are, one of those whose tokens are accepted.
    pub issuer: String,
    /// The name of this server at the issuer.
    pub client_id: String,
    /// Its secret there; without it, it is a public client.
    pub client_secret: Option<String>,
    /// The scopes that are asked for, as far as the issuer knows them.
    pub scopes: Vec<String>,
    /// Where browsers reach this server, without a slash at the end.
    pub address: String,
    /// How long a login lasts unused.
    pub idle: Duration,
    /// How long it lasts at most.
    pub lifetime: Duration,
}

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoginConfigError {
    /// The issuer is none of those whose tokens are read.
    #[error("{0} is not an issuer whose tokens are accepted")]
    UnknownIssuer(String),
    /// The address of this server is none.
    #[error("the address of this server {0}")]
    Address(#[from] super::origin::NotAnOrigin),
}

/// Knows who has logged in. Besides cookies it reads the tokens that [`Tokens`] reads.
#[derive(Clone)]
pub struct Logins(Arc<Inner>);

struct Inner {
    config: LoginConfig,
    origin: Origin,
    client: Client,
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
    /// Logins by way of one of the issuers of `tokens`.
    ///
    /// # Errors
    /// When the issuer is none of them, or the address of this server cannot be one.
    pub fn new(
        config: LoginConfig,
        tokens: Arc<Tokens>,
        forms: Arc<dyn PostForms>,
        store: Arc<dyn LoginStore>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, LoginConfigError> {
        let provider = tokens.provider(&config.issuer).ok_or_else(|| LoginConfigError::UnknownIssuer(config.issuer.clone()))?.clone();
        let redirect = format!("{}{}", config.address, routes::CALLBACK);
        let client = Client::new(config.client_id.clone(), config.client_secret.clone(), redirect, forms);
        let origin = config.address.parse()?;
        Ok(Self(Arc::new(Inner { config, origin, client, provider, tokens, store, clock, background_tasks: BackgroundTasks::default() })))
    }

    /// What is said to the issuer when whoever asked has gone, until whoever owns the logins ends it.
    pub fn background_tasks(&self) -> &BackgroundTasks {
        &self.0.background_tasks
    }
}

impl Inner {
    /// For whom tokens of the issuer must be.
    fn expected(&self) -> Expected<'_> {
        Expected { issuer: &self.config.issuer, client_id: self.client.id(), now: self.clock.now(), skew: self.tokens.rules().skew }
    }

    fn idle_until(&self, now: Timestamp) -> Timestamp {
        now + TimeDelta::from_std(self.config.idle).unwrap_or(TimeDelta::days(1))
    }

    /// A login that has not ended here, nor at the issuer as far as that was asked.
    async fn find(self: &Arc<Self>, digest: TokenDigest) -> Result<Option<(Caller, Login)>, AuthError> {
        let found = self.store.login(digest, self.clock.now()).await.map_err(unavailable)?;
        match found {
            Some((caller, login)) => self.renewed(caller, login).await,
            None => Ok(None),
        }
    }
}

fn unavailable(error: impl std::error::Error + Send + Sync + 'static) -> AuthError {
    AuthError::Unavailable(Box::new(error))
}

/// The secret in the cookie of a request that a page of this server, or nobody's page, has sent.
fn secret(headers: &HeaderMap, foreign: bool) -> Option<Secret> {
    if foreign { None } else { cookies::read(headers, cookies::LOGIN).and_then(Secret::parse) }
}

#[async_trait]
impl Authenticator for Logins {
    async fn authenticate(&self, parts: &Parts) -> Result<Identity, AuthError> {
        let inner = &self.0;
        if parts.headers.contains_key(header::AUTHORIZATION) {
            return inner.tokens.authenticate(parts).await;
        }
        // A page of another origin may be allowed to call, but as whoever it says itself and not as who sits at the browser.
        let foreign = parts.extensions.get::<ForeignPage>().is_some();
        let secret = secret(&parts.headers, foreign).ok_or(AuthError::Missing)?;
        let digest = secret.digest();
        // Who has logged out shows nothing, not something wrong: pages still open as they do for everybody.
        let (caller, login) = inner.find(digest).await?.ok_or(AuthError::Missing)?;
        let idle_until = inner.idle_until(inner.clock.now()).min(login.expires_at);
        if idle_until - login.idle_until >= NOTED_EVERY {
            inner.store.use_login(digest, idle_until).await.map_err(unavailable)?;
        }
        Ok(Identity {
            caller,
            permissions: Permissions::of_scopes(login.scopes.split(' ')),
            manages_tokens: true,
            until: Some(inner.tokens.end(login.expires_at, inner.config.lifetime)),
            proof: Some(Arc::new(Held { inner: inner.clone(), digest })),
            csrf: Some(secret.csrf().into()),
            address: None,
        })
    }

    async fn authorize(&self, credentials: &str) -> Option<Result<Identity, AuthError>> {
        self.0.tokens.authorize(credentials).await
    }

    fn reads_credentials(&self) -> bool {
        true
    }
}

/// A login, for streams that go on with it. They are no use of it: a page that is only open does not keep it from ending.
struct Held {
    inner: Arc<Inner>,
    digest: TokenDigest,
}

#[async_trait]
impl Proof for Held {
    async fn is_revoked(&self) -> bool {
        matches!(self.inner.find(self.digest).await, Ok(None))
    }
}
