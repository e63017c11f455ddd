//! Token buckets that all servers of a database share.
//!
//! A server draws slices of tokens from the store and spends them locally, so most requests need no database. It refuses a
//! caller without tokens until the store has refilled one. A request waits for the store for at most 100 ms; then the server's
//! own buckets apply.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;

use lru::LruCache;
use tokio::{
    sync::Mutex as AsyncMutex,
    time::{Instant, timeout},
};

use super::limiter::MAX_BUCKETS;
use recall_domain::{Caller, UserId};
use recall_ports::{Allowances, BackgroundTasks, Bucket, DrawOutcome};

/// Maximum wait of a request for the store.
const DRAW_TIMEOUT: Duration = Duration::from_millis(100);
/// Maximum wait for the store when the tokens are charged afterwards.
const CHARGE_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause after the store has failed or timed out.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// Result of taking tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TakeOutcome {
    Granted,
    /// Refused; the next token is available after this time.
    Refused(Duration),
    /// The store did not answer.
    Unknown,
}

/// The buckets of one limit, one for each caller.
pub(super) struct SharedBuckets {
    store: Arc<dyn Allowances>,
    bucket: Bucket,
    /// Number of tokens drawn in advance.
    slice: u32,
    held: Mutex<LruCache<UserId, Arc<CallerTokens>>>,
    unavailable_until: Mutex<Option<Instant>>,
    background_tasks: BackgroundTasks,
}

/// Tokens of a caller that this server has drawn.
#[derive(Default)]
struct CallerTokens {
    tokens: Mutex<LocalTokens>,
    /// Held while drawing, so that one of several concurrent requests draws for all.
    draw_lock: Arc<AsyncMutex<()>>,
}

#[derive(Default)]
struct LocalTokens {
    left: u32,
    /// When unspent tokens expire, because the store's bucket has refilled by then.
    expires_at: Option<Instant>,
    empty_until: Option<Instant>,
}

/// Result of spending local tokens.
enum SpendOutcome {
    Spent { few_left: bool },
    Refused(Duration),
    Empty,
}

impl LocalTokens {
    fn spend(&mut self, cost: u32, slice: u32, now: Instant) -> SpendOutcome {
        if self.expires_at.is_some_and(|end| end <= now) {
            self.left = 0;
        }
        if self.left >= cost {
            self.left -= cost;
            return SpendOutcome::Spent { few_left: self.left < slice / 2 && self.empty_until.is_none_or(|end| end <= now) };
        }
        match self.empty_until.filter(|end| *end > now) {
            Some(end) => SpendOutcome::Refused(end - now),
            None => SpendOutcome::Empty,
        }
    }

    fn add(&mut self, drawn: DrawOutcome, lifetime: Duration, now: Instant) {
        match drawn {
            DrawOutcome::Tokens(n) => {
                self.left = self.left.saturating_add(n);
                self.expires_at = now.checked_add(lifetime);
                self.empty_until = None;
            }
            DrawOutcome::Nothing(wait) => self.empty_until = now.checked_add(wait),
        }
    }
}

impl SharedBuckets {
    /// Creates the buckets. `slice` is the number of tokens drawn in advance.
    ///
    /// It is 0 for limits where one request may need several tokens: all that are left should then be in the store.
    pub(super) fn new(store: Arc<dyn Allowances>, bucket: Bucket, slice: u32, background_tasks: BackgroundTasks) -> Arc<Self> {
        let held = Mutex::new(LruCache::new(MAX_BUCKETS));
        Arc::new(Self { store, bucket, slice, held, unavailable_until: Mutex::default(), background_tasks })
    }

