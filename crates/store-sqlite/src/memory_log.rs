//! Reads the log of a memory, and numbers and prunes changes of sessions in it.

use async_trait::async_trait;

use super::{
    codec::{millis, signed},
    connection::Db,
    failure::Failure,
    rows,
    transaction::WriteTransaction,
};
use recall_domain::{StoredEvent, Timestamp, UserId};
use recall_ports::LogState;
use recall_store::{MemoryLogStatements, SessionChange, memory_epoch};

/// Reads events after a number and from the floor on: `?1` user, `?2` number, `?3` limit.
pub(super) const PAGE: &str = "SELECT memory_seq AS seq, id, kind, created_at, data FROM visible_events
         WHERE user_id = ?1 AND memory_seq > MAX(?2, (SELECT memory_floor - 1 FROM users WHERE id = ?1))
     UNION ALL SELECT memory_seq, id, kind, created_at, data FROM session_changes
         WHERE user_id = ?1 AND memory_seq > MAX(?2, (SELECT memory_floor - 1 FROM users WHERE id = ?1))
     ORDER BY seq LIMIT ?3";

pub(super) fn state(db: &Db, user: UserId) -> Result<LogState, Failure> {
    let counters = db.row("users", "SELECT memory_head, memory_floor FROM users WHERE id = ?", (user.0,), |c| {
        Ok((c.count("memory_head")?, c.count("memory_floor")?))
    })?;
    let (head, floor) = counters.unwrap_or((0, 1));
    let database = db.only_row("graph_feed", "SELECT name FROM graph_feed", (), |c| c.text("name"))?;
    Ok(LogState { epoch: memory_epoch(&database, user), head, floor })
}

/// Reads the events first, so that the state is not older.
pub(super) fn page(db: &Db, user: UserId, after: u64, limit: u32) -> Result<(LogState, Vec<StoredEvent>), Failure> {
    let found = db.rows("events", PAGE, (user.0, signed(after), limit), rows::event)?;
    Ok((state(db, user)?, found))
}

#[async_trait]
impl MemoryLogStatements for WriteTransaction<'_> {
    async fn reserve_memory_number(&mut self, user: UserId) -> Result<Option<i64>, Failure> {
        reserve_numbers(self.0, user, 1)
    }

    async fn insert_session_change(&mut self, user: UserId, change: &SessionChange) -> Result<(), Failure> {
        self.0.execute(
            "INSERT INTO session_changes (user_id, memory_seq, id, kind, created_at, data) VALUES (?, ?, ?, ?, ?, ?)",
            (user.0, change.memory_seq, change.id.0, change.kind, millis(change.created_at), &change.data),
        )?;
        self.1.note(user, None, (change.memory_seq, change.id, change.kind, change.created_at, &change.data));
        Ok(())
    }

    async fn raise_memory_floor(&mut self, user: UserId, floor: i64) -> Result<(), Failure> {
        let sql = "UPDATE users SET memory_floor = ?2 WHERE id = ?1 AND memory_floor < ?2";
        self.0.execute(sql, (user.0, floor))?;
        Ok(())
    }

    async fn changes_to_prune(&mut self, before: Timestamp, limit: u32) -> Result<Vec<(UserId, i64)>, Failure> {
        let sql = "SELECT user_id, MAX(memory_seq) AS last FROM (
                 SELECT user_id, memory_seq FROM session_changes WHERE created_at < ? ORDER BY created_at LIMIT ?)
             GROUP BY user_id";
        self.0.rows("session_changes", sql, (millis(before), limit), |c| Ok((UserId(c.id("user_id")?), c.integer("last")?)))
    }

    async fn delete_changes_until(&mut self, user: UserId, last: i64) -> Result<u64, Failure> {
        self.0.execute("DELETE FROM session_changes WHERE user_id = ? AND memory_seq <= ?", (user.0, last))
    }
}

/// Adds to the head of the log and returns it; `None` if the user is unknown.
pub(super) fn reserve_numbers(db: &Db, user: UserId, count: i64) -> Result<Option<i64>, Failure> {
    let sql = "UPDATE users SET memory_head = memory_head + ?2 WHERE id = ?1 RETURNING memory_head";
    db.row("users", sql, (user.0, count), |c| c.integer("memory_head"))
}
