//! Which users' indexes are in memory, within one byte budget, and whose turn it is to bring one up to date.
//! Knows nothing of what an index holds.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use lru::LruCache;
use tokio::sync::RwLock;

use super::memory::UserIndex;
use recall_domain::UserId;

/// What an empty slot takes, so that a great many users without messages count too.
const SLOT_BYTES: usize = 2048;

/// One user's index as searches see it.
#[derive(Debug)]
pub(super) struct Held {
    /// The store's generation it was made from; `None` before the first time.
    pub(super) generation: Option<u64>,
    /// Of which model its vectors are; empty before the first time.
    pub(super) model: String,
    pub(super) index: UserIndex,
    /// The user has more messages than fit, even without vectors. `index` is empty then.
    pub(super) outgrown: bool,
}

impl Held {
    pub(super) fn new(generation: u64, model: &str) -> Self {
        Self { generation: Some(generation), model: model.to_owned(), index: UserIndex::new(true), outgrown: false }
    }

    /// Makes it smaller until it fits: first the vectors go, then everything.
    pub(super) fn fit(&mut self, budget: usize) {
        if self.index.bytes() > budget {
            self.index.drop_vectors();
        }
        if self.index.bytes() > budget {
            self.index = UserIndex::new(false);
            self.outgrown = true;
        }
    }
}

/// A user's place in the cache. Searches share `held`; rounds of catching up take turns.
pub(super) struct Slot {
    pub(super) held: Arc<RwLock<Held>>,
    turn: tokio::sync::Mutex<Turn>,
    begun: AtomicU64,
}

#[derive(Default)]
struct Turn {
    /// Number of the latest round that ended well.
    ended: u64,
    /// What a cancelled round had made.
    unfinished: Option<Held>,
}

/// A round of catching up; no other runs beside it.
pub(super) struct Round<'a> {
    turn: tokio::sync::MutexGuard<'a, Turn>,
    number: u64,
}

impl Slot {
    fn new() -> Self {
        let held = Held { generation: None, model: String::new(), index: UserIndex::new(false), outgrown: false };
        Self { held: Arc::new(RwLock::new(held)), turn: tokio::sync::Mutex::default(), begun: AtomicU64::new(0) }
    }

    /// Number of the latest round that began. Take it before waiting for a turn.
    pub(super) fn rounds_begun(&self) -> u64 {
        self.begun.load(Ordering::SeqCst)
    }

    /// Waits for its turn. `None` when a round that began after `arrived` has ended meanwhile: it saw
    /// everything that was stored when its waiter arrived.
    pub(super) async fn begin(&self, arrived: u64) -> Option<Round<'_>> {
        let turn = self.turn.lock().await;
        if turn.ended > arrived {
            return None;
        }
        Some(Round { turn, number: self.begun.fetch_add(1, Ordering::SeqCst) + 1 })
    }
}

impl Round<'_> {
    /// Takes what a cancelled round had made of the same generation and model.
    pub(super) fn unfinished(&mut self, generation: u64, model: &str) -> Option<Held> {
        self.turn.unfinished.take().filter(|held| held.generation == Some(generation) && held.model == model)
    }

    /// Lays down what is made so far.
    pub(super) fn keep_unfinished(&mut self, held: Held) {
        self.turn.unfinished = Some(held);
    }

    /// The round ended well.
    pub(super) fn end(&mut self) {
        self.turn.ended = self.number;
    }
}

/// Slots of users, least recently used first to go.
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

    fn users_locked(&self) -> MutexGuard<'_, Users> {
        // Nothing inside can be left half done: a panic of another thread does not spoil it.
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The user's slot, made when there is none, and now the most recently used.
    pub(super) fn slot(&self, user: UserId) -> Arc<Slot> {
        let mut users = self.users_locked();
        if let Some((slot, _)) = users.slots.get(&user) {
            return Arc::clone(slot);
        }
        let slot = Arc::new(Slot::new());
        users.bytes += SLOT_BYTES;
        users.slots.put(user, (Arc::clone(&slot), SLOT_BYTES));
        users.shrink(self.budget);
        slot
    }

    /// The user's slot if there is one; no use of it.
    pub(super) fn peek(&self, user: UserId) -> Option<Arc<Slot>> {
        self.users_locked().slots.peek(&user).map(|(slot, _)| Arc::clone(slot))
    }

    /// Notes how large a slot's index is, and lets others go until all fit. A slot that went meanwhile stays gone.
    pub(super) fn account(&self, user: UserId, slot: &Arc<Slot>, bytes: usize) {
        let mut users = self.users_locked();
        let Some((there, size)) = users.slots.get_mut(&user) else { return };
        if !Arc::ptr_eq(there, slot) {
            return;
        }
        let before = std::mem::replace(size, SLOT_BYTES + bytes);
        users.bytes = users.bytes + SLOT_BYTES + bytes - before;
        users.shrink(self.budget);
    }

    /// Drops a user's slot. Searches that have it go on with it to their end.
    pub(super) fn remove(&self, user: UserId) {
        let mut users = self.users_locked();
        if let Some((_, bytes)) = users.slots.pop(&user) {
            users.bytes -= bytes;
        }
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.users_locked().bytes
    }

    /// Number of slots.
    pub(super) fn users(&self) -> usize {
        self.users_locked().slots.len()
    }
}

impl Users {
    /// Lets the least recently used go. The last one stays: it is the one in use, and fits by itself.
    fn shrink(&mut self, budget: usize) {
        while self.bytes > budget && self.slots.len() > 1 {
            if let Some((_, (_, bytes))) = self.slots.pop_lru() {
                self.bytes -= bytes;
            }
        }
    }
}
