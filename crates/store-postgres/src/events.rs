//! Appends to, reads and prunes the numbered event log of each session. `memory_log` reads that of the memory.

use std::{borrow::Cow, sync::Weak};

use async_trait::async_trait;

use super::{
    PostgresStore,
    codec::{column, signed, time},
    failure::Failure,
    row_security::RowAccess,
    rows::{Column, EventRow},
    transaction::WriteTransaction,
};
use recall_domain::{Caller, EventDraft, SessionId, StoredEvent, Timestamp, UserId};
use recall_ports::{CommitListener, EventLog, LogState, StoreError};
use recall_store::{DeletedEvents, EventNumbers, EventStatements, NewEvent, PrunedLog, Refusal, append_events, prune_events};

#[async_trait]
impl EventLog for PostgresStore {
    async fn log_state(&self, caller: &Caller, session: SessionId) -> Result<LogState, StoreError> {
        let row = sqlx::query!(
            r#"SELECT epoch AS "epoch!", event_head AS "event_head!", event_floor AS "event_floor!" FROM visible_sessions
             WHERE user_id = $1 AND id = $2"#,
            caller.user().0,
            session.0,
        );
        let row = row.fetch_optional(self.pool.reading(caller)).await.map_err(Failure::from)?.ok_or(Refusal::NotFound)?;
        let of = |column| Column("sessions", column);
        Ok(LogState { epoch: row.epoch, head: of("event_head").count(row.event_head)?, floor: of("event_floor").count(row.event_floor)? })
    }

    /// One statement reads both. A log without such events gives one row, whose event is NULL.
    async fn log_page(
        &self,
        caller: &Caller,
        session: SessionId,
        after: u64,
        limit: u32,
    ) -> Result<(LogState, Vec<StoredEvent>), StoreError> {
        let found = sqlx::query!(
            r#"SELECT s.epoch AS "epoch!", s.event_head AS "event_head!", s.event_floor AS "event_floor!",
                 e.seq AS "seq?", e.id AS "id?", e.kind AS "kind?", e.created_at AS "created_at?", e.data AS "data?"
             FROM visible_sessions s LEFT JOIN LATERAL (
                 SELECT * FROM visible_events WHERE user_id = $1 AND session_id = $2 AND seq > $3 ORDER BY seq LIMIT $4) e ON true
             WHERE s.user_id = $1 AND s.id = $2 ORDER BY e.seq"#,
            caller.user().0,
            session.0,
            signed(after),
            i64::from(limit),
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        let first = found.first().ok_or(Refusal::NotFound)?;
        let of = |column| Column("sessions", column);
        let (head, floor) = (of("event_head").count(first.event_head)?, of("event_floor").count(first.event_floor)?);
        let state = LogState { epoch: first.epoch.clone(), head, floor };
        let events = found.into_iter().filter_map(|row| {
            let (Some(seq), Some(id), Some(kind), Some(created_at), Some(data)) = (row.seq, row.id, row.kind, row.created_at, row.data)
            else {
                return None;
            };
            Some(EventRow { seq, id, kind, created_at, data }.read())
        });
        Ok((state, events.collect::<Result<_, _>>()?))
    }

    async fn memory_log_state(&self, caller: &Caller) -> Result<LogState, StoreError> {
        Ok(self.memory_state(caller).await?)
    }

    async fn memory_log_page(&self, caller: &Caller, after: u64, limit: u32) -> Result<(LogState, Vec<StoredEvent>), StoreError> {
        Ok(self.memory_page(caller, after, limit).await?)
    }

    async fn append_events(
        &self,
        caller: &Caller,
        session: SessionId,
        events: &[EventDraft],
        now: Timestamp,
    ) -> Result<Vec<u64>, StoreError> {
        let input = (caller.user(), session, events, now);
        let appended = self.write(caller, &input, |c, &(user, session, events, now)| {
            Box::pin(async move { append_events(&mut WriteTransaction(c), user, session, events, now).await })
        });
        let seqs = appended.await?;
        self.notifications.committed(caller, session);
        Ok(seqs)
    }

    async fn prune_events(&self, before: Timestamp, keep: u64) -> Result<u64, StoreError> {
        let input = (before, signed(keep));
        let pruned = self.write(RowAccess::Pruning, &input, |c, &(before, keep)| {
            Box::pin(async move { prune_events(&mut WriteTransaction(c), before, keep).await })
        });
        Ok(pruned.await?)
    }

    fn report_to(&self, listener: Weak<dyn CommitListener>) {
        self.notifications.report_to(listener);
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
    ) -> Result<Option<EventNumbers>, Failure> {
        // The row of the user is updated for each row of `log`, so it is locked after that of the session.
        let numbers = sqlx::query_as!(
            EventNumbers,
            r#"WITH log AS (
                 UPDATE sessions SET event_head = event_head + $3,
                     oldest_event_at = CASE WHEN $3 > 0 THEN coalesce(oldest_event_at, $4) ELSE oldest_event_at END
                 WHERE user_id = $1 AND id = $2 AND deletion_at IS NULL RETURNING event_head),
             memory AS (
                 UPDATE users SET memory_head = memory_head + $3 FROM log WHERE users.id = $1 AND $3 > 0 RETURNING memory_head)
             SELECT log.event_head AS seq, coalesce(memory.memory_head, 0) AS "memory_seq!" FROM log LEFT JOIN memory ON true"#,
            user.0,
            session.0,
            count,
            time(now),
        );
        Ok(numbers.fetch_optional(&mut *self.0).await?)
    }

