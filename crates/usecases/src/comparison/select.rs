//! Selects the passages to compare: pairs of similar chunks, and chunks that resemble nothing in the other documents. Pure.

use std::collections::{BTreeMap, HashMap, HashSet};

use recall_domain::{MessageId, PassageGroup};
use recall_ports::IndexEntry;

/// Most groups of a comparison.
const MAX_GROUPS: usize = 64;
/// Most chunks without a counterpart, and how many of them each document has at least.
const MAX_ALONE: usize = 24;
const MIN_ALONE: usize = 6;
/// Least similarity of a pair, from 0 to 1. A chunk whose best counterpart is below has none.
const PAIRED: f32 = 0.3;

/// A chunk that may be compared.
pub(super) struct Candidate {
    /// The place of its document.
    pub(super) document: usize,
    /// The chunk.
    pub(super) chunk: MessageId,
    /// Its terms and vector.
    pub(super) entry: IndexEntry,
}

/// Returns the groups to compare, the most similar pairs first, then chunks without a counterpart.
///
/// The similarity of two chunks is the mean of the cosines of their vectors and of their terms, weighted by inverse document frequency.
pub(super) fn select(candidates: &[Candidate]) -> Vec<PassageGroup> {
    let weights = weights(candidates);
    let terms: Vec<HashMap<&str, f32>> = candidates.iter().map(|c| unit(c, &weights)).collect();
    let similarity = |a: usize, b: usize| match (candidates.get(a), candidates.get(b), terms.get(a), terms.get(b)) {
        (Some(x), Some(y), Some(p), Some(q)) => {
            let (short, long) = if p.len() <= q.len() { (p, q) } else { (q, p) };
            let words: f32 = short.iter().filter_map(|(term, weight)| Some(weight * long.get(term)?)).sum();
            let meaning: f32 = x.entry.embedding.0.iter().zip(&y.entry.embedding.0).map(|(a, b)| a * b).sum();
            0.5 * words + 0.5 * meaning.max(0.0)
        }
        _ => 0.0,
    };
    // The best counterpart of each chunk in each other document.
    let mut pairs: BTreeMap<(usize, usize), f32> = BTreeMap::new();
    let mut best_of: Vec<f32> = vec![0.0; candidates.len()];
    let documents: HashSet<usize> = candidates.iter().map(|c| c.document).collect();
    for (a, x) in candidates.iter().enumerate() {
        for other in documents.iter().filter(|document| **document != x.document) {
            let counterparts = candidates.iter().enumerate().filter(|(_, y)| y.document == *other).map(|(b, _)| (similarity(a, b), b));
            let Some((score, b)) = counterparts.max_by(|p, q| p.0.total_cmp(&q.0).then(q.1.cmp(&p.1))) else { continue };
            if let Some(best) = best_of.get_mut(a) {
                *best = best.max(score);
            }
            if score >= PAIRED {
                pairs.insert((a.min(b), a.max(b)), score);
            }
        }
    }
    let mut ranked: Vec<((usize, usize), f32)> = pairs.into_iter().collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let chunk = |i: usize| candidates.get(i).map(|c| c.chunk);
    let alone = alone(candidates, &best_of);
    let room = MAX_GROUPS.saturating_sub(alone.len());
    let paired = ranked.into_iter().take(room).map(|((a, b), _)| PassageGroup { chunks: [a, b].into_iter().filter_map(chunk).collect() });
    paired.chain(alone.into_iter().map(|i| PassageGroup { chunks: chunk(i).into_iter().collect() })).collect()
}

/// Returns the chunks without a counterpart, those with the most different terms first.
fn alone(candidates: &[Candidate], best_of: &[f32]) -> Vec<usize> {
    let mut found: Vec<usize> = (0..candidates.len()).filter(|i| best_of.get(*i).is_some_and(|best| *best < PAIRED)).collect();
    let terms = |i: usize| candidates.get(i).map_or(0, |c| c.entry.terms.len());
    found.sort_by(|a, b| terms(*b).cmp(&terms(*a)).then(a.cmp(b)));
    let mut taken: HashMap<usize, usize> = HashMap::new();
    let documents: HashSet<usize> = candidates.iter().map(|c| c.document).collect();
    let most = (MAX_ALONE / documents.len().max(1)).max(MIN_ALONE);
    found.retain(|i| {
        let Some(candidate) = candidates.get(*i) else { return false };
        let count = taken.entry(candidate.document).or_default();
        *count += 1;
        *count <= most
    });
    found
}

