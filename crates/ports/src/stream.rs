//! Notifies the followers of event logs.

use recall_domain::{Caller, EventId, SessionId, Timestamp};

/// Tells the followers of a session's event log what the log does not say. It never blocks and may be called often.
pub trait Announcer: Send + Sync {
    /// A transient event that is not stored, such as a piece of an answer.
    fn ephemeral(&self, caller: &Caller, session: SessionId, kind: &str, data: serde_json::Value);
    /// The session was deleted.
    fn deleted(&self, caller: &Caller, session: SessionId);
}

/// Hears from a store what was committed; see [`EventLog::report_to`](crate::EventLog::report_to). It never blocks.
pub trait CommitListener: Send + Sync {
    /// Delivers committed events. Those of one log come in the order of their numbers.
    fn deliver(&self, entries: &[LogEntry]);
    /// Says that events of a session were committed, or of the whole memory only. They must be read from the log.
    fn committed(&self, caller: &Caller, session: Option<SessionId>);
    /// Says that another process deleted the session.
    fn deleted(&self, caller: &Caller, session: SessionId);
}

/// An event as a transaction wrote it to the logs.
#[derive(Clone, Debug)]
pub struct LogEntry {
    /// The owner of the logs. The store has written on their behalf.
    pub owner: Caller,
    /// The session's log; `None` if only the log of the memory has the event.
    pub session: Option<SessionLogEntry>,
    /// The number in the log of the memory.
    pub memory_seq: u64,
    /// Identity.
    pub id: EventId,
    /// The body's `type`.
    pub kind: &'static str,
    /// When it was recorded.
    pub created_at: Timestamp,
    /// The body as JSON, `type` included.
    pub data: String,
}

/// The place of an event in the log of a session.
#[derive(Clone, Debug)]
pub struct SessionLogEntry {
    /// The session.
    pub id: SessionId,
    /// The epoch of its log.
    pub epoch: String,
    /// The number in its log.
    pub seq: u64,
}
