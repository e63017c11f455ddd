//! Builds the authenticator from the configuration.
//!
//! Without a login every caller is the local user. Otherwise callers show a token, and where configured, the cookie of a login or a
//! visit.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context;
use async_trait::async_trait;
use tokio::{sync::Mutex, time::Instant};

use crate::config::Config;
use crate::{http_client::WebDocuments, system::RandomIds};
use recall_api::{
    Authenticator, Check, FrontendConfig, Frontends, Introspection, LocalUser, LoginConfig, Logins, ProtectedResource, TokenConfig, Tokens,
    VisitConfig, Visits,
};
use recall_domain::UserId;
use recall_ports::{Clock, Fetch, Store};

const NO_CLIENT: &str = "auth.issuers cannot be contacted: TLS cannot be set up. Install CA certificates (package ca-certificates), or \
    name a file of them in SSL_CERT_FILE";

/// The authenticator, with browser logins and visits if they are configured.
pub(super) struct AuthSetup {
    pub(super) authenticator: Arc<dyn Authenticator>,
    pub(super) logins: Option<Logins>,
    pub(super) visits: Option<Visits>,
}

/// Builds the authenticator for a server at `address`.
pub(super) async fn setup(
    config: &Config,
    scheme: &str,
    address: SocketAddr,
    store: &Arc<dyn Store>,
    clock: &Arc<dyn Clock>,
) -> anyhow::Result<AuthSetup> {
    let (authenticator, logins) = setup_logins(config, scheme, address, store, clock).await?;
    let authenticator = with_frontends(config, authenticator, clock)?;
    if !config.anonymous.enabled {
        return Ok(AuthSetup { authenticator, logins, visits: None });
    }
    let settings = VisitConfig {
        lasts: config.retention.anonymous(),
        most: u64::from(config.anonymous.visits),
        most_of_origin: u64::from(config.anonymous.visits_per_address),
        messages: config.anonymous.messages,
        sessions: config.anonymous.sessions,
    };
    let visits = Visits::new(settings, authenticator, store.clone(), clock.clone(), Arc::new(RandomIds::default()));
    Ok(AuthSetup { authenticator: Arc::new(visits.clone()), logins, visits: Some(visits) })
}

/// Accepts the key of front ends too, if one is configured.
fn with_frontends(config: &Config, others: Arc<dyn Authenticator>, clock: &Arc<dyn Clock>) -> anyhow::Result<Arc<dyn Authenticator>> {
    let frontend = &config.frontend;
    let Some(key) = &frontend.key else { return Ok(others) };
    let settings = FrontendConfig {
        key: key.expose().to_owned(),
        user_header: frontend.user_header.parse().context("frontend.user_header (RECALL_FRONTEND_USER_HEADER)")?,
        user_secret: frontend.user_secret.as_ref().map(|secret| secret.expose().to_owned()),
        unsigned_user: frontend.unsigned_user,
        clock_skew: config.auth.clock_skew(),
    };
    Ok(Arc::new(Frontends::new(settings, others, clock.clone())))
}

/// Builds the authenticator for callers other than visitors and front ends.
async fn setup_logins(
    config: &Config,
    scheme: &str,
    address: SocketAddr,
    store: &Arc<dyn Store>,
    clock: &Arc<dyn Clock>,
) -> anyhow::Result<(Arc<dyn Authenticator>, Option<Logins>)> {
    let local = store.local_user().await?;
    if !config.has_login() {
        return Ok((Arc::new(LocalUser::behind(address, local)?), None));
    }
    let tokens = Arc::new(tokens(config, local, Some(store), clock)?);
    let login = &config.login;
    let Some((issuer, client_id)) = login.issuer(&config.auth).zip(login.client_id.clone()) else { return Ok((tokens, None)) };
    let settings = LoginConfig {
        issuer: issuer.to_owned(),
        client_id,
        client_secret: login.client_secret.as_ref().map(|s| s.expose().to_owned()),
        scopes: login.scopes.clone(),
        address: own_address(config, scheme, address),
        idle: login.idle(),
        lifetime: login.lifetime(),
    };
    let forms = Arc::new(WebDocuments::new().context(NO_CLIENT)?);
    let logins = Logins::new(settings, tokens, forms, store.clone(), clock.clone())?;
    Ok((Arc::new(logins.clone()), Some(logins)))
}

