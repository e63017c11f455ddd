//! [`RecallIndex`]: finds messages of one user by words and by meaning, in memory. The store stays the truth: an
//! index is made from its feed on first use, reads what is new before each search, and is void when the store's
//! generation says that something was deleted. So it is right on every server instance without being told
//! anything, and may be dropped at any time.
//!
//! All users share one byte budget; the least recently used index goes first. A user whose index does not fit
//! alone is served in one of two smaller ways:
//!
//! 1. without vectors (a third of the bytes): words are searched here and vectors by [`MessageStore::nearest`];
//! 2. if the words do not fit either, [`MessageStore::nearest`] finds candidates, and words decide among these.
//!    A question without a vector then finds only what graph search brings.

mod cache;
mod dates;
mod joint;
mod memory;
mod postings;
mod prior;
mod rank;
mod runs;
mod vectors;
mod words;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod measured;
#[cfg(test)]
mod tests;

use std::{num::NonZeroUsize, sync::Arc};

use async_trait::async_trait;
use tokio::sync::{OwnedRwLockReadGuard, Semaphore};

pub use self::rank::Tuning;
use self::{
    cache::{Cache, Held, Slot},
    memory::{Asked, UserIndex},
};
use recall_domain::{
    Caller, MessageId,
    context::{Method, Scope},
};
use recall_ports::{Embedder, FairShare, FeedRow, IndexQuery, MessageIndex, MessageStore, StoreError, index::IndexResult};
use recall_text::index_terms;

/// Rows read from the feed at a time. Adding a page takes less than a millisecond, so it is done in place.
const PAGE: u32 = 512;
/// From this many rows on a search may take more than a millisecond and goes to the blocking pool.
const INLINE_ROWS: usize = 2_000;
/// Searches at once, half of them at most for one caller.
const SEARCHES: u32 = 4;
/// How many neighbours the store is asked for when vectors are not held here.
const NEAREST: u32 = 400;

/// Settings of the index.
#[derive(Clone, Debug)]
pub struct RecallIndexOptions {
    /// Bytes that all users' indexes may take together. 100,000 chat messages take about 53 MB.
    pub budget_bytes: usize,
    /// Numbers of the ranking.
    pub tuning: Tuning,
}

impl Default for RecallIndexOptions {
    fn default() -> Self {
        Self { budget_bytes: 256 * 1024 * 1024, tuning: Tuning::default() }
    }
}

/// [`MessageIndex`] in memory over any [`MessageStore`].
pub struct RecallIndex {
    store: Arc<dyn MessageStore>,
    /// Of users of whom the store does not say another.
    model: String,
    options: RecallIndexOptions,
    cache: Cache,
    /// Searches of one caller at once.
    share: FairShare,
    /// Large searches of all callers at once: as many as there are cores.
    large: Semaphore,
}

impl RecallIndex {
    /// An index over `store`. Each user is searched by vectors of the model that the store names, or of `embedder`'s.
    pub fn new(store: Arc<dyn MessageStore>, embedder: &dyn Embedder, options: RecallIndexOptions) -> Self {
        let cache = Cache::new(options.budget_bytes);
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let share = FairShare::half_of(SEARCHES);
        Self { store, model: embedder.model().to_owned(), options, cache, share, large: Semaphore::new(cores) }
    }

    /// Bytes held for all users.
    pub fn bytes(&self) -> usize {
        self.cache.bytes()
    }

    /// Number of users whose messages are held.
    pub fn users(&self) -> usize {
        self.cache.users()
    }

    /// Brings the caller's index up to everything that was stored before this call.
    ///
    /// One at a time per user. Whoever waited while another caller's round began and ended needs none of their own.
    /// Cancelled half-way, what was read so far stays and the next round goes on from there.
    async fn catch_up(&self, caller: &Caller, slot: &Arc<Slot>) -> Result<(), StoreError> {
        let arrived = slot.rounds_begun();
        let Some(mut round) = slot.begin(arrived).await else { return Ok(()) };
        // Read before the rows: a deletion in between then makes the next search start anew, and none goes unseen.
        // The same goes for vectors that come into use; the old ones are left long enough for what is read here.
        let state = self.store.feed_state(caller).await?;
        let (generation, model) = (state.generation, state.model.unwrap_or_else(|| self.model.clone()));
        let held = slot.held.read().await;
        let current = held.generation == Some(generation) && held.model == model;
        let (outgrown, mut after) = (held.outgrown, held.index.last_row());
        drop(held);
        if current && outgrown {
            round.end();
            return Ok(());
        }
        if current {
            loop {
                let rows = self.store.feed(caller, &model, after, PAGE).await?;
                if !rows.is_empty() {
                    let mut held = slot.held.write().await;
                    rows.iter().for_each(|row| held.index.push(row));
                    after = held.index.last_row();
                    held.fit(self.options.budget_bytes);
                    self.cache.account(caller.user(), slot, held.index.bytes());
                    if held.outgrown {
                        break;
                    }
                }
                if rows.len() < PAGE as usize {
                    break;
                }
            }
        } else {
            // Made aside, since others may be searching what is held.
            let mut made = round.unfinished(generation, &model).unwrap_or_else(|| Held::new(generation, &model));
            loop {
                // A cancelled read must find the part that was made, so it lies in the round meanwhile.
                let after = made.index.last_row();
                round.keep_unfinished(made);
                let rows = self.store.feed(caller, &model, after, PAGE).await?;
                let Some(part) = round.unfinished(generation, &model) else { return Ok(()) };
                made = part;
                rows.iter().for_each(|row| made.index.push(row));
                made.fit(self.options.budget_bytes);
                self.cache.account(caller.user(), slot, made.index.bytes());
                if made.outgrown || rows.len() < PAGE as usize {
                    break;
                }
            }
            *slot.held.write().await = made;
        }
        round.end();
        Ok(())
    }

