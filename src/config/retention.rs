//! Settings of retention times.

use std::time::Duration;

use recall_usecases::RetentionTimes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ConfigError,
    sections::{at_most, flexible, positive},
};

/// Maximum retention time in days.
const MAX_DAYS: u64 = 100 * 366;

/// Maximum time in which a forgetting can be undone: a month.
const MAX_FORGET_UNDO_MINUTES: u64 = 31 * 24 * 60;

/// Retention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionConfig {
    /// Days without a new message after which a session is deleted; 0 keeps all sessions.
    #[serde(deserialize_with = "flexible")]
    pub session_days: u32,
    /// Hours after the last request of a visitor, after which all data of the visitor is deleted.
    #[serde(deserialize_with = "flexible")]
    pub anonymous_hours: u32,
    /// Minutes in which a forgetting can be undone. After them, what was forgotten is deleted for good.
    #[serde(deserialize_with = "flexible")]
    pub forget_undo_minutes: u32,
    /// Days for which the audit log is kept.
    #[serde(deserialize_with = "flexible")]
    pub audit_days: u32,
}

impl Default for RetentionConfig {
    fn default() -> Self {
        Self { session_days: 0, anonymous_hours: 24, forget_undo_minutes: 10, audit_days: 365 }
    }
}

impl RetentionConfig {
    /// Time after which an unused visit is deleted.
    pub fn anonymous(&self) -> Duration {
        Duration::from_secs(u64::from(self.anonymous_hours) * 3600)
    }

    /// All retention times.
    pub fn times(&self) -> RetentionTimes {
        let days = |days: u32| Duration::from_secs(u64::from(days) * 24 * 3600);
        RetentionTimes {
            unused_sessions: (self.session_days > 0).then(|| days(self.session_days)),
            visits: self.anonymous(),
            forget_undo: Duration::from_secs(u64::from(self.forget_undo_minutes) * 60),
            audit: days(self.audit_days),
        }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        at_most("retention.session_days", u64::from(self.session_days), MAX_DAYS)?;
        positive("retention.anonymous_hours", u64::from(self.anonymous_hours))?;
        // Browsers keep cookies for at most 400 days.
        at_most("retention.anonymous_hours", u64::from(self.anonymous_hours), 400 * 24)?;
        at_most("retention.forget_undo_minutes", u64::from(self.forget_undo_minutes), MAX_FORGET_UNDO_MINUTES)?;
        positive("retention.audit_days", u64::from(self.audit_days))?;
        at_most("retention.audit_days", u64::from(self.audit_days), MAX_DAYS)
    }
}
