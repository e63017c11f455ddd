//! Limits of one caller: request cost, concurrent requests, messages by minute and day, and open streams.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};

use lru::LruCache;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::{
    limiter::{Limiter, MAX_BUCKETS, delay_refusal, rate_limited},
    shared::{SharedBuckets, TakeOutcome},
};
use crate::{
    auth::Authenticated,
    error::ApiError,
    limits::{Limits, RateLimit},
};
use recall_domain::{Caller, UserId, ViewerRole};
use recall_ports::{Allowances, BackgroundTasks, Bucket, asked_by};

/// A rate limit by caller, shared by all servers if a store is configured.
struct CallerLimit {
    own: Arc<Limiter<UserId>>,
    shared: Option<Arc<SharedBuckets>>,
}

impl CallerLimit {
    fn new(name: &'static str, rate: Option<RateLimit>, store: Option<(&Arc<dyn Allowances>, &BackgroundTasks)>, slice: u32) -> Self {
        let bucket = |rate: RateLimit| Bucket { name, capacity: rate.burst, per_second: rate.per_second };
        let shared = store
            .zip(rate)
            .map(|((store, background_tasks), rate)| SharedBuckets::new(store.clone(), bucket(rate), slice, background_tasks.clone()));
        Self { own: Limiter::new(rate), shared }
    }

    async fn take(&self, caller: Caller, cost: u32) -> Result<(), ApiError> {
        if let Some(shared) = &self.shared {
            match shared.take(caller, cost).await {
                TakeOutcome::Granted => return Ok(()),
                TakeOutcome::Refused(wait) => return Err(rate_limited(wait)),
                TakeOutcome::Unknown => {}
            }
        }
        self.own.take_several(caller.user(), cost)
    }

    /// Takes tokens without checking, into a debt if necessary.
    async fn charge(&self, caller: Caller, cost: u32) {
        let counted = match &self.shared {
            Some(shared) => shared.charge(caller, cost).await,
            None => false,
        };
        if !counted {
            self.own.force_charge(caller.user(), cost);
        }
    }
}

/// The limits of all callers.
pub(crate) struct CallerLimits {
    requests: CallerLimit,
    messages: [CallerLimit; 2],
    visitors: CallerLimit,
    streams: Arc<StreamCounts>,
    /// Maximum number of concurrent requests of one caller.
    max_concurrent: Option<usize>,
    slots: Mutex<LruCache<UserId, Arc<Semaphore>>>,
}

impl CallerLimits {
    pub(crate) fn new(limits: &Limits, store: Option<&Arc<dyn Allowances>>, background_tasks: &BackgroundTasks) -> Arc<Self> {
        let store = store.map(|store| (store, background_tasks));
        let messages = [("messages_minute", limits.messages_by_minute), ("messages_day", limits.messages_by_day)];
        Arc::new(Self {
            // The slice is a tenth of the burst: draws are rare, and one server keeps few tokens from the others.
            requests: CallerLimit::new(
                "requests",
                limits.requests,
                store,
                limits.requests.map_or(0, |rate| (rate.burst / 10).clamp(1, 100)),
            ),
            messages: messages.map(|(name, rate)| CallerLimit::new(name, rate, store, 0)),
            visitors: CallerLimit::new("visitor_messages", limits.visitor_messages_by_day, store, 0),
            streams: Arc::new(StreamCounts {
                max: limits.streams_per_caller,
                max_for_visitors: limits.streams_per_visitor,
                open: Mutex::default(),
            }),
            max_concurrent: limits.requests_at_once,
            slots: Mutex::new(LruCache::new(MAX_BUCKETS)),
        })
    }

    /// Counts a request.
    ///
    /// # Errors
    /// 429 `RATE_LIMITED` with the time until the next one, when there have been too many.
    pub(crate) async fn request(&self, caller: Caller) -> Result<(), ApiError> {
        self.requests.take(caller, 1).await
    }

    /// Counts `more` extra requests for one that is as much work.
    ///
    /// # Errors
    /// As [`Self::request`].
    pub(crate) async fn charge_extra(&self, caller: Caller, more: u32) -> Result<(), ApiError> {
        if more == 0 { Ok(()) } else { self.requests.take(caller, more).await }
    }

