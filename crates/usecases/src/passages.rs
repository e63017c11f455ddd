//! Orders what a search found by a better and slower model than that of the index.
//!
//! A chunk is encoded with its facts, in the same job. A message is encoded in the background when no job runs: an import must not take twice as long. What is not
//! encoded then, such as what an earlier version stored, is encoded when a search has found it; before a message is answered, at once.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tracing::warn;

use crate::{encoding_queue::Unencoded, error::UseCaseError, failure::Failure, use_cases::UseCases};
use recall_domain::{Caller, Chunk, MessageId, UserText};
use recall_ports::{EmbedError, EncodedText, IndexHit, Passage};

/// Most hits of a search whose chunks are ordered. In the documents that this was measured with, 95 % of the chunks that answer a question are among
/// them.
pub(crate) const ORDERED: u32 = 200;
/// Most messages that are ordered.
const MESSAGES_ORDERED: usize = 60;
/// Share of the meaning in the relevance of a chunk. The score of the search has the rest, scaled so that the best chunk has 1: what else the
/// search found, such as messages, must not make chunks less relevant.
///
/// The shares of chunks were chosen with the development questions of `tests/documents`, between round values that differ by less than two questions of 100.
const MEANING_OF_CHUNK: f32 = 0.8;
/// Share of the words in the meaning of a chunk. The cosine of the whole texts has the rest.
const WORDS_OF_CHUNK: f32 = 0.875;
/// Share of the meaning in the relevance of a message. The score of the search has the rest; it knows the messages around, the speakers and the facts. Both
/// are scaled from 0 to 1, as the parts of that score are.
///
/// The shares of messages were chosen with the recorded conversations of LoCoMo and the dialogues of `training/dialogues` that are not set aside. A larger share
/// finds more in the dialogues and less in LoCoMo.
const MEANING_OF_MESSAGE: f32 = 0.4;
/// Share of the words in the meaning of a message, which is short.
const WORDS_OF_MESSAGE: f32 = 0.5;
/// Texts that are encoded together.
const STEP: usize = 8;
/// How long the background waits for jobs and searches before it looks again.
const PAUSE: Duration = Duration::from_millis(50);
/// Longest time for which an answer waits for messages to be encoded.
const LONGEST_WAIT: Duration = Duration::from_millis(300);

/// How well chunks fit a question, 0 to 1.
pub(crate) type Relevance = HashMap<MessageId, f32>;

impl UseCases {
    /// Encodes those chunks that are not encoded yet, and keeps what is made of them.
    pub(crate) async fn encode_chunks(&self, caller: &Caller, ids: &[MessageId]) -> Result<(), Failure> {
        let Some(missing) = self.not_encoded(caller, ids).await? else { return Ok(()) };
        let chunks = self.parts.store.chunks_by_id(caller, &missing).await?;
        self.make(caller, chunks.iter().map(|chunk| (chunk.id, passage(chunk))).collect()).await.map(drop)
    }

    /// Encodes those messages that are not encoded yet, and keeps what is made of them.
    async fn encode_messages(&self, caller: &Caller, ids: &[MessageId]) -> Result<(), Failure> {
        let Some(missing) = self.not_encoded(caller, ids).await? else { return Ok(()) };
        self.make_messages(caller, &missing).await.map(drop)
    }

    /// Returns the texts that are not encoded yet; `None` if there is no encoder, or no such text.
    async fn not_encoded(&self, caller: &Caller, ids: &[MessageId]) -> Result<Option<Vec<MessageId>>, Failure> {
        let Some(encoder) = &self.parts.passages else { return Ok(None) };
        let made = self.parts.store.passages(caller, encoder.model(), ids).await?;
        let missing: Vec<MessageId> = ids.iter().copied().filter(|id| !made.iter().any(|(known, _)| known == id)).collect();
        Ok(Some(missing).filter(|missing| !missing.is_empty()))
    }

    /// Encodes messages, and keeps and returns what is made of them.
    async fn make_messages(&self, caller: &Caller, ids: &[MessageId]) -> Result<Vec<(MessageId, Passage)>, Failure> {
        let messages = self.parts.store.messages_by_id(caller, ids).await?;
        self.make(caller, messages.into_iter().filter(|m| m.remembered).map(|m| (m.id, m.text)).collect()).await
    }

