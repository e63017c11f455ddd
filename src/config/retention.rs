//! How long things are kept.

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
    /// How many days the audit log is kept.
    #[serde(deserialize_with = "flexible")]
    pub audit_days: u32,
}

impl Default for RetentionConfig {
    fn default() -> Self {
        Self { session_days: 0, audit_days: 365 }
    }
}

impl RetentionConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        at_most("retention.session_days", u64::from(self.session_days), LONGEST)?;
        positive("retention.audit_days", u64::from(self.audit_days))?;
        at_most("retention.audit_days", u64::from(self.audit_days), LONGEST)
    }
}
