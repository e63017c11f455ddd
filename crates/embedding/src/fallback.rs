//! An embedder with fallbacks: the built-in embedder stays available while a model server makes the vectors.

use std::sync::Arc;

use async_trait::async_trait;

use recall_domain::UserText;
use recall_ports::{EmbedError, Embedder, Embedding};

/// One embedder for new vectors, and others for stored vectors of other models.
pub struct FallbackEmbedders {
    chosen: Arc<dyn Embedder>,
    others: Vec<Arc<dyn Embedder>>,
}

impl FallbackEmbedders {
    /// Combines `chosen` with those `others` that have another model.
    pub fn new(chosen: Arc<dyn Embedder>, others: Vec<Arc<dyn Embedder>>) -> Self {
        let others = others.into_iter().filter(|o| o.model() != chosen.model()).collect();
        Self { chosen, others }
    }
}

#[async_trait]
impl Embedder for FallbackEmbedders {
    fn model(&self) -> &str {
        self.chosen.model()
    }

    fn dimension(&self) -> usize {
        self.chosen.dimension()
    }

    async fn embed(&self, texts: &[UserText]) -> Result<Vec<Embedding>, EmbedError> {
        self.chosen.embed(texts).await
    }

    fn others(&self) -> &[Arc<dyn Embedder>] {
        &self.others
    }
}
