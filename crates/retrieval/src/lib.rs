//! Keyword and vector search over the messages of one user, in memory: [`RecallIndex`].
//!
//! The store is the source of truth. The index of a user is built from the store's feed on first use, and reads new
//! rows before each search. It is rebuilt when the store's generation has changed, because something was deleted or
//! embedded with another model. So it is correct on every server without invalidation messages, and may be dropped
//! at any time.
//!
//! All users share one byte budget, and the least recently used index is evicted first. An index that exceeds the
//! budget alone is reduced in two steps:
//!
//! 1. Without vectors, which leaves a third of the bytes: words are searched here, vectors by [`MessageStore::nearest`].
//! 2. If the words do not fit either, [`MessageStore::nearest`] finds candidates, and words rank these. A question
//!    without a vector then finds only the results of graph search.

mod bm25;
mod cache;
mod dates;
mod joint;
mod postings;
mod prior;
mod rank;
mod runs;
mod sources;
mod user_index;
mod vectors;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod recall_tests;
#[cfg(test)]
mod tests;

use std::{num::NonZeroUsize, sync::Arc};

use async_trait::async_trait;
use futures_util::{StreamExt, stream::FuturesOrdered};
use tokio::sync::{OwnedRwLockReadGuard, Semaphore};

pub use self::rank::Tuning;
use self::{
    cache::{Cache, LoadedIndex, Slot, Update},
    user_index::{SearchRequest, UserIndex},
};
use recall_domain::{
    Caller, MessageId,
    context::{Method, Scope},
};
use recall_ports::{Embedder, FairShare, FeedRow, IndexQuery, MessageIndex, MessageStore, StoreError, index::IndexResult};
use recall_text::index_terms;

/// Rows per page of the feed. Adding a page takes less than a millisecond, so it runs inline.
const PAGE_ROWS: u32 = 512;
/// Pages of a long feed that are read at the same time. A user gets at most half of the read connections of the store.
const PAGES_AHEAD: usize = 2;
/// Number of rows from which a search runs in the blocking pool, because it may take more than a millisecond.
const INLINE_ROWS: usize = 2_000;
/// Concurrent searches. One caller gets at most half of them.
const MAX_SEARCHES: u32 = 4;
/// Number of nearest messages that the store returns when the index holds no vectors.
const MIN_NEAREST: u32 = 400;
/// How many times more if the search looks at some sources only.
const UNFILTERED: u32 = 8;

/// Settings of the index.
#[derive(Clone, Debug)]
pub struct RecallIndexOptions {
    /// Bytes for the indexes of all users together. 100,000 chat messages take about 53 MB.
    pub budget_bytes: usize,
    /// Parameters of the ranking.
    pub tuning: Tuning,
}

impl Default for RecallIndexOptions {
    fn default() -> Self {
        Self { budget_bytes: 256 * 1024 * 1024, tuning: Tuning::default() }
    }
}

/// Implements [`MessageIndex`] in memory over any [`MessageStore`].
pub struct RecallIndex {
    store: Arc<dyn MessageStore>,
    /// The embedding model of users without a model in the store.
    default_model: String,
    options: RecallIndexOptions,
    cache: Cache,
    /// Limits the concurrent searches of one caller.
    share: FairShare,
    /// Limits the large searches of all callers to the number of cores.
    large_searches: Semaphore,
}

impl RecallIndex {
    /// Creates an index over `store`. A user's vectors are of the model that the store names, else of `embedder`'s.
    pub fn new(store: Arc<dyn MessageStore>, embedder: &dyn Embedder, options: RecallIndexOptions) -> Self {
        let cache = Cache::new(options.budget_bytes);
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let share = FairShare::half_of(MAX_SEARCHES);
        let default_model = embedder.model().to_owned();
        Self { store, default_model, options, cache, share, large_searches: Semaphore::new(cores) }
    }

    /// Returns the bytes held for all users.
    pub fn bytes(&self) -> usize {
        self.cache.bytes()
    }

    /// Returns the number of users with an index in memory.
    pub fn users(&self) -> usize {
        self.cache.users()
    }

