//! What one caller may ask for: requests, by what they cost, and how many are worked on at a time; messages by minute and by day;
//! streams at once.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

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
    Limiter, REMEMBERED, RateLimit, hold_back,
    shared::{SharedBuckets, Taken},
};
use crate::{Limits, auth::Authenticated, error::ApiError};
use recall_domain::{Caller, UserId, ViewerRole};
use recall_ports::{Allowances, BackgroundTasks, Bucket, asked_by};

/// A limit by caller: of all servers where they share one, else of this one.
struct Limit {
    own: Arc<Limiter<UserId>>,
    shared: Option<Arc<SharedBuckets>>,
}

impl Limit {
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
                Taken::Yes => return Ok(()),
                Taken::No(wait) => return Err(super::refusal(wait)),
                Taken::Unknown => {}
            }
        }
        self.own.take_several(caller.user(), cost)
    }

    /// Takes what is due whether it is there or not.
    async fn charge(&self, caller: Caller, cost: u32) {
        let counted = match &self.shared {
            Some(shared) => shared.charge(caller, cost).await,
            None => false,
        };
        if !counted {
            self.own.owe(caller.user(), cost);
        }
    }
}

/// The limits of all callers.
pub(crate) struct CallerLimits {
    requests: Limit,
    messages: [Limit; 2],
    visitors: Limit,
    streams: Arc<Streams>,
    /// How many requests of one are worked on at a time, and whose turn it is.
    at_once: Option<usize>,
    turns: Mutex<LruCache<UserId, Arc<Semaphore>>>,
}

impl CallerLimits {
    pub(crate) fn new(limits: &Limits, store: Option<&Arc<dyn Allowances>>, background_tasks: &BackgroundTasks) -> Arc<Self> {
        let store = store.map(|store| (store, background_tasks));
        let messages = [("messages_minute", limits.messages_by_minute), ("messages_day", limits.messages_by_day)];
        Arc::new(Self {
            // A tenth of what may be asked at once: few draws, and little that one server keeps from the others.
            requests: Limit::new("requests", limits.requests, store, limits.requests.map_or(0, |rate| (rate.burst / 10).clamp(1, 100))),
            messages: messages.map(|(name, rate)| Limit::new(name, rate, store, 0)),
            visitors: Limit::new("visitor_messages", limits.visitor_messages_by_day, store, 0),
            streams: Arc::new(Streams { most: limits.streams_per_caller, of_visitors: limits.streams_per_visitor, open: Mutex::default() }),
            at_once: limits.requests_at_once,
            turns: Mutex::new(LruCache::new(REMEMBERED)),
        })
    }

    /// Counts a request.
    ///
    /// # Errors
    /// 429 `RATE_LIMITED` with the time until the next one, when there have been too many.
    pub(crate) async fn request(&self, caller: Caller) -> Result<(), ApiError> {
        self.requests.take(caller, 1).await
    }

    /// Counts a request that is as much work as `more` others besides itself.
    ///
    /// # Errors
    /// As [`Self::request`].
    pub(crate) async fn further(&self, caller: Caller, more: u32) -> Result<(), ApiError> {
        if more == 0 { Ok(()) } else { self.requests.take(caller, more).await }
    }

    /// Waits until a request of the caller's is to be worked on. Who asks for much at once waits for themselves, and not everybody
    /// for them.
    pub(crate) async fn turn(&self, caller: Caller) -> Option<OwnedSemaphorePermit> {
        let at_once = self.at_once?;
        let turns = {
            let mut all = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            all.get_or_insert_mut(caller.user(), || Arc::new(Semaphore::new(at_once))).clone()
        };
        turns.acquire_owned().await.ok()
    }

    /// Counts messages that are to be stored. Several at once count as many, but are taken together or not at all.
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

    /// Counts messages of the day that are stored already, because a visit was taken over. That is never refused: nobody shall lose
    /// what they told. But they count, be it into a debt, or going on visits and taking them over would be a way around the limit.
    pub(crate) async fn messages_came(&self, caller: Caller, count: u64) {
        let [_, by_day] = &self.messages;
        if count > 0 {
            by_day.charge(caller, u32::try_from(count).unwrap_or(u32::MAX)).await;
        }
    }

    /// Counts a stream as open until what is returned is dropped. Streams are counted by each server for itself.
    ///
    /// # Errors
    /// 429 `TOO_MANY_STREAMS`, when the caller has as many as may be.
    pub(crate) fn stream(&self, caller: Caller) -> Result<OpenStream, ApiError> {
        let mut open = self.streams.lock();
        let count = open.entry(caller.user()).or_default();
        let visitors = self.streams.of_visitors.filter(|_| caller.role() == ViewerRole::Anonymous);
        if self.streams.most.into_iter().chain(visitors).any(|most| *count >= most) {
            return Err(ApiError::too_many_streams(WAIT_FOR_A_STREAM));
        }
        *count += 1;
        Ok(OpenStream { user: caller.user(), streams: self.streams.clone() })
    }
}

/// Longest wait for one's own requests before this one.
const LONGEST_TURN: Duration = Duration::from_secs(10);
/// Nobody knows when a stream ends; after this long it is worth another try.
const WAIT_FOR_A_STREAM: Duration = Duration::from_secs(5);

struct Streams {
    most: Option<u32>,
    of_visitors: Option<u32>,
    open: Mutex<HashMap<UserId, u32>>,
}

impl Streams {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<UserId, u32>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream that counts.
pub(crate) struct OpenStream {
    user: UserId,
    streams: Arc<Streams>,
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

/// Middleware: refuses a caller who asks too often, and works on so many requests of one at a time.
pub(crate) async fn limit(State(limits): State<Arc<CallerLimits>>, request: Request, next: Next) -> Response {
    let caller = request.extensions().get::<Authenticated>().map(|Authenticated(identity)| identity.caller);
    let Some(caller) = caller else { return next.run(request).await };
    if let Err(error) = limits.request(caller).await {
        return hold_back(error).await.into_response();
    }
    let Ok(_turn) = timeout(LONGEST_TURN, limits.turn(caller)).await else {
        return ApiError::rate_limited(LONGEST_TURN).into_response();
    };
    asked_by(caller.user(), next.run(request)).await
}
