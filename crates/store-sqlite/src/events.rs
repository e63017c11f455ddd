//! Appends to, reads and prunes the numbered event log of each session. `memory_log` reads that of the memory.

use std::sync::Weak;

use async_trait::async_trait;

use super::{
    SqliteStore,
    codec::{millis, signed},
    connection::Db,
    failure::Failure,
    memory_log, rows,
    transaction::{WriteTransaction, run},
};
use recall_domain::{Caller, EventDraft, SessionId, StoredEvent, Timestamp, UserId};
use recall_ports::{CommitListener, EventLog, LogState, SessionLogEntry, StoreError};
use recall_store::{DeletedEvents, EventNumbers, EventStatements, NewEvent, PrunedLog, Refusal, append_events, prune_events};

#[async_trait]
impl EventLog for SqliteStore {
    async fn log_state(&self, caller: &Caller, session: SessionId) -> Result<LogState, StoreError> {
        let user = caller.user();
        Ok(self.read(caller, move |db| log_state(db, user, session)).await?)
    }

    async fn log_page(
        &self,
        caller: &Caller,
        session: SessionId,
        after: u64,
        limit: u32,
    ) -> Result<(LogState, Vec<StoredEvent>), StoreError> {
        let user = caller.user();
        let page = self.read(caller, move |db| {
            let sql = "SELECT * FROM visible_events WHERE user_id = ? AND session_id = ? AND seq > ? ORDER BY seq LIMIT ?";
            let found = db.rows("events", sql, (user.0, session.0, signed(after), limit), rows::event)?;
            Ok((log_state(db, user, session)?, found))
        });
        Ok(page.await?)
    }

    async fn memory_log_state(&self, caller: &Caller) -> Result<LogState, StoreError> {
        let user = caller.user();
        Ok(self.read(caller, move |db| memory_log::state(db, user)).await?)
    }

    async fn memory_log_page(&self, caller: &Caller, after: u64, limit: u32) -> Result<(LogState, Vec<StoredEvent>), StoreError> {
        let user = caller.user();
        Ok(self.read(caller, move |db| memory_log::page(db, user, after, limit)).await?)
    }

    async fn append_events(
        &self,
        caller: &Caller,
        session: SessionId,
        events: &[EventDraft],
        now: Timestamp,
    ) -> Result<Vec<u64>, StoreError> {
        let (user, events) = (caller.user(), events.to_vec());
        Ok(self.write(move |tx| run(append_events(tx, user, session, &events, now))).await?)
    }

    async fn prune_events(&self, before: Timestamp, keep: u64) -> Result<u64, StoreError> {
        let keep = signed(keep);
        if !self.readers.for_server(move |db| db.exists(CANDIDATE, (millis(before), keep))).await? {
            return Ok(0);
        }
        Ok(self.write(move |tx| run(prune_events(tx, before, keep))).await?)
    }

    fn report_to(&self, listener: Weak<dyn CommitListener>) {
        // Later calls have no effect.
        let _ = self.listener.set(listener);
    }
}

fn log_state(db: &Db, user: UserId, session: SessionId) -> Result<LogState, Failure> {
    let sql = "SELECT epoch, event_head, event_floor FROM visible_sessions WHERE user_id = ? AND id = ?";
    let state = db.row("sessions", sql, (user.0, session.0), |c| {
        Ok(LogState { epoch: c.text("epoch")?, head: c.count("event_head")?, floor: c.count("event_floor")? })
    })?;
    Ok(state.ok_or(Refusal::NotFound)?)
}