    /// Adds everything that was stored before this call to the caller's index.
    ///
    /// Updates of one user run one at a time. A caller who waited while another update started and finished needs no
    /// update of its own. If an update is cancelled, the rows read so far stay, and the next update resumes from them.
    async fn catch_up(&self, caller: &Caller, slot: &Arc<Slot>) -> Result<(), StoreError> {
        let started_before = slot.updates_started();
        let Some(mut update) = slot.begin_update(started_before).await else { return Ok(()) };
        // The state is read before the rows. A deletion between the two reads makes the next search rebuild the
        // index, so none is missed. The same holds for a change of the model: the old vectors are kept long enough
        // for the rows read here.
        let state = self.store.feed_state(caller).await?;
        let (generation, model) = (state.generation, state.model.unwrap_or_else(|| self.default_model.clone()));
        let (is_current, is_too_large) = {
            let loaded = slot.loaded.read().await;
            (loaded.generation == Some(generation) && loaded.model == model, loaded.too_large)
        };
        match (is_current, is_too_large) {
            (true, true) => {}
            (true, false) => self.extend(caller, slot, &model).await?,
            (false, _) => {
                let Some(rebuilt) = self.rebuild(caller, slot, &mut update, generation, &model).await? else { return Ok(()) };
                *slot.loaded.write().await = rebuilt;
            }
        }
        update.finish();
        Ok(())
    }

    /// Adds the rows after the last one to the index in use.
    async fn extend(&self, caller: &Caller, slot: &Arc<Slot>, model: &str) -> Result<(), StoreError> {
        let mut after = slot.loaded.read().await.index.last_row();
        loop {
            let rows = self.store.feed(caller, model, after, PAGE_ROWS).await?;
            if !rows.is_empty() {
                let mut loaded = slot.loaded.write().await;
                rows.iter().for_each(|row| loaded.index.push(row));
                after = loaded.index.last_row();
                loaded.shrink_to(self.options.budget_bytes);
                self.cache.record_size(caller.user(), slot, loaded.index.bytes());
                if loaded.too_large {
                    return Ok(());
                }
            }
            if rows.len() < PAGE_ROWS as usize {
                return Ok(());
            }
        }
    }

    /// Builds a new index from the whole feed, apart from the one that other searches may be using.
    ///
    /// The store reads [`PAGES_AHEAD`] pages at the same time, and the next while one is added. A page is asked for by the row at which it would start if no
    /// row was missing. So pages may overlap, and the index ignores rows that it has. Resumes from the rows of a cancelled update.
    async fn rebuild(
        &self,
        caller: &Caller,
        slot: &Arc<Slot>,
        update: &mut Update<'_>,
        generation: u64,
        model: &str,
    ) -> Result<Option<LoadedIndex>, StoreError> {
        let partial = update.take_partial(generation, model).unwrap_or_else(|| LoadedIndex::new(generation, model));
        let mut start = partial.index.last_row();
        update.keep_partial(partial);
        // Most users have one page.
        let (mut pages, mut ahead) = (FuturesOrdered::new(), 1);
        loop {
            while pages.len() < ahead {
                pages.push_back(self.store.feed(caller, model, start, PAGE_ROWS));
                start += u64::from(PAGE_ROWS);
            }
            let Some(rows) = pages.next().await.transpose()? else { return Ok(None) };
            // Waits for nothing, so the slot keeps the partial index whenever this update may be cancelled.
            let Some(mut partial) = update.take_partial(generation, model) else { return Ok(None) };
            rows.iter().for_each(|row| partial.index.push(row));
            partial.shrink_to(self.options.budget_bytes);
            self.cache.record_size(caller.user(), slot, partial.index.bytes());
            if partial.too_large || rows.len() < PAGE_ROWS as usize {
                return Ok(Some(partial));
            }
            (start, ahead) = (start.max(partial.index.last_row()), PAGES_AHEAD);
            update.keep_partial(partial);
        }
    }

    /// Returns the nearest messages of the store, if the query has a vector and asks for vector search.
    async fn nearest(&self, caller: &Caller, query: &IndexQuery) -> Result<Vec<(MessageId, f32)>, StoreError> {
        let Some(vector) = query.embedding.as_ref().filter(|v| query.methods.contains(&Method::Vector) && v.0.iter().any(|x| *x != 0.0))
        else {
            return Ok(Vec::new());
        };
        let session = match query.scope {
            Scope::User => None,
            Scope::Session(id) => Some(id),
        };
        // Messages of other sources are among the nearest.
        let spare = if query.sources.are_all() { 1 } else { UNFILTERED };
        let limit = (MIN_NEAREST * spare).max(u32::try_from(query.first).unwrap_or(u32::MAX).saturating_mul(2));
        self.store.nearest(caller, &query.model, vector, session, limit).await
    }

