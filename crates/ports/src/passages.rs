//! What an encoder makes of chunks, messages and questions, to order what a search has found.

use async_trait::async_trait;

use super::{EmbedError, Embedding, StoreError};
use recall_domain::{Caller, MessageId, UserText};

/// Reads passages and questions better than the model of the index, and slower.
#[async_trait]
pub trait PassageEncoder: Send + Sync {
    /// Returns model and version. What two models make must never be compared.
    fn model(&self) -> &str;
    /// Encodes passages, in order. Their stop words get no vectors.
    ///
    /// # Errors
    /// Fails if the model cannot work.
    async fn encode(&self, passages: &[UserText]) -> Result<Vec<EncodedText>, EmbedError>;
    /// Encodes a question, with its stop words. A long one has vectors for its first words only.
    ///
    /// # Errors
    /// Fails if the model cannot work.
    async fn encode_question(&self, question: &UserText) -> Result<EncodedText, EmbedError>;
}

/// What an encoder makes of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct EncodedText {
    /// Its meaning as a whole. Zero if the encoder knows too few of its words.
    pub vector: Embedding,
    /// The meanings of its words; none if the encoder knows too few of them.
    pub words: WordVectors,
}

/// What is kept of a passage: an [`EncodedText`] with rounded numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Its meaning as a whole.
    pub vector: PassageVector,
    /// The meanings of its words.
    pub words: WordVectors,
}

impl Passage {
    /// Rounds the vector of a text.
    pub fn of(text: &EncodedText) -> Self {
        Self { vector: PassageVector::of(&text.vector), words: text.words.clone() }
    }
}

/// The direction of each word of a text in its context, with four bits for each of [`WordVectors::DIMENSION`] dimensions.
///
/// A word takes 32 bytes, a chunk of 1,000 characters about 2.5 kB.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordVectors(Vec<u8>);

impl WordVectors {
    /// Numbers of a word.
    pub const DIMENSION: usize = 64;
    /// Bytes of a word.
    const BYTES: usize = Self::DIMENSION / 2;
    /// The largest number of four bits; -7 is the smallest that is used.
    const LARGEST: f32 = 7.0;

    /// Adds a word. The largest of its numbers becomes 7 or -7.
    pub fn push(&mut self, word: &[f32; Self::DIMENSION]) {
        let largest = word.iter().fold(0.0_f32, |most, v| most.max(v.abs()));
        let scale = if largest > 0.0 { Self::LARGEST / largest } else { 0.0 };
        let rounded = |v: f32| (v * scale).round() as i8;
        let (pairs, _) = word.as_chunks::<2>();
        self.0.extend(pairs.iter().map(|[low, high]| (rounded(*low) & 0xF).cast_unsigned() | (rounded(*high) << 4).cast_unsigned()));
    }

    /// Drops all words after the first `most`.
    pub fn truncate(&mut self, most: usize) {
        self.0.truncate(most * Self::BYTES);
    }

    /// Reads the bytes that a store has kept.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }

    /// Returns the bytes to keep.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns how well a passage covers these words of a question: for each word the largest cosine with a word of the passage, and of these
    /// the mean, from -1 to 1; `None` if one of them has no words.
    ///
    /// This is the late interaction of ColBERT (Khattab and Zaharia 2020).
    pub fn covered_by(&self, passage: &Self) -> Option<f32> {
        let passage = passage.words();
        let nearest = |word: &Word| passage.iter().map(|other| word.cosine(other)).fold(-1.0, f32::max);
        let own = self.words();
        (!own.is_empty() && !passage.is_empty()).then(|| own.iter().map(nearest).sum::<f32>() / own.len() as f32)
    }

    fn words(&self) -> Vec<Word> {
        let (words, _) = self.0.as_chunks::<{ Self::BYTES }>();
        words.iter().map(Word::read).collect()
    }
}

/// A word, ready to be compared.
struct Word {
    numbers: [i8; WordVectors::DIMENSION],
    length: f32,
}

impl Word {
    fn read(bytes: &[u8; WordVectors::BYTES]) -> Self {
        let mut numbers = [0; WordVectors::DIMENSION];
        let (pairs, _) = numbers.as_chunks_mut::<2>();
        for (pair, byte) in pairs.iter_mut().zip(bytes) {
            // The shifts to the right keep the sign.
            *pair = [(byte << 4).cast_signed() >> 4, byte.cast_signed() >> 4];
        }
        let mut word = Self { numbers, length: 0.0 };
        word.length = f32::from(word.dot(&word)).sqrt();
        word
    }

    /// At most 64 times 49, or 64 if a store holds other bytes than were kept.
    fn dot(&self, other: &Self) -> i16 {
        self.numbers.iter().zip(&other.numbers).map(|(a, b)| i16::from(*a) * i16::from(*b)).sum()
    }

    fn cosine(&self, other: &Self) -> f32 {
        let lengths = self.length * other.length;
        if lengths > 0.0 { f32::from(self.dot(other)) / lengths } else { 0.0 }
    }
}

/// The direction of a vector, with one signed byte for each dimension.
///
/// A quarter of the space of an [`Embedding`], and cosines that differ by less than 0.01.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassageVector(Vec<i8>);