    /// Takes tokens of a caller, from the local ones or from the store.
    pub(super) async fn take(self: &Arc<Self>, caller: Caller, cost: u32) -> TakeOutcome {
        let held = lock(&self.held).get_or_insert_mut(caller.user(), Arc::default).clone();
        match self.spend(&held, cost) {
            SpendOutcome::Spent { few_left } => {
                if few_left {
                    self.draw_ahead(caller, held);
                }
                return TakeOutcome::Granted;
            }
            SpendOutcome::Refused(wait) => return TakeOutcome::Refused(wait),
            SpendOutcome::Empty if self.is_unavailable() => return TakeOutcome::Unknown,
            SpendOutcome::Empty => {}
        }
        let drawing = async {
            let _draw_lock = held.draw_lock.lock().await;
            // Another request may have drawn tokens meanwhile.
            match self.spend(&held, cost) {
                SpendOutcome::Spent { .. } => return TakeOutcome::Granted,
                SpendOutcome::Refused(wait) => return TakeOutcome::Refused(wait),
                SpendOutcome::Empty => {}
            }
            match self.store.draw(&caller, self.bucket, cost, cost.saturating_add(self.slice)).await {
                Ok(drawn) => {
                    self.add(&held, drawn);
                    match self.spend(&held, cost) {
                        SpendOutcome::Spent { .. } => TakeOutcome::Granted,
                        SpendOutcome::Refused(wait) => TakeOutcome::Refused(wait),
                        SpendOutcome::Empty => TakeOutcome::Unknown,
                    }
                }
                Err(error) => self.mark_unavailable(&error),
            }
        };
        match timeout(DRAW_TIMEOUT, drawing).await {
            Ok(taken) => taken,
            Err(late) => self.mark_unavailable(&late),
        }
    }

    /// Takes tokens of a caller without checking. Returns whether the store has recorded it.
    pub(super) async fn charge(&self, caller: Caller, cost: u32) -> bool {
        match timeout(CHARGE_TIMEOUT, self.store.charge(&caller, self.bucket, cost)).await {
            Ok(Ok(())) => return true,
            Ok(Err(error)) => drop(self.mark_unavailable(&error)),
            Err(late) => drop(self.mark_unavailable(&late)),
        }
        false
    }

    fn spend(&self, held: &CallerTokens, cost: u32) -> SpendOutcome {
        lock(&held.tokens).spend(cost, self.slice, Instant::now())
    }

    fn add(&self, held: &CallerTokens, drawn: DrawOutcome) {
        let lifetime = Duration::try_from_secs_f64(f64::from(self.bucket.capacity) / self.bucket.per_second).unwrap_or(Duration::MAX);
        lock(&held.tokens).add(drawn, lifetime, Instant::now());
    }

    /// Draws tokens in the background before the last one is spent.
    fn draw_ahead(self: &Arc<Self>, caller: Caller, held: Arc<CallerTokens>) {
        let Ok(draw_lock) = held.draw_lock.clone().try_lock_owned() else { return };
        if self.is_unavailable() {
            return;
        }
        let this = self.clone();
        self.background_tasks.run(async move {
            let _draw_lock = draw_lock;
            match timeout(DRAW_TIMEOUT, this.store.draw(&caller, this.bucket, 0, this.slice)).await {
                Ok(Ok(drawn)) => this.add(&held, drawn),
                Ok(Err(error)) => drop(this.mark_unavailable(&error)),
                Err(late) => drop(this.mark_unavailable(&late)),
            }
        });
    }

    fn is_unavailable(&self) -> bool {
        lock(&self.unavailable_until).is_some_and(|end| end > Instant::now())
    }

    fn mark_unavailable(&self, why: &dyn std::error::Error) -> TakeOutcome {
        *lock(&self.unavailable_until) = Some(Instant::now() + RETRY_AFTER);
        metrics::counter!("recall_shared_limits_missed_total").increment(1);
        tracing::debug!(error = %why, limit = self.bucket.name, "cannot reach the shared limits, this server counts alone");
        TakeOutcome::Unknown
    }
}

fn lock<T>(mutex: &Mutex<T>) -> parking_lot::MutexGuard<'_, T> {
    mutex.lock()
}
