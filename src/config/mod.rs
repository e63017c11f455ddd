//! What can be set, from where, and whether it makes sense: one struct per concern, read once at start from defaults,
//! file, environment and flags (later ones win), and checked whole before anything opens. Each error names the key.

mod anonymous;
mod auth;
mod env;
mod graphql;
mod http;
mod limits;
mod login;
mod models;
mod neo4j;
mod page;
mod retention;
mod secret;
mod sections;
mod storage;
mod webrtc;

use std::path::Path;

use figment::{
    Figment,
    error::Kind,
    providers::{Format, Serialized, Toml},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use recall_domain::{Similarity, nearest};

pub use anonymous::AnonymousConfig;
pub use auth::AuthConfig;
pub use env::{VARIABLES, Variable};
pub use graphql::GraphqlConfig;
pub use http::HttpConfig;
pub use limits::LimitsConfig;
pub use login::LoginConfig;
pub use models::{EmbeddingsConfig, Extraction, ModelConfig};
pub use neo4j::Neo4jSection;
pub use page::page;
pub use retention::RetentionConfig;
pub use secret::Secret;
pub use sections::{LogConfig, LogFormat, ProcessingConfig, RetrievalConfig, ServerConfig, StreamConfig, UnderstandingConfig};
pub use storage::{Engine, StorageConfig};
pub use webrtc::WebrtcConfig;

/// Everything that can be set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where the server listens.
    pub server: ServerConfig,
    /// Storage.
    pub storage: StorageConfig,
    /// The event stream and WebRTC.
    pub stream: StreamConfig,
    /// STUN and TURN servers.
    pub webrtc: WebrtcConfig,
    /// The fact processor.
    pub processing: ProcessingConfig,
    /// Message search.
    pub retrieval: RetrievalConfig,
    /// Extraction.
    pub understanding: UnderstandingConfig,
    /// The graph engine.
    pub neo4j: Neo4jSection,
    /// Pages of other origins, proxies, and TLS.
    pub http: HttpConfig,
    /// GraphQL operations that clients may run.
    pub graphql: GraphqlConfig,
    /// Authentication.
    pub auth: AuthConfig,
    /// Login with a browser.
    pub login: LoginConfig,
    /// Visitors.
    pub anonymous: AnonymousConfig,
    /// Limits of one caller and of one address. They hold behind a login only.
    pub limits: LimitsConfig,
    /// Retention.
    pub retention: RetentionConfig,
    /// The model server that answers questions and finds facts.
    pub model: ModelConfig,
    /// The embeddings server.
    pub embeddings: EmbeddingsConfig,
    /// Logs.
    pub log: LogConfig,
}

/// Why the server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A value of the wrong shape, or an unknown key of the file.
    #[error("configuration: {0}")]
    Shape(String),
    /// A value that cannot work.
    #[error("configuration: {key}: {problem}")]
    Value {
        /// Section and name, with the variable where there is one.
        key: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A variable that starts with `RECALL_` and means nothing.
    #[error("configuration: {0} is not a setting of this version{1}")]
    UnknownVariable(String, String),
    /// The file cannot be read.
    #[error("configuration: --config: {path} cannot be read: {cause}")]
    File {
        /// As given.
        path: String,
        /// Why.
        cause: std::io::Error,
    },
}

/// Settings given as flags; absent ones say nothing.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Flags {
    /// `section.name` with its value as text.
    pub values: Vec<(&'static str, String)>,
}

impl Config {
    /// Reads and checks everything.
    ///
    /// # Errors
    /// Names the first key that is wrong.
    pub fn load(file: Option<&Path>, environment: impl Iterator<Item = (String, String)>, flags: &Flags) -> Result<Self, ConfigError> {
        let mut figment = Figment::from(Serialized::defaults(Self::default()));
        if let Some(path) = file {
            let text = std::fs::read_to_string(path).map_err(|cause| ConfigError::File { path: path.display().to_string(), cause })?;
            figment = figment.merge(Toml::string(&text));
        }
        for (key, value) in env::collect(environment)? {
            figment = figment.merge(Serialized::default(&key, value));
        }
        for (key, value) in &flags.values {
            figment = figment.merge(Serialized::default(key, value));
        }
        let config: Self = figment.extract().map_err(|e| ConfigError::Shape(shape(&e)))?;
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), ConfigError> {
        self.auth.check()?;
        self.login.check(&self.auth, &self.server)?;
        self.anonymous.check(&self.auth, &self.server)?;
        self.limits.check()?;
        self.retention.check()?;
        self.server.check(self.auth.is_configured())?;
        self.http.check(self.auth.is_configured())?;
        self.graphql.check()?;
        self.storage.check()?;
        self.stream.check(&self.server)?;
        self.webrtc.check()?;
        self.processing.check()?;
        self.retrieval.check()?;
        self.understanding.check(self.model.url.is_some())?;
        self.neo4j.check()?;
        self.model.check()?;
        self.embeddings.check()?;
        self.log.check()
    }
}

/// The key and the sentence, without the library's notes on where in its own tree it stood.
fn shape(e: &figment::Error) -> String {
    if let Kind::UnknownField(name, known) = &e.kind {
        return unknown(&e.path, name, known);
    }
    let key = e.path.join(".");
    let named = match env::variable_of(&key) {
        Some(v) => format!("{key} ({v})"),
        None => key,
    };
    if named.is_empty() { e.kind.to_string() } else { format!("{named}: {}", e.kind) }
}

/// A key that no section has, or a section that does not exist.
fn unknown(path: &[String], name: &str, known: &[&str]) -> String {
    // Where the library found the key, with the key itself at the end or not.
    let section: Vec<&str> = path.iter().map(String::as_str).filter(|part| *part != name).collect();
    let of = |name: &str| section.iter().copied().chain([name]).collect::<Vec<_>>().join(".");
    let near = nearest(name, known.iter().copied(), Similarity::Likely).map(of);
    // Else it may have been written into another section.
    let elsewhere = || VARIABLES.iter().map(|v| v.key).find(|key| key.rsplit('.').next() == Some(name)).map(str::to_owned);
    let hint = near.or_else(elsewhere).map_or_else(String::new, |key| format!("; did you mean {key}?"));
    format!("{} is not a setting of this version{hint}", of(name))
}

fn wrong(key: &str, problem: impl Into<String>) -> ConfigError {
    let key = env::variable_of(key).map_or_else(|| key.to_owned(), |v| format!("{key} ({v})"));
    ConfigError::Value { key, problem: problem.into() }
}

#[cfg(test)]
mod tests;
