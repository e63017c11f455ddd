//! How often one may ask: a caller, and an address. Each has a bucket of requests that fills again at a steady rate, so that
//! a burst is fine and a flood is not, and what one floods with takes nothing from the others. What a caller may ask is counted for
//! all servers of a database together (`shared`); what comes from an address, by each for itself.

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

pub(crate) use self::callers::{CallerLimits, limit};
use super::{address, address::ClientAddress, error::ApiError, hourly::Hourly, server::Connection};

/// Those remembered. One who was forgotten begins with a full bucket.
const REMEMBERED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(99_999);
/// What a refused proof costs an address besides the request itself, so that guessing is slow.
const REFUSED: f64 = 9.0;

/// How long a refusal takes. It costs whoever waits for it a connection and this server nothing, so a flood is as slow as its
/// connections are few.
const HELD_BACK: Duration = Duration::from_millis(100);

/// How many requests one may make.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateLimit {
    /// In the long run.
    pub per_second: f64,
    /// At once.
    pub burst: u32,
}

impl RateLimit {
    /// So many in a minute, a tenth of them at once.
    pub fn per_minute(count: u32) -> Self {
        Self { per_second: f64::from(count.max(1)) / 60.0, burst: (count / 10).max(1) }
    }

    /// So many in a day, all of them at once if need be.
    pub fn per_day(count: u32) -> Self {
        Self { per_second: f64::from(count.max(1)) / 86_400.0, burst: count.max(1) }
    }
}

struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    fn fill(&mut self, limit: RateLimit, now: Instant) {
        let gained = now.saturating_duration_since(self.at).as_secs_f64() * limit.per_second;
        self.left = (self.left + gained).min(f64::from(limit.burst));
        self.at = self.at.max(now);
    }
}

/// The buckets of all who ask, by what names them.
pub(crate) struct Limiter<K: Hash + Eq> {
    limit: Option<RateLimit>,
    buckets: Mutex<LruCache<K, Bucket>>,
}

impl<K: Hash + Eq> Limiter<K> {
    pub(crate) fn new(limit: Option<RateLimit>) -> Arc<Self> {
        Arc::new(Self { limit, buckets: Mutex::new(LruCache::new(REMEMBERED)) })
    }

    /// Takes a request out of a bucket.
    ///
    /// # Errors
    /// 429 `RATE_LIMITED` with the time until there is one, when it is empty.
    pub(crate) fn take(&self, key: K) -> Result<(), ApiError> {
        self.take_several(key, 1)
    }

    /// Takes several. As long as there is one they are given, and the bucket has to fill that much longer.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub(crate) fn take_several(&self, key: K, cost: u32) -> Result<(), ApiError> {
        self.take_at(key, cost, Instant::now()).map_err(refusal)
    }

    fn take_at(&self, key: K, cost: u32, now: Instant) -> Result<(), Duration> {
        let Some(limit) = self.limit else { return Ok(()) };
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = buckets.get_or_insert_mut(key, || Bucket { left: f64::from(limit.burst), at: now });
        bucket.fill(limit, now);
        if bucket.left >= 1.0 {
            bucket.left -= f64::from(cost);
            return Ok(());
        }
        Err(Duration::try_from_secs_f64((1.0 - bucket.left) / limit.per_second).unwrap_or(Duration::MAX))
    }

    /// Takes what is due, whether it is there or not: the bucket has to fill that much longer.
    fn owe(&self, key: K, cost: u32) {
        let (Some(limit), now) = (self.limit, Instant::now()) else { return };
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = buckets.get_or_insert_mut(key, || Bucket { left: f64::from(limit.burst), at: now });
        bucket.fill(limit, now);
        bucket.left -= f64::from(cost);
    }

    /// Takes more out of a bucket, as far as it goes: nobody has to wait for longer than the bucket takes to fill.
    fn charge(&self, key: &K, cost: f64) {
        if let Some(bucket) = self.buckets.lock().unwrap_or_else(PoisonError::into_inner).get_mut(key) {
            bucket.left = (bucket.left - cost).max(bucket.left.min(0.0));
        }
    }
}

/// 429 `RATE_LIMITED`, counted.
fn refusal(wait: Duration) -> ApiError {
    metrics::counter!("recall_requests_limited_total").increment(1);
    ApiError::rate_limited(wait)
}

/// A refusal, after a moment.
async fn hold_back(error: ApiError) -> ApiError {
    sleep(HELD_BACK).await;
    error
}

/// The buckets of addresses, and which proxies are believed about them.
pub(crate) struct Addresses {
    limiter: Arc<Limiter<IpAddr>>,
    proxies: Vec<IpNet>,
    unknown_proxy: Hourly,
}

impl Addresses {
    pub(crate) fn new(limit: Option<RateLimit>, proxies: Vec<IpNet>) -> Arc<Self> {
        Arc::new(Self { limiter: Limiter::new(limit), proxies, unknown_proxy: Hourly::default() })
    }

    /// Where a request comes from; nowhere, when no connection brought it.
    fn of(&self, request: &Request) -> Option<IpAddr> {
        if let Some(ClientAddress(client)) = request.extensions().get() {
            return Some(*client);
        }
        let peer = request.extensions().get::<Connection>()?.peer;
        let client = address::of(peer, request.headers(), &self.proxies);
        // All clients of a proxy that is not known as one share its bucket. Anybody can write the header.
        if address::is_forwarded(request.headers()) && !address::is_among(peer, &self.proxies) {
            metrics::counter!("recall_http_unknown_proxy_requests_total").increment(1);
            if self.unknown_proxy.is_due() {
                tracing::warn!(
                    address = %peer.to_canonical(),
                    "requests come through a proxy that is not among http.trusted_proxies: all its clients share the limits of one address"
                );
            }
        }
        Some(client)
    }
}

/// Middleware: refuses an address that asks too often, whoever is there.
pub(crate) async fn limit_addresses(State(addresses): State<Arc<Addresses>>, mut request: Request, next: Next) -> Response {
    let Some(client) = addresses.of(&request) else { return next.run(request).await };
    request.extensions_mut().insert(ClientAddress(client));
    let client = address::neighbourhood(client);
    if let Err(error) = addresses.limiter.take(client) {
        return hold_back(error).await.into_response();
    }
    let response = next.run(request).await;
    if response.status() == StatusCode::UNAUTHORIZED {
        addresses.limiter.charge(&client, REFUSED);
    }
    response
}
