//! The statement that shares the workers among users by round robin; see [`recall_store::RoundRobin`].

use super::{
    PostgresStore,
    codec::{interval, time},
    failure::Failure,
    jobs::JobRow,
    row_security::RowAccess,
};
use recall_domain::{Timestamp, UserId};

/// Claims heads that no other process is claiming.
///
/// It is one statement, and it does not wait for the disk: a claim need not outlive its worker.
pub(super) async fn claim(store: &PostgresStore, now: Timestamp, lease: std::time::Duration, limit: u32) -> Result<Vec<JobRow>, Failure> {
    let last = store.round_robin.last();
    // `walk` steps from user to user with a head, wrapping around at the end. It stops when enough users have a due head or a
    // thousand were examined. `rest` takes the heads that have been ready longest, if the walk gave too few or other processes took
    // them. All parts are materialized. Otherwise the planner might run them again per row and claim more than requested.
    let rows = sqlx::query_as!(
        JobRow,
        r#"WITH RECURSIVE walk (place, found, wrapped, user_id, due) AS (
             SELECT 0, 0::bigint, false, $4::uuid, false
             WHERE (SELECT ready_at FROM jobs WHERE head ORDER BY ready_at LIMIT 1) <= queue_time($1)
             UNION ALL
             SELECT w.place + 1, w.found + n.due::int, w.wrapped OR n.wrapped, n.user_id, n.due
             FROM walk w CROSS JOIN LATERAL (
                 (SELECT false AS wrapped, user_id, ready_at <= queue_time($1) AS due FROM jobs
                  WHERE head AND user_id > w.user_id ORDER BY user_id, ready_at, id LIMIT 1)
                 UNION ALL
                 (SELECT true, user_id, ready_at <= queue_time($1) FROM jobs
                  WHERE head AND NOT w.wrapped ORDER BY user_id, ready_at, id LIMIT 1)
                 LIMIT 1) n
             WHERE w.found < $3 AND w.place < 1000 AND (NOT (w.wrapped OR n.wrapped) OR n.user_id <= $4)),
         fair AS MATERIALIZED (
             SELECT h.id FROM walk w CROSS JOIN LATERAL (
                 SELECT id, row_number() OVER (ORDER BY ready_at, id) AS turn FROM (
                     SELECT id, ready_at FROM jobs WHERE head AND user_id = w.user_id AND ready_at <= queue_time($1)
                     ORDER BY ready_at, id LIMIT $3) AS heads) AS h
             WHERE w.due ORDER BY h.turn, w.place LIMIT $3),
         due AS MATERIALIZED (
             SELECT id FROM jobs WHERE id = ANY(ARRAY(SELECT id FROM fair)) AND head AND ready_at <= queue_time($1) FOR UPDATE SKIP LOCKED),
         rest AS MATERIALIZED (
             SELECT id FROM jobs WHERE head AND ready_at <= queue_time($1) AND id <> ALL (ARRAY(SELECT id FROM fair))
             ORDER BY ready_at, id LIMIT greatest($3 - (SELECT count(*) FROM due), 0) FOR UPDATE SKIP LOCKED),
         loosely AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
         UPDATE jobs SET ready_at = queue_time($1) + $2, token = token + 1, attempts = attempts + 1, holder = $5
         FROM (SELECT id, true AS fair FROM due UNION ALL SELECT id, false FROM rest) AS taken, loosely WHERE jobs.id = taken.id
         RETURNING jobs.id, token, user_id, role, session_id, lane, message_id, answer, document, attempts, queued_at, taken.fair AS "fair!""#,
        time(now),
        interval(lease),
        i64::from(limit),
        last.0,
        store.instance,
    );
    let rows = rows.fetch_all(store.pool.writing(RowAccess::Queue)).await?;
    store.round_robin.served(last, rows.iter().filter(|row| row.fair).map(|row| UserId(row.user_id)));
    Ok(rows)
}