    /// Waits for one of the caller's slots; `None` without a limit.
    ///
    /// A caller with many concurrent requests waits, and delays no other caller.
    pub(crate) async fn acquire_slot(&self, caller: Caller) -> Option<OwnedSemaphorePermit> {
        let max_concurrent = self.max_concurrent?;
        let slots = {
            let mut all = self.slots.lock();
            all.get_or_insert_mut(caller.user(), || Arc::new(Semaphore::new(max_concurrent))).clone()
        };
        slots.acquire_owned().await.ok()
    }

    /// Counts messages that are to be stored. Several messages are accepted together or not at all.
    ///
    /// # Errors
    /// As [`Self::request`].
    pub(crate) async fn messages(&self, caller: Caller, count: usize) -> Result<(), ApiError> {
        let visitors = (caller.role() == ViewerRole::Anonymous).then_some(&self.visitors);
        for limit in self.messages.iter().chain(visitors) {
            limit.take(caller, u32::try_from(count).unwrap_or(u32::MAX).max(1)).await?;
        }
        Ok(())
    }

    /// Counts messages of an adopted visit against the limit of the day.
    ///
    /// Adoption is never refused, so that no message is lost. The messages still count, into a debt if necessary: otherwise users
    /// could bypass the limit with visits.
    pub(crate) async fn charge_adopted_messages(&self, caller: Caller, count: u64) {
        let [_, by_day] = &self.messages;
        if count > 0 {
            by_day.charge(caller, u32::try_from(count).unwrap_or(u32::MAX)).await;
        }
    }

    /// Counts a stream as open until the returned guard is dropped. Each server counts its own streams.
    ///
    /// # Errors
    /// 429 `TOO_MANY_STREAMS`, when the caller has reached the limit.
    pub(crate) fn stream(&self, caller: Caller) -> Result<OpenStream, ApiError> {
        let mut open = self.streams.lock();
        let count = open.entry(caller.user()).or_default();
        let visitors = self.streams.max_for_visitors.filter(|_| caller.role() == ViewerRole::Anonymous);
        if self.streams.max.into_iter().chain(visitors).any(|max| *count >= max) {
            return Err(ApiError::too_many_streams(STREAM_RETRY_AFTER));
        }
        *count += 1;
        Ok(OpenStream { user: caller.user(), streams: self.streams.clone() })
    }
}

/// Maximum wait for a slot.
const MAX_SLOT_WAIT: Duration = Duration::from_secs(10);
/// When a client without a stream should try again. The server cannot know when another stream ends.
const STREAM_RETRY_AFTER: Duration = Duration::from_secs(5);

struct StreamCounts {
    max: Option<u32>,
    max_for_visitors: Option<u32>,
    open: Mutex<HashMap<UserId, u32>>,
}

impl StreamCounts {
    fn lock(&self) -> parking_lot::MutexGuard<'_, HashMap<UserId, u32>> {
        self.open.lock()
    }
}

/// Keeps a stream counted as open until dropped.
pub(crate) struct OpenStream {
    user: UserId,
    streams: Arc<StreamCounts>,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut open = self.streams.lock();
        if let Some(count) = open.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.user);
            }
        }
    }
}

/// Middleware: enforces the request rate and the number of concurrent requests of a caller.
pub(crate) async fn limit_callers(State(limits): State<Arc<CallerLimits>>, request: Request, next: Next) -> Response {
    let caller = request.extensions().get::<Authenticated>().map(|Authenticated(identity)| identity.caller);
    let Some(caller) = caller else { return next.run(request).await };
    if let Err(error) = limits.request(caller).await {
        return delay_refusal(error).await.into_response();
    }
    let Ok(_slot) = timeout(MAX_SLOT_WAIT, limits.acquire_slot(caller)).await else {
        return ApiError::rate_limited(MAX_SLOT_WAIT).into_response();
    };
    asked_by(caller.user(), next.run(request)).await
}
