//! Implements the port of passage encoders: all-MiniLM-L6-v2, the whole network.
//!
//! A text is read in windows of [`MAX_TOKENS`] word pieces. The mean of the states of all pieces, scaled to unit length, is its vector. The sum of
//! the states of its pieces is the vector of a word; random signs project it to fewer dimensions.

use std::num::NonZeroUsize;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::{sync::Semaphore, task::JoinHandle};

use recall_domain::UserText;
use recall_ports::{EmbedError, Embedding, EncodedText, PassageEncoder, WordVectors};
use recall_text::is_stop_word;

use crate::layer::{HIDDEN, Layer, add};
use crate::projection::Projection;
use crate::stem::Stem;
use crate::tokens::{END, MAX_TOKENS, START, UNKNOWN, pieces};
use crate::weights::{Weights, WeightsError};

/// The file of the encoder, whose first layers the verifier shares.
pub(crate) static ENCODER: &[u8] = include_bytes!("../../../models/minilm-encoder/model.safetensors");
/// Name and version of the model. Increase the version with every change of the vectors.
const MODEL_NAME: &str = "minilm-l6/2";
/// Layers behind that of the stem.
const LAYERS: usize = 5;
/// Most pieces that are read of a text. A chunk of a document has at most about half of them.
const MAX_PIECES: usize = 4 * MAX_TOKENS;
/// Most pieces that are read of a question: one window, for which it waits some milliseconds.
const MAX_QUESTION_PIECES: usize = MAX_TOKENS - 2;

/// Most words of a question that have vectors: a passage is compared with each of them.
const MAX_QUESTION_WORDS: usize = 64;

/// Reads passages and questions better than the static model, and takes a thousand times as long.
#[derive(Clone)]
pub struct MiniLmEncoder {
    network: Arc<EncoderNetwork>,
    /// Cores for texts: half of them, so that questions do not wait for texts.
    for_texts: Arc<Semaphore>,
    for_questions: Arc<Semaphore>,
}

#[derive(Debug)]
struct EncoderNetwork {
    stem: &'static Stem,
    layers: Vec<Layer>,
    projection: Projection,
}

impl MiniLmEncoder {
    /// Reads the network that is part of the binary.
    ///
    /// # Errors
    /// Fails if the files of this version do not fit together.
    pub fn load() -> Result<Self, WeightsError> {
        let stem = Stem::shared()?;
        let w = Weights::new(ENCODER)?;
        let layers = (1..=LAYERS).map(|i| Layer::read(&w, i)).collect::<Result<_, _>>()?;
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Ok(Self {
            network: Arc::new(EncoderNetwork { stem, layers, projection: Projection::new() }),
            for_texts: Arc::new(Semaphore::new((cores / 2).max(1))),
            for_questions: Arc::new(Semaphore::new(cores)),
        })
    }
}

impl EncoderNetwork {
    /// Encodes the first `most` pieces of a text, with the vectors of those words that are wanted. It has none, and its own is zero, if the vocabulary lacks most of its words,
    /// as in another script.
    fn encode(&self, text: &str, most: usize, is_wanted: fn(&str) -> bool) -> EncodedText {
        let vocabulary = &self.stem.vocabulary;
        let unknown = vocabulary.find(UNKNOWN).unwrap_or_default();
        let pieces = pieces(text, vocabulary, most);
        let (mut sum, mut words) = (vec![0.0; HIDDEN], WordVectors::default());
        if pieces.ids.iter().filter(|piece| **piece == unknown).count() * 2 > pieces.ids.len() {
            return EncodedText { vector: Embedding(sum), words };
        }
        let states = self.states(&pieces.ids, &mut sum);
        for (word, range) in pieces.words {
            if word.starts_with(char::is_alphanumeric) && is_wanted(word) {
                let mut state = [0.0; HIDDEN];
                states[range.start * HIDDEN..range.end * HIDDEN].chunks_exact(HIDDEN).for_each(|row| add(&mut state, row));
                words.push(&self.projection.apply(&state));
            }
        }
        let length = sum.iter().map(|v| v * v).sum::<f32>().sqrt();
        if length > 0.0 {
            sum.iter_mut().for_each(|v| *v /= length);
        }
        EncodedText { vector: Embedding(sum), words }
    }

    /// Returns the states of the pieces, and adds them to `sum`, with those of the ends of each window.
    fn states(&self, pieces: &[u32], sum: &mut [f32]) -> Vec<f32> {
        let special = |piece: &str| self.stem.vocabulary.find(piece).unwrap_or_default();
        let (start, end) = (special(START), special(END));
        let mut states = Vec::with_capacity(pieces.len() * HIDDEN);
        for window in pieces.chunks(MAX_TOKENS - 2) {
            let window: Vec<u32> = std::iter::once(start).chain(window.iter().copied()).chain([end]).collect();
            let mut x = self.stem.states(window.into_iter());
            for layer in &self.layers {
                layer.apply(&mut x);
            }
            x.chunks_exact(HIDDEN).for_each(|row| add(sum, row));
            states.extend_from_slice(&x[HIDDEN..x.len() - HIDDEN]);
        }
        states
    }
}

impl MiniLmEncoder {
    /// Starts to encode the first `most` pieces of a text as soon as one of the cores is free.
    async fn start(
        &self,
        cores: &Arc<Semaphore>,
        text: &UserText,
        most: usize,
        is_wanted: fn(&str) -> bool,
    ) -> Result<JoinHandle<EncodedText>, EmbedError> {
        let permit = cores.clone().acquire_owned().await.map_err(|e| EmbedError::Transient(e.to_string()))?;
        let (network, text) = (self.network.clone(), text.clone());
        // It would block the other tasks of this thread.
        Ok(tokio::task::spawn_blocking(move || {
            let _permit = permit;
            network.encode(text.as_str(), most, is_wanted)
        }))
    }
}

