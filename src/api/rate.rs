//! How often a caller may ask. Each has a bucket of requests that fills again at a steady rate, so that a burst is fine and
//! a flood is not, and what one floods with takes nothing from the others. Counts are of this process.

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use lru::LruCache;
use tokio::time::Instant;

use super::{auth::Authenticated, error::ApiError};
use crate::domain::UserId;

/// Callers remembered. One who was forgotten begins with a full bucket.
const CALLERS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(99_999);

/// How many requests a caller may make.
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

/// The buckets of all callers.
pub(crate) struct Limiter {
    limit: Option<RateLimit>,
    buckets: Mutex<LruCache<UserId, Bucket>>,
}

impl Limiter {
    pub(crate) fn new(limit: Option<RateLimit>) -> Arc<Self> {
        Arc::new(Self { limit, buckets: Mutex::new(LruCache::new(CALLERS)) })
    }

    /// Takes a request out of a caller's bucket.
    ///
    /// # Errors
    /// 429 `RATE_LIMITED` with the time until there is one, when it is empty.
    pub(crate) fn take(&self, user: UserId) -> Result<(), ApiError> {
        self.take_at(user, Instant::now()).map_err(|wait| {
            metrics::counter!("recall_requests_limited_total").increment(1);
            ApiError::rate_limited(wait)
        })
    }

    fn take_at(&self, user: UserId, now: Instant) -> Result<(), Duration> {
        let Some(limit) = self.limit else { return Ok(()) };
        let per_second = f64::from(limit.per_minute.max(1)) / 60.0;
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = buckets.get_or_insert_mut(user, || Bucket { left: f64::from(limit.burst), at: now });
        let gained = now.saturating_duration_since(bucket.at).as_secs_f64() * per_second;
        bucket.left = (bucket.left + gained).min(f64::from(limit.burst));
        bucket.at = bucket.at.max(now);
        if bucket.left >= 1.0 {
            bucket.left -= 1.0;
            return Ok(());
        }
        Err(Duration::from_secs_f64((1.0 - bucket.left) / per_second))
    }
}

/// Middleware: refuses a caller who asks too often.
pub(crate) async fn limit(State(limiter): State<Arc<Limiter>>, request: Request, next: Next) -> Response {
    let taken = match request.extensions().get::<Authenticated>() {
        Some(Authenticated(identity)) => limiter.take(identity.caller.user()),
        None => Ok(()),
    };
    match taken {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
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
