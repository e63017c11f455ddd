//! An issuer and its keys as last read. They are read when a token needs them: at first, when they are old, and when a
//! token names a key that is not among them, which is how a rotation shows. Neither a flood of tokens with invented key
//! names nor an issuer that is down makes more than one read in ten seconds.

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use chrono::TimeDelta;
use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation, decode};
use lru::LruCache;
use serde_json::{Map, Value};
use tokio::sync::Mutex as AsyncMutex;

use super::{
    keys::{Discovery, Found, KeySet, ProviderMetadata},
    refused, signature,
};
use crate::auth::AuthError;
use recall_domain::Timestamp;
use recall_ports::{Clock, Fetch, FetchError};

/// Age from which keys are read again. A key that the issuer took back is believed no longer than this.
const FRESH: TimeDelta = TimeDelta::minutes(5);
/// Age up to which keys serve while the issuer cannot be reached.
const USABLE: TimeDelta = TimeDelta::hours(1);
/// Shortest time between two reads, successful or not.
const BETWEEN_READS: TimeDelta = TimeDelta::seconds(10);
/// How long a key name that was looked for in vain is not looked for again.
const UNKNOWN_FOR: TimeDelta = TimeDelta::seconds(60);
/// Longest time of one read.
const READ_WITHIN: Duration = Duration::from_secs(8);
/// Key names remembered as unknown.
const UNKNOWN_NAMES: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1023);

/// Why an issuer's keys could not be read.
#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error("the document {0} is not what it should be")]
    Malformed(String, #[source] serde_json::Error),
    #[error("the issuer calls itself by another name")]
    OtherIssuer,
    #[error("the issuer's documents name an address that is not safe")]
    Unsafe,
    #[error("the issuer did not answer in time")]
    Timeout,
}

/// Nothing is known of the issuer's keys, and it cannot be asked now.
#[derive(Debug, thiserror::Error)]
#[error("the keys of the issuer cannot be read")]
struct NoKeys;

#[derive(Clone)]
struct Known {
    keys: Arc<KeySet>,
    /// Where the issuer tells what a token means that only it can read.
    introspection: Option<Arc<str>>,
    metadata: Arc<ProviderMetadata>,
    at: Timestamp,
}

/// What is read of an issuer.
struct Documents {
    keys: KeySet,
    introspection: Option<String>,
    metadata: ProviderMetadata,
}

/// One issuer.
pub(in crate::auth) struct Provider {
    issuer: String,
    fetch: Arc<dyn Fetch>,
    clock: Arc<dyn Clock>,
    known: RwLock<Option<Known>>,
    /// When was read last; held while reading, so that one request reads for all.
    last_read: AsyncMutex<Option<Timestamp>>,
    unknown: Mutex<LruCache<String, Timestamp>>,
}

impl Provider {
    pub(super) fn new(issuer: &str, fetch: Arc<dyn Fetch>, clock: Arc<dyn Clock>) -> Self {
        signature::install();
        Self {
            issuer: issuer.to_owned(),
            fetch,
            clock,
            known: RwLock::default(),
            last_read: AsyncMutex::default(),
            unknown: Mutex::new(LruCache::new(UNKNOWN_NAMES)),
        }
    }

    pub(in crate::auth) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The key for a token.
    pub(super) async fn key(&self, id: Option<&str>, algorithm: Algorithm) -> Result<Arc<DecodingKey>, AuthError> {
        let now = self.clock.now();
        let known = self.known();
        if let Some(known) = &known {
            let fresh = now - known.at < FRESH;
            match known.keys.find(id, algorithm) {
                Found::Key(key) if fresh => return Ok(key),
                // Old but usable: one request reads anew, the others need not wait for it.
                Found::Key(key) if now - known.at < USABLE && self.last_read.try_lock().is_err() => return Ok(key),
                Found::Unsuitable if fresh => return Err(refused("key")),
                Found::Unknown if fresh && id.is_some_and(|id| self.in_vain(id, now)) => return Err(refused("key")),
                _ => {}
            }
        }
        let known = self.read_again(known.map(|k| k.at)).await?;
        match known.keys.find(id, algorithm) {
            Found::Key(key) => Ok(key),
            Found::Unsuitable => Err(refused("key")),
            Found::Unknown => {
                // Only if they were read after the token came: else the name may be that of a new key.
                if let Some(id) = id.filter(|_| known.at >= now) {
                    self.unknown.lock().unwrap_or_else(PoisonError::into_inner).put(id.to_owned(), now);
                }
                Err(refused("key"))
            }
        }
    }