impl PassageVector {
    /// Rounds a vector, so that its largest number becomes 127 or -127.
    pub fn of(vector: &Embedding) -> Self {
        let largest = vector.0.iter().fold(0.0_f32, |most, v| most.max(v.abs()));
        let scale = if largest > 0.0 { f32::from(i8::MAX) / largest } else { 0.0 };
        Self(vector.0.iter().map(|v| (v * scale).round() as i8).collect())
    }

    /// Reads the bytes that a store has kept.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.iter().map(|b| b.cast_signed()).collect())
    }

    /// Returns the bytes to keep.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().map(|v| v.cast_unsigned()).collect()
    }

    /// Returns the cosine with a vector, from -1 to 1; `None` if one of them is zero or their lengths differ.
    pub fn cosine(&self, other: &Embedding) -> Option<f32> {
        if self.0.len() != other.0.len() {
            return None;
        }
        let own = self.0.iter().map(|v| f32::from(*v));
        let dot: f32 = own.clone().zip(&other.0).map(|(a, b)| a * b).sum();
        let lengths = (own.map(|v| v * v).sum::<f32>() * other.0.iter().map(|v| v * v).sum::<f32>()).sqrt();
        (lengths > 0.0).then(|| dot / lengths)
    }
}

/// Keeps what an encoder made of each chunk and message.
#[async_trait]
pub trait PassageStore: Send + Sync {
    /// Keeps passages of the model, in place of those that the texts have. Deleted and forgotten texts are skipped.
    async fn keep_passages(&self, caller: &Caller, model: &str, passages: Vec<(MessageId, Passage)>) -> Result<(), StoreError>;
    /// Returns the passages of the model that the texts have.
    async fn passages(&self, caller: &Caller, model: &str, texts: &[MessageId]) -> Result<Vec<(MessageId, Passage)>, StoreError>;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rounded_vector_has_nearly_the_direction_of_the_vector(
            a in prop::collection::vec(-1.0_f32..1.0, 384), b in prop::collection::vec(-1.0_f32..1.0, 384),
        ) {
            let (a, b) = (Embedding(a), Embedding(b));
            let length = |v: &Embedding| v.0.iter().map(|x| x * x).sum::<f32>().sqrt();
            let exact = a.0.iter().zip(&b.0).map(|(x, y)| x * y).sum::<f32>() / (length(&a) * length(&b));
            let kept = PassageVector::from_bytes(&PassageVector::of(&a).to_bytes());
            prop_assert!(kept.cosine(&b).is_some_and(|found| (found - exact).abs() < 0.01));
            prop_assert!(kept.cosine(&a).is_some_and(|found| found > 0.999));
        }
    }

    fn word(seed: u64) -> [f32; WordVectors::DIMENSION] {
        std::array::from_fn(|i| ((seed + 1) as f32 * (i + 3) as f32 * 0.7).sin())
    }

    fn words(seeds: &[u64]) -> WordVectors {
        let mut words = WordVectors::default();
        seeds.iter().for_each(|seed| words.push(&word(*seed)));
        words
    }

    #[test]
    fn question_is_covered_by_the_nearest_word_of_the_passage_for_each_of_its_own() {
        let passage = words(&[1, 2, 3, 4]);
        assert!(words(&[2, 4]).covered_by(&passage).is_some_and(|covered| covered > 0.999));
        let half = words(&[2, 9]).covered_by(&passage);
        assert!(half.is_some_and(|covered| covered < 0.9), "{half:?}");
        assert_eq!(words(&[]).covered_by(&passage), None);
        assert_eq!(passage.covered_by(&WordVectors::from_bytes(&[1; 31])), None, "less than a word");
        assert_eq!(WordVectors::from_bytes(&[0; 32]).covered_by(&passage), Some(0.0), "a word without direction");
    }

    proptest! {
        #[test]
        fn rounded_words_have_nearly_the_cosines_of_the_words(
            a in prop::array::uniform32(-1.0_f32..1.0), b in prop::array::uniform32(-1.0_f32..1.0),
        ) {
            let whole = |half: &[f32; 32]| -> [f32; 64] { std::array::from_fn(|i| half[i / 2] * if i % 2 == 0 { 1.0 } else { -0.5 }) };
            let (a, b) = (whole(&a), whole(&b));
            let dot = |a: &[f32; 64], b: &[f32; 64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
            let exact = dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt();
            let (mut own, mut other) = (WordVectors::default(), WordVectors::default());
            own.push(&a);
            other.push(&b);
            let found = own.covered_by(&WordVectors::from_bytes(other.as_bytes()));
            prop_assert!(found.is_some_and(|found| (found - exact).abs() < 0.06), "{found:?} and {exact}");
        }

        #[test]
        fn any_bytes_of_a_store_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let passage = WordVectors::from_bytes(&bytes);
            prop_assert!(words(&[1, 2]).covered_by(&passage).is_none_or(|covered| (-1.01..=1.01).contains(&covered)));
        }
    }

    #[test]
    fn vectors_without_direction_have_no_cosine() {
        let zero = PassageVector::of(&Embedding(vec![0.0; 3]));
        assert_eq!(zero.cosine(&Embedding(vec![1.0, 0.0, 0.0])), None);
        assert_eq!(PassageVector::of(&Embedding(vec![1.0])).cosine(&Embedding(vec![1.0, 0.0])), None);
    }
}
