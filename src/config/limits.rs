//! How much one caller, and one address, may ask for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ConfigError,
    sections::{at_most, flexible},
};

/// How much one caller, and one address, may ask for. Holds behind a login only: the one user of a machine is not held back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsConfig {
    /// Requests of one caller in a minute, a tenth of them at once; 0 for no limit.
    #[serde(deserialize_with = "flexible")]
    pub requests_per_minute: u32,
    /// Requests from one address in a minute, a tenth of them at once, whoever makes them; a refused proof counts as ten. 0 for no limit.
    #[serde(deserialize_with = "flexible")]
    pub address_requests_per_minute: u32,
    /// How often in a minute one address may begin a login or come back from the provider, half of it at once. 0 for no limit.
    #[serde(deserialize_with = "flexible")]
    pub logins_per_minute: u32,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self { requests_per_minute: 3_000, address_requests_per_minute: 6_000, logins_per_minute: 60 }
    }
}

impl LimitsConfig {
    /// Requests of a caller in a minute and at once, if there is a limit.
    pub fn requests(&self) -> Option<(u32, u32)> {
        bucket(self.requests_per_minute)
    }

    /// Requests from an address in a minute and at once, if there is a limit.
    pub fn address_requests(&self) -> Option<(u32, u32)> {
        bucket(self.address_requests_per_minute)
    }

    /// Logins from an address in a minute and at once, if there is a limit.
    pub fn logins(&self) -> Option<(u32, u32)> {
        (self.logins_per_minute > 0).then(|| (self.logins_per_minute, (self.logins_per_minute / 2).max(2)))
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        at_most("limits.requests_per_minute", u64::from(self.requests_per_minute), 1_000_000)?;
        at_most("limits.address_requests_per_minute", u64::from(self.address_requests_per_minute), 1_000_000)?;
        at_most("limits.logins_per_minute", u64::from(self.logins_per_minute), 1_000_000)
    }
}

fn bucket(per_minute: u32) -> Option<(u32, u32)> {
    (per_minute > 0).then(|| (per_minute, (per_minute / 10).max(1)))
}
