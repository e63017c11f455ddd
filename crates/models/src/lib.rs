//! Model servers that speak the OpenAI protocol: embeddings, extraction and answers. Every one of them may be slow, down,
//! wrong or talked into something by a message it reads, so nothing that comes back is believed unchecked, and extraction
//! and answers have a local adapter, given at the start, to fall back to.
//!
//! Neither text that goes out nor text that comes back may reach a log or an error; see [`failure`].

pub mod answerer;
pub mod budget;
mod client;
mod dialect;
pub mod embedder;
pub mod extractor;
pub mod failure;
mod located;
mod probe;
mod tokens;
mod wire;

use std::{collections::BTreeMap, time::Duration};

use secrecy::SecretString;

pub use answerer::{ModelAnswerer, ModelAnswererOptions};
pub use budget::Budget;
pub use client::ModelClient;
pub use dialect::{Dialect, Format};
pub use embedder::{ModelEmbedder, ModelEmbedderOptions};
pub use extractor::{ModelExtractor, Policy};
pub use failure::ModelError;

/// How to reach one model on one server.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The address before `/chat/completions` or `/embeddings`, such as `http://127.0.0.1:11434/v1`.
    pub url: String,
    /// Sent as bearer token.
    pub key: Option<SecretString>,
    /// The model's name on that server.
    pub model: String,
    /// Further headers, such as one that a gateway asks for.
    pub headers: BTreeMap<String, SecretString>,
    /// Longest time for one piece of work, waiting and repetitions included.
    pub timeout: Duration,
    /// Longest silence: until the first token, and between two.
    pub silence: Duration,
    /// Requests at a time.
    pub concurrency: usize,
}
