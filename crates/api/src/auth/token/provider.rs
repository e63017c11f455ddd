//! An issuer with a cache of its metadata and keys.
//!
//! The keys are read when a token needs them: the first time, when the cache is old, and when a token names an unknown key, as
//! after a rotation. There is at most one read in ten seconds, even if tokens name invented keys or the issuer is down.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use parking_lot::{Mutex, RwLock};

use chrono::TimeDelta;
use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation, decode};
use lru::LruCache;
use serde_json::{Map, Value};
use tokio::sync::Mutex as AsyncMutex;

use super::{
    keys::{Discovery, KeyLookup, KeySet, ProviderMetadata},
    signature,
};
use crate::auth::authenticator::{AuthError, refused};
use recall_domain::Timestamp;
use recall_ports::{Clock, Fetch, FetchError};

/// Age at which keys are read again. A revoked key is accepted at most this long.
const FRESH_FOR: TimeDelta = TimeDelta::minutes(5);
/// Maximum age of keys while the issuer cannot be reached.
const USABLE_FOR: TimeDelta = TimeDelta::hours(1);
/// Minimum time between two reads, successful or not.
const MIN_READ_INTERVAL: TimeDelta = TimeDelta::seconds(10);
/// How long an unknown key id causes no further read.
const UNKNOWN_KEY_TIME: TimeDelta = TimeDelta::seconds(60);
/// Maximum time of one read.
const READ_TIMEOUT: Duration = Duration::from_secs(8);
/// Maximum number of cached unknown key ids.
const MAX_UNKNOWN_KEYS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1023);

/// Why an issuer's keys could not be read.
#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error("the document {0} is malformed")]
    Malformed(String, #[source] serde_json::Error),
    #[error("the discovery document names another issuer")]
    OtherIssuer,
    #[error("the discovery document of an https issuer names an http URL")]
    Unsafe,
    #[error("the issuer did not answer in time")]
    Timeout,
}

/// No keys are cached, and the issuer cannot be reached.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the keys of the issuer")]
struct NoKeys;

#[derive(Clone)]
struct CachedProvider {
    keys: Arc<KeySet>,
    /// The introspection endpoint.
    introspection: Option<Arc<str>>,
    metadata: Arc<ProviderMetadata>,
    at: Timestamp,
}

/// The result of reading an issuer's documents.
struct FetchedProvider {
    keys: KeySet,
    introspection: Option<String>,
    metadata: ProviderMetadata,
}

