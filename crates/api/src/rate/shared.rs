//! Buckets that all servers of a database share. A server takes tokens out of the store in slices and spends them by itself, so
//! most requests touch no database, and a caller who has none left is refused here until there is one. Whatever happens to the
//! store, nobody waits for it longer than a moment: then this server's own buckets count.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use lru::LruCache;
use tokio::{
    sync::Mutex as Turn,
    time::{Instant, timeout},
};

use super::REMEMBERED;
use recall_domain::{Caller, UserId};
use recall_ports::{Allowances, BackgroundTasks, Bucket, DrawOutcome};

/// Longest wait of a request for the store.
const TIMEOUT: Duration = Duration::from_millis(100);
/// Longest wait for it of what was done already.
const LONG_PATIENCE: Duration = Duration::from_secs(5);
/// How long the store is left alone after it failed or was late.
const REST: Duration = Duration::from_secs(2);

/// What came of asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    Yes,
    /// There is none before that long.
    No(Duration),
    /// The store does not say.
    Unknown,
}

/// One bucket of each caller, in the store.
pub(super) struct SharedBuckets {
    store: Arc<dyn Allowances>,
    bucket: Bucket,
    /// Tokens taken in advance.
    slice: u32,
    held: Mutex<LruCache<UserId, Arc<Held>>>,
    resting_until: Mutex<Option<Instant>>,
    background_tasks: BackgroundTasks,
}

/// What this server has of a caller's.
#[derive(Default)]
struct Held {
    purse: Mutex<Purse>,
    /// Whose turn it is to draw: of many requests at once one asks for all.
    turn: Arc<Turn<()>>,
}

#[derive(Default)]
struct Purse {
    left: u32,
    /// Tokens not spent by then are gone: the store has filled up meanwhile.
    good_until: Option<Instant>,
    nothing_until: Option<Instant>,
}

/// What a look into the purse showed.
enum Look {
    UsageTotals { few_left: bool },
    Nothing(Duration),
    Empty,
}

impl Purse {
    fn spend(&mut self, cost: u32, slice: u32, now: Instant) -> Look {
        if self.good_until.is_some_and(|end| end <= now) {
            self.left = 0;
        }
        if self.left >= cost {
            self.left -= cost;
            return Look::UsageTotals { few_left: self.left < slice / 2 && self.nothing_until.is_none_or(|end| end <= now) };
        }
        match self.nothing_until.filter(|end| *end > now) {
            Some(end) => Look::Nothing(end - now),
            None => Look::Empty,
        }
    }

    fn put(&mut self, drawn: DrawOutcome, good_for: Duration, now: Instant) {
        match drawn {
            DrawOutcome::Tokens(n) => {
                self.left = self.left.saturating_add(n);
                self.good_until = now.checked_add(good_for);
                self.nothing_until = None;
            }
            DrawOutcome::Nothing(wait) => self.nothing_until = now.checked_add(wait),
        }
    }
}

impl SharedBuckets {
    /// `slice` is what is taken in advance; 0 where several may be asked for together, who should find all that is left in one place.
    pub(super) fn new(store: Arc<dyn Allowances>, bucket: Bucket, slice: u32, background_tasks: BackgroundTasks) -> Arc<Self> {
        let held = Mutex::new(LruCache::new(REMEMBERED));
        Arc::new(Self { store, bucket, slice, held, resting_until: Mutex::default(), background_tasks })
    }

    /// Takes tokens of a caller.
    pub(super) async fn take(self: &Arc<Self>, caller: Caller, cost: u32) -> Taken {
        let held = lock(&self.held).get_or_insert_mut(caller.user(), Arc::default).clone();
        match self.spend(&held, cost) {
            Look::UsageTotals { few_left } => {
                if few_left {
                    self.draw_ahead(caller, held);
                }
                return Taken::Yes;
            }
            Look::Nothing(wait) => return Taken::No(wait),
            Look::Empty if self.rests() => return Taken::Unknown,
            Look::Empty => {}
        }
        let drawing = async {
            let _turn = held.turn.lock().await;
            // Somebody else may have drawn for both.
            match self.spend(&held, cost) {
                Look::UsageTotals { .. } => return Taken::Yes,
                Look::Nothing(wait) => return Taken::No(wait),
                Look::Empty => {}
            }
            match self.store.draw(&caller, self.bucket, cost, cost.saturating_add(self.slice)).await {
                Ok(drawn) => {
                    self.put(&held, drawn);
                    match self.spend(&held, cost) {
                        Look::UsageTotals { .. } => Taken::Yes,
                        Look::Nothing(wait) => Taken::No(wait),
                        Look::Empty => Taken::Unknown,
                    }
                }
                Err(error) => self.rest(&error),
            }
        };
        match timeout(TIMEOUT, drawing).await {
            Ok(taken) => taken,
            Err(late) => self.rest(&late),
        }
    }

    /// Takes tokens of a caller whether they are there or not; whether the store knows of it.
    pub(super) async fn charge(&self, caller: Caller, cost: u32) -> bool {
        match timeout(LONG_PATIENCE, self.store.charge(&caller, self.bucket, cost)).await {
            Ok(Ok(())) => return true,
            Ok(Err(error)) => drop(self.rest(&error)),
            Err(late) => drop(self.rest(&late)),
        }
        false
    }

    fn spend(&self, held: &Held, cost: u32) -> Look {
        lock(&held.purse).spend(cost, self.slice, Instant::now())
    }

    fn put(&self, held: &Held, drawn: DrawOutcome) {
        let good_for = Duration::try_from_secs_f64(f64::from(self.bucket.capacity) / self.bucket.per_second).unwrap_or(Duration::MAX);
        lock(&held.purse).put(drawn, good_for, Instant::now());
    }

    /// Draws before the last token is spent, so that no request waits for it.
    fn draw_ahead(self: &Arc<Self>, caller: Caller, held: Arc<Held>) {
        let Ok(turn) = held.turn.clone().try_lock_owned() else { return };
        if self.rests() {
            return;
        }
        let this = self.clone();
        self.background_tasks.run(async move {
            let _turn = turn;
            match timeout(TIMEOUT, this.store.draw(&caller, this.bucket, 0, this.slice)).await {
                Ok(Ok(drawn)) => this.put(&held, drawn),
                Ok(Err(error)) => drop(this.rest(&error)),
                Err(late) => drop(this.rest(&late)),
            }
        });
    }

    fn rests(&self) -> bool {
        lock(&self.resting_until).is_some_and(|end| end > Instant::now())
    }

    fn rest(&self, why: &dyn std::error::Error) -> Taken {
        *lock(&self.resting_until) = Some(Instant::now() + REST);
        metrics::counter!("recall_shared_limits_missed_total").increment(1);
        tracing::debug!(error = %why, limit = self.bucket.name, "the limits that servers share cannot be asked for; this server's own count");
        Taken::Unknown
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
