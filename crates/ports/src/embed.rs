//! Embeds text as vectors.

use std::sync::Arc;

use async_trait::async_trait;

use recall_domain::UserText;

/// A unit-length vector.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding(pub Vec<f32>);

/// Makes vectors whose dot product measures the similarity of texts.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Returns model and version. Vectors of two models must never be compared.
    fn model(&self) -> &str;
    /// Returns the length of the vectors.
    fn dimension(&self) -> usize;
    /// Returns one vector per text, in order. A text without known tokens gives a zero vector.
    ///
    /// # Errors
    /// Fails if the model is unreachable or rejects the input.
    async fn embed(&self, texts: &[UserText]) -> Result<Vec<Embedding>, EmbedError>;
    /// Returns other available embedders, such as the built-in one.
    ///
    /// While their vectors are in use for a user, questions and new messages need vectors of these models too.
    fn others(&self) -> &[Arc<dyn Embedder>] {
        &[]
    }
}

/// Finds the embedder for `model`: `embedder` or one of its others.
pub fn by_model<'a>(embedder: &'a dyn Embedder, model: &str) -> Option<&'a dyn Embedder> {
    if embedder.model() == model {
        return Some(embedder);
    }
    embedder.others().iter().map(AsRef::as_ref).find(|other| other.model() == model)
}

/// Why there is no vector.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// May work later.
    #[error("the embedding model is not reachable: {0}")]
    Transient(String),
    /// Will not work for this input.
    #[error("the embedding model refused: {0}")]
    Permanent(String),
}