/// One issuer.
pub(in crate::auth) struct Provider {
    issuer: String,
    fetch: Arc<dyn Fetch>,
    clock: Arc<dyn Clock>,
    cached: RwLock<Option<CachedProvider>>,
    /// Time of the last read. Locked during a read, so that one request reads for all.
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
            cached: RwLock::default(),
            last_read: AsyncMutex::default(),
            unknown: Mutex::new(LruCache::new(MAX_UNKNOWN_KEYS)),
        }
    }

    pub(in crate::auth) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Finds the key of a token.
    pub(super) async fn find_key(&self, id: Option<&str>, algorithm: Algorithm) -> Result<Arc<DecodingKey>, AuthError> {
        let now = self.clock.now();
        let cached = self.cached();
        if let Some(cached) = &cached {
            let fresh = now - cached.at < FRESH_FOR;
            match cached.keys.find(id, algorithm) {
                KeyLookup::Key(key) if fresh => return Ok(key),
                // Old but usable: another request is reading already, so this one does not wait.
                KeyLookup::Key(key) if now - cached.at < USABLE_FOR && self.last_read.try_lock().is_err() => return Ok(key),
                KeyLookup::Unsuitable if fresh => return Err(refused("key")),
                KeyLookup::Unknown if fresh && id.is_some_and(|id| self.is_unknown_key(id, now)) => return Err(refused("key")),
                _ => {}
            }
        }
        let cached = self.refresh(cached.map(|k| k.at)).await?;
        match cached.keys.find(id, algorithm) {
            KeyLookup::Key(key) => Ok(key),
            KeyLookup::Unsuitable => Err(refused("key")),
            KeyLookup::Unknown => {
                // Only if the keys were read after the token arrived. Otherwise the id may belong to a newer key.
                if let Some(id) = id.filter(|_| cached.at >= now) {
                    self.unknown.lock().put(id.to_owned(), now);
                }
                Err(refused("key"))
            }
        }
    }

    /// Verifies the signature of a token and returns its claims, which are not checked yet.
    pub(in crate::auth) async fn verify_signature(&self, token: &str, header: &Header) -> Result<Map<String, Value>, AuthError> {
        let key = self.find_key(header.kid.as_deref(), header.alg).await?;
        let mut validation = Validation::new(header.alg);
        // Only the signature. `ClaimRules` checks the claims with the injected clock.
        validation.required_spec_claims.clear();
        (validation.validate_exp, validation.validate_nbf, validation.validate_aud) = (false, false, false);
        Ok(decode::<Map<String, Value>>(token, &key, &validation).map_err(|_| refused("signature"))?.claims)
    }

    /// Returns the introspection endpoint; `None` if the issuer names none.
    pub(super) async fn introspection_endpoint(&self) -> Result<Option<Arc<str>>, AuthError> {
        Ok(self.cached_or_refreshed().await?.introspection)
    }

    /// Returns the metadata for browser logins.
    pub(in crate::auth) async fn metadata(&self) -> Result<Arc<ProviderMetadata>, AuthError> {
        Ok(self.cached_or_refreshed().await?.metadata)
    }

    /// Returns the cached documents if they are younger than an hour, or reads them.
    async fn cached_or_refreshed(&self) -> Result<CachedProvider, AuthError> {
        match self.cached() {
            Some(cached) if self.clock.now() - cached.at < USABLE_FOR => Ok(cached),
            cached => self.refresh(cached.map(|k| k.at)).await,
        }
    }

    fn cached(&self) -> Option<CachedProvider> {
        self.cached.read().clone()
    }

    fn is_unknown_key(&self, id: &str, now: Timestamp) -> bool {
        self.unknown.lock().get(id).is_some_and(|at| now - *at < UNKNOWN_KEY_TIME)
    }

    /// Reads the documents, unless another request has just done so.
    ///
    /// `seen` is the time of the cached documents that were not sufficient.
    async fn refresh(&self, seen: Option<Timestamp>) -> Result<CachedProvider, AuthError> {
        let mut last_read = self.last_read.lock().await;
        let now = self.clock.now();
        let cached = self.cached();
        let is_refreshed = cached.as_ref().is_some_and(|k| seen.is_none_or(|seen| k.at > seen));
        if !is_refreshed && last_read.is_none_or(|at| now - at >= MIN_READ_INTERVAL) {
            *last_read = Some(now);
            match tokio::time::timeout(READ_TIMEOUT, self.read()).await.unwrap_or(Err(ReadError::Timeout)) {
                Ok(FetchedProvider { keys, introspection, metadata }) => {
                    let introspection = introspection.map(Arc::from);
                    let cached = CachedProvider { keys: Arc::new(keys), introspection, metadata: Arc::new(metadata), at: now };
                    *self.cached.write() = Some(cached.clone());
                    metrics::counter!("recall_issuer_reads_total", "result" => "read").increment(1);
                    return Ok(cached);
                }
                Err(error) => {
                    metrics::counter!("recall_issuer_reads_total", "result" => "failed").increment(1);
                    tracing::warn!(issuer = self.issuer, %error, "cannot read the keys of the issuer");
                }
            }
        }
        cached.filter(|k| now - k.at < USABLE_FOR).ok_or_else(|| AuthError::Unavailable(Box::new(NoKeys)))
    }

    /// Reads the keys now, for `recall check`. Returns their number and whether the issuer has an introspection endpoint.
    pub(super) async fn probe(&self) -> Result<(usize, bool), Box<dyn std::error::Error + Send + Sync>> {
        let read = tokio::time::timeout(READ_TIMEOUT, self.read()).await.unwrap_or(Err(ReadError::Timeout))?;
        Ok((read.keys.len(), read.introspection.is_some()))
    }

    async fn read(&self) -> Result<FetchedProvider, ReadError> {
        let url = format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
        let document = self.fetch.get(&url).await?;
        let discovery: Discovery = serde_json::from_slice(&document).map_err(|e| ReadError::Malformed(url, e))?;
        // A document must not name another issuer (RFC 8414, section 3.3).
        if discovery.issuer != self.issuer {
            return Err(ReadError::OtherIssuer);
        }
        // An issuer with TLS must not refer to endpoints without TLS.
        let safe = {
            let named = [Some(&discovery.jwks_uri), discovery.introspection_endpoint.as_ref()].into_iter().flatten();
            named.chain(discovery.metadata.addresses()).all(|url| url.starts_with("https://"))
        };
        if self.issuer.starts_with("https://") && !safe {
            return Err(ReadError::Unsafe);
        }
        let document = self.fetch.get(&discovery.jwks_uri).await?;
        let keys = KeySet::parse(&document).map_err(|e| ReadError::Malformed(discovery.jwks_uri, e))?;
        Ok(FetchedProvider { keys, introspection: discovery.introspection_endpoint, metadata: discovery.metadata })
    }
}

#[cfg(test)]
mod tests;