#[async_trait]
impl PassageEncoder for MiniLmEncoder {
    fn model(&self) -> &str {
        MODEL_NAME
    }

    async fn encode(&self, passages: &[UserText]) -> Result<Vec<EncodedText>, EmbedError> {
        let mut running = Vec::with_capacity(passages.len());
        for passage in passages {
            running.push(self.start(&self.for_texts, passage, MAX_PIECES, |word| !is_stop_word(word)).await?);
        }
        let mut encoded = Vec::with_capacity(passages.len());
        for passage in running {
            encoded.push(passage.await.map_err(|e| EmbedError::Permanent(e.to_string()))?);
        }
        Ok(encoded)
    }

    async fn encode_question(&self, question: &UserText) -> Result<EncodedText, EmbedError> {
        let started = self.start(&self.for_questions, question, MAX_QUESTION_PIECES, |_| true).await?;
        let mut encoded = started.await.map_err(|e| EmbedError::Permanent(e.to_string()))?;
        encoded.words.truncate(MAX_QUESTION_WORDS);
        Ok(encoded)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    fn cosine(texts: &[EncodedText]) -> f32 {
        texts[0].vector.0.iter().zip(&texts[1].vector.0).map(|(x, y)| x * y).sum()
    }

    #[tokio::test]
    async fn texts_of_one_meaning_have_the_cosines_of_the_original_network() {
        let encoder = MiniLmEncoder::load().unwrap();
        let long = "The harbour office opens at nine and closes at four on weekdays. ".repeat(20);
        for (a, b, expected) in [
            ("How do I reset my password?", "Instructions for recovering access to an account.", 0.584),
            ("The cat sat on the mat.", "A feline rested on a rug.", 0.553),
            ("Which port does the server listen on?", "Bananas are rich in potassium.", -0.022),
            ("John likes Mary.", "Who does John like?", 0.746),
            ("Gr\u{f6}\u{df}e der D\u{fc}se: 0.4 mm", "The nozzle has a diameter of 0.4 mm.", 0.338),
        ] {
            let cosine = cosine(&encoder.encode(&[UserText::from(a), UserText::from(b)]).await.unwrap());
            assert!((cosine - expected).abs() < 0.02, "{a:?} and {b:?}: {cosine}, not {expected}");
        }
        let texts = [long.as_str(), "When does the harbour office open?"].map(UserText::from);
        let cosine = cosine(&encoder.encode(&texts).await.unwrap());
        assert!(cosine > 0.6, "a text of several windows: {cosine}");
    }

    #[tokio::test]
    async fn vectors_have_unit_length_or_are_zero_without_known_words() {
        let encoder = MiniLmEncoder::load().unwrap();
        let texts = ["John likes Mary.", "", " \u{0}\t ", "\u{65E5}\u{672C}\u{8A9E}"].map(UserText::from);
        let encoded = encoder.encode(&texts).await.unwrap();
        for (text, EncodedText { vector, .. }) in texts.iter().zip(&encoded) {
            assert_eq!(vector.0.len(), HIDDEN);
            let length = vector.0.iter().map(|x| x * x).sum::<f32>().sqrt();
            assert!(length == 0.0 || (length - 1.0).abs() < 1e-5, "{text:?} has length {length}");
        }
        assert!(encoded[1..].iter().all(|e| e.words == WordVectors::default() && e.vector.0.iter().all(|x| *x == 0.0)));
    }

    #[tokio::test]
    async fn question_is_covered_best_by_the_passage_that_answers_it() {
        let encoder = MiniLmEncoder::load().unwrap();
        let question = encoder.encode_question(&UserText::from("How long do I have to wait for a new password?")).await.unwrap();
        let passages = [
            "Another password is sent within three hours of the request.",
            "Passwords have at least twelve characters, and nobody may share them.",
            "The kitchen is cleaned at night.",
        ];
        let encoded = encoder.encode(&passages.map(UserText::from)).await.unwrap();
        let covered: Vec<f32> = encoded.iter().map(|passage| question.words.covered_by(&passage.words).unwrap()).collect();
        assert!(covered.is_sorted_by(|a, b| a > b), "{covered:?}");
    }

    #[tokio::test]
    async fn stop_words_count_in_questions_only_and_long_texts_are_cut() {
        let encoder = MiniLmEncoder::load().unwrap();
        let words = |encoded: &EncodedText| encoded.words.as_bytes().len() / (WordVectors::DIMENSION / 2);
        let text = UserText::from("What is the port, and who uses it?");
        assert_eq!(words(&encoder.encode_question(&text).await.unwrap()), 8);
        assert_eq!(words(&encoder.encode(&[text]).await.unwrap()[0]), 2);
        let long = UserText::from("harbour ".repeat(2000));
        assert_eq!(words(&encoder.encode_question(&long).await.unwrap()), MAX_QUESTION_WORDS);
        assert_eq!(words(&encoder.encode(&[long]).await.unwrap()[0]), MAX_PIECES);
    }

    #[test]
    fn model_file_has_the_recorded_checksum() {
        let sum: String = Sha256::digest(ENCODER).iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(include_str!("../../../models/minilm-encoder/SHA256SUMS"), format!("{sum}  model.safetensors\n"));
    }
}
