//! What one index found for a question, or two, as one ranking.
//!
//! Each memory keeps its own order: how rare a word is and what is near is told by what else was said there, and what is beside must
//! not make one's own harder to find. Which places each has is told by scores of all candidates on one scale, as if both memories
//! were one: scaled alone, the best of a memory in which nothing fits would look as good as any.

use super::{
    postings::NONE,
    rank::{Candidate, Tuning, fuse},
};
use recall_domain::{MessageId, context::Method};
use recall_ports::{IndexHit, IndexQuery, index::IndexResult};

/// What may answer a question, as one index found it.
pub(super) struct Pool<'a> {
    /// Messages by row.
    pub(super) ids: &'a [MessageId],
    /// In order of rows.
    pub(super) candidates: Vec<Candidate>,
    /// Rows found by meaning, in order.
    pub(super) near: Vec<u32>,
    /// Whether any was found by words.
    pub(super) found_by_words: bool,
    pub(super) keyword_ms: f64,
    pub(super) vector_ms: f64,
}

/// The best of one pool, or of two.
pub(super) fn best(pools: &[Pool<'_>], query: &IndexQuery, tuning: &Tuning) -> IndexResult {
    let orders: Vec<Vec<(f32, &Candidate)>> = pools.iter().map(|p| p.order(tuning)).collect();
    let places = match orders.as_slice() {
        [only] => only.iter().map(|(score, _)| (*score, 0)).collect(),
        _ => places(pools, tuning),
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
        Some(IndexHit { message: *pool.ids.get(candidate.row as usize)?, score, methods, beside: n > 0 })
    };
    let hits = places.into_iter().take(query.first).filter_map(hit).collect();
    let sum = |of: fn(&Pool<'_>) -> f64| pools.iter().map(of).sum();
    IndexResult { hits, model: query.model.clone(), vector_ms: sum(|p| p.vector_ms), keyword_ms: sum(|p| p.keyword_ms) }
}

impl Pool<'_> {
    /// Its candidates with their scores, best first; of equal ones the newer.
    fn order(&self, tuning: &Tuning) -> Vec<(f32, &Candidate)> {
        let scores = fuse(&self.candidates, self.found_by_words, !self.near.is_empty(), tuning);
        let mut order: Vec<(f32, &Candidate)> = scores.into_iter().zip(&self.candidates).collect();
        order.sort_by(|(a, c), (b, d)| b.total_cmp(a).then(d.row.cmp(&c.row)));
        order
    }
}

/// Which pool has which place, with the score of the place. Of equal ones the first pool's come first.
fn places(pools: &[Pool<'_>], tuning: &Tuning) -> Vec<(f32, usize)> {
    let mut candidates: Vec<Candidate> = Vec::with_capacity(pools.iter().map(|p| p.candidates.len()).sum());
    let mut whose: Vec<usize> = Vec::with_capacity(candidates.capacity());
    let mut start = 0u32;
    for (n, pool) in pools.iter().enumerate() {
        for c in &pool.candidates {
            let neighbours = c.neighbours.map(|row| if row == NONE { NONE } else { row.saturating_add(start) });
            candidates.push(Candidate { row: c.row.saturating_add(start), neighbours, keyword: c.joint_keyword, ..c.clone() });
            whose.push(n);
        }
        start = start.saturating_add(u32::try_from(pool.ids.len()).unwrap_or(NONE));
    }
    let by_words = pools.iter().any(|p| p.found_by_words);
    let by_meaning = pools.iter().any(|p| !p.near.is_empty());
    let mut places: Vec<(f32, usize)> = fuse(&candidates, by_words, by_meaning, tuning).into_iter().zip(whose).collect();
    places.sort_by(|(a, n), (b, m)| b.total_cmp(a).then(n.cmp(m)));
    places
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::{Arc, LazyLock};

    use proptest::prelude::*;
    use uuid::Uuid;

    use super::super::{
        RecallIndex, RecallIndexOptions,
        fixture::{MemoryFeed, Told},
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

    fn tell(feed: &MemoryFeed, whose: u128, number: usize, session: u128, speaker: Option<&str>, text: &str) {
        feed.tell(Told {
            caller: &caller(whose),
            message: MessageId(Uuid::from_u128(number as u128)),
            session: SessionId(Uuid::from_u128(session)),
            speaker,
            sent_at: Timestamp::from_timestamp(1_683_500_000 + number as i64 * 86_400, 0).unwrap(),
            text,
            embedding: EMBEDDER.vector(text).0,
        });
    }

    fn ask(feed: MemoryFeed, whose: u128, beside: Option<u128>, text: &str, first: usize) -> Vec<IndexHit> {
        let index = RecallIndex::new(Arc::new(feed), &*EMBEDDER, RecallIndexOptions::default());
        let query = IndexQuery {
            text: text.into(),
            embedding: Some(EMBEDDER.vector(text)),
            model: EMBEDDER.model().to_owned(),
            scope: Scope::User,
            first,
            methods: vec![Method::Vector, Method::Keyword],
            until: None,
            exclude: None,
            boosts: Vec::new(),
            beside: beside.map(caller),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(index.search(&caller(whose), &query)).unwrap().hits
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn each_memory_keeps_its_order_and_has_the_places_that_it_had_in_one(
            told in prop::collection::vec((0..2_u128, 0..3_u128, 0..SPEAKERS.len(), prop::collection::vec(0..WORDS.len(), 1..7)), 0..40),
            asked in prop::collection::vec(0..WORDS.len(), 1..4),
        ) {
            let feed = |of: fn(u128) -> u128| {
                let feed = MemoryFeed::default();
                for (n, (whose, session, speaker, words)) in told.iter().enumerate() {
                    let text = words.iter().map(|w| WORDS[*w]).collect::<Vec<_>>().join(" ");
                    tell(&feed, of(*whose), n, whose * 10 + session, SPEAKERS[*speaker], &text);
                }
                feed
            };
            let text = asked.iter().map(|w| WORDS[*w]).collect::<Vec<_>>().join(" ");
            let found = ask(feed(|w| w), 0, Some(1), &text, 100);
            for (whose, beside) in [(0, false), (1, true)] {
                let alone: Vec<_> = ask(feed(|w| w), whose, None, &text, 100).into_iter().map(|h| (h.message, h.methods)).collect();
                let among: Vec<_> = found.iter().filter(|h| h.beside == beside).map(|h| (h.message, h.methods.clone())).collect();
                prop_assert_eq!(alone, among);
            }
            let one = ask(feed(|_| 0), 0, None, &text, 100);
            prop_assert_eq!(found.len(), one.len());
            for (a, b) in found.iter().zip(&one) {
                prop_assert!((a.score - b.score).abs() < 0.02, "{} is not {}", a.score, b.score);
            }
        }
    }

    #[test]
    fn of_what_is_said_alike_ones_own_comes_first_and_nobody_beside_is_the_one_who_asks() {
        let feed = || {
            let feed = MemoryFeed::default();
            tell(&feed, 0, 1, 1, None, "I paint the garden fence.");
            tell(&feed, 1, 2, 2, None, "I paint the garden fence.");
            feed
        };
        let hits = ask(feed(), 0, Some(1), "Which fence did I paint?", 2);
        assert_eq!(hits.iter().map(|h| h.beside).collect::<Vec<_>>(), [false, true]);
        assert!(hits[0].score > hits[1].score + 0.1, "{hits:?}");
        let hits = ask(feed(), 0, Some(1), "paint garden fence", 2);
        assert_eq!(hits.iter().map(|h| h.beside).collect::<Vec<_>>(), [false, true]);
    }
}
