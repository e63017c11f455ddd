//! Sessions: the conversations of a user, each with its own event log.

use super::{SessionId, Timestamp, UserText};

/// One conversation: messages in order, and a numbered event log of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// Identity.
    pub id: SessionId,
    /// Title chosen by the user or taken from the first message; `None` until then.
    pub title: Option<UserText>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its last message was stored.
    pub updated_at: Timestamp,
    /// Number of messages stored so far.
    pub message_count: u64,
    /// Distinguishes this log from all other logs of the session.
    ///
    /// It changes when the log is rebuilt. Otherwise a client at event 3 would accept event 4 of a new log and miss its events 1 to 3.
    pub epoch: String,
    /// Number of the newest event, 0 when there is none.
    pub head: u64,
    /// Whether the user wants it above the others.
    pub pinned: bool,
    /// Whether the user has put it away.
    pub archived: bool,
    /// Whether remembering is paused for the messages that it gets.
    pub paused: bool,
}

impl Session {
    /// Returns the cursor of the newest event, `epoch:seq`.
    pub fn head_cursor(&self) -> String {
        format!("{}:{}", self.epoch, self.head)
    }
}
