//! The built-in embedder: static token vectors, summed and scaled to unit length.
//!
//! The model is part of the binary; there is no neural network to run and no file or service to read. Its table is mapped, not copied.

use std::{collections::HashSet, sync::Arc};

use async_trait::async_trait;
use model2vec_rs::model::StaticModel;
use safetensors::{Dtype, SafeTensors};
use tokenizers::Tokenizer;

use recall_domain::UserText;
use recall_ports::{EmbedError, Embedder, Embedding};

static TOKENIZER: &[u8] = include_bytes!("../../../models/minilm-static-256/tokenizer.json");
static MODEL: &[u8] = include_bytes!("../../../models/minilm-static-256/model.safetensors");

/// Name and version of the model.
///
/// Increase the version with every change of the files. Stored vectors carry it, and vectors of two models must never be
/// compared.
pub(crate) const MODEL_NAME: &str = "minilm-static-256/1";
/// Length of a vector.
pub(crate) const DIMENSION: usize = 256;

/// Maximum number of tokens of a text. The mean of more tokens says less, and keyword search covers all words.
const MAX_TOKENS: usize = 512;
/// Size from which a batch runs in the blocking pool. A smaller one takes less than a millisecond.
const INLINE_BYTES: usize = 64 * 1024;

/// The [`Embedder`] of the model in `models/minilm-static-256`.
#[derive(Clone, Debug)]
pub struct LocalEmbedder {
    model: StaticModel,
    /// The words among its tokens. The others are parts of words, signs and numbers.
    words: Arc<HashSet<Box<str>>>,
}

impl LocalEmbedder {
    /// Loads the embedded model, which takes tens of milliseconds.
    ///
    /// # Errors
    /// Fails if the embedded files are damaged.
    pub fn load() -> Result<Self, EmbedError> {
        let damaged = |problem: &dyn ToString| EmbedError::Permanent(format!("models/minilm-static-256: {}", problem.to_string()));
        let tokenizer = Tokenizer::from_bytes(TOKENIZER).map_err(|e| damaged(&e))?;
        let tensors = SafeTensors::deserialize(MODEL).map_err(|e| damaged(&e))?;
        let table = tensors.tensor("embeddings").map_err(|e| damaged(&e))?;
        let (Dtype::I8, [rows, DIMENSION]) = (table.dtype(), table.shape()) else {
            return Err(damaged(&"the table has another shape or type"));
        };
        let is_word = |token: &String| token.chars().all(char::is_alphabetic);
        let words = tokenizer.get_vocab(false).into_keys().filter(is_word).map(String::into_boxed_str).collect();
        let values = bytemuck::cast_slice(table.data());
        let model = StaticModel::from_borrowed_i8(tokenizer, values, *rows, DIMENSION, true, None, None).map_err(|e| damaged(&e))?;
        Ok(Self { model, words: Arc::new(words) })
    }

    /// Whether the model has a vector for a word in small letters, and not only for its parts: it is one of 22,000 common words.
    pub fn knows(&self, word: &str) -> bool {
        self.words.contains(word)
    }

    /// Returns the vector of a text: of unit length, or zero if no token is known.
    pub fn vector(&self, text: &str) -> Embedding {
        let mut vectors = self.model.encode_with_args(&[text.to_owned()], Some(MAX_TOKENS), 1);
        Embedding(vectors.pop().unwrap_or_else(|| vec![0.0; DIMENSION]))
    }
}

#[async_trait]
impl Embedder for LocalEmbedder {
    fn model(&self) -> &str {
        MODEL_NAME
    }

    fn dimension(&self) -> usize {
        DIMENSION
    }

    async fn embed(&self, texts: &[UserText]) -> Result<Vec<Embedding>, EmbedError> {
        if texts.iter().map(|t| t.as_str().len()).sum::<usize>() <= INLINE_BYTES {
            return Ok(texts.iter().map(|t| self.vector(t.as_str())).collect());
        }
        let (this, texts) = (self.clone(), texts.to_vec());
        tokio::task::spawn_blocking(move || texts.iter().map(|t| this.vector(t.as_str())).collect())
            .await
            .map_err(|e| EmbedError::Transient(e.to_string()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn model_files_have_the_recorded_checksums() {
        let sums = include_str!("../../../models/minilm-static-256/SHA256SUMS");
        let config: &[u8] = include_bytes!("../../../models/minilm-static-256/config.json");
        for (name, bytes) in [("config.json", config), ("model.safetensors", MODEL), ("tokenizer.json", TOKENIZER)] {
            let sum: String = Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect();
            assert!(sums.lines().any(|line| line == format!("{sum}  {name}")), "{name} has another checksum: {sum}");
        }
    }

    #[test]
    fn table_has_one_row_per_token() {
        let tokenizer: serde_json::Value = serde_json::from_slice(TOKENIZER).unwrap();
        assert_eq!(tokenizer["model"]["vocab"].as_object().unwrap().len(), 29_525);
        let header_len = usize::try_from(u64::from_le_bytes(MODEL[..8].try_into().unwrap())).unwrap();
        let header: serde_json::Value = serde_json::from_slice(&MODEL[8..8 + header_len]).unwrap();
        assert_eq!(header["embeddings"]["shape"], serde_json::json!([29_525, DIMENSION]));
        assert_eq!(header["embeddings"]["dtype"], "I8");
    }

    #[test]
    fn common_words_are_known_and_parts_and_typing_errors_are_not() {
        let model = LocalEmbedder::load().unwrap();
        assert!(
            model.knows("deposit") && model.knows("vacation") && !model.knows("depsoit") && !model.knows("##ing") && !model.knows("2023")
        );
    }

    #[test]
    fn known_pairs_have_known_cosines() {
        let model = LocalEmbedder::load().unwrap();
        let cosine = |a: &str, b: &str| -> f32 { model.vector(a).0.iter().zip(&model.vector(b).0).map(|(x, y)| x * y).sum() };
        for (a, b, expected) in KNOWN {
            let found = cosine(a, b);
            assert!((found - expected).abs() < 1e-3, "{a:?} and {b:?}: {found}, not {expected}");
        }
    }

    const KNOWN: &[(&str, &str, f32)] = &[
        ("John likes Mary.", "Who does John like?", 0.7546),
        ("I moved to Ghent last spring.", "Where do I live now?", 0.6835),
        ("My dog chewed up the couch.", "The puppy destroyed the sofa.", 0.8888),
        ("animal", "dog", 0.8246),
        ("phone", "deployment", 0.1733),
    ];

    #[tokio::test]
    async fn vectors_have_unit_length_or_are_zero_without_tokens() {
        let model = LocalEmbedder::load().unwrap();
        let long = "a long walk by the sea ".repeat(4000);
        let texts: Vec<UserText> = ["John likes Mary.", "", "\u{0}\u{1}", "日本語", "👩‍👩‍👧 🎉", long.as_str()].map(UserText::from).into();
        let vectors = model.embed(&texts).await.unwrap();
        assert_eq!(vectors.len(), texts.len());
        for (text, vector) in texts.iter().zip(&vectors) {
            assert_eq!(vector.0.len(), DIMENSION);
            let norm = vector.0.iter().map(|x| x * x).sum::<f32>().sqrt();
            assert!(norm == 0.0 || (norm - 1.0).abs() < 1e-5, "{text:?} has length {norm}");
        }
        assert!(vectors[1].0.iter().all(|x| *x == 0.0));
        // A batch in the blocking pool gives the same vectors.
        assert_eq!(model.embed(&texts[..1]).await.unwrap()[0], vectors[0]);
    }
}
