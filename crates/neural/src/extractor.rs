//! Implements the extractor port: the rules first, then the network.

use std::num::NonZeroUsize;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Semaphore;

use recall_domain::{Caller, Extraction, Ontology};
use recall_ports::{ExtractError, ExtractInput, Extractor};

use crate::network::Network;
use crate::reading::reread;

/// Most messages of one session that are extracted before the first is committed. A transaction of ten milliseconds takes about as many,
/// and what it does not take is extracted again.
const TOGETHER: u32 = 8;

/// An extractor whose results the network corrects and completes.
#[derive(Clone)]
pub struct NeuralExtractor {
    rules: Arc<dyn Extractor>,
    network: Arc<Network>,
    ontology: Arc<Ontology>,
    /// One message per core at a time.
    cores: Arc<Semaphore>,
}

impl NeuralExtractor {
    /// Combines an extractor that knows rules with a network.
    pub fn new(rules: Arc<dyn Extractor>, network: Arc<Network>, ontology: Arc<Ontology>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self { rules, network, ontology, cores: Arc::new(Semaphore::new(cores)) }
    }
}

#[async_trait]
impl Extractor for NeuralExtractor {
    fn together(&self) -> u32 {
        self.rules.together().min(TOGETHER)
    }

    fn looks_ahead(&self) -> u32 {
        self.rules.looks_ahead()
    }

    async fn extract(&self, caller: &Caller, input: &ExtractInput) -> Result<Extraction, ExtractError> {
        let rules = self.rules.extract(caller, input).await?;
        let permit = self.cores.clone().acquire_owned().await.map_err(|e| ExtractError::Transient(e.to_string()))?;
        let (network, ontology, text) = (self.network.clone(), self.ontology.clone(), input.text.clone());
        // A few milliseconds would block the other tasks of this thread.
        let read = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            reread(&network, &ontology, text.as_str(), rules)
        });
        read.await.map_err(|e| ExtractError::Permanent(e.to_string()))
    }
}
