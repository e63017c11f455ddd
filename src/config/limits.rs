//! How much one caller may ask for.

use serde::{Deserialize, Serialize};

use super::{
    ConfigError,
    sections::{at_most, flexible},
};

/// How much one caller may ask for. Holds behind a login only: the one user of a machine is not held back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsConfig {
    /// Requests of one caller in a minute, a tenth of them at once; 0 for no limit.
    #[serde(deserialize_with = "flexible")]
    pub requests_per_minute: u32,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self { requests_per_minute: 3_000 }
    }
}

impl LimitsConfig {
    /// Requests in a minute and at once, if there is a limit.
    pub fn requests(&self) -> Option<(u32, u32)> {
        (self.requests_per_minute > 0).then(|| (self.requests_per_minute, (self.requests_per_minute / 10).max(1)))
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        at_most("limits.requests_per_minute", u64::from(self.requests_per_minute), 1_000_000)
    }
}
