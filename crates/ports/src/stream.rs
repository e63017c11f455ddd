//! Notifies the followers of event logs.

use recall_domain::{Caller, SessionId};

/// Wakes the followers of a session's event log. It never blocks and may be called often.
pub trait Announcer: Send + Sync {
    /// New numbered events were committed.
    fn committed(&self, caller: &Caller, session: SessionId);
    /// A transient event that is not stored, such as a piece of an answer.
    fn ephemeral(&self, caller: &Caller, session: SessionId, kind: &str, data: serde_json::Value);
    /// The session was deleted.
    fn deleted(&self, caller: &Caller, session: SessionId);
}
