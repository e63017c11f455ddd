//! The open write transaction, for the algorithms of `recall-store`.

use std::future::Future;

use async_trait::async_trait;
use futures_util::FutureExt;

use super::{
    codec::{signed, truncate_to_millis},
    connection::Db,
    failure::Failure,
};
use recall_domain::{Caller, EventId, Timestamp, UserId, ViewerRole};
use recall_ports::{LogEntry, SessionLogEntry};
use recall_store::{Quota, Transaction, UserLock, UserStatements};

/// An open write transaction, with what it writes to the logs. Each file implements the statements on its tables.
pub(super) struct WriteTransaction<'c>(pub(super) &'c mut Db, pub(super) &'c mut WrittenEvents);

/// The events that a transaction has written to the logs, for the listener after the commit.
#[derive(Debug)]
pub(super) struct WrittenEvents {
    /// The epoch of the session's log in which numbers were last reserved. The events that get them are written next.
    pub(super) epoch: String,
    /// `None` if nobody listens.
    entries: Option<Vec<LogEntry>>,
}

impl WrittenEvents {
    pub(super) fn new(has_listener: bool) -> Self {
        Self { epoch: String::new(), entries: has_listener.then(Vec::new) }
    }

    /// Notes an event of a user that was written to the log of the memory, and to that of a session if `session` has its place there.
    pub(super) fn note(
        &mut self,
        user: UserId,
        session: Option<SessionLogEntry>,
        (memory_seq, id, kind, created_at, data): (i64, EventId, &'static str, Timestamp, &str),
    ) {
        if let Some(entries) = &mut self.entries {
            let owner = Caller::verified(user, ViewerRole::User);
            let (memory_seq, created_at) = (memory_seq.unsigned_abs(), truncate_to_millis(created_at));
            entries.push(LogEntry { owner, session, memory_seq, id, kind, created_at, data: data.to_owned() });
        }
    }

    pub(super) fn entries(&self) -> &[LogEntry] {
        self.entries.as_deref().unwrap_or_default()
    }

    /// Forgets all but the first `count` events: the others were rolled back.
    pub(super) fn truncate(&mut self, count: usize) {
        if let Some(entries) = &mut self.entries {
            entries.truncate(count);
        }
    }
}

/// Reads that see one state of the database: a snapshot, or an open write transaction.
pub(super) struct ReadTransaction<'c>(pub(super) &'c mut Db);

/// Runs an algorithm of `recall-store` to its end.
///
/// The algorithms are asynchronous for engines that wait for a network. Here no statement waits for anything, so the first poll
/// completes them.
pub(super) fn run<R>(algorithm: impl Future<Output = Result<R, Failure>>) -> Result<R, Failure> {
    algorithm.now_or_never().unwrap_or(Err(Failure::Suspended))
}

#[async_trait]
impl Transaction for WriteTransaction<'_> {
    type Error = Failure;

    fn stored_time(time: Timestamp) -> Timestamp {
        truncate_to_millis(time)
    }

    async fn act_for(&mut self, _user: UserId) -> Result<(), Failure> {
        Ok(())
    }
}

#[async_trait]
impl UserStatements for WriteTransaction<'_> {
    async fn ensure_user(&mut self, user: UserId) -> Result<(), Failure> {
        self.0.execute("INSERT INTO users (id) VALUES (?) ON CONFLICT DO NOTHING", (user.0,))?;
        Ok(())
    }

    async fn user_lock(&mut self, user: UserId) -> Result<Option<UserLock>, Failure> {
        self.0.row("users", "SELECT erasing, importing FROM users WHERE id = ?", (user.0,), |c| {
            Ok(UserLock { erasing: c.flag("erasing")?, importing: c.flag("importing")? })
        })
    }

    async fn take_quota(&mut self, user: UserId, quota: Quota, count: u64) -> Result<bool, Failure> {
        let sql = match quota {
            Quota::Messages => {
                "UPDATE visits SET messages_left = messages_left - ?2, empty_until = NULL WHERE user_id = ?1 AND messages_left >= ?2"
            }
            Quota::Sessions => "UPDATE visits SET sessions_left = sessions_left - ?2 WHERE user_id = ?1 AND sessions_left >= ?2",
        };
        Ok(self.0.execute(sql, (user.0, signed(count)))? > 0)
    }
}
