//! Ranks the candidates of one index, or merges those of two indexes.
//!
//! Each index keeps its own order: the rarity of a word and the nearness of a vector depend on the other messages there,
//! and the second memory must not make the user's own messages harder to find. Which index gets which rank follows from
//! scores of all candidates on one scale, as if both indexes were one. Otherwise the best candidate of an index without
//! any match would look as good as a real match.

use super::{
    postings::NONE,
    rank::{Candidate, Tuning, fuse},
    user_index::UserIndex,
};
use recall_domain::{MessageId, context::Method};
use recall_ports::{IndexHit, IndexQuery, index::IndexResult};

/// The candidates that one index found for a query.
pub(super) struct Pool<'a> {
    /// The index.
    pub(super) index: &'a UserIndex,
    /// Ids of messages, by row.
    pub(super) ids: &'a [MessageId],
    /// Sorted by row.
    pub(super) candidates: Vec<Candidate>,
    /// Rows found by vector search, ascending.
    pub(super) near: Vec<u32>,
    /// Whether keyword search found any row.
    pub(super) found_by_words: bool,
    pub(super) keyword_ms: f64,
    pub(super) vector_ms: f64,
}

/// Returns the best hits of one pool, or of two pools.
pub(super) fn rank(pools: &[Pool<'_>], query: &IndexQuery, tuning: &Tuning) -> IndexResult {
    let orders: Vec<Vec<(f32, &Candidate)>> = pools.iter().map(|p| p.order(tuning)).collect();
    let ranks = match orders.as_slice() {
        [only] => only.iter().map(|(score, _)| (*score, 0)).collect(),
        _ => assign_ranks(pools, tuning),
    };
    let mut next: Vec<_> = orders.iter().map(|order| order.iter()).collect();
    let hit = |(score, n): (f32, usize)| {
        let (pool, (_, candidate)) = (pools.get(n)?, next.get_mut(n)?.next()?);
        let mut methods = Vec::new();
        if pool.near.binary_search(&candidate.row).is_ok() {
            methods.push(Method::Vector);
        }
        if pool.found_by_words && candidate.keyword > 0.0 {
            methods.push(Method::Keyword);
        }
        if candidate.graph > 0.0 {
            methods.push(Method::Graph);
        }
        Some(IndexHit {
            message: *pool.ids.get(candidate.row as usize)?,
            score,
            methods,
            is_chunk: pool.index.is_chunk(candidate.row),
            is_second: n > 0,
        })
    };
    let hits = ranks.into_iter().take(query.first).filter_map(hit).collect();
    let sum = |of: fn(&Pool<'_>) -> f64| pools.iter().map(of).sum();
    IndexResult { hits, model: query.model.clone(), vector_ms: sum(|p| p.vector_ms), keyword_ms: sum(|p| p.keyword_ms) }
}

impl Pool<'_> {
    /// Returns the candidates with their scores, best first. Of equal scores, the newer row comes first.
    fn order(&self, tuning: &Tuning) -> Vec<(f32, &Candidate)> {
        let scores = fuse(&self.candidates, self.found_by_words, !self.near.is_empty(), tuning);
        let mut order: Vec<(f32, &Candidate)> = scores.into_iter().zip(&self.candidates).collect();
        order.sort_by(|(a, c), (b, d)| b.total_cmp(a).then(d.row.cmp(&c.row)));
        order
    }
}

/// Returns the score and the number of the pool for each rank. Of equal scores, the first pool comes first.
fn assign_ranks(pools: &[Pool<'_>], tuning: &Tuning) -> Vec<(f32, usize)> {
    let mut candidates: Vec<Candidate> = Vec::with_capacity(pools.iter().map(|p| p.candidates.len()).sum());
    let mut pool_of: Vec<usize> = Vec::with_capacity(candidates.capacity());
    let mut start = 0u32;
    for (n, pool) in pools.iter().enumerate() {
        for c in &pool.candidates {
            let neighbours = c.neighbours.map(|row| if row == NONE { NONE } else { row.saturating_add(start) });
            candidates.push(Candidate { row: c.row.saturating_add(start), neighbours, keyword: c.joint_keyword, ..c.clone() });
            pool_of.push(n);
        }
        start = start.saturating_add(u32::try_from(pool.ids.len()).unwrap_or(NONE));
    }
    let by_words = pools.iter().any(|p| p.found_by_words);
    let by_meaning = pools.iter().any(|p| !p.near.is_empty());
    let mut ranks: Vec<(f32, usize)> = fuse(&candidates, by_words, by_meaning, tuning).into_iter().zip(pool_of).collect();
    ranks.sort_by(|(a, n), (b, m)| b.total_cmp(a).then(n.cmp(m)));
    ranks
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::{Arc, LazyLock};

    use proptest::prelude::*;
    use uuid::Uuid;

    use super::super::{
        RecallIndex, RecallIndexOptions,
        fixture::{MemoryFeed, TestMessage},
    };
    use recall_domain::{
        Caller, MessageId, SessionId, Timestamp, UserId, ViewerRole,
        context::{Method, Scope},
    };
    use recall_embedding::LocalEmbedder;
    use recall_ports::{Embedder, IndexHit, IndexQuery, MessageIndex};

    static EMBEDDER: LazyLock<LocalEmbedder> = LazyLock::new(|| LocalEmbedder::load().unwrap());
    const WORDS: [&str; 9] = ["garden", "paint", "puppy", "deployment", "certificate", "holiday", "May", "Caroline", "guitar"];
    const SPEAKERS: [Option<&str>; 3] = [None, Some("Caroline"), Some("Melanie")];

    fn caller(n: u128) -> Caller {
        Caller::verified(UserId(Uuid::from_u128(n)), ViewerRole::User)
    }

    fn add(feed: &MemoryFeed, user: u128, number: usize, session: u128, speaker: Option<&str>, text: &str) {
        feed.add(TestMessage {
            caller: &caller(user),
            message: MessageId(Uuid::from_u128(number as u128)),
            session: SessionId(Uuid::from_u128(session)),
            speaker,
            sent_at: Timestamp::from_timestamp(1_683_500_000 + number as i64 * 86_400, 0).unwrap(),
            text,
            embedding: EMBEDDER.vector(text).0,
        });
    }

    fn search(feed: MemoryFeed, user: u128, second: Option<u128>, text: &str, first: usize) -> Vec<IndexHit> {
        let index = RecallIndex::new(Arc::new(feed), &*EMBEDDER, RecallIndexOptions::default());
        let query = IndexQuery {
            text: text.into(),
            embedding: Some(EMBEDDER.vector(text)),
            model: EMBEDDER.model().to_owned(),
            scope: Scope::User,
            sources: recall_ports::IndexSources::default(),
            first,
            methods: vec![Method::Vector, Method::Keyword],
            until: None,
            exclude: None,
            boosts: Vec::new(),
            second: second.map(caller),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(index.search(&caller(user), &query)).unwrap().hits
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn merged_ranks_keep_each_order_and_match_one_index(
            messages in prop::collection::vec((0..2_u128, 0..3_u128, 0..SPEAKERS.len(), prop::collection::vec(0..WORDS.len(), 1..7)), 0..40),
            question in prop::collection::vec(0..WORDS.len(), 1..4),
        ) {
            let feed = |of: fn(u128) -> u128| {
                let feed = MemoryFeed::default();
                for (n, (user, session, speaker, words)) in messages.iter().enumerate() {
                    let text = words.iter().map(|w| WORDS[*w]).collect::<Vec<_>>().join(" ");
                    add(&feed, of(*user), n, user * 10 + session, SPEAKERS[*speaker], &text);
                }
                feed
            };
            let text = question.iter().map(|w| WORDS[*w]).collect::<Vec<_>>().join(" ");
            let found = search(feed(|u| u), 0, Some(1), &text, 100);
            for (user, is_second) in [(0, false), (1, true)] {
                let alone: Vec<_> = search(feed(|u| u), user, None, &text, 100).into_iter().map(|h| (h.message, h.methods)).collect();
                let merged: Vec<_> = found.iter().filter(|h| h.is_second == is_second).map(|h| (h.message, h.methods.clone())).collect();
                prop_assert_eq!(alone, merged);
            }
            let one = search(feed(|_| 0), 0, None, &text, 100);
            prop_assert_eq!(found.len(), one.len());
            for (a, b) in found.iter().zip(&one) {
                prop_assert!((a.score - b.score).abs() < 0.02, "{} is not {}", a.score, b.score);
            }
        }
    }

    #[test]
    fn own_messages_rank_before_equal_ones_of_the_second_memory() {
        let feed = || {
            let feed = MemoryFeed::default();
            add(&feed, 0, 1, 1, None, "I paint the garden fence.");
            add(&feed, 1, 2, 2, None, "I paint the garden fence.");
            feed
        };
        let hits = search(feed(), 0, Some(1), "Which fence did I paint?", 2);
        assert_eq!(hits.iter().map(|h| h.is_second).collect::<Vec<_>>(), [false, true]);
        assert!(hits[0].score > hits[1].score + 0.1, "{hits:?}");
        let hits = search(feed(), 0, Some(1), "paint garden fence", 2);
        assert_eq!(hits.iter().map(|h| h.is_second).collect::<Vec<_>>(), [false, true]);
    }
}
