//! Reads and checks the settings, with one struct per concern.
//!
//! Settings come from defaults, file, environment and flags; later sources win. They are read once at start and checked before anything
//! opens. Each error names the key.

mod anonymous;
mod auth;
mod documents;
mod env;
mod frontend;
mod graphql;
mod http;
mod limits;
mod login;
mod models;
mod neo4j;
mod page;
mod privacy;
mod retention;
mod secret;
mod sections;
mod storage;
mod webrtc;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

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
pub use documents::{DocumentsConfig, Originals};
pub use env::{VARIABLES, Variable};
pub use frontend::{Citations, FrontendConfig};
pub use graphql::GraphqlConfig;
pub use http::HttpConfig;
pub use limits::LimitsConfig;
pub use login::LoginConfig;
pub use models::{EmbeddingsConfig, Extraction, ModelConfig};
pub use neo4j::Neo4jSection;
pub use page::page;
pub use privacy::PrivacyConfig;
pub use retention::RetentionConfig;
pub use secret::Secret;
pub use sections::{LogConfig, LogFormat, ProcessingConfig, RetrievalConfig, ServerConfig, StreamConfig, UnderstandingConfig};
pub use storage::{Engine, StorageConfig};
pub use webrtc::WebrtcConfig;

/// Longest time of one attempt at a job, unless the model server may take longer.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(120);
/// Time of an attempt that is left for the built-in parts after the model server's timeout.
const FALLBACK_TIME: Duration = Duration::from_secs(20);

/// All settings.
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
    /// Documents.
    pub documents: DocumentsConfig,
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
    /// Front ends and programs that speak the OpenAI protocol.
    pub frontend: FrontendConfig,
    /// Login with a browser.
    pub login: LoginConfig,
    /// Visitors.
    pub anonymous: AnonymousConfig,
    /// Limits of one caller and of one address. They hold behind a login only.
    pub limits: LimitsConfig,
    /// What is never stored.
    pub privacy: PrivacyConfig,
    /// Retention.
    pub retention: RetentionConfig,
    /// The model server that answers questions and finds facts.
    pub model: ModelConfig,
    /// The embeddings server.
    pub embeddings: EmbeddingsConfig,
    /// Logs.
    pub log: LogConfig,
}

/// A setting is wrong, so the server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A value has the wrong type, or the file has an unknown key.
    #[error("configuration: {0}")]
    Shape(String),
    /// A value is invalid.
    #[error("configuration: {key}: {problem}")]
    Value {
        /// Section and name, and the environment variable if there is one.
        key: String,
        /// What is wrong with the value.
        problem: String,
    },
    /// An environment variable starts with `RECALL_` but is not a setting.
    #[error("configuration: {0} is not a setting of this version{1}")]
    UnknownVariable(String, String),
    /// The file cannot be read.
    #[error("configuration: --config: {path} cannot be read: {cause}")]
    File {
        /// The path as given.
        path: String,
        /// Why it cannot be read.
        cause: std::io::Error,
    },
}

/// Settings from the command line.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Flags {
    /// Pairs of `section.name` and value, for the flags that were given.
    pub values: Vec<(&'static str, String)>,
}

impl Config {
    /// Reads and checks all settings.
    ///
    /// # Errors
    /// [`ConfigError`] for the first wrong setting.
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
        let config: Self = figment.extract().map_err(|e| ConfigError::Shape(describe_shape_error(&e)))?;
        config.check()?;
        Ok(config)
    }

    /// Returns what finds facts: `model` or `local`.
    pub fn extractor(&self) -> &'static str {
        match self.understanding.extraction {
            Extraction::Auto if self.model.url.is_none() => Extraction::Local.into(),
            Extraction::Local => Extraction::Local.into(),
            Extraction::Auto | Extraction::Hybrid | Extraction::Model => Extraction::Model.into(),
        }
    }

    /// Returns the folder of documents' files.
    pub fn originals_folder(&self) -> PathBuf {
        self.documents.folder.clone().unwrap_or_else(|| self.storage.data.join("originals"))
    }

    /// Returns the longest time of one attempt at a job: that of the model server, and some more for the built-in parts.
    pub fn attempt_timeout(&self) -> Duration {
        (self.model.timeout() + FALLBACK_TIME).max(ATTEMPT_TIMEOUT)
    }

    /// Whether callers must authenticate: with a token, a login, or the key of a front end.
    pub fn has_login(&self) -> bool {
        self.auth.is_configured() || self.frontend.key.is_some()
    }

    fn check(&self) -> Result<(), ConfigError> {
        self.auth.check()?;
        self.login.check(&self.auth, &self.server)?;
        self.frontend.check()?;
        self.anonymous.check(&self.auth, &self.server)?;
        self.limits.check()?;
        self.privacy.check()?;
        self.retention.check()?;
        self.server.check(self.has_login())?;
        self.http.check(self.has_login())?;
        self.graphql.check()?;
        self.storage.check()?;
        self.stream.check(&self.server)?;
        self.webrtc.check()?;
        self.processing.check()?;
        self.retrieval.check()?;
        self.documents.check()?;
        self.understanding.check(self.model.url.is_some())?;
        self.neo4j.check()?;
        self.model.check()?;
        self.embeddings.check()?;
        self.log.check()
    }
}

/// Describes an error of figment: the key and the problem, without figment's own notes on the source.
fn describe_shape_error(e: &figment::Error) -> String {
    if let Kind::UnknownField(name, known) = &e.kind {
        return describe_unknown_key(&e.path, name, known);
    }
    let key = e.path.join(".");
    let named = match env::variable_of(&key) {
        Some(v) => format!("{key} ({v})"),
        None => key,
    };
    if named.is_empty() { e.kind.to_string() } else { format!("{named}: {}", e.kind) }
}

/// Describes an unknown key or section, with a hint at the setting that was probably meant.
fn describe_unknown_key(path: &[String], name: &str, known: &[&str]) -> String {
    // Figment's path to the key may or may not end with the key itself.
    let section: Vec<&str> = path.iter().map(String::as_str).filter(|part| *part != name).collect();
    let of = |name: &str| section.iter().copied().chain([name]).collect::<Vec<_>>().join(".");
    let near = nearest(name, known.iter().copied(), Similarity::Likely).map(of);
    // Otherwise the key may belong to another section.
    let elsewhere = || VARIABLES.iter().map(|v| v.key).find(|key| key.rsplit('.').next() == Some(name)).map(str::to_owned);
    let hint = near.or_else(elsewhere).map_or_else(String::new, |key| format!("; did you mean {key}?"));
    format!("{} is not a setting of this version{hint}", of(name))
}

/// Builds the error for an invalid value.
fn wrong(key: &str, problem: impl Into<String>) -> ConfigError {
    let key = env::variable_of(key).map_or_else(|| key.to_owned(), |v| format!("{key} ({v})"));
    ConfigError::Value { key, problem: problem.into() }
}

#[cfg(test)]
mod tests;
