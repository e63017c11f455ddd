//! Appends to, reads and prunes the numbered event log of each session.

use async_trait::async_trait;
use sqlx::{QueryBuilder, Sqlite};

use super::{
    SqliteStore,
    codec::{bytes, millis, signed},
    failure::Failure,
    rows,
    rows::Columns,
    transaction::WriteTransaction,
};
use recall_domain::{Caller, EventDraft, SessionId, StoredEvent, Timestamp, UserId};
use recall_ports::{EventLog, LogState, StoreError};
use recall_store::{EventStatements, NewEvent, PrunedLog, Refusal, append_events, prune_events};

#[async_trait]
impl EventLog for SqliteStore {
    async fn log_state(&self, caller: &Caller, session: SessionId) -> Result<LogState, StoreError> {
        let row = sqlx::query("SELECT epoch, event_head, event_floor FROM visible_sessions WHERE user_id = ? AND id = ?")
            .bind(bytes(&caller.user().0))
            .bind(bytes(&session.0))
            .fetch_optional(self.readers.for_user(caller))
            .await
            .map_err(Failure::from)?
            .ok_or(Refusal::NotFound)?;
        let c = Columns::of(&row, "sessions");
        Ok(LogState { epoch: c.text("epoch")?, head: c.count("event_head")?, floor: c.count("event_floor")? })
    }

    async fn events_after(&self, caller: &Caller, session: SessionId, after: u64, limit: u32) -> Result<Vec<StoredEvent>, StoreError> {
        let found = sqlx::query("SELECT * FROM visible_events WHERE user_id = ? AND session_id = ? AND seq > ? ORDER BY seq LIMIT ?")
            .bind(bytes(&caller.user().0))
            .bind(bytes(&session.0))
            .bind(signed(after))
            .bind(i64::from(limit))
            .fetch_all(self.readers.for_user(caller))
            .await
            .map_err(Failure::from)?;
        if found.is_empty() {
            // Distinguishes "no new events" from "no such session".
            self.log_state(caller, session).await?;
        }
        Ok(found.iter().map(rows::event).collect::<Result<_, _>>()?)
    }

    async fn append_events(
        &self,
        caller: &Caller,
        session: SessionId,
        events: &[EventDraft],
        now: Timestamp,
    ) -> Result<Vec<u64>, StoreError> {
        let (user, events) = (caller.user(), events.to_vec());
        let appended =
            self.write(move |c| Box::pin(async move { append_events(&mut WriteTransaction(c), user, session, &events, now).await }));
        Ok(appended.await?)
    }

    async fn prune_events(&self, before: Timestamp, keep: u64) -> Result<u64, StoreError> {
        let keep = signed(keep);
        let work: Option<i64> = sqlx::query_scalar(CANDIDATE)
            .bind(millis(before))
            .bind(keep)
            .bind(1)
            .fetch_optional(self.readers.for_server())
            .await
            .map_err(Failure::from)?;
        if work.is_none() {
            return Ok(0);
        }
        Ok(self.write(move |c| Box::pin(async move { prune_events(&mut WriteTransaction(c), before, keep).await })).await?)
    }
}

#[async_trait]
impl EventStatements for WriteTransaction<'_> {
    async fn reserve_event_numbers(
        &mut self,
        user: UserId,
        session: SessionId,
        count: i64,
        now: Timestamp,
    ) -> Result<Option<i64>, Failure> {
        let head = sqlx::query_scalar(
            "UPDATE sessions SET event_head = event_head + ?3,
                 oldest_event_at = CASE WHEN ?3 > 0 THEN COALESCE(oldest_event_at, ?4) ELSE oldest_event_at END
             WHERE user_id = ?1 AND id = ?2 AND deletion_at IS NULL RETURNING event_head",
        );
        let head = head.bind(bytes(&user.0)).bind(bytes(&session.0)).bind(count).bind(millis(now));
        Ok(head.fetch_optional(&mut *self.0).await?)
    }

    async fn insert_events(&mut self, user: UserId, session: SessionId, events: &[NewEvent]) -> Result<(), Failure> {
        let mut sql = QueryBuilder::<Sqlite>::new("INSERT INTO events (user_id, session_id, seq, id, kind, created_at, data) ");
        sql.push_values(events, |mut row, event| {
            row.push_bind(bytes(&user.0)).push_bind(bytes(&session.0)).push_bind(event.seq).push_bind(bytes(&event.id.0));
            row.push_bind(event.kind).push_bind(millis(event.created_at)).push_bind(&event.data);
        });
        sql.build().persistent(events.len() == 1).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn logs_to_prune(&mut self, before: Timestamp, keep: i64, limit: u32) -> Result<Vec<PrunedLog>, Failure> {
        let logs = sqlx::query(
            "SELECT user_id, id, event_head, event_floor FROM visible_sessions WHERE oldest_event_at < ?1
             UNION SELECT user_id, id, event_head, event_floor FROM visible_sessions
                   WHERE event_head - event_floor >= ?2 AND oldest_event_at IS NOT NULL
             LIMIT ?3",
        );
        let logs = logs.bind(millis(before)).bind(keep).bind(limit).fetch_all(&mut *self.0).await?;
        let log = |row| {
            let c = Columns::of(row, "sessions");
            let (user, session) = (UserId(c.id("user_id")?), SessionId(c.id("id")?));
            Ok(PrunedLog { user, session, head: c.integer("event_head")?, floor: c.integer("event_floor")? })
        };
        logs.iter().map(log).collect()
    }

    async fn first_event_since(&mut self, log: &PrunedLog, time: Timestamp, bound: i64) -> Result<Option<i64>, Failure> {
        let young = sqlx::query_scalar(
            "SELECT seq FROM visible_events WHERE user_id = ? AND session_id = ? AND seq < ? AND created_at >= ? ORDER BY seq LIMIT 1",
        );
        let young = young.bind(bytes(&log.user.0)).bind(bytes(&log.session.0)).bind(bound).bind(millis(time));
        Ok(young.fetch_optional(&mut *self.0).await?)
    }

    async fn delete_events_below(&mut self, log: &PrunedLog, floor: i64) -> Result<u64, Failure> {
        let (user, session) = (bytes(&log.user.0), bytes(&log.session.0));
        let old = sqlx::query("DELETE FROM events WHERE user_id = ? AND session_id = ? AND seq < ?").bind(user).bind(session).bind(floor);
        let deleted = old.execute(&mut *self.0).await?.rows_affected();
        let raised = sqlx::query(
            "UPDATE sessions SET event_floor = ?3,
                 oldest_event_at = (SELECT created_at FROM visible_events WHERE user_id = ?1 AND session_id = ?2 AND seq = ?3)
             WHERE user_id = ?1 AND id = ?2",
        );
        raised.bind(user).bind(session).bind(floor).execute(&mut *self.0).await?;
        Ok(deleted)
    }
}

/// Selects logs with events to prune: `?1` before, `?2` keep, `?3` limit.
const CANDIDATE: &str = "SELECT 1 FROM (
        SELECT user_id, id FROM visible_sessions WHERE oldest_event_at < ?1
        UNION SELECT user_id, id FROM visible_sessions WHERE event_head - event_floor >= ?2 AND oldest_event_at IS NOT NULL
    ) LIMIT ?3";
