//! How long things are kept.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ConfigError,
    sections::{at_most, flexible, positive},
};

/// Longest time that can be set, in days.
const LONGEST: u64 = 100 * 366;

/// How long things are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionConfig {
    /// Sessions are deleted when nobody wrote in them for so many days; 0 keeps them.
    #[serde(deserialize_with = "flexible")]
    pub session_days: u32,
    /// How many hours after their last request visitors and everything of theirs are deleted.
    #[serde(deserialize_with = "flexible")]
    pub anonymous_hours: u32,
    /// How many days the audit log is kept.
    #[serde(deserialize_with = "flexible")]
    pub audit_days: u32,
}

impl Default for RetentionConfig {
    fn default() -> Self {
        Self { session_days: 0, anonymous_hours: 24, audit_days: 365 }
    }
}

impl RetentionConfig {
    /// How long a visit lasts unused.
    pub fn anonymous(&self) -> Duration {
        Duration::from_secs(u64::from(self.anonymous_hours) * 3600)
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        at_most("retention.session_days", u64::from(self.session_days), LONGEST)?;
        positive("retention.anonymous_hours", u64::from(self.anonymous_hours))?;
        // Browsers keep no cookie for longer.
        at_most("retention.anonymous_hours", u64::from(self.anonymous_hours), 400 * 24)?;
        positive("retention.audit_days", u64::from(self.audit_days))?;
        at_most("retention.audit_days", u64::from(self.audit_days), LONGEST)
    }
}
