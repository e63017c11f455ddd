//! Appends to, reads and prunes the numbered event log of each session.

use async_trait::async_trait;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};
use uuid::Uuid;

use super::{
    SqliteStore,
    codec::{bytes, json, millis, signed},
    failure::Failure,
    rows,
    rows::Columns,
    session_deletion::hidden_session_ids,
};
use recall_domain::{Caller, EventDraft, SessionId, StoredEvent, Timestamp};
use recall_ports::{EventLog, LogState, StoreError};

/// Most events that one `prune_events` call removes. It then holds the writer for milliseconds only.
const PRUNE_EVENTS: u64 = 2_000;
/// Most sessions that one call examines.
const PRUNE_SESSIONS: i64 = 100;

#[async_trait]
impl EventLog for SqliteStore {
    async fn log_state(&self, caller: &Caller, session: SessionId) -> Result<LogState, StoreError> {
        let row = sqlx::query("SELECT epoch, event_head, event_floor FROM sessions WHERE user_id = ? AND id = ? AND deletion_at IS NULL")
            .bind(bytes(&caller.user().0))
            .bind(bytes(&session.0))
            .fetch_optional(self.readers.for_user(caller))
            .await
            .map_err(Failure::from)?
            .ok_or(Failure::NotFound)?;
        let c = Columns::of(&row, "sessions");
        Ok(LogState { epoch: c.text("epoch")?, head: c.count("event_head")?, floor: c.count("event_floor")? })
    }

    async fn events_after(&self, caller: &Caller, session: SessionId, after: u64, limit: u32) -> Result<Vec<StoredEvent>, StoreError> {
        let found = sqlx::query(concat!(
            "SELECT * FROM events WHERE user_id = ?1 AND session_id = ?2 AND seq > ?3 AND ?2 NOT IN ",
            hidden_session_ids!(),
            " ORDER BY seq LIMIT ?4"
        ))
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
        let (user, events) = (caller.user().0, events.to_vec());
        Ok(self.write(move |c| Box::pin(async move { append(c, user, session, &events, now).await })).await?)
    }

    async fn prune_events(&self, before: Timestamp, keep: u64) -> Result<u64, StoreError> {
        let (before, keep) = (millis(before), signed(keep));
        let work: Option<i64> = sqlx::query_scalar(CANDIDATE)
            .bind(before)
            .bind(keep)
            .bind(1)
            .fetch_optional(self.readers.for_server())
            .await
            .map_err(Failure::from)?;
        if work.is_none() {
            return Ok(0);
        }
        Ok(self.write(move |c| Box::pin(async move { prune_logs(c, before, keep).await })).await?)
    }
}

/// Appends events under the next numbers of the log, and returns these numbers.
pub(super) async fn append(
    c: &mut SqliteConnection,
    user: Uuid,
    session: SessionId,
    events: &[EventDraft],
    now: Timestamp,
) -> Result<Vec<u64>, Failure> {
    let count = signed(events.len() as u64);
    let head = sqlx::query_scalar::<_, i64>(
        "UPDATE sessions SET event_head = event_head + ?3,
             oldest_event_at = CASE WHEN ?3 > 0 THEN COALESCE(oldest_event_at, ?4) ELSE oldest_event_at END
         WHERE user_id = ?1 AND id = ?2 AND deletion_at IS NULL RETURNING event_head",
    )
    .bind(bytes(&user))
    .bind(bytes(&session.0))
    .bind(count)
    .bind(millis(now))
    .fetch_optional(&mut *c)
    .await?
    .ok_or(Failure::NotFound)?;
    let numbered: Vec<_> = events.iter().zip(head - count + 1..).map(|(event, seq)| (seq, event, now)).collect();
    insert(c, user, session.0, &numbered).await?;
    Ok(numbered.iter().map(|(seq, ..)| seq.unsigned_abs()).collect())
}