    async fn make(&self, caller: &Caller, texts: Vec<(MessageId, UserText)>) -> Result<Vec<(MessageId, Passage)>, Failure> {
        let Some(encoder) = self.parts.passages.as_ref().filter(|_| !texts.is_empty()) else { return Ok(Vec::new()) };
        let (ids, texts): (Vec<MessageId>, Vec<UserText>) = texts.into_iter().unzip();
        let encoded = encoder.encode(&texts).await?;
        let passages: Vec<(MessageId, Passage)> = ids.into_iter().zip(encoded.iter().map(Passage::of)).collect();
        self.parts.store.keep_passages(caller, encoder.model(), passages.clone()).await?;
        Ok(passages)
    }

    /// Encodes messages for [`LONGEST_WAIT`] at most, and returns what is made of them by then.
    async fn make_in_time(&self, caller: &Caller, ids: &[MessageId]) -> Vec<(MessageId, Passage)> {
        let mut made = Vec::new();
        let make = async {
            for step in ids.chunks(STEP) {
                made.extend(self.make_messages(caller, step).await?);
            }
            Ok::<_, Failure>(())
        };
        if let Ok(Err(failure)) = tokio::time::timeout(LONGEST_WAIT, make).await {
            warn!(cause = %failure, "messages were not encoded");
        }
        made
    }

    /// Encodes a question, to order what a search finds; `None` if no encoder can.
    pub(crate) async fn encoded_question(&self, question: &UserText) -> Result<Option<EncodedText>, EmbedError> {
        let Some(encoder) = &self.parts.passages else { return Ok(None) };
        match encoder.encode_question(question).await {
            Err(EmbedError::Transient(cause)) => {
                warn!(cause, "what is found is not ordered by its meaning");
                Ok(None)
            }
            encoded => encoded.map(Some),
        }
    }

    /// Orders the chunks and the best messages among the hits of a search, and returns the relevance of the chunks. The ranks of messages stay ranks of
    /// messages, and each rank keeps its score.
    ///
    /// `waits` tells whether messages may be encoded first, which takes a fraction of a second.
    pub(crate) async fn order_hits(
        &self,
        caller: &Caller,
        shared: Option<&Caller>,
        question: EncodedText,
        hits: Vec<IndexHit>,
        waits: bool,
    ) -> Result<(Vec<IndexHit>, Relevance), UseCaseError> {
        let Some(encoder) = &self.parts.passages else { return Ok((hits, Relevance::default())) };
        let question = Arc::new(question);
        let best: Vec<&IndexHit> = hits.iter().filter(|hit| !hit.is_chunk).take(MESSAGES_ORDERED).collect();
        let mut meanings = HashMap::new();
        for (whose, is_second) in [(Some(caller), false), (shared, true)] {
            let Some(whose) = whose else { continue };
            let chunks: Vec<MessageId> =
                hits.iter().filter(|hit| hit.is_chunk && hit.is_second == is_second).map(|hit| hit.message).collect();
            let messages: Vec<MessageId> = best.iter().filter(|hit| hit.is_second == is_second).map(|hit| hit.message).collect();
            let ids = [chunks.as_slice(), &messages].concat();
            if ids.is_empty() {
                continue;
            }
            let mut found = self.parts.store.passages(whose, encoder.model(), &ids).await?;
            let missing = |ids: &[MessageId], found: &[(MessageId, Passage)]| -> Vec<MessageId> {
                ids.iter().copied().filter(|id| !found.iter().any(|(known, _)| known == id)).collect()
            };
            if waits {
                found.extend(self.make_in_time(whose, &missing(&messages, &found)).await);
            }
            self.encode_next(*whose, &missing(&chunks, &found), &missing(&messages, &found));
            let question = question.clone();
            // It would block the other tasks of this thread for milliseconds.
            let compare = move || {
                let words = |id: &MessageId| if chunks.contains(id) { WORDS_OF_CHUNK } else { WORDS_OF_MESSAGE };
                found.iter().filter_map(|(id, passage)| Some((*id, meaning(&question, passage, words(id))?))).collect::<Vec<_>>()
            };
            meanings.extend(tokio::task::spawn_blocking(compare).await.map_err(|e| UseCaseError::Internal { cause: e.into() })?);
        }
        Ok(reorder(hits, &meanings))
    }

    /// Returns how near texts are to a question, from 0 to 1 and in order; `None` if no encoder can tell. A text of unknown words has 0.
    pub(crate) async fn relevance_of_texts(&self, question: &UserText, texts: &[UserText]) -> Result<Option<Vec<f32>>, Failure> {
        let (Some(encoder), Some(question)) = (&self.parts.passages, self.encoded_question(question).await?) else { return Ok(None) };
        let encoded = encoder.encode(texts).await?;
        Ok(Some(encoded.iter().map(|text| meaning(&question, &Passage::of(text), WORDS_OF_CHUNK).unwrap_or_default()).collect()))
    }

