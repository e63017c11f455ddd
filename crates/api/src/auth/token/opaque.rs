//! Tokens that only their issuer can read: it is asked what they mean (RFC 7662). Answers are remembered for seconds, and a
//! flood of invented tokens asks no more than a few at a time.

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError},
};

use chrono::TimeDelta;
use lru::LruCache;
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use super::{
    claims::{Granted, Rules},
    provider::Provider,
    refused,
};
use crate::auth::AuthError;
use recall_domain::Timestamp;
use recall_ports::{Clock, Fetch};

/// How long a good answer is believed, and with it a token that the issuer took back.
const GOOD_FOR: TimeDelta = TimeDelta::seconds(10);
/// How long a token stays refused: none that is not valid becomes so.
const BAD_FOR: TimeDelta = TimeDelta::seconds(60);
/// Answers remembered.
const REMEMBERED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(9_999);
/// Questions at once.
const AT_ONCE: usize = 16;

/// As whom an issuer is asked about tokens.
#[derive(Clone)]
pub struct Introspection {
    /// The issuer, one of those whose tokens are accepted.
    pub issuer: String,
    /// The name of this server at the issuer.
    pub client_id: String,
    /// Its secret.
    pub client_secret: String,
}

/// The issuer has no place to ask, or answers what is none.
#[derive(Debug, thiserror::Error)]
#[error("the issuer cannot be asked about tokens: {0}")]
struct NoAnswer(&'static str);

#[derive(Clone)]
struct Answer {
    granted: Option<Granted>,
    at: Timestamp,
}

/// Asks about tokens.
pub(super) struct Introspector {
    client: Introspection,
    fetch: Arc<dyn Fetch>,
    clock: Arc<dyn Clock>,
    /// By digest, so that no token lies here.
    answers: Mutex<LruCache<[u8; 32], Answer>>,
    asking: Semaphore,
}

impl Introspector {
    pub(super) fn new(client: Introspection, fetch: Arc<dyn Fetch>, clock: Arc<dyn Clock>) -> Self {
        Self { client, fetch, clock, answers: Mutex::new(LruCache::new(REMEMBERED)), asking: Semaphore::new(AT_ONCE) }
    }

    /// Whether this is the issuer that is asked.
    pub(super) fn asks(&self, provider: &Provider) -> bool {
        self.client.issuer == provider.issuer()
    }

    /// What a token grants.
    pub(super) async fn check(&self, token: &str, provider: &Provider, rules: &Rules) -> Result<Granted, AuthError> {
        let mut key = [0; 32];
        key.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
        let answer = match self.remembered(&key) {
            Some(answer) => answer,
            None => {
                let _permit = self.asking.acquire().await.map_err(|e| AuthError::Unavailable(Box::new(e)))?;
                // Whoever waited may find that another request has asked.
                match self.remembered(&key) {
                    Some(answer) => answer,
                    None => {
                        let answer = Answer { granted: self.ask(token, provider, rules).await?, at: self.clock.now() };
                        self.answers.lock().unwrap_or_else(PoisonError::into_inner).put(key, answer.clone());
                        answer
                    }
                }
            }
        };
        let granted = answer.granted.ok_or_else(|| refused("inactive"))?;
        if self.clock.now() < granted.until { Ok(granted) } else { Err(refused("expired")) }
    }

    fn remembered(&self, key: &[u8; 32]) -> Option<Answer> {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = answers.get(key)?;
        let good_for = if answer.granted.is_some() { GOOD_FOR } else { BAD_FOR };
        (self.clock.now() - answer.at < good_for).then(|| answer.clone())
    }

    /// `None` when the token is not valid, or not for this server.
    async fn ask(&self, token: &str, provider: &Provider, rules: &Rules) -> Result<Option<Granted>, AuthError> {
        let failed = |why| AuthError::Unavailable(Box::new(NoAnswer(why)));
        let endpoint = provider.introspection().await?.ok_or_else(|| failed("its discovery document names no endpoint"))?;
        let client = (self.client.client_id.as_str(), self.client.client_secret.as_str());
        let form = [("token", token), ("token_type_hint", "access_token")];
        let document = match self.fetch.post_form(&endpoint, client, &form).await {
            Ok(document) => document,
            Err(error) => {
                metrics::counter!("recall_introspections_total", "result" => "failed").increment(1);
                tracing::warn!(issuer = provider.issuer(), %error, "the issuer cannot be asked about tokens");
                return Err(AuthError::Unavailable(Box::new(error)));
            }
        };
        metrics::counter!("recall_introspections_total", "result" => "answered").increment(1);
        let claims: Map<String, Value> = serde_json::from_slice(&document).map_err(|_| failed("its answer is no JSON object"))?;
        Ok(meaning(claims, provider.issuer(), rules, self.clock.now()))
    }
}

/// What an answer grants. Pure.
fn meaning(mut claims: Map<String, Value>, issuer: &str, rules: &Rules, now: Timestamp) -> Option<Granted> {
    if claims.get("active") != Some(&Value::Bool(true)) {
        return None;
    }
    // Issuers also know refresh tokens, which open nothing here.
    let is = |name: &str, wanted: &str| claims.get(name).and_then(Value::as_str).is_some_and(|given| given.eq_ignore_ascii_case(wanted));
    let absent_or = |name: &str, wanted: &str| !claims.contains_key(name) || is(name, wanted);
    if !is("token_type", "Bearer") || !absent_or("token_use", "access_token") {
        return None;
    }
    // It answers for itself.
    claims.entry("iss").or_insert_with(|| issuer.into());
    // A client that acts for itself has no subject but its own name, as in the tokens of RFC 9068.
    if let (None, Some(client)) = (claims.get("sub"), claims.get("client_id").cloned()) {
        claims.insert("sub".to_owned(), client);
    }
    rules.check(&claims, issuer, now).ok()
}

#[cfg(test)]
mod tests;
