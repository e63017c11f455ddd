//! Vectors of chunks that order what a search has found.

use async_trait::async_trait;

use super::{Embedding, StoreError};
use recall_domain::{Caller, MessageId};

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

/// Keeps a vector of each chunk by a model that is better and slower than that of the index.
#[async_trait]
pub trait PassageStore: Send + Sync {
    /// Keeps vectors of the model, in place of those that the chunks have. Deleted chunks are skipped.
    async fn keep_passages(&self, caller: &Caller, model: &str, vectors: Vec<(MessageId, PassageVector)>) -> Result<(), StoreError>;
    /// Returns the vectors of the model that the chunks have.
    async fn passages(&self, caller: &Caller, model: &str, chunks: &[MessageId]) -> Result<Vec<(MessageId, PassageVector)>, StoreError>;
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

    #[test]
    fn vectors_without_direction_have_no_cosine() {
        let zero = PassageVector::of(&Embedding(vec![0.0; 3]));
        assert_eq!(zero.cosine(&Embedding(vec![1.0, 0.0, 0.0])), None);
        assert_eq!(PassageVector::of(&Embedding(vec![1.0])).cosine(&Embedding(vec![1.0, 0.0])), None);
    }
}
