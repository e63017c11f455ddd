//! Reads the log of a memory, and numbers and prunes changes of sessions in it.

use async_trait::async_trait;

use super::{
    PostgresStore,
    codec::{signed, time},
    failure::Failure,
    rows::{Column, EventRow},
    transaction::WriteTransaction,
};
use recall_domain::{Caller, StoredEvent, Timestamp, UserId};
use recall_ports::LogState;
use recall_store::{MemoryLogStatements, Refusal, SessionChange, memory_epoch};

impl PostgresStore {
    /// Returns the state of the log of the caller's memory.
    pub(super) async fn memory_state(&self, caller: &Caller) -> Result<LogState, Failure> {
        let row = sqlx::query!(
            r#"SELECT f.name AS database, coalesce(u.memory_head, 0) AS "head!", coalesce(u.memory_floor, 1) AS "floor!"
             FROM graph_feed f LEFT JOIN users u ON u.id = $1"#,
            caller.user().0,
        );
        let row = row.fetch_one(self.pool.reading(caller)).await?;
        state(&row.database, caller.user(), row.head, row.floor)
    }

    /// Returns events of the caller's memory. One statement reads both; a log without such events gives one row, whose event is NULL.
    pub(super) async fn memory_page(&self, caller: &Caller, after: u64, limit: u32) -> Result<(LogState, Vec<StoredEvent>), Failure> {
        let found = sqlx::query!(
            r#"SELECT f.name AS database, coalesce(u.memory_head, 0) AS "head!", coalesce(u.memory_floor, 1) AS "floor!",
                 e.memory_seq AS "seq?", e.id AS "id?", e.kind AS "kind?", e.created_at AS "created_at?", e.data AS "data?"
             FROM graph_feed f LEFT JOIN users u ON u.id = $1 LEFT JOIN LATERAL (
                 (SELECT memory_seq, id, kind, created_at, data FROM visible_events
                  WHERE user_id = $1 AND memory_seq > greatest($2, u.memory_floor - 1) AND memory_seq > 0 ORDER BY memory_seq LIMIT $3)
                 UNION ALL
                 (SELECT memory_seq, id, kind, created_at, data FROM session_changes
                  WHERE user_id = $1 AND memory_seq > greatest($2, u.memory_floor - 1) ORDER BY memory_seq LIMIT $3)
                 ORDER BY 1 LIMIT $3) e ON true
             ORDER BY e.memory_seq"#,
            caller.user().0,
            signed(after),
            i64::from(limit),
        );
        let found = found.fetch_all(self.pool.reading(caller)).await?;
        let first = found.first().ok_or(Refusal::Damaged { table: "graph_feed", column: "id" })?;
        let state = state(&first.database, caller.user(), first.head, first.floor)?;
        let events = found.into_iter().filter_map(|row| {
            let (Some(seq), Some(id), Some(kind), Some(created_at), Some(data)) = (row.seq, row.id, row.kind, row.created_at, row.data)
            else {
                return None;
            };
            Some(EventRow { seq, id, kind, created_at, data }.read())
        });
        Ok((state, events.collect::<Result<_, _>>()?))
    }
}

fn state(database: &str, user: UserId, head: i64, floor: i64) -> Result<LogState, Failure> {
    let of = |column| Column("users", column);
    Ok(LogState { epoch: memory_epoch(database, user), head: of("memory_head").count(head)?, floor: of("memory_floor").count(floor)? })
}

#[async_trait]
impl MemoryLogStatements for WriteTransaction<'_> {
    async fn reserve_memory_number(&mut self, user: UserId) -> Result<Option<i64>, Failure> {
        let head = sqlx::query_scalar!("UPDATE users SET memory_head = memory_head + 1 WHERE id = $1 RETURNING memory_head", user.0);
        Ok(head.fetch_optional(&mut *self.0).await?)
    }

    async fn insert_session_change(&mut self, user: UserId, change: &SessionChange) -> Result<(), Failure> {
        let insert = sqlx::query!(
            "INSERT INTO session_changes (user_id, memory_seq, id, kind, created_at, data) VALUES ($1, $2, $3, $4, $5, $6::text::json)",
            user.0,
            change.memory_seq,
            change.id.0,
            change.kind,
            time(change.created_at),
            change.data,
        );
        insert.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn raise_memory_floor(&mut self, user: UserId, floor: i64) -> Result<(), Failure> {
        let raised = sqlx::query!("UPDATE users SET memory_floor = $2 WHERE id = $1 AND memory_floor < $2", user.0, floor);
        raised.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn changes_to_prune(&mut self, before: Timestamp, limit: u32) -> Result<Vec<(UserId, i64)>, Failure> {
        let found = sqlx::query!(
            r#"SELECT user_id, max(memory_seq) AS "last!" FROM (
                 SELECT user_id, memory_seq FROM session_changes WHERE created_at < $1 ORDER BY created_at LIMIT $2) AS oldest
             GROUP BY user_id"#,
            time(before),
            i64::from(limit),
        );
        let found = found.fetch_all(&mut *self.0).await?.into_iter();
        Ok(found.map(|row| (UserId(row.user_id), row.last)).collect())
    }

    async fn delete_changes_until(&mut self, user: UserId, last: i64) -> Result<u64, Failure> {
        let gone = sqlx::query!("DELETE FROM session_changes WHERE user_id = $1 AND memory_seq <= $2", user.0, last);
        Ok(gone.execute(&mut *self.0).await?.rows_affected())
    }
}
