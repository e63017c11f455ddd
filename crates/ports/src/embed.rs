//! Text to vectors.

use std::sync::Arc;

use async_trait::async_trait;

use recall_domain::UserText;

/// A unit-length vector.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding(pub Vec<f32>);

/// Makes vectors whose dot product says how alike two texts are.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Names model and version. Vectors of two models must never be compared.
    fn model(&self) -> &str;
    /// Length of every vector.
    fn dimension(&self) -> usize;
    /// One vector per text, in order. A text without any known token gives a zero vector.
    ///
    /// # Errors
    /// When the model cannot be reached or refuses.
    async fn embed(&self, texts: &[UserText]) -> Result<Vec<Embedding>, EmbedError>;
    /// Other models that can be asked as well, such as the built-in one beside a server. While a user is still searched by vectors of
    /// one of them, questions and new messages need such vectors.
    fn others(&self) -> &[Arc<dyn Embedder>] {
        &[]
    }
}

/// Who makes vectors of `model`: `embedder` or one of its others.
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
