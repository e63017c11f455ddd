//! Orders the chunks that a search found by a better and slower model than that of the index.
//!
//! A chunk is encoded with its facts, in the same job. A chunk that was stored by an earlier version, or came with an archive, is encoded when
//! a search finds it.

use std::collections::HashMap;

use tracing::warn;

use crate::{error::UseCaseError, failure::Failure, use_cases::UseCases};
use recall_domain::{Caller, Chunk, MessageId, UserText};
use recall_ports::{EmbedError, EncodedText, IndexHit, Passage};

/// Most hits of a search that are ordered. In the documents that this was measured with, 95 % of the chunks that answer a question are among
/// them.
pub(crate) const ORDERED: u32 = 200;
/// Share of the meaning in the relevance of a chunk. The score of the search has the rest, scaled so that the best chunk has 1: what else the
/// search found, such as messages, must not make chunks less relevant.
///
/// The shares were chosen with the development questions of `tests/documents`, between round values that differ by less than two questions of 100.
const MEANING: f32 = 0.8;
/// Share of the words in the meaning. The cosine of the whole texts has the rest.
const WORDS: f32 = 0.875;
/// Chunks that are encoded together.
const STEP: usize = 8;

/// How well chunks fit a question, 0 to 1.
pub(crate) type Relevance = HashMap<MessageId, f32>;

