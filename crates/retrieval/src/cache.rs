//! Caches the indexes of users within one byte budget, and lets one task at a time update each.
//! Does not depend on the content of an index.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use lru::LruCache;
use parking_lot::Mutex;
use tokio::sync::RwLock;

use super::user_index::UserIndex;
use recall_domain::UserId;

/// Bytes of an empty slot, so that many users without messages count too.
const SLOT_BYTES: usize = 2048;

/// One user's index as searches see it.
#[derive(Debug)]
pub(super) struct LoadedIndex {
    /// The store's generation that it was built from; `None` before the first update.
    pub(super) generation: Option<u64>,
    /// The model of its vectors; empty before the first update.
    pub(super) model: String,
    pub(super) index: UserIndex,
    /// Whether the index exceeds the budget even without vectors. `index` is empty then.
    pub(super) too_large: bool,
}

impl LoadedIndex {
    pub(super) fn new(generation: u64, model: &str) -> Self {
        Self { generation: Some(generation), model: model.to_owned(), index: UserIndex::new(true), too_large: false }
    }

    /// Reduces the index to `budget` bytes: drops first the vectors, then everything.
    pub(super) fn shrink_to(&mut self, budget: usize) {
        if self.index.bytes() > budget {
            self.index.drop_vectors();
        }
        if self.index.bytes() > budget {
            self.index = UserIndex::new(false);
            self.too_large = true;
        }
    }
}

/// A user's entry in the cache. Searches share `loaded`; updates run one at a time.
pub(super) struct Slot {
    pub(super) loaded: Arc<RwLock<LoadedIndex>>,
    update_lock: tokio::sync::Mutex<UpdateState>,
    updates_started: AtomicU64,
}

#[derive(Default)]
struct UpdateState {
    /// Number of the latest update that succeeded.
    last_finished: u64,
    /// The rows that a cancelled update had read.
    partial: Option<LoadedIndex>,
}

/// A running update of one index. It holds the lock, so no other update of this index runs.
pub(super) struct Update<'a> {
    state: tokio::sync::MutexGuard<'a, UpdateState>,
    number: u64,
}

impl Slot {
    fn new() -> Self {
        let empty = LoadedIndex { generation: None, model: String::new(), index: UserIndex::new(false), too_large: false };
        Self { loaded: Arc::new(RwLock::new(empty)), update_lock: tokio::sync::Mutex::default(), updates_started: AtomicU64::new(0) }
    }

    /// Returns the number of the latest update that started. Read it before [`Self::begin_update`].
    pub(super) fn updates_started(&self) -> u64 {
        self.updates_started.load(Ordering::SeqCst)
    }

    /// Waits for the update lock.
    ///
    /// Returns `None` if an update with a number above `started_before` has finished meanwhile. That update has read
    /// everything that was stored before the caller read `started_before`.
    pub(super) async fn begin_update(&self, started_before: u64) -> Option<Update<'_>> {
        let state = self.update_lock.lock().await;
        if state.last_finished > started_before {
            return None;
        }
        Some(Update { state, number: self.updates_started.fetch_add(1, Ordering::SeqCst) + 1 })
    }
}

impl Update<'_> {
    /// Takes the partial index of a cancelled update, if it has the same generation and model.
    pub(super) fn take_partial(&mut self, generation: u64, model: &str) -> Option<LoadedIndex> {
        self.state.partial.take().filter(|partial| partial.generation == Some(generation) && partial.model == model)
    }

    /// Keeps the partial index in case this update is cancelled.
    pub(super) fn keep_partial(&mut self, partial: LoadedIndex) {
        self.state.partial = Some(partial);
    }

    /// Records that the update succeeded.
    pub(super) fn finish(&mut self) {
        self.state.last_finished = self.number;
    }
}

/// Slots of users, evicted in the order of their last use.
pub(super) struct Cache {
    budget: usize,
    users: Mutex<Users>,
}

struct Users {
    slots: LruCache<UserId, (Arc<Slot>, usize)>,
    bytes: usize,
}

impl Cache {
    pub(super) fn new(budget: usize) -> Self {
        Self { budget, users: Mutex::new(Users { slots: LruCache::unbounded(), bytes: 0 }) }
    }

    /// Returns the user's slot, creates it if needed, and marks it as most recently used.
    pub(super) fn slot(&self, user: UserId) -> Arc<Slot> {
        let mut users = self.users.lock();
        if let Some((slot, _)) = users.slots.get(&user) {
            return Arc::clone(slot);
        }
        let slot = Arc::new(Slot::new());
        users.bytes += SLOT_BYTES;
        users.slots.put(user, (Arc::clone(&slot), SLOT_BYTES));
        users.evict_to(self.budget);
        slot
    }

    /// Returns the user's slot if there is one. Does not count as a use.
    pub(super) fn peek(&self, user: UserId) -> Option<Arc<Slot>> {
        self.users.lock().slots.peek(&user).map(|(slot, _)| Arc::clone(slot))
    }

    /// Records the size of a slot's index, and evicts others until all fit. Ignores a slot that was evicted meanwhile.
    pub(super) fn record_size(&self, user: UserId, slot: &Arc<Slot>, bytes: usize) {
        let mut users = self.users.lock();
        let Some((current, size)) = users.slots.get_mut(&user) else { return };
        if !Arc::ptr_eq(current, slot) {
            return;
        }
        let before = std::mem::replace(size, SLOT_BYTES + bytes);
        users.bytes = users.bytes + SLOT_BYTES + bytes - before;
        users.evict_to(self.budget);
    }

    /// Drops a user's slot. Running searches keep theirs.
    pub(super) fn remove(&self, user: UserId) {
        let mut users = self.users.lock();
        if let Some((_, bytes)) = users.slots.pop(&user) {
            users.bytes -= bytes;
        }
    }

    /// Returns the bytes of all slots.
    pub(super) fn bytes(&self) -> usize {
        self.users.lock().bytes
    }

    /// Returns the number of slots.
    pub(super) fn users(&self) -> usize {
        self.users.lock().slots.len()
    }
}

impl Users {
    /// Evicts the least recently used slots. The last one stays: it is in use, and fits alone.
    fn evict_to(&mut self, budget: usize) {
        while self.bytes > budget && self.slots.len() > 1 {
            if let Some((_, (_, bytes))) = self.slots.pop_lru() {
                self.bytes -= bytes;
            }
        }
    }
}