    /// Prepares the search of one memory, with an index of everything that was stored before this call.
    async fn prepare(&self, caller: &Caller, query: &IndexQuery) -> Result<PreparedSearch, StoreError> {
        let slot = self.cache.slot(caller.user());
        self.catch_up(caller, &slot).await?;
        let loaded = slot.loaded.clone().read_owned().await;
        let mut query = query.clone();
        // Vectors of two models are never compared.
        query.embedding = query.embedding.filter(|_| query.model == loaded.model);
        query.model = loaded.model.clone();
        if loaded.too_large {
            drop(loaded);
            let nearest = self.nearest(caller, &query).await?;
            let index = SearchedIndex::Candidates(Box::new(self.index_candidates(caller, &query, &nearest).await?));
            return Ok(PreparedSearch { query, nearest, index });
        }
        let nearest = if loaded.index.holds_vectors() { Vec::new() } else { self.nearest(caller, &query).await? };
        Ok(PreparedSearch { query, nearest, index: SearchedIndex::Loaded(loaded) })
    }

    /// Builds an index of the candidates of one question, for a user whose words do not fit into the budget.
    async fn index_candidates(&self, caller: &Caller, query: &IndexQuery, nearest: &[(MessageId, f32)]) -> Result<UserIndex, StoreError> {
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
                terms: index_terms(message.text.as_str()).into_iter().map(|(term, count)| (term.into(), count)).collect(),
                embedding: Vec::new(),
            });
        }
        Ok(index)
    }
}

/// One memory and the query to search it with.
struct PreparedSearch {
    /// The query. It has a vector only if the index has vectors of the same model.
    query: IndexQuery,
    nearest: Vec<(MessageId, f32)>,
    index: SearchedIndex,
}

enum SearchedIndex {
    Loaded(OwnedRwLockReadGuard<LoadedIndex>),
    /// Only the candidates of one question.
    Candidates(Box<UserIndex>),
}

impl PreparedSearch {
    fn index(&self) -> &UserIndex {
        match &self.index {
            SearchedIndex::Loaded(loaded) => &loaded.index,
            SearchedIndex::Candidates(index) => index,
        }
    }

    fn request(&self) -> SearchRequest<'_> {
        SearchRequest { query: &self.query, nearest: &self.nearest }
    }
}

fn search(own: &PreparedSearch, second: Option<&PreparedSearch>, tuning: &Tuning) -> IndexResult {
    match second {
        None => own.index().search(own.request(), tuning),
        Some(second) => own.index().search_with(own.request(), second.index(), second.request(), tuning),
    }
}

#[async_trait]
impl MessageIndex for RecallIndex {
    async fn search(&self, caller: &Caller, query: &IndexQuery) -> Result<IndexResult, StoreError> {
        let _share = self.share.share(caller.user()).await;
        let own = self.prepare(caller, query).await?;
        let second = match query.second {
            Some(second) => Some(self.prepare(&second, query).await?),
            None => None,
        };
        if own.index().len() + second.as_ref().map_or(0, |s| s.index().len()) < INLINE_ROWS {
            return Ok(search(&own, second.as_ref(), &self.options.tuning));
        }
        let tuning = self.options.tuning.clone();
        let _permit = self.large_searches.acquire().await.ok();
        let search = tokio::task::spawn_blocking(move || search(&own, second.as_ref(), &tuning));
        search.await.map_err(|e| StoreError::Transient(Box::new(e)))
    }

    fn model(&self, caller: &Caller) -> String {
        let loaded = self.cache.peek(caller.user()).and_then(|slot| Some(slot.loaded.try_read().ok()?.model.clone()));
        loaded.filter(|m| !m.is_empty()).unwrap_or_else(|| self.default_model.clone())
    }

    fn forget(&self, caller: &Caller) {
        self.cache.remove(caller.user());
    }
}
