//! Settings of model servers with the OpenAI protocol. They are optional; without them no data leaves the machine.

use std::{collections::BTreeMap, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ConfigError, Secret,
    sections::{at_most, flexible, positive},
    wrong,
};

/// Maximum timeout of the model server in seconds: slow local models need minutes.
const MAX_MODEL_TIMEOUT_SECONDS: u64 = 900;
/// Maximum timeout of the embeddings server in seconds. A job may take 120 seconds, and its other work needs some of them.
const MAX_EMBEDDINGS_TIMEOUT_SECONDS: u64 = 100;

/// What finds facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Extraction {
    /// The model if a model server is configured, otherwise the built-in extractor.
    #[default]
    Auto,
    /// The built-in extractor alone.
    Local,
    /// The same as `model`, for settings of earlier versions.
    Hybrid,
    /// The model for every message, and the built-in extractor where the model has no result.
    Model,
}

/// The model server: it answers questions, and finds facts unless `understanding.extraction` is `local`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// The address before `/chat/completions`. Without it no model is used.
    pub url: Option<String>,
    /// Sent as bearer token.
    pub key: Option<Secret>,
    /// The model's name on that server.
    pub name: Option<String>,
    /// Additional headers.
    pub headers: BTreeMap<String, Secret>,
    /// Maximum time for one answer or extraction in seconds, retries included.
    #[serde(deserialize_with = "flexible")]
    pub timeout_seconds: u64,
    /// Maximum pause in a streamed answer in seconds, also before its first token.
    #[serde(deserialize_with = "flexible")]
    pub silence_seconds: u64,
    /// Requests at a time.
    #[serde(deserialize_with = "flexible")]
    pub concurrency: usize,
    /// Tokens that one user may use a day (UTC); 0 for no limit.
    #[serde(deserialize_with = "flexible")]
    pub user_tokens_per_day: u64,
    /// Tokens that all users together may use a day; 0 for no limit.
    #[serde(deserialize_with = "flexible")]
    pub tokens_per_day: u64,
    /// Maximum tokens of context that the model gets for an answer.
    #[serde(deserialize_with = "flexible")]
    pub context_tokens: usize,
    /// Maximum length of an answer in tokens.
    #[serde(deserialize_with = "flexible")]
    pub answer_tokens: u32,
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self {
            url: None,
            key: None,
            name: None,
            headers: BTreeMap::new(),
            timeout_seconds: 60,
            silence_seconds: 20,
            concurrency: 8,
            user_tokens_per_day: 0,
            tokens_per_day: 0,
            context_tokens: 3_000,
            answer_tokens: 700,
        }
    }
}

impl ModelConfig {
    /// Maximum time for one answer or extraction.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }

    /// Maximum pause in a streamed answer.
    pub fn silence(&self) -> Duration {
        Duration::from_secs(self.silence_seconds)
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        check_server("model", "model.name", self.url.as_deref(), self.name.as_deref(), self.key.as_ref())?;
        positive("model.timeout_seconds", self.timeout_seconds)?;
        at_most("model.timeout_seconds", self.timeout_seconds, MAX_MODEL_TIMEOUT_SECONDS)?;
        positive("model.silence_seconds", self.silence_seconds)?;
        at_most("model.silence_seconds", self.silence_seconds, MAX_MODEL_TIMEOUT_SECONDS)?;
        positive("model.concurrency", self.concurrency as u64)?;
        at_most("model.concurrency", self.concurrency as u64, 1_000)?;
        positive("model.context_tokens", self.context_tokens as u64)?;
        at_most("model.context_tokens", self.context_tokens as u64, 1_000_000)?;
        positive("model.answer_tokens", u64::from(self.answer_tokens))?;
        at_most("model.answer_tokens", u64::from(self.answer_tokens), 100_000)
    }
}

/// The embeddings server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EmbeddingsConfig {
    /// The address before `/embeddings`. Without it the built-in embedder is used.
    pub url: Option<String>,
    /// Sent as bearer token.
    pub key: Option<Secret>,
    /// The model's name on that server.
    pub model: Option<String>,
    /// Additional headers.
    pub headers: BTreeMap<String, Secret>,
    /// Length of the vectors. 0 asks the server at start; then it must be running.
    #[serde(deserialize_with = "flexible")]
    pub dimension: usize,
    /// Texts in one request.
    #[serde(deserialize_with = "flexible")]
    pub batch: usize,
    /// Maximum time for one message or import in seconds, retries included.
    #[serde(deserialize_with = "flexible")]
    pub timeout_seconds: u64,
    /// Requests at a time.
    #[serde(deserialize_with = "flexible")]
    pub concurrency: usize,
}

impl Default for EmbeddingsConfig {
    fn default() -> Self {
        Self { url: None, key: None, model: None, headers: BTreeMap::new(), dimension: 0, batch: 64, timeout_seconds: 20, concurrency: 8 }
    }
}

impl EmbeddingsConfig {
    /// Maximum time for the vectors of one message or import.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        check_server("embeddings", "embeddings.model", self.url.as_deref(), self.model.as_deref(), self.key.as_ref())?;
        at_most("embeddings.dimension", self.dimension as u64, 16_384)?;
        positive("embeddings.batch", self.batch as u64)?;
        at_most("embeddings.batch", self.batch as u64, 2_048)?;
        positive("embeddings.timeout_seconds", self.timeout_seconds)?;
        at_most("embeddings.timeout_seconds", self.timeout_seconds, MAX_EMBEDDINGS_TIMEOUT_SECONDS)?;
        positive("embeddings.concurrency", self.concurrency as u64)?;
        at_most("embeddings.concurrency", self.concurrency as u64, 1_000)
    }
}

/// Checks the settings of one server. A model or key without an address is an error.
fn check_server(section: &str, name_key: &str, url: Option<&str>, name: Option<&str>, key: Option<&Secret>) -> Result<(), ConfigError> {
    let url_key = format!("{section}.url");
    let Some(url) = url else {
        return match name.is_some() || key.is_some() {
            true => Err(wrong(&url_key, "is needed when a model or a key is named")),
            false => Ok(()),
        };
    };
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://")).unwrap_or_default();
    let host = rest.split('/').next().unwrap_or_default();
    if host.is_empty() || url.contains(['?', '#', ' ', '@']) {
        return Err(wrong(&url_key, "must be an address such as https://models.example.org/v1, without a user, query or fragment"));
    }
    if name.is_none_or(|n| n.trim().is_empty()) {
        return Err(wrong(name_key, "is needed when a server is named"));
    }
    if key.is_some_and(|k| k.expose().is_empty() || !k.expose().bytes().all(|b| b.is_ascii_graphic())) {
        return Err(wrong(&format!("{section}.key"), "must be one word of printable characters"));
    }
    Ok(())
}
