//! Settings of visitors, who use the server without a login.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    AuthConfig, ConfigError, ServerConfig,
    sections::{at_most, flexible, is_this_machine, positive},
    wrong,
};

/// Visitors: people without a login. Off unless enabled. `retention.anonymous_hours` says how long a visit lasts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AnonymousConfig {
    /// Whether people may use the server without a login.
    #[serde(deserialize_with = "flexible")]
    pub enabled: bool,
    /// Maximum number of visitors at a time. Further visitors are asked to log in.
    #[serde(deserialize_with = "flexible")]
    pub visits: u32,
    /// Maximum number of visitors from one address, or one IPv6 /64. When the limit is reached, a new visitor evicts one who has stored
    /// nothing.
    #[serde(deserialize_with = "flexible")]
    pub visits_per_address: u32,
    /// Messages that one visitor may store in total.
    #[serde(deserialize_with = "flexible")]
    pub messages: u32,
    /// Messages that one visitor may store in a day.
    #[serde(deserialize_with = "flexible")]
    pub messages_per_day: u32,
    /// Sessions that one visitor may begin in total.
    #[serde(deserialize_with = "flexible")]
    pub sessions: u32,
    /// Event streams that one visitor may have open at one server.
    #[serde(deserialize_with = "flexible")]
    pub streams: u32,
    /// Tokens that a model may use for all visitors together in a day, to read and to answer; 0 for none. They also count against
    /// `model.tokens_per_day`. Vectors are made for visitors in any case.
    #[serde(deserialize_with = "flexible")]
    pub model_tokens_per_day: u64,
}

impl Default for AnonymousConfig {
    fn default() -> Self {
        Self {
            enabled: false,
            visits: 1_000,
            visits_per_address: 50,
            messages: 100,
            messages_per_day: 50,
            sessions: 5,
            streams: 6,
            model_tokens_per_day: 0,
        }
    }
}

impl AnonymousConfig {
    pub(super) fn check(&self, auth: &AuthConfig, server: &ServerConfig) -> Result<(), ConfigError> {
        for (key, value) in [
            ("anonymous.visits", self.visits),
            ("anonymous.visits_per_address", self.visits_per_address),
            ("anonymous.messages", self.messages),
            ("anonymous.messages_per_day", self.messages_per_day),
            ("anonymous.sessions", self.sessions),
            ("anonymous.streams", self.streams),
        ] {
            positive(key, u64::from(value))?;
            at_most(key, u64::from(value), 1_000_000)?;
        }
        if !self.enabled {
            return Ok(());
        }
        if !auth.is_configured() {
            return Err(wrong("anonymous.enabled", "needs a login: without one every client is the local user"));
        }
        // The cookies of visits are `Secure`: browsers keep them only for servers with TLS and for this machine.
        let plain = server.public_url.as_deref().and_then(|url| url.strip_prefix("http://"));
        if plain.is_some_and(|host| !is_this_machine(host.trim_end_matches('/'))) {
            return Err(wrong("server.public_url", "must begin with https:// for visitors"));
        }
        Ok(())
    }
}
