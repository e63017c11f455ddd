//! Telling listeners that something happened.

use recall_domain::{Caller, SessionId};

/// Wakes whoever follows a session's event log. Never blocks and may be called often.
pub trait Announcer: Send + Sync {
    /// New numbered events were committed.
    fn committed(&self, caller: &Caller, session: SessionId);
    /// Something worth showing that is not kept, such as a piece of an answer.
    fn ephemeral(&self, caller: &Caller, session: SessionId, kind: &str, data: serde_json::Value);
    /// The session is no more.
    fn deleted(&self, caller: &Caller, session: SessionId);
}