impl UseCases {
    /// Encodes those chunks that are not encoded yet, and keeps what is made of them.
    pub(crate) async fn encode_passages(&self, caller: &Caller, chunks: &[MessageId]) -> Result<(), Failure> {
        let Some(encoder) = &self.parts.passages else { return Ok(()) };
        let made = self.parts.store.passages(caller, encoder.model(), chunks).await?;
        let missing: Vec<MessageId> = chunks.iter().copied().filter(|id| !made.iter().any(|(known, _)| known == id)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let chunks = self.parts.store.chunks_by_id(caller, &missing).await?;
        let texts: Vec<UserText> = chunks.iter().map(passage).collect();
        let encoded = encoder.encode(&texts).await?;
        let passages = chunks.iter().map(|chunk| chunk.id).zip(encoded.iter().map(Passage::of)).collect();
        Ok(self.parts.store.keep_passages(caller, encoder.model(), passages).await?)
    }

    /// Orders the chunks among the hits of a search, and returns their relevance. Messages keep their ranks, and each rank keeps its score.
    pub(crate) async fn order_chunks(
        &self,
        caller: &Caller,
        shared: Option<&Caller>,
        question: &UserText,
        hits: Vec<IndexHit>,
    ) -> Result<(Vec<IndexHit>, Relevance), UseCaseError> {
        let Some(encoder) = self.parts.passages.as_deref().filter(|_| hits.iter().any(|hit| hit.is_chunk)) else {
            return Ok((hits, Relevance::default()));
        };
        let question = match encoder.encode_question(question).await {
            Ok(question) => question,
            Err(EmbedError::Transient(cause)) => {
                warn!(cause, "chunks are not ordered by their meaning");
                return Ok((hits, Relevance::default()));
            }
            Err(e) => return Err(e.into()),
        };
        let mut meanings = HashMap::new();
        for (whose, is_second) in [(Some(caller), false), (shared, true)] {
            let ids: Vec<MessageId> = hits.iter().filter(|hit| hit.is_chunk && hit.is_second == is_second).map(|hit| hit.message).collect();
            let Some(whose) = whose.filter(|_| !ids.is_empty()) else { continue };
            let found = self.parts.store.passages(whose, encoder.model(), &ids).await?;
            let missing: Vec<MessageId> = ids.into_iter().filter(|id| !found.iter().any(|(known, _)| known == id)).collect();
            if !missing.is_empty() {
                self.encode_later(*whose, missing);
            }
            let question = question.clone();
            // It would block the other tasks of this thread for milliseconds.
            let compare = move || found.iter().filter_map(|(id, passage)| Some((*id, meaning(&question, passage)?))).collect::<Vec<_>>();
            meanings.extend(tokio::task::spawn_blocking(compare).await.map_err(|e| UseCaseError::Internal { cause: e.into() })?);
        }
        Ok(reorder(hits, &meanings))
    }

    /// Returns how near texts are to a question, from 0 to 1 and in order; `None` if no encoder can tell. A text of unknown words has 0.
    pub(crate) async fn relevance_of_texts(&self, question: &UserText, texts: &[UserText]) -> Result<Option<Vec<f32>>, Failure> {
        let Some(encoder) = &self.parts.passages else { return Ok(None) };
        let question = match encoder.encode_question(question).await {
            Ok(question) => question,
            Err(EmbedError::Transient(cause)) => {
                warn!(cause, "texts are not compared with a question by their meaning");
                return Ok(None);
            }
            Err(e) => return Err(e.into()),
        };
        let encoded = encoder.encode(texts).await?;
        Ok(Some(encoded.iter().map(|text| meaning(&question, &Passage::of(text)).unwrap_or_default()).collect()))
    }

    /// Encodes chunks in the background, unless others are being encoded.
    fn encode_later(&self, caller: Caller, chunks: Vec<MessageId>) {
        let Ok(permit) = self.late_passages.clone().try_acquire_owned() else { return };
        let this = self.clone();
        // Nobody waits for it: what it does not finish is done after another search.
        drop(self.background_tasks.run(async move {
            let _permit = permit;
            for step in chunks.chunks(STEP) {
                if this.background_tasks.are_ending() {
                    return;
                }
                if let Err(failure) = this.encode_passages(&caller, step).await {
                    warn!(cause = %failure, "chunks were not encoded");
                    return;
                }
            }
        }));
    }
}

/// How near a passage is to a question in meaning, 0 to 1; `None` if the encoder knows too few words of one of them.
fn meaning(question: &EncodedText, passage: &Passage) -> Option<f32> {
    let (whole, words) = (passage.vector.cosine(&question.vector)?, question.words.covered_by(&passage.words)?);
    // Rounded cosines may be a little above 1.
    Some(((1.0 - WORDS) * whole + WORDS * words).clamp(0.0, 1.0))
}

/// Sorts the chunks among the hits by their relevance, and returns that of the chunks whose meaning is known. The others count as having the
/// mean of these.
fn reorder(mut hits: Vec<IndexHit>, meanings: &HashMap<MessageId, f32>) -> (Vec<IndexHit>, Relevance) {
    let best = hits.iter().filter(|hit| hit.is_chunk).map(|hit| hit.score).fold(f32::MIN_POSITIVE, f32::max);
    let mean = meanings.values().sum::<f32>() / meanings.len().max(1) as f32;
    let relevance = |hit: &IndexHit| (1.0 - MEANING) * hit.score / best + MEANING * meanings.get(&hit.message).unwrap_or(&mean);
    let mut chunks: Vec<(f32, IndexHit)> = hits.iter().filter(|hit| hit.is_chunk).map(|hit| (relevance(hit), hit.clone())).collect();
    chunks.sort_by(|a, b| b.0.total_cmp(&a.0));
    let known = chunks.iter().filter(|(_, hit)| meanings.contains_key(&hit.message)).map(|(of, hit)| (hit.message, *of)).collect();
    for (place, (_, chunk)) in hits.iter_mut().filter(|hit| hit.is_chunk).zip(chunks) {
        *place = IndexHit { score: place.score, ..chunk };
    }
    (hits, known)
}

/// The text of a chunk with the heading above it, which the chunk may not repeat.
fn passage(chunk: &Chunk) -> UserText {
    match &chunk.heading {
        Some(heading) if !chunk.text.as_str().starts_with(heading.as_str()) => {
            UserText::from(format!("{}. {}", heading.as_str(), chunk.text.as_str()))
        }
        _ => chunk.text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    fn hit((n, is_chunk, score): (u128, bool, f32)) -> IndexHit {
        IndexHit { message: MessageId(Uuid::from_u128(n)), score, methods: Vec::new(), is_chunk, is_second: false }
    }

    fn id(n: u128) -> MessageId {
        MessageId(Uuid::from_u128(n))
    }

    #[test]
    fn chunks_are_sorted_by_meaning_and_messages_keep_their_ranks() {
        let hits = [(1, true, 0.9), (2, false, 0.8), (3, true, 0.7), (4, true, 0.6)].map(hit).to_vec();
        let (found, relevance) = reorder(hits, &[(1, 0.1), (3, 0.3), (4, 0.8)].map(|(n, meaning)| (id(n), meaning)).into());
        let found: Vec<_> = found.iter().map(|hit| (hit.message.0.as_u128(), hit.score)).collect();
        assert_eq!(found, [(4, 0.9), (2, 0.8), (3, 0.7), (1, 0.6)]);
        assert!((relevance[&id(4)] - (0.2 * 0.6 / 0.9 + 0.8 * 0.8)).abs() < 1e-6 && !relevance.contains_key(&id(2)));
    }

    #[test]
    fn chunk_of_unknown_meaning_stands_between_nearer_and_farther_ones() {
        let hits = [(1, true, 0.5), (2, true, 0.5), (3, true, 0.5)].map(hit).to_vec();
        let (found, relevance) = reorder(hits, &[(1, 0.1), (3, 0.6)].map(|(n, meaning)| (id(n), meaning)).into());
        assert_eq!(found.iter().map(|hit| hit.message).collect::<Vec<_>>(), [id(3), id(2), id(1)]);
        assert!(!relevance.contains_key(&id(2)));
    }

    proptest! {
        #[test]
        fn reordered_hits_have_the_same_messages_and_scores(hits in prop::collection::vec((any::<bool>(), 0.0f32..1.0, prop::option::of(0.0f32..1.0)), 0..30)) {
            let meanings = hits.iter().zip(0..).filter_map(|((_, _, near), n)| Some((id(n), (*near)?))).collect();
            let before: Vec<IndexHit> = hits.iter().zip(0..).map(|((is_chunk, score, _), n)| hit((n, *is_chunk, *score))).collect();
            let (after, _) = reorder(before.clone(), &meanings);
            prop_assert_eq!(before.iter().map(|h| h.score).collect::<Vec<_>>(), after.iter().map(|h| h.score).collect::<Vec<_>>());
            let ids = |hits: &[IndexHit]| hits.iter().map(|h| h.message).collect::<std::collections::BTreeSet<_>>();
            prop_assert_eq!(ids(&before), ids(&after));
            prop_assert!(before.iter().zip(&after).all(|(b, a)| b.is_chunk == a.is_chunk && (b.is_chunk || b == a)));
        }
    }
}