    /// Encodes messages in the background, when no job runs.
    pub(crate) fn encode_when_idle(&self, caller: &Caller, messages: impl Iterator<Item = MessageId>) {
        self.encode_later(messages.map(|id| Unencoded { caller: *caller, id, is_chunk: false }));
    }

    /// Encodes in the background what a search has found, before what waits already.
    fn encode_next(&self, caller: Caller, chunks: &[MessageId], messages: &[MessageId]) {
        let of = |ids: &[MessageId], is_chunk: bool| ids.iter().rev().map(|id| Unencoded { caller, id: *id, is_chunk }).collect::<Vec<_>>();
        self.encode_later([of(messages, false), of(chunks, true)].concat().into_iter());
    }

    /// Encodes texts in the background, between jobs and searches.
    fn encode_later(&self, texts: impl Iterator<Item = Unencoded>) {
        if self.parts.passages.is_none() {
            return;
        }
        self.unencoded.add(texts);
        let Some(mut running) = self.unencoded.start() else { return };
        let this = self.clone();
        // Nobody waits for it: what it does not finish is done when a search finds it.
        drop(self.background_tasks.run(async move {
            // The job of a new message comes first.
            tokio::time::sleep(PAUSE).await;
            loop {
                this.encode_waiting().await;
                drop(running);
                // A text that came at the end has found this task running.
                let Some(again) = this.unencoded.start().filter(|_| !this.background_tasks.are_ending()) else { return };
                running = again;
            }
        }));
    }

    /// Encodes what waits, between jobs and searches, until nothing is left or the server stops.
    async fn encode_waiting(&self) {
        while !self.background_tasks.are_ending() {
            if !self.foreground.is_empty() {
                tokio::time::sleep(PAUSE).await;
                continue;
            }
            let Some(step) = self.unencoded.take(STEP) else { return };
            let Some(Unencoded { caller, is_chunk, .. }) = step.first() else { return };
            let ids: Vec<MessageId> = step.iter().map(|text| text.id).collect();
            let encoded = if *is_chunk { self.encode_chunks(caller, &ids).await } else { self.encode_messages(caller, &ids).await };
            if let Err(failure) = encoded {
                // Such as that of a user whose data are being imported. Others must not wait for the end of that.
                warn!(cause = %failure, "the texts of a user are encoded when a search finds them");
                self.unencoded.remove(caller);
            }
            self.unencoded.report();
        }
    }
}

/// How near a passage is to a question in meaning, 0 to 1; `None` if the encoder knows too few words of one of them. `share` is that of the words.
fn meaning(question: &EncodedText, passage: &Passage, share: f32) -> Option<f32> {
    let (whole, words) = (passage.vector.cosine(&question.vector)?, question.words.covered_by(&passage.words)?);
    // Rounded cosines may be a little above 1.
    Some(((1.0 - share) * whole + share * words).clamp(0.0, 1.0))
}

/// Sorts the chunks among the hits by their relevance, and the best messages by theirs. Returns the relevance of the chunks whose meaning is known.
fn reorder(mut hits: Vec<IndexHit>, meanings: &HashMap<MessageId, f32>) -> (Vec<IndexHit>, Relevance) {
    let places = |is_chunk: bool| (0..hits.len()).filter(|i| hits[*i].is_chunk == is_chunk).collect::<Vec<_>>();
    let (chunks, mut messages) = (places(true), places(false));
    messages.truncate(MESSAGES_ORDERED);
    let of_chunks = relevance_of_chunks(&hits, &chunks, meanings);
    let of_messages = relevance_of_messages(&hits, &messages, meanings);
    let id = |place: &usize| hits[*place].message;
    let known =
        chunks.iter().zip(&of_chunks).filter(|(place, _)| meanings.contains_key(&id(place))).map(|(place, of)| (id(place), *of)).collect();
    sort_places(&mut hits, &chunks, &of_chunks);
    sort_places(&mut hits, &messages, &of_messages);
    (hits, known)
}

/// The relevance of the chunks at some places. One of unknown meaning counts as having the mean of the others.
fn relevance_of_chunks(hits: &[IndexHit], places: &[usize], meanings: &HashMap<MessageId, f32>) -> Vec<f32> {
    let hits = || places.iter().map(|place| &hits[*place]);
    let best = hits().map(|hit| hit.score).fold(f32::MIN_POSITIVE, f32::max);
    let meanings = meanings_of(hits(), meanings);
    hits().zip(meanings).map(|(hit, meaning)| (1.0 - MEANING_OF_CHUNK) * hit.score / best + MEANING_OF_CHUNK * meaning).collect()
}

