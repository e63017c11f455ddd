//! Adapters for model servers of the OpenAI protocol: embedder, extractor, answerer, comparer and proxy.
//!
//! A server may be slow, down or wrong, and a message may try to instruct the model. So each reply is checked, and the
//! extractor and the answerer fall back to a local adapter.
//!
//! Neither requests nor replies may reach a log or an error; see [`failure`].

pub mod answerer;
pub mod budget;
mod citation_marks;
mod client;
pub mod comparer;
mod dialect;
pub mod embedder;
pub mod extractor;
pub mod failure;
mod probe;
mod text_search;
mod token_stream;
pub mod upstream;
mod usage;
mod wire;

use std::{collections::BTreeMap, time::Duration};

use secrecy::SecretString;

pub use answerer::{ModelAnswerer, ModelAnswererOptions};
pub use budget::Budget;
pub use client::ModelClient;
pub use comparer::ModelComparer;
pub use dialect::{Dialect, Format};
pub use embedder::{ModelEmbedder, ModelEmbedderOptions};
pub use extractor::ModelExtractor;
pub use failure::ModelError;
pub use upstream::{ModelUpstream, UpstreamLimits};

/// The address, the model and the limits of one model server.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Base URL, without `/chat/completions` or `/embeddings`, such as `http://127.0.0.1:11434/v1`.
    pub url: String,
    /// API key, sent as bearer token.
    pub key: Option<SecretString>,
    /// Name of the model on the server.
    pub model: String,
    /// Additional headers, such as one that a gateway requires.
    pub headers: BTreeMap<String, SecretString>,
    /// Longest time for one operation, including waits and retries.
    pub timeout: Duration,
    /// Longest wait for the first token and between tokens.
    pub silence: Duration,
    /// Most requests at the same time.
    pub concurrency: usize,
}
