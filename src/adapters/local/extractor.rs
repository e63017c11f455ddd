//! The extractor port on the built-in linguistic pipeline.

use std::sync::Arc;

use async_trait::async_trait;

use crate::domain::Extraction;
use crate::ports::extract::{ExtractError, ExtractInput, Extractor};
use crate::understand::Pipeline;

/// Extracts in the process. Never fails and needs nothing; a message takes well under a millisecond.
#[derive(Clone, Debug)]
pub struct LocalExtractor {
    pipeline: Arc<Pipeline>,
}

impl LocalExtractor {
    /// An extractor over a shared pipeline.
    pub fn new(pipeline: Arc<Pipeline>) -> Self {
        Self { pipeline }
    }
}

#[async_trait]
impl Extractor for LocalExtractor {
    async fn extract(&self, input: &ExtractInput) -> Result<Extraction, ExtractError> {
        Ok(self.pipeline.extract(input))
    }
}
