//! Rate limits for callers and addresses.
//!
//! Each caller and each address has a token bucket that refills at a steady rate. It allows a burst, but not a flood, and one
//! client cannot use up the tokens of another. All servers of a database count callers together (`shared`); each server counts
//! addresses alone.

mod callers;
mod shared;
#[cfg(test)]
mod tests;

use std::{
    hash::Hash,
    net::IpAddr,
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    extract::{Request, State},
    http::StatusCode,
    middleware::Next,
    response::{IntoResponse, Response},
};
use ipnet::IpNet;
use lru::LruCache;
use tokio::time::{Instant, sleep};

pub(crate) use self::callers::{CallerLimits, limit_callers};
use super::{address, address::ClientAddress, error::ApiError, hourly_warning::HourlyWarning, server::Connection};

/// Maximum number of buckets in memory. A client whose bucket was evicted starts with a full one.
const MAX_BUCKETS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(99_999);
/// Extra tokens that an address pays for a refused credential, so that guessing is slow.
const REFUSED_PROOF_COST: f64 = 9.0;

/// Delay of a refusal. The client's connection is busy meanwhile, so a flood is limited by its number of connections.
const REFUSAL_DELAY: Duration = Duration::from_millis(100);

/// A rate of requests with a burst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateLimit {
    /// Average rate.
    pub per_second: f64,
    /// Maximum number of requests in a burst.
    pub burst: u32,
}

impl RateLimit {
    /// `count` requests a minute, with a burst of a tenth of them.
    pub fn per_minute(count: u32) -> Self {
        Self { per_second: f64::from(count.max(1)) / 60.0, burst: (count / 10).max(1) }
    }

    /// `count` requests a day, with a burst of all of them.
    pub fn per_day(count: u32) -> Self {
        Self { per_second: f64::from(count.max(1)) / 86_400.0, burst: count.max(1) }
    }
}

struct LocalBucket {
    left: f64,
    at: Instant,
}

impl LocalBucket {
    fn fill(&mut self, limit: RateLimit, now: Instant) {
        let gained = now.saturating_duration_since(self.at).as_secs_f64() * limit.per_second;
        self.left = (self.left + gained).min(f64::from(limit.burst));
        self.at = self.at.max(now);
    }
}

/// Token buckets by key.
pub(crate) struct Limiter<K: Hash + Eq> {
    limit: Option<RateLimit>,
    buckets: Mutex<LruCache<K, LocalBucket>>,
}

impl<K: Hash + Eq> Limiter<K> {
    pub(crate) fn new(limit: Option<RateLimit>) -> Arc<Self> {
        Arc::new(Self { limit, buckets: Mutex::new(LruCache::new(MAX_BUCKETS)) })
    }

    /// Takes one token.
    ///
    /// # Errors
    /// 429 `RATE_LIMITED` with the time until the next token, when the bucket is empty.
    pub(crate) fn take(&self, key: K) -> Result<(), ApiError> {
        self.take_several(key, 1)
    }

    /// Takes `cost` tokens if at least one is left. The rest becomes a debt that has to refill first.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub(crate) fn take_several(&self, key: K, cost: u32) -> Result<(), ApiError> {
        self.take_at(key, cost, Instant::now()).map_err(rate_limited)
    }

    fn take_at(&self, key: K, cost: u32, now: Instant) -> Result<(), Duration> {
        let Some(limit) = self.limit else { return Ok(()) };
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = buckets.get_or_insert_mut(key, || LocalBucket { left: f64::from(limit.burst), at: now });
        bucket.fill(limit, now);
        if bucket.left >= 1.0 {
            bucket.left -= f64::from(cost);
            return Ok(());
        }
        Err(Duration::try_from_secs_f64((1.0 - bucket.left) / limit.per_second).unwrap_or(Duration::MAX))
    }

    /// Takes tokens without checking, into a debt if necessary.
    fn force_charge(&self, key: K, cost: u32) {
        let (Some(limit), now) = (self.limit, Instant::now()) else { return };
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = buckets.get_or_insert_mut(key, || LocalBucket { left: f64::from(limit.burst), at: now });
        bucket.fill(limit, now);
        bucket.left -= f64::from(cost);
    }

    /// Takes tokens without creating a debt.
    fn charge(&self, key: &K, cost: f64) {
        if let Some(bucket) = self.buckets.lock().unwrap_or_else(PoisonError::into_inner).get_mut(key) {
            bucket.left = (bucket.left - cost).max(bucket.left.min(0.0));
        }
    }
}

/// Counts a refusal and returns 429 `RATE_LIMITED`.
fn rate_limited(wait: Duration) -> ApiError {
    metrics::counter!("recall_requests_limited_total").increment(1);
    ApiError::rate_limited(wait)
}

/// Returns the error after `REFUSAL_DELAY`.
async fn delay_refusal(error: ApiError) -> ApiError {
    sleep(REFUSAL_DELAY).await;
    error
}

/// Rate limits of addresses, with the proxies that are trusted to name them.
pub(crate) struct AddressLimits {
    limiter: Arc<Limiter<IpAddr>>,
    proxies: Vec<IpNet>,
    unknown_proxy: HourlyWarning,
}

impl AddressLimits {
    pub(crate) fn new(limit: Option<RateLimit>, proxies: Vec<IpNet>) -> Arc<Self> {
        Arc::new(Self { limiter: Limiter::new(limit), proxies, unknown_proxy: HourlyWarning::default() })
    }

    /// Returns the client's address; `None` for a request without a connection.
    fn client_of(&self, request: &Request) -> Option<IpAddr> {
        if let Some(ClientAddress(client)) = request.extensions().get() {
            return Some(*client);
        }
        let peer = request.extensions().get::<Connection>()?.peer;
        let client = address::client_address(peer, request.headers(), &self.proxies);
        // Any client can write the header. Clients of an unknown proxy share the bucket of the proxy's address.
        if address::is_forwarded(request.headers()) && !address::is_in_any(peer, &self.proxies) {
            metrics::counter!("recall_http_unknown_proxy_requests_total").increment(1);
            if self.unknown_proxy.is_due() {
                tracing::warn!(
                    address = %peer.to_canonical(),
                    "requests come through a proxy that is not in http.trusted_proxies: all its clients share the limits of one address"
                );
            }
        }
        Some(client)
    }
}

/// Middleware: refuses requests of an address that sends too many.
pub(crate) async fn limit_addresses(State(address_limits): State<Arc<AddressLimits>>, mut request: Request, next: Next) -> Response {
    let Some(client) = address_limits.client_of(&request) else { return next.run(request).await };
    request.extensions_mut().insert(ClientAddress(client));
    let client = address::network_of(client);
    if let Err(error) = address_limits.limiter.take(client) {
        return delay_refusal(error).await.into_response();
    }
    let response = next.run(request).await;
    if response.status() == StatusCode::UNAUTHORIZED {
        address_limits.limiter.charge(&client, REFUSED_PROOF_COST);
    }
    response
}
