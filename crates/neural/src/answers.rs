//! Implements the port of answer verifiers: a network that reads a question and a text together.
//!
//! The pieces of both are one sequence: start, question, end, text, end. The first three layers are those of all-MiniLM-L6-v2; the others are trained
//! with the questions in `training/`.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Semaphore;

use recall_domain::UserText;
use recall_ports::{AnswerError, AnswerVerifier};

use crate::activation::sigmoid;
use crate::encoder::ENCODER;
use crate::layer::{HIDDEN, Layer, add};
use crate::matmul::Linear;
use crate::stem::Stem;
use crate::tokens::{END, MAX_TOKENS, tokenise};
use crate::weights::{Weights, WeightsError};

static MODEL: &[u8] = include_bytes!("../../../models/minilm-answers/model.safetensors");
/// Layers of the encoder between the stem and the marks.
const SHARED: usize = 2;
/// Layers behind the marks.
const UPPER: usize = 3;
/// Most pieces of a question, with the start. The text gets the rest of [`MAX_TOKENS`].
const MAX_QUESTION: usize = 48;
/// The piece belongs to the text.
const OF_TEXT: usize = 0;
/// The other side has the same piece.
const REPEATED: usize = 1;
/// Most texts that are read at once on one core.
const TOGETHER: usize = 4;

/// Tells whether texts answer a question.
#[derive(Clone)]
pub struct MiniLmVerifier {
    network: Arc<VerifierNetwork>,
    /// One group of texts per core at a time.
    cores: Arc<Semaphore>,
}

#[derive(Debug)]
struct VerifierNetwork {
    stem: &'static Stem,
    layers: Vec<Layer>,
    marks: Vec<f32>,
    upper: Vec<Layer>,
    answers: Linear,
}

/// A question and a text as one sequence.
#[derive(Debug, PartialEq)]
struct Sequence {
    ids: Vec<u32>,
    /// Pieces before those of the text.
    first: usize,
    /// Whether each piece is also on the other side.
    repeated: Vec<bool>,
}

impl MiniLmVerifier {
    /// Reads the network that is part of the binary.
    ///
    /// # Errors
    /// Fails if the files of this version do not fit together.
    pub fn load() -> Result<Self, WeightsError> {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Ok(Self { network: Arc::new(VerifierNetwork::load()?), cores: Arc::new(Semaphore::new(cores)) })
    }
}

impl VerifierNetwork {
    fn load() -> Result<Self, WeightsError> {
        let (encoder, own) = (Weights::new(ENCODER)?, Weights::new(MODEL)?);
        Ok(Self {
            stem: Stem::shared()?,
            layers: (1..=SHARED).map(|i| Layer::read(&encoder, i)).collect::<Result<_, _>>()?,
            marks: own.floats("marks", 2 * HIDDEN)?,
            upper: (1 + SHARED..=SHARED + UPPER).map(|i| Layer::read(&own, i)).collect::<Result<_, _>>()?,
            answers: own.linear("answers", 2 * HIDDEN, 1)?,
        })
    }

    /// Joins a question and a text. What does not fit is left out.
    fn sequence(&self, question: &str, text: &str) -> Sequence {
        let vocabulary = &self.stem.vocabulary;
        let end = vocabulary.find(END).unwrap_or_default();
        let pieces = |text: &str| -> Vec<u32> { tokenise(text, vocabulary).iter().map(|token| token.id).collect() };
        let (mut asked, told) = (pieces(question), pieces(text));
        asked.truncate(MAX_QUESTION);
        let told: Vec<u32> = told.into_iter().skip(1).take(MAX_TOKENS - 2 - asked.len()).collect();
        let (here, there): (HashSet<u32>, HashSet<u32>) = (asked.iter().skip(1).copied().collect(), told.iter().copied().collect());
        let first = asked.len() + 1;
        let ids: Vec<u32> = asked.into_iter().chain([end]).chain(told).chain([end]).collect();
        let last = ids.len() - 1;
        let repeated =
            ids.iter().enumerate().map(|(i, id)| if (first..last).contains(&i) { here.contains(id) } else { there.contains(id) });
        Sequence { repeated: repeated.collect(), first, ids }
    }