    async fn insert_events(&mut self, user: UserId, session: SessionId, events: &[NewEvent]) -> Result<(), Failure> {
        let insert = sqlx::query!(
            "INSERT INTO events (user_id, session_id, seq, memory_seq, id, kind, created_at, data)
             SELECT $1, $2, seq, memory_seq, id, kind, created_at, data::json
             FROM unnest($3::bigint[], $4::uuid[], $5::text[], $6::timestamptz[], $7::text[], $8::bigint[])
                  AS e (seq, id, kind, created_at, data, memory_seq)",
            user.0,
            session.0,
            &column(events, |e| e.seq)[..],
            &column(events, |e| e.id.0)[..],
            &column(events, |e| Cow::Borrowed(e.kind))[..],
            &column(events, |e| time(e.created_at))[..],
            &column(events, |e| Cow::Borrowed(e.data.as_str()))[..],
            &column(events, |e| e.memory_seq)[..],
        );
        insert.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn logs_to_prune(&mut self, before: Timestamp, keep: i64, limit: u32) -> Result<Vec<PrunedLog>, Failure> {
        let logs = sqlx::query!(
            r#"SELECT user_id AS "user_id!", id AS "id!", event_head AS "event_head!", event_floor AS "event_floor!" FROM visible_sessions
             WHERE oldest_event_at < $1 OR (log_length >= $2 AND oldest_event_at IS NOT NULL)
             LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED"#,
            time(before),
            keep,
            i64::from(limit),
        );
        let logs = logs.fetch_all(&mut *self.0).await?.into_iter().map(|row| PrunedLog {
            user: UserId(row.user_id),
            session: SessionId(row.id),
            head: row.event_head,
            floor: row.event_floor,
        });
        Ok(logs.collect())
    }

    async fn first_event_since(&mut self, log: &PrunedLog, since: Timestamp, bound: i64) -> Result<Option<i64>, Failure> {
        let young = sqlx::query_scalar!(
            r#"SELECT seq AS "seq!" FROM visible_events WHERE user_id = $1 AND session_id = $2 AND seq < $3 AND created_at >= $4
             ORDER BY seq LIMIT 1"#,
            log.user.0,
            log.session.0,
            bound,
            time(since),
        );
        Ok(young.fetch_optional(&mut *self.0).await?)
    }

    async fn delete_events_below(&mut self, log: &PrunedLog, floor: i64) -> Result<DeletedEvents, Failure> {
        let (user, session) = (log.user.0, log.session.0);
        let old = sqlx::query!(
            r#"WITH gone AS (DELETE FROM events WHERE user_id = $1 AND session_id = $2 AND seq < $3 RETURNING memory_seq)
             SELECT count(*) AS "count!", max(memory_seq) AS last FROM gone"#,
            user,
            session,
            floor,
        );
        let old = old.fetch_one(&mut *self.0).await?;
        let raised = sqlx::query!(
            "UPDATE sessions s SET event_floor = greatest(s.event_floor, $3), oldest_event_at = (
                 SELECT e.created_at FROM visible_events e
                 WHERE e.user_id = $1 AND e.session_id = $2 AND e.seq = greatest(s.event_floor, $3))
             WHERE s.user_id = $1 AND s.id = $2",
            user,
            session,
            floor,
        );
        raised.execute(&mut *self.0).await?;
        Ok(DeletedEvents { count: old.count.unsigned_abs(), last: old.last })
    }
}