    /// The claims of a token with this header, if it was signed by a key of the issuer. Nothing else of it is checked.
    pub(in crate::auth) async fn signed(&self, token: &str, header: &Header) -> Result<Map<String, Value>, AuthError> {
        let key = self.key(header.kid.as_deref(), header.alg).await?;
        let mut validation = Validation::new(header.alg);
        // Signature only; the claims are checked by rules of our own, with the time of our own clock.
        validation.required_spec_claims.clear();
        (validation.validate_exp, validation.validate_nbf, validation.validate_aud) = (false, false, false);
        Ok(decode::<Map<String, Value>>(token, &key, &validation).map_err(|_| refused("signature"))?.claims)
    }

    /// Where to ask what a token means that only the issuer can read; `None` when it does not say.
    pub(super) async fn introspection(&self) -> Result<Option<Arc<str>>, AuthError> {
        Ok(self.usable().await?.introspection)
    }

    /// Where people log in.
    pub(in crate::auth) async fn metadata(&self) -> Result<Arc<ProviderMetadata>, AuthError> {
        Ok(self.usable().await?.metadata)
    }

    /// What the issuer said within the last hour.
    async fn usable(&self) -> Result<Known, AuthError> {
        match self.known() {
            Some(known) if self.clock.now() - known.at < USABLE => Ok(known),
            known => self.read_again(known.map(|k| k.at)).await,
        }
    }

    fn known(&self) -> Option<Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn in_vain(&self, id: &str, now: Timestamp) -> bool {
        self.unknown.lock().unwrap_or_else(PoisonError::into_inner).get(id).is_some_and(|at| now - *at < UNKNOWN_FOR)
    }

    /// The keys, read anew unless that has just been done. `seen` is the age of those that were not enough.
    async fn read_again(&self, seen: Option<Timestamp>) -> Result<Known, AuthError> {
        let mut last_read = self.last_read.lock().await;
        let now = self.clock.now();
        let known = self.known();
        let others_did = known.as_ref().is_some_and(|k| seen.is_none_or(|seen| k.at > seen));
        if !others_did && last_read.is_none_or(|at| now - at >= BETWEEN_READS) {
            *last_read = Some(now);
            match tokio::time::timeout(READ_WITHIN, self.read()).await.unwrap_or(Err(ReadError::Timeout)) {
                Ok(Documents { keys, introspection, metadata }) => {
                    let introspection = introspection.map(Arc::from);
                    let known = Known { keys: Arc::new(keys), introspection, metadata: Arc::new(metadata), at: now };
                    *self.known.write().unwrap_or_else(PoisonError::into_inner) = Some(known.clone());
                    metrics::counter!("recall_issuer_reads_total", "result" => "read").increment(1);
                    return Ok(known);
                }
                Err(error) => {
                    metrics::counter!("recall_issuer_reads_total", "result" => "failed").increment(1);
                    tracing::warn!(issuer = self.issuer, %error, "the keys of the issuer cannot be read");
                }
            }
        }
        known.filter(|k| now - k.at < USABLE).ok_or_else(|| AuthError::Unavailable(Box::new(NoKeys)))
    }

    /// Reads the keys now, for an operator who wants to know; how many are usable, and whether the issuer can be asked about
    /// tokens.
    pub(super) async fn probe(&self) -> Result<(usize, bool), Box<dyn std::error::Error + Send + Sync>> {
        let read = tokio::time::timeout(READ_WITHIN, self.read()).await.unwrap_or(Err(ReadError::Timeout))?;
        Ok((read.keys.len(), read.introspection.is_some()))
    }

    async fn read(&self) -> Result<Documents, ReadError> {
        let url = format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
        let document = self.fetch.get(&url).await?;
        let discovery: Discovery = serde_json::from_slice(&document).map_err(|e| ReadError::Malformed(url, e))?;
        // One provider must not speak for another (RFC 8414, section 3.3).
        if discovery.issuer != self.issuer {
            return Err(ReadError::OtherIssuer);
        }
        // What the issuer is asked over TLS must not lead to a place without.
        let safe = {
            let named = [Some(&discovery.jwks_uri), discovery.introspection_endpoint.as_ref()].into_iter().flatten();
            named.chain(discovery.metadata.addresses()).all(|url| url.starts_with("https://"))
        };
        if self.issuer.starts_with("https://") && !safe {
            return Err(ReadError::Unsafe);
        }
        let document = self.fetch.get(&discovery.jwks_uri).await?;
        let keys = KeySet::parse(&document).map_err(|e| ReadError::Malformed(discovery.jwks_uri, e))?;
        Ok(Documents { keys, introspection: discovery.introspection_endpoint, metadata: discovery.metadata })
    }
}

#[cfg(test)]
mod tests;
