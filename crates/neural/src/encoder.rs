//! Implements the embedder port for passages: all-MiniLM-L6-v2, the whole network.
//!
//! A text is read in windows of [`MAX_TOKENS`] word pieces. The mean of the states of all pieces, scaled to unit length, is its vector.

use std::num::NonZeroUsize;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Semaphore;

use recall_domain::UserText;
use recall_ports::{EmbedError, Embedder, Embedding};

use crate::layer::{HIDDEN, Layer, add};
use crate::stem::{READER, Stem};
use crate::tokens::{END, MAX_TOKENS, START, UNKNOWN, pieces};
use crate::weights::{Weights, WeightsError};

const MODEL: &[u8] = include_bytes!("../../../models/minilm-encoder/model.safetensors");
/// Name and version of the model. Increase the version with every change of the vectors.
const MODEL_NAME: &str = "minilm-l6/1";
/// Layers behind that of the stem.
const LAYERS: usize = 5;
/// Most pieces that are read of a text. A chunk of a document has at most about half of them.
const MAX_PIECES: usize = 4 * MAX_TOKENS;

/// Longest text that does not wait for others, in bytes. A question takes milliseconds, a chunk a hundred of them.
const SHORT: usize = 512;

/// Makes vectors of passages and questions, which say more than those of the static model and take a thousand times as long.
#[derive(Clone)]
pub struct PassageEncoder {
    network: Arc<EncoderNetwork>,
    /// Cores for long texts: half of them, so that messages and questions do not wait for documents.
    for_long: Arc<Semaphore>,
    for_short: Arc<Semaphore>,
}

#[derive(Debug)]
struct EncoderNetwork {
    stem: Stem,
    layers: Vec<Layer>,
}

impl PassageEncoder {
    /// Reads the network that is part of the binary.
    ///
    /// # Errors
    /// Fails if the files of this version do not fit together.
    pub fn load() -> Result<Self, WeightsError> {
        let stem = Stem::read(&Weights::new(READER)?)?;
        let w = Weights::new(MODEL)?;
        let layers = (1..=LAYERS).map(|i| Layer::read(&w, i)).collect::<Result<_, _>>()?;
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Ok(Self {
            network: Arc::new(EncoderNetwork { stem, layers }),
            for_long: Arc::new(Semaphore::new((cores / 2).max(1))),
            for_short: Arc::new(Semaphore::new(cores)),
        })
    }
}

impl EncoderNetwork {
    /// Returns the vector of a text, of unit length. It is zero if the vocabulary lacks most words of the text, as in another script.
    fn vector(&self, text: &str) -> Embedding {
        let vocabulary = &self.stem.vocabulary;
        let special = |piece: &str| vocabulary.find(piece).unwrap_or_default();
        let (start, end, unknown) = (special(START), special(END), special(UNKNOWN));
        let mut sum = vec![0.0; HIDDEN];
        let pieces = pieces(text, vocabulary, MAX_PIECES);
        if pieces.iter().filter(|piece| **piece == unknown).count() * 2 > pieces.len() {
            return Embedding(sum);
        }
        for window in pieces.chunks(MAX_TOKENS - 2) {
            let window: Vec<u32> = std::iter::once(start).chain(window.iter().copied()).chain([end]).collect();
            let mut x = self.stem.states(window.into_iter());
            for layer in &self.layers {
                layer.apply(&mut x);
            }
            x.chunks_exact(HIDDEN).for_each(|row| add(&mut sum, row));
        }
        let length = sum.iter().map(|v| v * v).sum::<f32>().sqrt();
        if length > 0.0 {
            sum.iter_mut().for_each(|v| *v /= length);
        }
        Embedding(sum)
    }
}

#[async_trait]
impl Embedder for PassageEncoder {
    fn model(&self) -> &str {
        MODEL_NAME
    }

    fn dimension(&self) -> usize {
        HIDDEN
    }

    async fn embed(&self, texts: &[UserText]) -> Result<Vec<Embedding>, EmbedError> {
        let mut running = Vec::with_capacity(texts.len());
        for text in texts {
            let cores = if text.as_str().len() <= SHORT { &self.for_short } else { &self.for_long };
            let permit = cores.clone().acquire_owned().await.map_err(|e| EmbedError::Transient(e.to_string()))?;
            let (network, text) = (self.network.clone(), text.clone());
            // It would block the other tasks of this thread.
            running.push(tokio::task::spawn_blocking(move || {
                let _permit = permit;
                network.vector(text.as_str())
            }));
        }
        let mut vectors = Vec::with_capacity(texts.len());
        for vector in running {
            vectors.push(vector.await.map_err(|e| EmbedError::Permanent(e.to_string()))?);
        }
        Ok(vectors)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    #[tokio::test]
    async fn texts_of_one_meaning_have_the_cosines_of_the_original_network() {
        let encoder = PassageEncoder::load().unwrap();
        let long = "The harbour office opens at nine and closes at four on weekdays. ".repeat(20);
        for (a, b, expected) in [
            ("How do I reset my password?", "Instructions for recovering access to an account.", 0.584),
            ("The cat sat on the mat.", "A feline rested on a rug.", 0.553),
            ("Which port does the server listen on?", "Bananas are rich in potassium.", -0.022),
            ("John likes Mary.", "Who does John like?", 0.746),
            ("Gr\u{f6}\u{df}e der D\u{fc}se: 0.4 mm", "The nozzle has a diameter of 0.4 mm.", 0.338),
        ] {
            let vectors = encoder.embed(&[UserText::from(a), UserText::from(b)]).await.unwrap();
            let cosine: f32 = vectors[0].0.iter().zip(&vectors[1].0).map(|(x, y)| x * y).sum();
            assert!((cosine - expected).abs() < 0.02, "{a:?} and {b:?}: {cosine}, not {expected}");
        }
        let vectors = encoder.embed(&[UserText::from(long.as_str()), UserText::from("When does the harbour office open?")]).await.unwrap();
        let cosine: f32 = vectors[0].0.iter().zip(&vectors[1].0).map(|(x, y)| x * y).sum();
        assert!(cosine > 0.6, "a text of several windows: {cosine}");
    }

    #[tokio::test]
    async fn vectors_have_unit_length_or_are_zero_without_known_words() {
        let encoder = PassageEncoder::load().unwrap();
        let texts = ["John likes Mary.", "", " \u{0}\t ", "\u{65E5}\u{672C}\u{8A9E}"].map(UserText::from);
        let vectors = encoder.embed(&texts).await.unwrap();
        for (text, vector) in texts.iter().zip(&vectors) {
            assert_eq!(vector.0.len(), encoder.dimension());
            let length = vector.0.iter().map(|x| x * x).sum::<f32>().sqrt();
            assert!(length == 0.0 || (length - 1.0).abs() < 1e-5, "{text:?} has length {length}");
        }
        assert!(vectors[1..].iter().flat_map(|vector| &vector.0).all(|x| *x == 0.0));
    }

    #[test]
    fn model_file_has_the_recorded_checksum() {
        let sum: String = Sha256::digest(MODEL).iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(include_str!("../../../models/minilm-encoder/SHA256SUMS"), format!("{sum}  model.safetensors\n"));
    }
}
