//! What the networks of this crate share: word pieces become states, and the first layer of all-MiniLM-L6-v2 sees them.

use std::sync::OnceLock;

use crate::layer::{HIDDEN, Layer, Norm};
use crate::tokens::MAX_TOKENS;
use crate::vocabulary::Vocabulary;
use crate::weights::{Weights, WeightsError};

static VOCABULARY: &str = include_str!("../../../models/minilm-reader/vocabulary.txt");
/// The file of the reader, which has the weights of the stem.
pub(crate) static READER: &[u8] = include_bytes!("../../../models/minilm-reader/model.safetensors");

/// The table of word pieces and the first layer.
#[derive(Debug)]
pub(crate) struct Stem {
    pub(crate) vocabulary: Vocabulary,
    words: &'static [u8],
    word_scales: Vec<f32>,
    positions: Vec<f32>,
    norm: Norm,
    layer: Layer,
}

impl Stem {
    /// Returns the stem, which all networks of the process share.
    pub(crate) fn shared() -> Result<&'static Self, WeightsError> {
        static STEM: OnceLock<Stem> = OnceLock::new();
        match STEM.get() {
            Some(stem) => Ok(stem),
            None => Self::read(&Weights::new(READER)?).map(|stem| STEM.get_or_init(|| stem)),
        }
    }

    /// Reads the stem from the file of the reader.
    fn read(w: &Weights) -> Result<Self, WeightsError> {
        let vocabulary = Vocabulary::new(VOCABULARY);
        let (words, rows, columns) = w.bytes("words")?;
        if (rows, columns) != (vocabulary.len(), HIDDEN) {
            return Err(WeightsError::new(format!("{rows} rows for {} pieces", vocabulary.len())));
        }
        Ok(Self {
            word_scales: w.floats("words.scales", rows)?,
            vocabulary,
            words,
            positions: w.floats("positions", MAX_TOKENS * HIDDEN)?,
            norm: Norm::read(w, "norm")?,
            layer: Layer::read(w, 0)?,
        })
    }

    /// Returns the states of the first [`MAX_TOKENS`] pieces after the first layer, one row of [`HIDDEN`] values each.
    pub(crate) fn states(&self, pieces: impl ExactSizeIterator<Item = u32>) -> Vec<f32> {
        let mut x = Vec::with_capacity(pieces.len() * HIDDEN);
        for (piece, position) in pieces.zip(self.positions.chunks_exact(HIDDEN)) {
            let row = (piece as usize).min(self.word_scales.len() - 1);
            let (word, scale) = (&self.words[row * HIDDEN..(row + 1) * HIDDEN], self.word_scales[row]);
            x.extend(word.iter().zip(position).map(|(w, p)| f32::from(w.cast_signed()) * scale + p));
        }
        self.norm.apply(&mut x);
        self.layer.apply(&mut x);
        x
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn model_files_have_the_recorded_checksums() {
        let sums = include_str!("../../../models/minilm-reader/SHA256SUMS");
        for (name, bytes) in [("model.safetensors", READER), ("vocabulary.txt", VOCABULARY.as_bytes())] {
            let sum: String = Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect();
            assert!(sums.lines().any(|line| line == format!("{sum}  {name}")), "{name} has another checksum: {sum}");
        }
    }

    #[test]
    fn pieces_of_the_vocabulary_are_sorted_and_found() {
        let vocabulary = Vocabulary::new(VOCABULARY);
        let pieces: Vec<&str> = VOCABULARY.lines().collect();
        assert_eq!(vocabulary.len(), pieces.len());
        assert!(pieces.windows(2).all(|w| w[0] < w[1]));
        for (i, piece) in pieces.iter().enumerate().step_by(97) {
            assert_eq!(vocabulary.find(piece), u32::try_from(i).ok());
        }
        assert_eq!(vocabulary.find("qqqq"), None);
        assert!(["[CLS]", "[UNK]", "the", "##s"].iter().all(|p| vocabulary.find(p).is_some()));
    }
}
