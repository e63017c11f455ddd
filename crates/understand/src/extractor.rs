//! Implements the extractor port with the built-in linguistic pipeline.

use std::sync::Arc;

use async_trait::async_trait;

use crate::Pipeline;
use recall_domain::{Caller, Extraction};
use recall_ports::extract::{ExtractError, ExtractInput, Extractor};

/// Longest text that is read on the calling thread. A pasted document takes tens of milliseconds, which would block
/// the other tasks of this thread.
const INLINE_BYTES: usize = 4 * 1024;

/// Most messages of one session that are extracted before the first is committed.
const TOGETHER: u32 = 32;

/// Extracts without a model server. A message takes well under a millisecond.
#[derive(Clone, Debug)]
pub struct LocalExtractor {
    pipeline: Arc<Pipeline>,
}

impl LocalExtractor {
    /// Makes an extractor that uses a shared pipeline.
    pub fn new(pipeline: Arc<Pipeline>) -> Self {
        Self { pipeline }
    }
}

#[async_trait]
impl Extractor for LocalExtractor {
    fn together(&self) -> u32 {
        TOGETHER
    }

    async fn extract(&self, _caller: &Caller, input: &ExtractInput) -> Result<Extraction, ExtractError> {
        if input.text.as_str().len() <= INLINE_BYTES {
            return Ok(self.pipeline.extract(input));
        }
        let (pipeline, input) = (self.pipeline.clone(), input.clone());
        let read = tokio::task::spawn_blocking(move || pipeline.extract(&input));
        read.await.map_err(|e| ExtractError::Permanent(e.to_string()))
    }
}
