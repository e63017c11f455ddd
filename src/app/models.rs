//! Builds the clients of the configured model servers.

use std::{sync::Arc, time::Duration};

use anyhow::Context;
use async_trait::async_trait;
use tracing::{info, warn};

use super::output::say;
use crate::config::{Config, Extraction, Secret};
use recall_api::Check;
use recall_domain::Ontology;
use recall_models::{
    Budget, Endpoint, ModelAnswerer, ModelAnswererOptions, ModelClient, ModelComparer, ModelEmbedder, ModelEmbedderOptions, ModelExtractor,
    ModelUpstream, UpstreamLimits, answerer, comparer, extractor,
};
use recall_ports::{Answerer, ChatUpstream, Clock, Comparer, Embedder, Extractor, UsageStore};

/// Pauses in seconds between attempts to probe an unreachable server.
const PROBE_DELAYS: [u64; 6] = [2, 5, 15, 60, 300, 900];

/// Builds the client for chat completions; `None` if no server is configured.
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

/// Connects to the embeddings server. Asks it for the vector length, unless that is configured.
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
    let connected = ModelEmbedder::connect(client, options).await;
    Ok(Some(connected.context(
        "embeddings.url (RECALL_EMBEDDINGS_URL): the server does not tell its vector length; set embeddings.dimension to start without it",
    )?))
}

/// Builds the daily token budget.
pub(super) fn budget(config: &Config, clock: Arc<dyn Clock>, usage: Arc<dyn UsageStore>) -> Arc<Budget> {
    let bound = |tokens: u64| (tokens > 0).then_some(tokens);
    let budget = Budget::new(clock, usage, bound(config.model.user_tokens_per_day), bound(config.model.tokens_per_day));
    Arc::new(budget.for_visitors(config.anonymous.model_tokens_per_day))
}

/// Builds the extractor that uses the model, unless the settings say otherwise, with `local` as its fallback.
pub(super) fn extractor(
    config: &Config,
    local: Arc<dyn Extractor>,
    client: Arc<ModelClient>,
    ontology: Arc<Ontology>,
    budget: Arc<Budget>,
) -> Arc<dyn Extractor> {
    match config.understanding.extraction {
        Extraction::Local => return local,
        Extraction::Hybrid => {
            warn!("understanding.extraction (RECALL_EXTRACTION): `hybrid` no longer exists and means `model`; remove the setting");
        }
        Extraction::Auto | Extraction::Model => {}
    }
    Arc::new(ModelExtractor::new(local, client, ontology, budget))
}

/// Builds the answerer that uses the model, with `fallback` for when the model does not answer.
pub(super) fn answerer(
    config: &Config,
    fallback: Arc<dyn Answerer>,
    client: Arc<ModelClient>,
    ontology: Arc<Ontology>,
    budget: Arc<Budget>,
) -> Arc<dyn Answerer> {
    let options = ModelAnswererOptions { context_tokens: config.model.context_tokens, answer_tokens: config.model.answer_tokens };
    Arc::new(ModelAnswerer::new(client, fallback, ontology, budget, options))
}

/// Builds the comparer that uses the model, with `fallback` for when the model does not compare.
pub(super) fn comparer(config: &Config, fallback: Arc<dyn Comparer>, client: Arc<ModelClient>, budget: Arc<Budget>) -> Arc<dyn Comparer> {
    Arc::new(ModelComparer::new(client, fallback, budget, config.model.context_tokens))
}

/// Builds the proxy for chat requests of clients.
pub(super) fn upstream(config: &Config, client: Arc<ModelClient>, budget: Arc<Budget>) -> Arc<dyn ChatUpstream> {
    let c = &config.frontend;
    let limits = UpstreamLimits { timeout: c.timeout(), silence: c.silence(), concurrency: c.concurrency };
    Arc::new(ModelUpstream::new(client, budget, limits))
}

/// Probes in the background which structured output the server supports, and logs the result.
///
/// Until the probe succeeds, the client assumes full support and adapts when the server refuses a request.
pub(super) fn probe_in_background(client: Arc<ModelClient>) {
    tokio::spawn(async move {
        let prompts = [extractor::PROMPT, answerer::PROMPT, comparer::PROMPT].join(", ");
        for wait in PROBE_DELAYS {
            match client.probe().await {
                Ok(dialect) => {
                    info!(model = client.model(), structured_output = %dialect, prompts, "the model server answers");
                    return;
                }
                Err(e) if e.may_pass() => {
                    warn!(model = client.model(), cause = %e, "the model server does not answer; recall works without it meanwhile");
                    tokio::time::sleep(Duration::from_secs(wait)).await;
                }
                Err(e) => {
                    warn!(model = client.model(), cause = %e, "the model server cannot be used; recall works without it");
                    return;
                }
            }
        }
    });
}

/// The readiness check of a model server.
pub(super) struct ServerCheck {
    pub(super) name: &'static str,
    pub(super) client: Arc<ModelClient>,
}

#[async_trait]
impl Check for ServerCheck {
    fn name(&self) -> &str {
        self.name
    }

    /// Without the server the built-in adapters take over, or the work waits.
    fn is_needed(&self) -> bool {
        false
    }

    async fn check(&self) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Ok(self.client.reach().await?)
    }
}

/// Contacts the servers and prints what they support.
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
            let vectors = embedder.embed(&["A walk by the sea.".into()]).await.context("embeddings.url (RECALL_EMBEDDINGS_URL)")?;
            anyhow::ensure!(vectors.len() == 1, "embeddings.url (RECALL_EMBEDDINGS_URL): the server returned no vector");
            say!("embeddings: {}, {} dimensions", embedder.model(), embedder.dimension())?;
        }
    }
    Ok(())
}

fn secret(s: &Secret) -> secrecy::SecretString {
    secrecy::SecretString::from(s.expose())
}
