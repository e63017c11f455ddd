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

use std::sync::Arc;

use async_trait::async_trait;

pub use self::rank::Tuning;
use self::{
    cache::{Cache, Held, Slot},
    memory::UserIndex,
};
use crate::{
    domain::{
        Caller, MessageId,
        context::{Method, Scope},
    },
    ports::{Embedder, FeedRow, IndexQuery, MessageIndex, MessageStore, StoreError, index::IndexResult},
    understand::index_terms,
};

/// Rows read from the feed at a time. Adding a page takes less than a millisecond, so it is done in place.
const PAGE: u32 = 512;
/// From this many rows on a search may take more than a millisecond and goes to the blocking pool.
const INLINE_ROWS: usize = 2_000;
/// How many neighbours the store is asked for when vectors are not held here.
const NEAREST: u32 = 400;

/// Settings of the index.
#[derive(Clone, Debug)]
pub struct RecallIndexOptions {
    /// Bytes that all users' indexes may take together. 100,000 chat messages take about 46 MB.
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
    model: String,
    dimension: usize,
    options: RecallIndexOptions,
    cache: Cache,
}

impl RecallIndex {
    /// An index over `store`, for vectors of `embedder`'s model.
    pub fn new(store: Arc<dyn MessageStore>, embedder: &dyn Embedder, options: RecallIndexOptions) -> Self {
        let cache = Cache::new(options.budget_bytes);
        Self { store, model: embedder.model().to_owned(), dimension: embedder.dimension(), options, cache }
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
        let generation = self.store.feed_generation(caller).await?;
        let held = slot.held.read().await;
        let (current, outgrown, mut after) = (held.generation == Some(generation), held.outgrown, held.index.last_row());
        drop(held);
        if current && outgrown {
            round.end();
            return Ok(());
        }
        if current {
            loop {
                let rows = self.store.feed(caller, &self.model, after, PAGE).await?;
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
            let mut made = round.unfinished(generation).unwrap_or_else(|| Held::new(generation, UserIndex::new(Some(self.dimension))));
            loop {
                // A cancelled read must find the part that was made, so it lies in the round meanwhile.
                let after = made.index.last_row();
                round.keep_unfinished(made);
                let rows = self.store.feed(caller, &self.model, after, PAGE).await?;
                let Some(part) = round.unfinished(generation) else { return Ok(()) };
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
        self.store.nearest(caller, &self.model, vector, session, limit).await
    }

    /// Serves a user whose words do not fit: an index of the candidates alone, made for this one question.
    async fn search_among_nearest(&self, caller: &Caller, query: &IndexQuery) -> Result<IndexResult, StoreError> {
        let nearest = self.nearest(caller, query).await?;
        let mut ids: Vec<MessageId> = nearest.iter().map(|(id, _)| *id).chain(query.boosts.iter().map(|(id, _)| *id)).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut messages = self.store.messages_by_id(caller, &ids).await?;
        messages.sort_by_key(|m| (m.sent_at, m.session, m.position));
        let mut index = UserIndex::new(None);
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
        Ok(index.search(query, &nearest, &self.options.tuning))
    }
}

#[async_trait]
impl MessageIndex for RecallIndex {
    async fn search(&self, caller: &Caller, query: &IndexQuery) -> Result<IndexResult, StoreError> {
        let slot = self.cache.slot(caller.user());
        self.catch_up(caller, &slot).await?;
        let held = slot.held.clone().read_owned().await;
        if held.outgrown {
            drop(held);
            return self.search_among_nearest(caller, query).await;
        }
        let nearest = if held.index.holds_vectors() { Vec::new() } else { self.nearest(caller, query).await? };
        if held.index.len() < INLINE_ROWS {
            return Ok(held.index.search(query, &nearest, &self.options.tuning));
        }
        let (query, tuning) = (query.clone(), self.options.tuning.clone());
        let search = tokio::task::spawn_blocking(move || held.index.search(&query, &nearest, &tuning));
        search.await.map_err(|e| StoreError::Transient(Box::new(e)))
    }

    fn forget(&self, caller: &Caller) {
        self.cache.remove(caller.user());
    }
}
