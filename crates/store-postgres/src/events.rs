//! Appends to, reads and prunes the numbered event log of each session.

use std::borrow::Cow;

use async_trait::async_trait;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{
    PostgresStore,
    codec::{json, signed, time},
    failure::Failure,
    row_security::{self, RowAccess},
    rows::{Column, EventRow},
};
use recall_domain::{Caller, EventDraft, SessionId, StoredEvent, Timestamp};
use recall_ports::{EventLog, LogState, StoreError};

/// Most events that one `prune_events` call removes. It then locks the rows of their sessions for milliseconds only.
const PRUNE_EVENTS: u64 = 2_000;
/// Most sessions that one call examines.
const PRUNE_SESSIONS: i64 = 100;

#[async_trait]
impl EventLog for PostgresStore {
    async fn log_state(&self, caller: &Caller, session: SessionId) -> Result<LogState, StoreError> {
        let row = sqlx::query!(
            "SELECT epoch, event_head, event_floor FROM sessions WHERE user_id = $1 AND id = $2 AND deletion_at IS NULL",
            caller.user().0,
            session.0,
        );
        let row = row.fetch_optional(self.pool.reading(caller)).await.map_err(Failure::from)?.ok_or(Failure::NotFound)?;
        let of = |column| Column("sessions", column);
        Ok(LogState { epoch: row.epoch, head: of("event_head").count(row.event_head)?, floor: of("event_floor").count(row.event_floor)? })
    }

    async fn events_after(&self, caller: &Caller, session: SessionId, after: u64, limit: u32) -> Result<Vec<StoredEvent>, StoreError> {
        let found = sqlx::query_as!(
            EventRow,
            "SELECT seq, id, kind, created_at, data FROM events WHERE user_id = $1 AND session_id = $2 AND seq > $3
             AND NOT EXISTS (SELECT 1 FROM sessions WHERE user_id = $1 AND id = $2 AND deletion_at IS NOT NULL)
             ORDER BY seq LIMIT $4",
            caller.user().0,
            session.0,
            signed(after),
            i64::from(limit),
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        if found.is_empty() {
            // Distinguishes "no new events" from "no such session".
            self.log_state(caller, session).await?;
        }
        Ok(found.into_iter().map(EventRow::read).collect::<Result<_, _>>()?)
    }

    async fn append_events(
        &self,
        caller: &Caller,
        session: SessionId,
        events: &[EventDraft],
        now: Timestamp,
    ) -> Result<Vec<u64>, StoreError> {
        let input = (caller.user().0, session, events, now);
        let seqs = self.write(caller, &input, |c, &(user, session, events, now)| Box::pin(append(c, user, session, events, now))).await?;
        self.notifications.committed(caller, session);
        Ok(seqs)
    }

    async fn prune_events(&self, before: Timestamp, keep: u64) -> Result<u64, StoreError> {
        let input = (time(before), signed(keep));
        Ok(self.write(RowAccess::Pruning, &input, |c, &(before, keep)| Box::pin(prune_logs(c, before, keep))).await?)
    }
}

/// Appends events under the next numbers of the log, and returns these numbers.
pub(super) async fn append(
    c: &mut PgConnection,
    user: Uuid,
    session: SessionId,
    events: &[EventDraft],
    now: Timestamp,
) -> Result<Vec<u64>, Failure> {
    let count = signed(events.len() as u64);
    let head = sqlx::query_scalar!(
        "UPDATE sessions SET event_head = event_head + $3,
             oldest_event_at = CASE WHEN $3 > 0 THEN coalesce(oldest_event_at, $4) ELSE oldest_event_at END
         WHERE user_id = $1 AND id = $2 AND deletion_at IS NULL RETURNING event_head",
        user,
        session.0,
        count,
        time(now),
    );
    let head = head.fetch_optional(&mut *c).await?.ok_or(Failure::NotFound)?;
    let numbered: Vec<_> = events.iter().zip(head - count + 1..).map(|(event, seq)| (seq, event, now)).collect();
    insert(c, user, session.0, &numbered).await?;
    Ok(numbered.iter().map(|(seq, ..)| seq.unsigned_abs()).collect())
}

/// Inserts events under numbers that were allocated earlier in the same transaction.
pub(super) async fn insert(
    c: &mut PgConnection,
    user: Uuid,
    session: Uuid,
    events: &[(i64, &EventDraft, Timestamp)],
) -> Result<(), Failure> {
    if events.is_empty() {
        return Ok(());
    }
    let (mut seqs, mut ids, mut kinds, mut times, mut bodies) = (vec![], vec![], vec![], vec![], vec![]);
    for (seq, event, at) in events {
        seqs.push(*seq);
        ids.push(event.id.0);
        kinds.push(Cow::Borrowed(event.body.kind()));
        times.push(time(*at));
        bodies.push(Cow::Owned(json(&event.body, "an event")?));
    }
    let insert = sqlx::query!(
        "INSERT INTO events (user_id, session_id, seq, id, kind, created_at, data)
         SELECT $1, $2, seq, id, kind, created_at, data::json
         FROM unnest($3::bigint[], $4::uuid[], $5::text[], $6::timestamptz[], $7::text[]) AS e (seq, id, kind, created_at, data)",
        user,
        session,
        &seqs[..],
        &ids[..],
        &kinds[..],
        &times[..],
        &bodies[..],
    );
    insert.execute(c).await?;
    Ok(())
}

/// Removes the oldest events of some logs. It always removes a prefix, so the rest has no gaps.
///
/// Logs with a concurrent writer are left for the next call.
async fn prune_logs(c: &mut PgConnection, before: Timestamp, keep: i64) -> Result<u64, Failure> {
    let logs = sqlx::query!(
        "SELECT user_id, id, event_head, event_floor FROM sessions
         WHERE oldest_event_at < $1 OR (log_length >= $2 AND oldest_event_at IS NOT NULL)
         LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED",
        before,
        keep,
        PRUNE_SESSIONS,
    );
    let logs = logs.fetch_all(&mut *c).await?;
    let mut removed = 0;
    for log in &logs {
        if removed >= PRUNE_EVENTS {
            break;
        }
        let (user, session, head, floor) = (log.user_id, log.id, log.event_head, log.event_floor);
        row_security::switch_to_user(c, user).await?;
        let bound = floor.saturating_add(signed(PRUNE_EVENTS - removed)).min(head + 1);
        // The first event that is young enough to stay. Pruning by time alone would leave gaps after the clock jumped back.
        let young = sqlx::query_scalar!(
            "SELECT seq FROM events WHERE user_id = $1 AND session_id = $2 AND seq < $3 AND created_at >= $4 ORDER BY seq LIMIT 1",
            user,
            session,
            bound,
            before,
        );
        let young = young.fetch_optional(&mut *c).await?;
        let new_floor = young.unwrap_or(bound).max(head.saturating_sub(keep) + 1).min(bound);
        let old = sqlx::query!("DELETE FROM events WHERE user_id = $1 AND session_id = $2 AND seq < $3", user, session, new_floor);
        removed += old.execute(&mut *c).await?.rows_affected();
        let raised = sqlx::query!(
            "UPDATE sessions SET event_floor = $3,
                 oldest_event_at = (SELECT created_at FROM events WHERE user_id = $1 AND session_id = $2 AND seq = $3)
             WHERE user_id = $1 AND id = $2",
            user,
            session,
            new_floor,
        );
        raised.execute(&mut *c).await?;
    }
    Ok(removed)
}