#[async_trait]
impl EventStatements for WriteTransaction<'_> {
    async fn reserve_event_numbers(
        &mut self,
        user: UserId,
        session: SessionId,
        count: i64,
        now: Timestamp,
    ) -> Result<Option<EventNumbers>, Failure> {
        let sql = "UPDATE sessions SET event_head = event_head + ?3,
                 oldest_event_at = CASE WHEN ?3 > 0 THEN COALESCE(oldest_event_at, ?4) ELSE oldest_event_at END
             WHERE user_id = ?1 AND id = ?2 AND deletion_at IS NULL RETURNING event_head, epoch";
        let head = self.0.row("sessions", sql, (user.0, session.0, count, millis(now)), |c| {
            self.1.epoch = c.text("epoch")?;
            c.integer("event_head")
        })?;
        let Some(seq) = head.filter(|_| count > 0) else { return Ok(head.map(|seq| EventNumbers { seq, memory_seq: 0 })) };
        let memory_seq = memory_log::reserve_numbers(self.0, user, count)?;
        Ok(memory_seq.map(|memory_seq| EventNumbers { seq, memory_seq }))
    }

    async fn insert_events(&mut self, user: UserId, session: SessionId, events: &[NewEvent]) -> Result<(), Failure> {
        for event in events {
            self.0.execute(
                "INSERT INTO events (user_id, session_id, seq, memory_seq, id, kind, created_at, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (user.0, session.0, event.seq, event.memory_seq, event.id.0, event.kind, millis(event.created_at), &event.data),
            )?;
            let of_session = SessionLogEntry { id: session, epoch: self.1.epoch.clone(), seq: event.seq.unsigned_abs() };
            self.1.note(user, Some(of_session), (event.memory_seq, event.id, event.kind, event.created_at, &event.data));
        }
        Ok(())
    }

    async fn logs_to_prune(&mut self, before: Timestamp, keep: i64, limit: u32) -> Result<Vec<PrunedLog>, Failure> {
        let sql = "SELECT user_id, id, event_head, event_floor FROM visible_sessions WHERE oldest_event_at < ?1
             UNION SELECT user_id, id, event_head, event_floor FROM visible_sessions
                   WHERE event_head - event_floor >= ?2 AND oldest_event_at IS NOT NULL
             LIMIT ?3";
        self.0.rows("sessions", sql, (millis(before), keep, limit), |c| {
            let (user, session) = (UserId(c.id("user_id")?), SessionId(c.id("id")?));
            Ok(PrunedLog { user, session, head: c.integer("event_head")?, floor: c.integer("event_floor")? })
        })
    }

    async fn first_event_since(&mut self, log: &PrunedLog, time: Timestamp, bound: i64) -> Result<Option<i64>, Failure> {
        let sql =
            "SELECT seq FROM visible_events WHERE user_id = ? AND session_id = ? AND seq < ? AND created_at >= ? ORDER BY seq LIMIT 1";
        self.0.row("events", sql, (log.user.0, log.session.0, bound, millis(time)), |c| c.integer("seq"))
    }

    async fn delete_events_below(&mut self, log: &PrunedLog, floor: i64) -> Result<DeletedEvents, Failure> {
        let values = (log.user.0, log.session.0, floor);
        // Within a session both numbers grow together.
        let sql = "SELECT memory_seq FROM visible_events WHERE user_id = ? AND session_id = ? AND seq < ? ORDER BY seq DESC LIMIT 1";
        let last = self.0.row("events", sql, values, |c| c.get::<Option<i64>>("memory_seq"))?.flatten();
        let count = self.0.execute("DELETE FROM events WHERE user_id = ? AND session_id = ? AND seq < ?", values)?;
        self.0.execute(
            "UPDATE sessions SET event_floor = MAX(event_floor, ?3), oldest_event_at = (
                 SELECT created_at FROM visible_events WHERE user_id = ?1 AND session_id = ?2 AND seq = MAX(sessions.event_floor, ?3))
             WHERE user_id = ?1 AND id = ?2",
            values,
        )?;
        Ok(DeletedEvents { count, last })
    }
}

/// Selects a log with events to prune, or a change of a session: `?1` before, `?2` keep.
const CANDIDATE: &str = "SELECT 1 FROM visible_sessions WHERE oldest_event_at < ?1
    UNION SELECT 1 FROM visible_sessions WHERE event_head - event_floor >= ?2 AND oldest_event_at IS NOT NULL
    UNION SELECT 1 FROM session_changes WHERE created_at < ?1 LIMIT 1";
