//! A conversation of a user, which is also the unit of the event stream.

use super::{SessionId, Timestamp, UserText};

/// One conversation: messages in order, and a numbered event log of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// Identity.
    pub id: SessionId,
    /// Chosen by the user, or taken from the first message; `None` until then.
    pub title: Option<UserText>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its last message was stored.
    pub updated_at: Timestamp,
    /// Number of messages stored so far.
    pub message_count: u64,
    /// Names this log among all logs the session ever had. Changes when the log is rebuilt; without it
    /// a peer at event 3 would accept event 4 of a new log and miss the new 1 to 3.
    pub epoch: String,
    /// Number of the newest event, 0 when there is none.
    pub head: u64,
}

impl Session {
    /// Cursor of the newest event, `epoch:seq`.
    pub fn head_cursor(&self) -> String {
        format!("{}:{}", self.epoch, self.head)
    }
}