    /// The store's nearest messages, when the question has a vector and meaning was asked for.
    async fn nearest(&self, caller: &Caller, query: &IndexQuery) -> Result<Vec<(MessageId, f32)>, StoreError> {
        let Some(vector) = query.embedding.as_ref().filter(|v| query.methods.contains(&Method::Vector) && v.0.iter().any(|x| *x != 0.0))
        else {
            return Ok(Vec::new());
        };
        let session = match query.scope {
            Scope::User => None,
            Scope::Session(id) => Some(id),
        };
        let limit = NEAREST.max(u32::try_from(query.first).unwrap_or(u32::MAX).saturating_mul(2));
        self.store.nearest(caller, &query.model, vector, session, limit).await
    }

    /// What a question is put to, brought up to everything that was stored before this call.
    async fn source(&self, caller: &Caller, query: &IndexQuery) -> Result<Source, StoreError> {
        let slot = self.cache.slot(caller.user());
        self.catch_up(caller, &slot).await?;
        let held = slot.held.clone().read_owned().await;
        let mut query = query.clone();
        // Vectors of two models are never compared.
        query.embedding = query.embedding.filter(|_| query.model == held.model);
        query.model = held.model.clone();
        if held.outgrown {
            drop(held);
            let nearest = self.nearest(caller, &query).await?;
            let index = Index::Made(Box::new(self.among(caller, &query, &nearest).await?));
            return Ok(Source { query, nearest, index });
        }
        let nearest = if held.index.holds_vectors() { Vec::new() } else { self.nearest(caller, &query).await? };
        Ok(Source { query, nearest, index: Index::Held(held) })
    }

    /// For a user whose words do not fit: an index of the candidates alone, made for this one question.
    async fn among(&self, caller: &Caller, query: &IndexQuery, nearest: &[(MessageId, f32)]) -> Result<UserIndex, StoreError> {
        let mut ids: Vec<MessageId> = nearest.iter().map(|(id, _)| *id).chain(query.boosts.iter().map(|(id, _)| *id)).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut messages = self.store.messages_by_id(caller, &ids).await?;
        messages.sort_by_key(|m| (m.sent_at, m.session, m.position));
        let mut index = UserIndex::new(false);
        for (row, message) in (1..).zip(messages) {
            index.push(&FeedRow {
                row,
                message: message.id,
                session: message.session,
                position: message.position,
                role: message.role,
                speaker: message.speaker,
                sent_at: message.sent_at,
                terms: index_terms(message.text.as_str()),
                embedding: Vec::new(),
            });
        }
        Ok(index)
    }
}

/// What one question is put to.
struct Source {
    /// The question, with its vector only where vectors of that model are here.
    query: IndexQuery,
    nearest: Vec<(MessageId, f32)>,
    index: Index,
}

enum Index {
    Held(OwnedRwLockReadGuard<Held>),
    Made(Box<UserIndex>),
}

impl Source {
    fn index(&self) -> &UserIndex {
        match &self.index {
            Index::Held(held) => &held.index,
            Index::Made(index) => index,
        }
    }

    fn asked(&self) -> Asked<'_> {
        Asked { query: &self.query, nearest: &self.nearest }
    }
}

fn search(own: &Source, beside: Option<&Source>, tuning: &Tuning) -> IndexResult {
    match beside {
        None => own.index().search(own.asked(), tuning),
        Some(beside) => own.index().search_with(own.asked(), beside.index(), beside.asked(), tuning),
    }
}

#[async_trait]
impl MessageIndex for RecallIndex {
    async fn search(&self, caller: &Caller, query: &IndexQuery) -> Result<IndexResult, StoreError> {
        let _share = self.share.share(caller.user()).await;
        let own = self.source(caller, query).await?;
        let beside = match query.beside {
            Some(beside) => Some(self.source(&beside, query).await?),
            None => None,
        };
        if own.index().len() + beside.as_ref().map_or(0, |b| b.index().len()) < INLINE_ROWS {
            return Ok(search(&own, beside.as_ref(), &self.options.tuning));
        }
        let tuning = self.options.tuning.clone();
        let _room = self.large.acquire().await.ok();
        let search = tokio::task::spawn_blocking(move || search(&own, beside.as_ref(), &tuning));
        search.await.map_err(|e| StoreError::Transient(Box::new(e)))
    }

    fn model(&self, caller: &Caller) -> String {
        let held = self.cache.peek(caller.user());
        held.and_then(|slot| Some(slot.held.try_read().ok()?.model.clone())).filter(|m| !m.is_empty()).unwrap_or_else(|| self.model.clone())
    }

    fn forget(&self, caller: &Caller) {
        self.cache.remove(caller.user());
    }
}
