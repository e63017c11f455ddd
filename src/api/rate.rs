//! How often one may ask: a caller, and an address. Each has a bucket of requests that fills again at a steady rate, so that
//! a burst is fine and a flood is not, and what one floods with takes nothing from the others. Counts are of this process.

use std::{
    hash::Hash,
    net::IpAddr,
    num::NonZeroUsize,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
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
use tokio::time::Instant;

use super::{address, address::ClientAddress, auth::Authenticated, error::ApiError, server::Connection};
use crate::domain::UserId;

/// Those remembered. One who was forgotten begins with a full bucket.
const REMEMBERED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(99_999);
/// What a refused proof costs an address besides the request itself, so that guessing is slow.
const REFUSED: f64 = 9.0;

/// How many requests one may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// In the long run.
    pub per_minute: u32,
    /// At once.
    pub burst: u32,
}

struct Bucket {
    left: f64,
    at: Instant,
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
        self.take_at(key, Instant::now()).map_err(|wait| {
            metrics::counter!("recall_requests_limited_total").increment(1);
            ApiError::rate_limited(wait)
        })
    }

    fn take_at(&self, key: K, now: Instant) -> Result<(), Duration> {
        let Some(limit) = self.limit else { return Ok(()) };
        let per_second = f64::from(limit.per_minute.max(1)) / 60.0;
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = buckets.get_or_insert_mut(key, || Bucket { left: f64::from(limit.burst), at: now });
        let gained = now.saturating_duration_since(bucket.at).as_secs_f64() * per_second;
        bucket.left = (bucket.left + gained).min(f64::from(limit.burst));
        bucket.at = bucket.at.max(now);
        if bucket.left >= 1.0 {
            bucket.left -= 1.0;
            return Ok(());
        }
        Err(Duration::from_secs_f64((1.0 - bucket.left) / per_second))
    }

    /// Takes more out of a bucket, as far as it goes: nobody has to wait for longer than the bucket takes to fill.
    fn charge(&self, key: &K, cost: f64) {
        if let Some(bucket) = self.buckets.lock().unwrap_or_else(PoisonError::into_inner).get_mut(key) {
            bucket.left = (bucket.left - cost).max(0.0);
        }
    }
}

/// Middleware: refuses a caller who asks too often.
pub(crate) async fn limit(State(limiter): State<Arc<Limiter<UserId>>>, request: Request, next: Next) -> Response {
    let taken = match request.extensions().get::<Authenticated>() {
        Some(Authenticated(identity)) => limiter.take(identity.caller.user()),
        None => Ok(()),
    };
    match taken {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

/// The buckets of addresses, and which proxies are believed about them.
pub(crate) struct Addresses {
    limiter: Arc<Limiter<IpAddr>>,
    proxies: Vec<IpNet>,
    warned: AtomicBool,
}

impl Addresses {
    pub(crate) fn new(limit: Option<RateLimit>, proxies: Vec<IpNet>) -> Arc<Self> {
        Arc::new(Self { limiter: Limiter::new(limit), proxies, warned: AtomicBool::new(false) })
    }

    /// Where a request comes from; nowhere, when no connection brought it.
    fn of(&self, request: &Request) -> Option<IpAddr> {
        let peer = request.extensions().get::<Connection>()?.peer;
        let client = address::of(peer, request.headers(), &self.proxies);
        // All clients of a proxy that is not known as one share its bucket. Anybody can write the header, so it is said once.
        let unknown = client == peer.to_canonical() && address::is_forwarded(request.headers());
        if unknown && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!("requests come through a proxy that is not among http.trusted_proxies; all its clients share one limit");
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
        return error.into_response();
    }
    let response = next.run(request).await;
    if response.status() == StatusCode::UNAUTHORIZED {
        addresses.limiter.charge(&client, REFUSED);
    }
    response
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn user(n: u128) -> UserId {
        UserId(uuid::Uuid::from_u128(n))
    }

    #[test]
    fn a_flood_takes_nothing_from_others() {
        let limiter = Limiter::new(Some(RateLimit { per_minute: 60, burst: 10 }));
        let now = Instant::now();
        assert_eq!((0..1000).filter(|_| limiter.take_at(user(1), now).is_ok()).count(), 10);
        assert_eq!((0..10).filter(|_| limiter.take_at(user(2), now).is_ok()).count(), 10);
        let wait = limiter.take_at(user(1), now).unwrap_err();
        assert!(wait <= Duration::from_secs(1) && limiter.take_at(user(1), now + wait).is_ok(), "as long as it says");
        limiter.take_at(user(3), now).unwrap();
        limiter.charge(&user(3), 5.0);
        limiter.charge(&user(4), 5.0);
        assert_eq!((0..10).filter(|_| limiter.take_at(user(3), now).is_ok()).count(), 4);
        limiter.charge(&user(3), 1e9);
        assert!(limiter.take_at(user(3), now).unwrap_err() <= Duration::from_secs(1), "no debts");
        assert!(Limiter::new(None).take_at(user(1), now).is_ok());
    }

    proptest::proptest! {
        #[test]
        fn never_more_than_the_burst_and_the_rate(steps in proptest::collection::vec(0u64..2_000, 1..200), per_minute in 1u32..600, burst in 1u32..20) {
            let limiter = Limiter::new(Some(RateLimit { per_minute, burst }));
            let start = Instant::now();
            let (mut now, mut granted) = (start, 0u32);
            for step in steps {
                now += Duration::from_millis(step);
                granted += u32::from(limiter.take_at(user(1), now).is_ok());
            }
            let most = f64::from(burst) + (now - start).as_secs_f64() * f64::from(per_minute) / 60.0;
            proptest::prop_assert!(f64::from(granted) <= most + 1e-6, "{granted} of {most}");
        }
    }
}