/// Builds the verifier of tokens. The static token belongs to the user `local`.
pub(super) fn tokens(config: &Config, local: UserId, store: Option<&Arc<dyn Store>>, clock: &Arc<dyn Clock>) -> anyhow::Result<Tokens> {
    let auth = &config.auth;
    // Without a provider no HTTP client is built, so the server starts without CA certificates.
    let fetch = match auth.issuers.is_empty() {
        true => None,
        false => Some(Arc::new(WebDocuments::new().context(NO_CLIENT)?) as Arc<dyn Fetch>),
    };
    let tokens = TokenConfig {
        issuers: auth.issuers.clone(),
        audiences: auth.audiences.clone(),
        algorithms: auth.algorithms.clone(),
        types: auth.token_types.clone(),
        role_claim: auth.role_claim.clone(),
        admin_role: auth.admin_role.clone(),
        clock_skew: auth.clock_skew(),
        introspection: auth.issuer_for_introspection().map(|issuer| Introspection {
            issuer: issuer.to_owned(),
            client_id: auth.introspection_client_id.clone().unwrap_or_default(),
            client_secret: auth.introspection_client_secret.as_ref().map_or_else(String::new, |s| s.expose().to_owned()),
        }),
        personal: store.map(|store| store.clone() as Arc<_>),
        revoked: store.map(|store| store.clone() as Arc<_>),
        fixed: auth.token.as_ref().map(|t| (t.expose().to_owned(), local)),
    };
    Ok(Tokens::new(tokens, fetch.as_ref(), clock.clone())?)
}

/// How long a successful check of the issuers is cached. Load balancers ask for readiness every second.
const SUCCESS_TTL: Duration = Duration::from_secs(30);
/// How long a failed check is cached.
const FAILURE_TTL: Duration = Duration::from_secs(3);

/// Checks whether the keys of all issuers can be fetched.
struct IssuersCheck {
    tokens: Tokens,
    cached: Mutex<Option<(Instant, Result<(), String>)>>,
}

#[async_trait]
impl Check for IssuersCheck {
    fn name(&self) -> &str {
        "login"
    }

    /// Cached keys stay valid for an hour, so the server works without the issuers for that long.
    fn is_needed(&self) -> bool {
        false
    }

    async fn check(&self) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let mut cached = self.cached.lock().await;
        if let Some((at, outcome)) = &*cached
            && at.elapsed() < if outcome.is_ok() { SUCCESS_TTL } else { FAILURE_TTL }
        {
            return Ok(outcome.clone()?);
        }
        let failed = self.tokens.probe().await.into_iter().filter_map(|(issuer, outcome)| Some(format!("{issuer}: {}", outcome.err()?)));
        let failed = failed.collect::<Vec<_>>().join("; ");
        let outcome = if failed.is_empty() { Ok(()) } else { Err(failed) };
        *cached = Some((Instant::now(), outcome.clone()));
        Ok(outcome?)
    }
}

/// Builds the readiness check of the token issuers, if there are any.
pub(super) fn check(config: &Config, clock: &Arc<dyn Clock>) -> anyhow::Result<Option<Arc<dyn Check>>> {
    if config.auth.issuers.is_empty() {
        return Ok(None);
    }
    // Its own verifier: these fetches must not use up the fetch limit of requests.
    let tokens = tokens(config, UserId(uuid::Uuid::nil()), None, clock)?;
    Ok(Some(Arc::new(IssuersCheck { tokens, cached: Mutex::default() })))
}

/// Builds the metadata that tells clients where to get a token.
pub(super) fn resource(config: &Config, scheme: &str, address: SocketAddr) -> Option<ProtectedResource> {
    config
        .has_login()
        .then(|| ProtectedResource { resource: own_address(config, scheme, address), authorization_servers: config.auth.issuers.clone() })
}

/// The URL of this server: the configured public one, or the listen address.
fn own_address(config: &Config, scheme: &str, address: SocketAddr) -> String {
    let own = || format!("{scheme}://{address}");
    config.server.public_url.as_deref().map_or_else(own, |url| url.trim_end_matches('/').to_owned())
}
