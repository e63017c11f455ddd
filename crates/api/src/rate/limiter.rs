//! Token buckets in memory.

use std::{hash::Hash, num::NonZeroUsize, sync::Arc, time::Duration};

use parking_lot::Mutex;

use lru::LruCache;
use tokio::time::{Instant, sleep};

use crate::{error::ApiError, limits::RateLimit};

/// Maximum number of buckets in memory. A client whose bucket was evicted starts with a full one.
pub(super) const MAX_BUCKETS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(99_999);

/// Delay of a refusal. The client's connection is busy meanwhile, so a flood is limited by its number of connections.
pub(super) const REFUSAL_DELAY: Duration = Duration::from_millis(100);

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
pub(super) struct Limiter<K: Hash + Eq> {
    limit: Option<RateLimit>,
    buckets: Mutex<LruCache<K, LocalBucket>>,
}

impl<K: Hash + Eq> Limiter<K> {
    pub(super) fn new(limit: Option<RateLimit>) -> Arc<Self> {
        Arc::new(Self { limit, buckets: Mutex::new(LruCache::new(MAX_BUCKETS)) })
    }

    /// Takes one token.
    ///
    /// # Errors
    /// 429 `RATE_LIMITED` with the time until the next token, when the bucket is empty.
    pub(super) fn take(&self, key: K) -> Result<(), ApiError> {
        self.take_several(key, 1)
    }

    /// Takes `cost` tokens if at least one is left. The rest becomes a debt that has to refill first.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub(super) fn take_several(&self, key: K, cost: u32) -> Result<(), ApiError> {
        self.take_at(key, cost, Instant::now()).map_err(rate_limited)
    }

    pub(super) fn take_at(&self, key: K, cost: u32, now: Instant) -> Result<(), Duration> {
        let Some(limit) = self.limit else { return Ok(()) };
        let mut buckets = self.buckets.lock();
        let bucket = buckets.get_or_insert_mut(key, || LocalBucket { left: f64::from(limit.burst), at: now });
        bucket.fill(limit, now);
        if bucket.left >= 1.0 {
            bucket.left -= f64::from(cost);
            return Ok(());
        }
        Err(Duration::try_from_secs_f64((1.0 - bucket.left) / limit.per_second).unwrap_or(Duration::MAX))
    }

    /// Takes tokens without checking, into a debt if necessary.
    pub(super) fn force_charge(&self, key: K, cost: u32) {
        let (Some(limit), now) = (self.limit, Instant::now()) else { return };
        let mut buckets = self.buckets.lock();
        let bucket = buckets.get_or_insert_mut(key, || LocalBucket { left: f64::from(limit.burst), at: now });
        bucket.fill(limit, now);
        bucket.left -= f64::from(cost);
    }

    /// Takes tokens without creating a debt.
    pub(super) fn charge(&self, key: &K, cost: f64) {
        if let Some(bucket) = self.buckets.lock().get_mut(key) {
            bucket.left = (bucket.left - cost).max(bucket.left.min(0.0));
        }
    }
}

/// Counts a refusal and returns 429 `RATE_LIMITED`.
pub(super) fn rate_limited(wait: Duration) -> ApiError {
    metrics::counter!("recall_requests_limited_total").increment(1);
    ApiError::rate_limited(wait)
}

/// Returns the error after `REFUSAL_DELAY`.
pub(super) async fn delay_refusal(error: ApiError) -> ApiError {
    sleep(REFUSAL_DELAY).await;
    error
}
