//! The model servers that the configuration names.

use std::{sync::Arc, time::Duration};

use anyhow::Context;
use async_trait::async_trait;
use tracing::{info, warn};

use super::output::say;
use crate::config::{Config, Extraction, Secret};
use recall_api::Check;
use recall_domain::Ontology;
use recall_models::{
    Budget, Endpoint, ModelAnswerer, ModelAnswererOptions, ModelClient, ModelEmbedder, ModelEmbedderOptions, ModelExtractor, Policy,
    answerer, extractor,
};
use recall_ports::{Answerer, Clock, Embedder, Extractor, UsageStore};

/// Waits between attempts to learn what a server understands, when it cannot be reached.
const PROBE_AGAIN: [u64; 6] = [2, 5, 15, 60, 300, 900];

/// The server for chat completions; `None` when none is configured.
pub(super) fn client(config: &Config) -> anyhow::Result<Option<Arc<ModelClient>>> {
    let c = &config.model;
    let (Some(url), Some(model)) = (c.url.clone(), c.name.clone()) else { return Ok(None) };
    let endpoint = Endpoint {
        url,
        key: c.key.as_ref().map(secret),
        model,
        headers: c.headers.iter().map(|(k, v)| (k.clone(), secret(v))).collect(),
        timeout: c.timeout(),
        silence: c.silence(),
        concurrency: c.concurrency,
    };
    Ok(Some(ModelClient::new(endpoint).context("model.url (RECALL_MODEL_URL)")?))
}

/// The server for embeddings, asked for the length of its vectors unless the configuration says it.
pub(super) async fn embedder(config: &Config) -> anyhow::Result<Option<ModelEmbedder>> {
    let c = &config.embeddings;
    let (Some(url), Some(model)) = (c.url.clone(), c.model.clone()) else { return Ok(None) };
    let endpoint = Endpoint {
        url,
        key: c.key.as_ref().map(secret),
        model,
        headers: c.headers.iter().map(|(k, v)| (k.clone(), secret(v))).collect(),
        timeout: c.timeout(),
        silence: c.timeout(),
        concurrency: c.concurrency,
    };
    let client = ModelClient::new(endpoint).context("embeddings.url (RECALL_EMBEDDINGS_URL)")?;
    let options =
        ModelEmbedderOptions { dimension: (c.dimension > 0).then_some(c.dimension), batch: c.batch, ..ModelEmbedderOptions::default() };
    let made = ModelEmbedder::connect(client, options).await;
    Ok(Some(made.context(
        "embeddings.url (RECALL_EMBEDDINGS_URL): the length of the vectors cannot be learned; with embeddings.dimension the server may be down at start",
    )?))
}

/// The tokens of the day.
pub(super) fn budget(config: &Config, clock: Arc<dyn Clock>, usage: Arc<dyn UsageStore>) -> Arc<Budget> {
    let bound = |tokens: u64| (tokens > 0).then_some(tokens);
    let budget = Budget::new(clock, usage, bound(config.model.user_tokens_per_day), bound(config.model.tokens_per_day));
    Arc::new(budget.for_visitors(config.anonymous.model_tokens_per_day))
}

/// The extractor that the configuration names, over the local one.
pub(super) fn extractor(
    config: &Config,
    local: Arc<dyn Extractor>,
    client: Arc<ModelClient>,
    ontology: Arc<Ontology>,
    budget: Arc<Budget>,
) -> Arc<dyn Extractor> {
    let policy = match config.understanding.extraction {
        Extraction::Local => return local,
        Extraction::Hybrid => Policy::Hybrid,
        Extraction::Model => Policy::Model,
    };
    Arc::new(ModelExtractor::new(local, client, ontology, policy, budget))
}

/// The model as answerer, over the one that needs none.
pub(super) fn answerer(
    config: &Config,
    instead: Arc<dyn Answerer>,
    client: Arc<ModelClient>,
    ontology: Arc<Ontology>,
    budget: Arc<Budget>,
) -> Arc<dyn Answerer> {
    let options = ModelAnswererOptions { context_tokens: config.model.context_tokens, answer_tokens: config.model.answer_tokens };
    Arc::new(ModelAnswerer::new(client, instead, ontology, budget, options))
}

/// Learns in the background what the server understands, and says so in the log. Until then the best is assumed, and what
/// it refuses is learned on the way.
pub(super) fn announce(client: Arc<ModelClient>) {
    tokio::spawn(async move {
        let prompts = [extractor::PROMPT, answerer::PROMPT].join(", ");
        for wait in PROBE_AGAIN {
            match client.probe().await {
                Ok(dialect) => {
                    info!(model = client.model(), structured_output = %dialect, prompts, "the model server answers");
                    return;
                }
                Err(e) if e.may_pass() => {
                    warn!(model = client.model(), cause = %e, "the model server does not answer; everything goes on without it meanwhile");
                    tokio::time::sleep(Duration::from_secs(wait)).await;
                }
                Err(e) => {
                    warn!(model = client.model(), cause = %e, "the model server cannot be used; everything goes on without it");
                    return;
                }
            }
        }
    });
}

/// Asks whether a model server can be reached.
pub(super) struct ServerCheck {
    pub(super) name: &'static str,
    pub(super) client: Arc<ModelClient>,
}

#[async_trait]
impl Check for ServerCheck {
    fn name(&self) -> &str {
        self.name
    }

    /// The built-in parts stand in, or what needs it waits.
    fn is_needed(&self) -> bool {
        false
    }

    async fn check(&self) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Ok(self.client.reach().await?)
    }
}

/// Reaches the servers and prints what they are.
pub(super) async fn check(config: &Config) -> anyhow::Result<()> {
    match client(config)? {
        None => say!("model: none")?,
        Some(client) => {
            let dialect = client.probe().await.context("model.url (RECALL_MODEL_URL): the model server cannot be used")?;
            say!("model: {} answers; structured output: {dialect}", client.model())?;
        }
    }
    match embedder(config).await? {
        None => say!("embeddings: built in")?,
        Some(embedder) => {
            let made = embedder.embed(&["A walk by the sea.".into()]).await.context("embeddings.url (RECALL_EMBEDDINGS_URL)")?;
            anyhow::ensure!(made.len() == 1, "embeddings.url (RECALL_EMBEDDINGS_URL): no vector came back");
            say!("embeddings: {}, {} dimensions", embedder.model(), embedder.dimension())?;
        }
    }
    Ok(())
}

/// A way of extraction by its name in the configuration.
pub(super) fn name(extraction: Extraction) -> &'static str {
    match extraction {
        Extraction::Local => "local",
        Extraction::Hybrid => "hybrid",
        Extraction::Model => "model",
    }
}

fn secret(s: &Secret) -> secrecy::SecretString {
    secrecy::SecretString::from(s.expose())
}
