//! An embedder beside others that can be asked as well: the built-in one is always there, also while a server makes the vectors.

use std::sync::Arc;

use async_trait::async_trait;

use recall_domain::UserText;
use recall_ports::{EmbedError, Embedder, Embedding};

/// One embedder for all that is new, and others for what was made by them.
pub struct FallbackEmbedders {
    chosen: Arc<dyn Embedder>,
    others: Vec<Arc<dyn Embedder>>,
}

impl FallbackEmbedders {
    /// `chosen`, with `others` that make vectors of other models.
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