/// Returns the inverse document frequency of each term.
fn weights(candidates: &[Candidate]) -> HashMap<&str, f32> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for candidate in candidates {
        for (term, _) in &candidate.entry.terms {
            *counts.entry(term).or_default() += 1;
        }
    }
    let all = candidates.len() as f32;
    counts.into_iter().map(|(term, count)| (term, (1.0 + all / count as f32).ln())).collect()
}

/// Returns the weighted terms of a chunk as a vector of length one.
fn unit<'c>(candidate: &'c Candidate, weights: &HashMap<&str, f32>) -> HashMap<&'c str, f32> {
    let weighted = candidate.entry.terms.iter().map(|(term, count)| {
        let weight = weights.get(term.as_str()).copied().unwrap_or_default();
        (term.as_str(), (1.0 + (*count as f32).ln()) * weight)
    });
    let mut terms: HashMap<&str, f32> = weighted.collect();
    let length = terms.values().map(|w| w * w).sum::<f32>().sqrt();
    if length > 0.0 {
        terms.values_mut().for_each(|w| *w /= length);
    }
    terms
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use recall_ports::Embedding;
    use uuid::Uuid;

    use super::*;

    fn candidate(document: usize, id: u128, words: &[&str]) -> Candidate {
        let terms = words.iter().map(|word| ((*word).to_owned(), 1)).collect();
        let embedding = Embedding(vec![1.0, 0.0]);
        let entry = IndexEntry { terms, model: "test".to_owned(), embedding: Embedding(vec![0.0; embedding.0.len()]), further: Vec::new() };
        Candidate { document, chunk: MessageId(Uuid::from_u128(id)), entry }
    }

    fn ids(groups: &[PassageGroup]) -> Vec<Vec<u128>> {
        groups.iter().map(|group| group.chunks.iter().map(|id| id.0.as_u128()).collect()).collect()
    }

    #[test]
    fn similar_chunks_are_paired_and_others_stay_alone() {
        let groups = select(&[
            candidate(0, 1, &["leave", "day", "year"]),
            candidate(0, 2, &["garage", "closes"]),
            candidate(1, 3, &["leave", "day", "year", "employee"]),
            candidate(1, 4, &["invoice", "archive"]),
        ]);
        assert_eq!(ids(&groups), [vec![1, 3], vec![2], vec![4]]);
    }

    #[test]
    fn chunk_that_is_split_in_the_other_document_has_two_pairs() {
        let groups = select(&[
            candidate(0, 1, &["leave", "day", "remote", "home"]),
            candidate(1, 2, &["leave", "day"]),
            candidate(1, 3, &["remote", "home"]),
        ]);
        assert_eq!(ids(&groups), [vec![1, 2], vec![1, 3]]);
    }

    proptest! {
        #[test]
        fn groups_are_bounded_and_join_different_documents(words in prop::collection::vec((0usize..3, prop::collection::vec("[a-e]", 0..4)), 0..90)) {
            let of = |(i, (document, words)): (usize, &(usize, Vec<String>))| {
                candidate(*document, i as u128, &words.iter().map(String::as_str).collect::<Vec<_>>())
            };
            let candidates: Vec<Candidate> = words.iter().enumerate().map(of).collect();
            let groups = select(&candidates);
            prop_assert!(groups.len() <= MAX_GROUPS);
            let document = |id: &MessageId| candidates.iter().find(|c| c.chunk == *id).map(|c| c.document);
            for group in &groups {
                prop_assert!((1..=2).contains(&group.chunks.len()));
                let of: HashSet<_> = group.chunks.iter().map(document).collect();
                prop_assert_eq!(of.len(), group.chunks.len());
            }
        }
    }
}
