//! Settings of front ends and programs that speak the OpenAI protocol.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ConfigError, Secret,
    sections::{at_most, flexible, positive, texts},
    wrong,
};

/// Minimum length of key and secret. Attackers can try them without end, so they must not be guessable.
const MIN_SECRET: usize = 32;
/// How messages begin that front ends send in the background: Open WebUI's prompts for titles, tags, searches, emojis and its own memory, and
/// LibreChat's for titles.
const TASK_PROMPTS: [&str; 7] = [
    "### Task:",
    "Review the completed conversation turn",
    "Your task is to reflect the speaker's likely facial expression",
    "You have been provided with a set of responses from various models",
    "Please generate a concise, 5-word-or-less title",
    "Provide a concise, 5-word-or-less title",
    "Analyze this conversation and provide:",
];

/// How answers show the sources that they cite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Citations {
    /// Not at all; the model is not asked to cite.
    #[default]
    None,
    /// As text at the end of the answer.
    Text,
    /// As events that Open WebUI shows below the answer.
    Openwebui,
}

/// Front ends and programs that speak the OpenAI protocol. They are served under `/v1`; requests are forwarded to the server of `[model]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FrontendConfig {
    /// The key of front ends that serve many people. They send it as bearer token, with a signed user. It counts as a login.
    pub key: Option<Secret>,
    /// The header with the signed user: a JWT with the claim `id` or `sub`.
    pub user_header: String,
    /// The secret with which front ends sign users (HS256). In Open WebUI: `FORWARD_USER_INFO_HEADER_JWT_SECRET`.
    pub user_secret: Option<Secret>,
    /// Whether the unsigned header `X-OpenWebUI-User-Id` is accepted too. Then everybody who knows the key can read every memory of its
    /// users.
    #[serde(deserialize_with = "flexible")]
    pub unsigned_user: bool,
    /// How answers show the sources that they cite. The header `X-Recall-Citations` overrides it for one request.
    pub citations: Citations,
    /// Maximum tokens of the block of memory in a forwarded request; 0 for none.
    #[serde(deserialize_with = "flexible")]
    pub context_tokens: usize,
    /// How messages begin that front ends send in the background, such as for titles. Such requests are forwarded without memory, and are
    /// not remembered.
    #[serde(deserialize_with = "texts")]
    pub task_prompts: Vec<String>,
    /// Maximum time for a forwarded request in seconds.
    #[serde(deserialize_with = "flexible")]
    pub timeout_seconds: u64,
    /// Maximum pause in a streamed reply in seconds, also before its first part.
    #[serde(deserialize_with = "flexible")]
    pub silence_seconds: u64,
    /// Forwarded requests at a time.
    #[serde(deserialize_with = "flexible")]
    pub concurrency: usize,
    /// Maximum size of a chat request in megabytes. Images are part of it, and clients send those of the whole conversation each time.
    #[serde(deserialize_with = "flexible")]
    pub body_megabytes: usize,
    /// Maximum size of all chat requests above 1 MB that are in progress, in megabytes. They take up to five times as much memory.
    #[serde(deserialize_with = "flexible")]
    pub bodies_megabytes: usize,
}

impl Default for FrontendConfig {
    fn default() -> Self {
        Self {
            key: None,
            user_header: "X-OpenWebUI-User-Jwt".to_owned(),
            user_secret: None,
            unsigned_user: false,
            citations: Citations::None,
            context_tokens: 1_000,
            task_prompts: TASK_PROMPTS.map(str::to_owned).to_vec(),
            timeout_seconds: 600,
            silence_seconds: 120,
            concurrency: 64,
            body_megabytes: 20,
            bodies_megabytes: 64,
        }
    }
}

impl FrontendConfig {
    /// Maximum time for a forwarded request.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }

    /// Maximum pause in a streamed reply.
    pub fn silence(&self) -> Duration {
        Duration::from_secs(self.silence_seconds)
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        for (key, secret) in [("frontend.key", &self.key), ("frontend.user_secret", &self.user_secret)] {
            if secret.as_ref().is_some_and(|secret| secret.expose().len() < MIN_SECRET) {
                let problem = format!("must have at least {MIN_SECRET} characters; generate one with `openssl rand -hex 32`");
                return Err(wrong(key, problem));
            }
        }
        let is_token = |b: u8| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b);
        if self.key.as_ref().is_some_and(|key| !key.expose().bytes().all(is_token)) {
            return Err(wrong("frontend.key", "may have letters, digits and -._~+/= only, because it is sent in a header"));
        }
        let is_name = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        if self.user_header.is_empty() || !self.user_header.bytes().all(is_name) {
            return Err(wrong("frontend.user_header", "must be the name of a header: letters, digits and hyphens"));
        }
        if self.key.is_some() && self.user_secret.is_none() && !self.unsigned_user {
            return Err(wrong("frontend.user_secret", "is needed with frontend.key, to know whose memory a request is about"));
        }
        if self.key.is_none() && (self.user_secret.is_some() || self.unsigned_user) {
            return Err(wrong("frontend.key", "is needed with frontend.user_secret and frontend.unsigned_user"));
        }
        at_most("frontend.context_tokens", self.context_tokens as u64, 100_000)?;
        positive("frontend.timeout_seconds", self.timeout_seconds)?;
        at_most("frontend.timeout_seconds", self.timeout_seconds, 24 * 3600)?;
        positive("frontend.silence_seconds", self.silence_seconds)?;
        at_most("frontend.silence_seconds", self.silence_seconds, 24 * 3600)?;
        positive("frontend.concurrency", self.concurrency as u64)?;
        at_most("frontend.concurrency", self.concurrency as u64, 100_000)?;
        positive("frontend.body_megabytes", self.body_megabytes as u64)?;
        at_most("frontend.body_megabytes", self.body_megabytes as u64, 1_000)?;
        if self.bodies_megabytes < self.body_megabytes {
            return Err(wrong("frontend.bodies_megabytes", "must not be less than frontend.body_megabytes"));
        }
        at_most("frontend.bodies_megabytes", self.bodies_megabytes as u64, 100_000)
    }
}