/// Inserts events under numbers that were allocated earlier in the same transaction.
pub(super) async fn insert(
    c: &mut SqliteConnection,
    user: Uuid,
    session: Uuid,
    events: &[(i64, &EventDraft, Timestamp)],
) -> Result<(), Failure> {
    if events.is_empty() {
        return Ok(());
    }
    let rows = events
        .iter()
        .map(|(seq, event, at)| Ok((*seq, event.id.0, event.body.kind(), millis(*at), json(&event.body, "an event")?)))
        .collect::<Result<Vec<_>, Failure>>()?;
    let single = rows.len() == 1;
    let mut sql = QueryBuilder::<Sqlite>::new("INSERT INTO events (user_id, session_id, seq, id, kind, created_at, data) ");
    sql.push_values(rows, |mut row, (seq, id, kind, at, data)| {
        row.push_bind(bytes(&user)).push_bind(bytes(&session)).push_bind(seq).push_bind(bytes(&id));
        row.push_bind(kind).push_bind(at).push_bind(data);
    });
    sql.build().persistent(single).execute(c).await?;
    Ok(())
}

/// Selects logs with events to prune: `?1` before, `?2` keep, `?3` limit.
const CANDIDATE: &str = "SELECT 1 FROM (
        SELECT user_id, id FROM sessions WHERE oldest_event_at < ?1
        UNION SELECT user_id, id FROM sessions WHERE event_head - event_floor >= ?2 AND oldest_event_at IS NOT NULL
    ) LIMIT ?3";

/// Removes the oldest events of some logs. It always removes a prefix, so the rest has no gaps.
async fn prune_logs(c: &mut SqliteConnection, before: i64, keep: i64) -> Result<u64, Failure> {
    let logs = sqlx::query(
        "SELECT user_id, id, event_head, event_floor FROM sessions WHERE oldest_event_at < ?1
         UNION SELECT user_id, id, event_head, event_floor FROM sessions
               WHERE event_head - event_floor >= ?2 AND oldest_event_at IS NOT NULL
         LIMIT ?3",
    )
    .bind(before)
    .bind(keep)
    .bind(PRUNE_SESSIONS)
    .fetch_all(&mut *c)
    .await?;
    let mut removed = 0;
    for log in &logs {
        if removed >= PRUNE_EVENTS {
            break;
        }
        let log = Columns::of(log, "sessions");
        let (user, session) = (log.id("user_id")?, log.id("id")?);
        let (head, floor) = (log.integer("event_head")?, log.integer("event_floor")?);
        let bound = floor.saturating_add(signed(PRUNE_EVENTS - removed)).min(head + 1);
        // The first event that is young enough to stay. Pruning by time alone would leave gaps after the clock jumped back.
        let young: Option<i64> = sqlx::query_scalar(
            "SELECT seq FROM events WHERE user_id = ? AND session_id = ? AND seq < ? AND created_at >= ? ORDER BY seq LIMIT 1",
        )
        .bind(bytes(&user))
        .bind(bytes(&session))
        .bind(bound)
        .bind(before)
        .fetch_optional(&mut *c)
        .await?;
        let new_floor = young.unwrap_or(bound).max(head.saturating_sub(keep) + 1).min(bound);
        removed += sqlx::query("DELETE FROM events WHERE user_id = ? AND session_id = ? AND seq < ?")
            .bind(bytes(&user))
            .bind(bytes(&session))
            .bind(new_floor)
            .execute(&mut *c)
            .await?
            .rows_affected();
        sqlx::query(
            "UPDATE sessions SET event_floor = ?3,
                 oldest_event_at = (SELECT created_at FROM events WHERE user_id = ?1 AND session_id = ?2 AND seq = ?3)
             WHERE user_id = ?1 AND id = ?2",
        )
        .bind(bytes(&user))
        .bind(bytes(&session))
        .bind(new_floor)
        .execute(&mut *c)
        .await?;
    }
    Ok(removed)
}