/// The relevance of the messages at some places. One of unknown meaning counts as having the mean of the others.
fn relevance_of_messages(hits: &[IndexHit], places: &[usize], meanings: &HashMap<MessageId, f32>) -> Vec<f32> {
    let hits = || places.iter().map(|place| &hits[*place]);
    let scores = scaled(hits().map(|hit| hit.score).collect());
    let meanings = scaled(meanings_of(hits(), meanings));
    scores.iter().zip(meanings).map(|(score, meaning)| (1.0 - MEANING_OF_MESSAGE) * score + MEANING_OF_MESSAGE * meaning).collect()
}

/// The meanings of hits; where they are unknown, the mean of the others.
fn meanings_of<'h>(hits: impl Iterator<Item = &'h IndexHit>, meanings: &HashMap<MessageId, f32>) -> Vec<f32> {
    let found: Vec<Option<f32>> = hits.map(|hit| meanings.get(&hit.message).copied()).collect();
    let known = || found.iter().flatten();
    let mean = known().sum::<f32>() / known().count().max(1) as f32;
    found.iter().map(|meaning| meaning.unwrap_or(mean)).collect()
}

/// Scales values to 0 to 1. If all are equal, they become 0: they order nothing.
fn scaled(values: Vec<f32>) -> Vec<f32> {
    let (low, high) = values.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)));
    values.into_iter().map(|v| if high > low { (v - low) / (high - low) } else { 0.0 }).collect()
}

/// Sorts the hits at some places by their relevance. Each place keeps its score.
fn sort_places(hits: &mut [IndexHit], places: &[usize], relevance: &[f32]) {
    let mut sorted: Vec<(f32, IndexHit)> = places.iter().zip(relevance).map(|(place, of)| (*of, hits[*place].clone())).collect();
    sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (place, (_, hit)) in places.iter().zip(sorted) {
        hits[*place] = IndexHit { score: hits[*place].score, ..hit };
    }
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
    fn chunks_are_sorted_by_meaning_and_messages_without_meaning_keep_their_ranks() {
        let hits = [(1, true, 0.9), (2, false, 0.8), (3, true, 0.7), (4, true, 0.6)].map(hit).to_vec();
        let (found, relevance) = reorder(hits, &[(1, 0.1), (3, 0.3), (4, 0.8)].map(|(n, meaning)| (id(n), meaning)).into());
        let found: Vec<_> = found.iter().map(|hit| (hit.message.0.as_u128(), hit.score)).collect();
        assert_eq!(found, [(4, 0.9), (2, 0.8), (3, 0.7), (1, 0.6)]);
        assert!((relevance[&id(4)] - (0.2 * 0.6 / 0.9 + 0.8 * 0.8)).abs() < 1e-6 && !relevance.contains_key(&id(2)));
    }

    #[test]
    fn messages_are_sorted_by_meaning_and_score() {
        let order = |meanings: &[(u128, f32)]| {
            let hits = [(1, false, 0.9), (2, true, 0.8), (3, false, 0.7), (4, false, 0.6)].map(hit).to_vec();
            let (found, _) = reorder(hits, &meanings.iter().map(|(n, meaning)| (id(*n), *meaning)).collect());
            found.iter().map(|hit| (hit.message.0.as_u128(), hit.score)).collect::<Vec<_>>()
        };
        // With scores of 1, 1/3 and 0, of which 0.6 counts, and meanings of 1, 0 and 1, of which 0.4 counts.
        assert_eq!(order(&[(1, 0.1), (3, 0.0), (4, 0.1)]), [(1, 0.9), (2, 0.8), (4, 0.7), (3, 0.6)]);
        assert_eq!(order(&[]), [(1, 0.9), (2, 0.8), (3, 0.7), (4, 0.6)]);
    }

    #[test]
    fn only_the_best_messages_are_sorted() {
        let hits: Vec<IndexHit> = (0..2 * MESSAGES_ORDERED as u128).map(|n| hit((n, false, 1.0 / (n + 1) as f32))).collect();
        let (found, _) = reorder(hits.clone(), &hits.iter().map(|h| (h.message, h.message.0.as_u128() as f32)).collect());
        assert_eq!(found[MESSAGES_ORDERED..], hits[MESSAGES_ORDERED..]);
        assert_ne!(found[..MESSAGES_ORDERED], hits[..MESSAGES_ORDERED]);
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
            prop_assert!(before.iter().zip(&after).all(|(b, a)| b.is_chunk == a.is_chunk));
        }
    }
}
