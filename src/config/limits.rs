//! Limits on the requests of one caller and of one address.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ConfigError,
    sections::{at_most, flexible},
};

/// Limits of one caller and of one address. They hold behind a login only: the one user of a machine has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsConfig {
    /// Requests of one caller in a minute, a tenth of them at once; 0 for no limit.
    #[serde(deserialize_with = "flexible")]
    pub requests_per_minute: u32,
    /// Requests from one address in a minute, a tenth of them at once; 0 for no limit. A refused token counts as ten.
    #[serde(deserialize_with = "flexible")]
    pub address_requests_per_minute: u32,
    /// Messages that one caller may store in a minute, a tenth of them at once; 0 for no limit. Each message of an import counts.
    #[serde(deserialize_with = "flexible")]
    pub messages_per_minute: u32,
    /// Messages that one caller may store in a day; 0 for no limit.
    #[serde(deserialize_with = "flexible")]
    pub messages_per_day: u32,
    /// Event streams that one caller may have open at one server; 0 for no limit.
    #[serde(deserialize_with = "flexible")]
    pub streams_per_caller: u32,
    /// Connections that one address may have open at one server, except those of `http.trusted_proxies`; 0 for no limit.
    #[serde(deserialize_with = "flexible")]
    pub connections_per_address: u32,
    /// Entities of a session after which it adds no new ones; 0 for no limit. Known entities are still updated. Holds where there are
    /// several users, by `auth.issuers` or `anonymous.enabled`. With the static token alone there is one user.
    #[serde(deserialize_with = "flexible")]
    pub entities_per_session: u32,
    /// Facts of a session after which it adds no new ones, under the same conditions; 0 for no limit.
    #[serde(deserialize_with = "flexible")]
    pub facts_per_session: u32,
    /// How often in a minute one address may begin a login or a visit, or return from the provider, half of it at once; 0 for no limit.
    #[serde(deserialize_with = "flexible")]
    pub logins_per_minute: u32,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            requests_per_minute: 3_000,
            address_requests_per_minute: 6_000,
            messages_per_minute: 600,
            messages_per_day: 20_000,
            streams_per_caller: 64,
            connections_per_address: 512,
            logins_per_minute: 60,
            entities_per_session: 20,
            facts_per_session: 50,
        }
    }
}

impl LimitsConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        for (key, value) in [
            ("limits.requests_per_minute", self.requests_per_minute),
            ("limits.address_requests_per_minute", self.address_requests_per_minute),
            ("limits.messages_per_minute", self.messages_per_minute),
            ("limits.messages_per_day", self.messages_per_day),
            ("limits.streams_per_caller", self.streams_per_caller),
            ("limits.connections_per_address", self.connections_per_address),
            ("limits.logins_per_minute", self.logins_per_minute),
            ("limits.entities_per_session", self.entities_per_session),
            ("limits.facts_per_session", self.facts_per_session),
        ] {
            at_most(key, u64::from(value), 1_000_000)?;
        }
        Ok(())
    }
}
