//! Opaque tokens, which the server checks by introspection at their issuer (RFC 7662).
//!
//! Results are cached for seconds, and only a few introspection requests run concurrently, so a flood of invented tokens does not
//! flood the issuer.

use std::{num::NonZeroUsize, sync::Arc};

use parking_lot::Mutex;

use chrono::TimeDelta;
use lru::LruCache;
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use super::{
    claims::{ClaimRules, TokenGrant},
    provider::Provider,
};
use crate::auth::authenticator::{AuthError, refused};
use recall_domain::Timestamp;
use recall_ports::{Clock, Fetch};

/// How long a valid token is cached. A revoked token is accepted for as long.
const VALID_CACHE_TIME: TimeDelta = TimeDelta::seconds(10);
/// How long an invalid token is cached. An invalid token does not become valid later.
const INVALID_CACHE_TIME: TimeDelta = TimeDelta::seconds(60);
/// Maximum number of cached results.
const MAX_CACHED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(9_999);
/// Maximum number of concurrent introspection requests.
const MAX_CONCURRENT: usize = 16;

/// Client credentials for introspection.
#[derive(Clone)]
pub struct Introspection {
    /// The issuer, one of the accepted ones.
    pub issuer: String,
    /// The client id of this server at the issuer.
    pub client_id: String,
    /// The client secret.
    pub client_secret: String,
}

/// The issuer has no introspection endpoint, or its response is malformed.
#[derive(Debug, thiserror::Error)]
#[error("token introspection failed: {0}")]
struct IntrospectionError(&'static str);

#[derive(Clone)]
struct CachedAnswer {
    granted: Option<TokenGrant>,
    at: Timestamp,
}

/// Checks opaque tokens.
pub(super) struct Introspector {
    client: Introspection,
    fetch: Arc<dyn Fetch>,
    clock: Arc<dyn Clock>,
    /// By digest, so that no token stays in memory.
    answers: Mutex<LruCache<[u8; 32], CachedAnswer>>,
    asking: Semaphore,
}

impl Introspector {
    pub(super) fn new(client: Introspection, fetch: Arc<dyn Fetch>, clock: Arc<dyn Clock>) -> Self {
        Self { client, fetch, clock, answers: Mutex::new(LruCache::new(MAX_CACHED)), asking: Semaphore::new(MAX_CONCURRENT) }
    }

    /// Whether introspection is configured for this issuer.
    pub(super) fn is_configured_for(&self, provider: &Provider) -> bool {
        self.client.issuer == provider.issuer()
    }

    /// Returns what a token grants.
    pub(super) async fn check(&self, token: &str, provider: &Provider, rules: &ClaimRules) -> Result<TokenGrant, AuthError> {
        let mut key = [0; 32];
        key.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
        let answer = match self.cached(&key) {
            Some(answer) => answer,
            None => {
                let _permit = self.asking.acquire().await.map_err(|e| AuthError::Unavailable(Box::new(e)))?;
                // Another request may have checked the token meanwhile.
                match self.cached(&key) {
                    Some(answer) => answer,
                    None => {
                        let answer = CachedAnswer { granted: self.introspect(token, provider, rules).await?, at: self.clock.now() };
                        self.answers.lock().put(key, answer.clone());
                        answer
                    }
                }
            }
        };
        let granted = answer.granted.ok_or_else(|| refused("inactive"))?;
        if self.clock.now() < granted.until { Ok(granted) } else { Err(refused("expired")) }
    }

    fn cached(&self, key: &[u8; 32]) -> Option<CachedAnswer> {
        let mut answers = self.answers.lock();
        let answer = answers.get(key)?;
        let good_for = if answer.granted.is_some() { VALID_CACHE_TIME } else { INVALID_CACHE_TIME };
        (self.clock.now() - answer.at < good_for).then(|| answer.clone())
    }

    /// Sends an introspection request. `None` when the token is invalid or not meant for this server.
    async fn introspect(&self, token: &str, provider: &Provider, rules: &ClaimRules) -> Result<Option<TokenGrant>, AuthError> {
        let failed = |why| AuthError::Unavailable(Box::new(IntrospectionError(why)));
        let endpoint = provider.introspection_endpoint().await?.ok_or_else(|| failed("its discovery document names no endpoint"))?;
        let client = (self.client.client_id.as_str(), self.client.client_secret.as_str());
        let form = [("token", token), ("token_type_hint", "access_token")];
        let document = match self.fetch.post_form(&endpoint, client, &form).await {
            Ok(document) => document,
            Err(error) => {
                metrics::counter!("recall_introspections_total", "result" => "failed").increment(1);
                tracing::warn!(issuer = provider.issuer(), %error, "token introspection failed");
                return Err(AuthError::Unavailable(Box::new(error)));
            }
        };
        metrics::counter!("recall_introspections_total", "result" => "answered").increment(1);
        let claims: Map<String, Value> = serde_json::from_slice(&document).map_err(|_| failed("its response is not a JSON object"))?;
        Ok(evaluate(claims, provider.issuer(), rules, self.clock.now()))
    }
}

/// Returns what an introspection response grants. Pure.
fn evaluate(mut claims: Map<String, Value>, issuer: &str, rules: &ClaimRules, now: Timestamp) -> Option<TokenGrant> {
    if claims.get("active") != Some(&Value::Bool(true)) {
        return None;
    }
    // Issuers also answer for refresh tokens, which this server does not accept.
    let is = |name: &str, wanted: &str| claims.get(name).and_then(Value::as_str).is_some_and(|given| given.eq_ignore_ascii_case(wanted));
    let absent_or = |name: &str, wanted: &str| !claims.contains_key(name) || is(name, wanted);
    if !is("token_type", "Bearer") || !absent_or("token_use", "access_token") {
        return None;
    }
    // `iss` is optional in the response.
    claims.entry("iss").or_insert_with(|| issuer.into());
    // A client that acts for itself may have no subject. Its client id takes that role, as in RFC 9068.
    if let (None, Some(client)) = (claims.get("sub"), claims.get("client_id").cloned()) {
        claims.insert("sub".to_owned(), client);
    }
    rules.check(&claims, issuer, now).ok()
}

#[cfg(test)]
mod tests;