    /// Returns the probability that a text answers a question.
    fn verify(&self, question: &str, text: &str) -> f32 {
        let Sequence { ids, first, repeated } = self.sequence(question, text);
        let told = first..ids.len() - 1;
        if told.is_empty() {
            return 0.0;
        }
        let mut x = self.stem.states(ids.iter().copied());
        self.layers.iter().for_each(|layer| layer.apply(&mut x));
        for ((i, row), repeated) in x.chunks_exact_mut(HIDDEN).enumerate().zip(repeated) {
            for mark in [told.contains(&i).then_some(OF_TEXT), repeated.then_some(REPEATED)].into_iter().flatten() {
                add(row, &self.marks[mark * HIDDEN..][..HIDDEN]);
            }
        }
        self.upper.iter().for_each(|layer| layer.apply(&mut x));
        let mut mean = [0.0; HIDDEN];
        x[told.start * HIDDEN..told.end * HIDDEN].chunks_exact(HIDDEN).for_each(|row| add(&mut mean, row));
        let both: Vec<f32> = x[..HIDDEN].iter().copied().chain(mean.iter().map(|sum| sum / told.len() as f32)).collect();
        self.answers.apply(&both).first().copied().map_or(0.0, sigmoid)
    }
}

#[async_trait]
impl AnswerVerifier for MiniLmVerifier {
    async fn verify(&self, question: &UserText, texts: &[UserText]) -> Result<Vec<f32>, AnswerError> {
        let mut running = Vec::with_capacity(texts.len().div_ceil(TOGETHER));
        for group in texts.chunks(TOGETHER) {
            let permit = self.cores.clone().acquire_owned().await.map_err(|e| AnswerError::Transient(e.to_string()))?;
            let (network, question, group) = (self.network.clone(), question.clone(), group.to_vec());
            // It would block the other tasks of this thread.
            running.push(tokio::task::spawn_blocking(move || {
                let _permit = permit;
                group.iter().map(|text| network.verify(question.as_str(), text.as_str())).collect::<Vec<f32>>()
            }));
        }
        let mut verified = Vec::with_capacity(texts.len());
        for group in running {
            verified.extend(group.await.map_err(|e| AnswerError::Permanent(e.to_string()))?);
        }
        Ok(verified)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use serde::Deserialize;
    use sha2::{Digest, Sha256};

    use super::*;

    /// What the training program computes with the same weights, see `training/answers.py reference`.
    #[derive(Deserialize)]
    struct Reference {
        question: String,
        text: String,
        ids: Vec<u32>,
        answers: f32,
    }

    #[test]
    fn results_are_those_of_the_training_program() {
        let network = VerifierNetwork::load().unwrap();
        let references: Vec<Reference> = serde_json::from_str(include_str!("answers.json")).unwrap();
        assert!(references.iter().any(|r| r.answers > 0.5) && references.iter().any(|r| r.answers < 0.5));
        for r in references {
            assert_eq!(network.sequence(&r.question, &r.text).ids, r.ids, "{}", r.question);
            let found = network.verify(&r.question, &r.text);
            assert!((found - r.answers).abs() < 0.02, "{}: {found}, not {}", r.question, r.answers);
        }
    }

    #[test]
    fn text_that_answers_in_other_words_is_surer_than_one_about_the_same() {
        let network = VerifierNetwork::load().unwrap();
        for (question, answer, other) in [
            (
                "Who bought my scooter?",
                "Last spring I sold the Vespa to our neighbour Anselmo.",
                "My old Vespa is red and was built in 1978.",
            ),
            (
                "Which month did my sister relocate?",
                "Nekesa, my sister, moved to Mombasa in May.",
                "My sister Nekesa likes the sea at Mombasa.",
            ),
            ("Who pays if I break a glass?", "Damage to tableware is borne by the tenant.", "Glasses and plates are in the cupboard."),
        ] {
            let [right, wrong] = [answer, other].map(|text| network.verify(question, text));
            assert!(right > 4.0 * wrong, "{question} {right} {wrong}");
        }
    }

    #[test]
    fn long_questions_and_texts_are_cut() {
        let network = VerifierNetwork::load().unwrap();
        let long = "harbour ".repeat(500);
        let sequence = network.sequence(&long, &long);
        assert_eq!((sequence.ids.len(), sequence.first), (MAX_TOKENS, MAX_QUESTION + 1));
        assert!(sequence.repeated[1] && sequence.repeated[60] && !sequence.repeated[0] && !sequence.repeated[MAX_QUESTION]);
    }

    #[tokio::test]
    async fn texts_are_verified_in_order_and_empty_ones_answer_nothing() {
        let verifier = MiniLmVerifier::load().unwrap();
        let mut texts = vec![UserText::from(""); 9];
        texts[6] = UserText::from("Last spring I sold the Vespa to our neighbour Anselmo.");
        let verified = verifier.verify(&UserText::from("Who bought my scooter?"), &texts).await.unwrap();
        assert_eq!(verified.len(), texts.len());
        assert!(verified.iter().enumerate().all(|(i, p)| (i == 6) == (*p > 0.0)), "{verified:?}");
    }

    #[test]
    fn model_file_has_the_recorded_checksum() {
        let sum: String = Sha256::digest(MODEL).iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(include_str!("../../../models/minilm-answers/SHA256SUMS"), format!("{sum}  model.safetensors\n"));
    }
}
