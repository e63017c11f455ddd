//! Deletes all data of one user, a bounded number of rows at a time.

use std::collections::BTreeMap;

use async_trait::async_trait;
use sqlx::{AssertSqlSafe, Row, SqliteConnection};
use uuid::Uuid;

use super::{
    SqliteStore,
    codec::{bytes, json, millis},
    failure::Failure,
    rows::Columns,
    visits,
};
use recall_domain::{Caller, Day, SessionId, Timestamp, UserId, ViewerRole};
use recall_ports::{
    AccountDeletion, AccountDeletionStep, AccountDeletionStore, StoreError,
    account_deletion::{ERASED, USAGE},
};
use recall_store::Refusal;

#[async_trait]
impl AccountDeletionStore for SqliteStore {
    async fn begin_erasure(&self, caller: &Caller, now: Timestamp) -> Result<AccountDeletion, StoreError> {
        let user = caller.user().0;
        Ok(self.write(move |c| Box::pin(begin(c, user, now))).await?)
    }

    async fn erase(&self, caller: &Caller, now: Timestamp, limit: u32) -> Result<AccountDeletionStep, StoreError> {
        let user = caller.user().0;
        Ok(self.write(move |c| Box::pin(delete_step(c, user, now, limit))).await?)
    }

    async fn erasure(&self, caller: &Caller) -> Result<Option<AccountDeletion>, StoreError> {
        let mut reader = self.readers.for_server().acquire().await.map_err(Failure::from)?;
        Ok(load(&mut reader, caller.user().0).await?)
    }

    async fn unfinished_erasures(&self, since: Timestamp) -> Result<Vec<Caller>, StoreError> {
        let found = sqlx::query("SELECT user_id FROM erasures WHERE ended_at IS NULL AND touched_at < ? ORDER BY touched_at LIMIT 100")
            .bind(millis(since))
            .fetch_all(self.readers.for_server())
            .await
            .map_err(Failure::from)?;
        let caller = |row| Ok(Caller::verified(UserId(Columns::of(row, "erasures").id("user_id")?), ViewerRole::User));
        Ok(found.iter().map(caller).collect::<Result<_, Failure>>()?)
    }

    async fn forget_erasures(&self, today: Day, limit: u32) -> Result<u64, StoreError> {
        let forgotten = self.write(move |c| {
            Box::pin(async move {
                let gone = sqlx::query(
                    "DELETE FROM erasures WHERE user_id IN (SELECT user_id FROM erasures WHERE ended_at < ? LIMIT ?)
                     RETURNING user_id, begun_at / 86400000 AS day",
                );
                let before = i64::from(today.0).saturating_mul(86_400_000);
                let gone = gone.bind(before).bind(limit).fetch_all(&mut *c).await?;
                for row in &gone {
                    let (user, day): (&[u8], i64) = (row.try_get("user_id")?, row.try_get("day")?);
                    // Usage after the deletion began is kept: it is not part of this deletion.
                    let used = sqlx::query("DELETE FROM usage_days WHERE user_id = ? AND day <= ?").bind(user.to_vec()).bind(day);
                    used.execute(&mut *c).await?;
                    visits::forget_visitor(c, user).await?;
                }
                Ok(gone.len() as u64)
            })
        });
        Ok(forgotten.await?)
    }

    async fn holdings(&self, caller: &Caller) -> Result<BTreeMap<String, u64>, StoreError> {
        let mut snapshot = self.readers.for_server().begin().await.map_err(Failure::from)?;
        let mut held = BTreeMap::new();
        for table in ERASED {
            let sql = format!("SELECT COUNT(*) FROM {table} WHERE user_id = ?");
            let query = sqlx::query_scalar::<_, i64>(AssertSqlSafe(sql)).bind(bytes(&caller.user().0).to_vec());
            add_count(&mut held, table, query.fetch_one(&mut *snapshot).await.map_err(Failure::from)?.unsigned_abs());
        }
        Ok(held)
    }
}

fn add_count(deleted: &mut BTreeMap<String, u64>, table: &str, rows: u64) {
    if rows > 0 {
        *deleted.entry(table.to_owned()).or_default() += rows;
    }
}

/// Sets or clears the deletion mark of a user.
///
/// Both times the versions increase, which voids indexes and plans that were made from the earlier data.
async fn set_deletion_mark(c: &mut SqliteConnection, user: Uuid, erasing: bool) -> Result<(), Failure> {
    let marked = sqlx::query(
        "UPDATE users SET erasing = ?2, importing = 0, feed_generation = feed_generation + 1,
             knowledge_version = knowledge_version + 1 WHERE id = ?1",
    )
    .bind(bytes(&user))
    .bind(erasing);
    if marked.execute(c).await?.rows_affected() == 0 { Err(Refusal::NotFound.into()) } else { Ok(()) }
}

pub(super) async fn begin(c: &mut SqliteConnection, user: Uuid, now: Timestamp) -> Result<AccountDeletion, Failure> {
    if let Some(erasure) = load(c, user).await?
        && erasure.ended_at.is_none()
    {
        return Ok(erasure);
    }
    set_deletion_mark(c, user, true).await?;
    sqlx::query(
        "INSERT INTO erasures (user_id, begun_at, touched_at) VALUES (?1, ?2, ?2)
         ON CONFLICT (user_id) DO UPDATE SET begun_at = ?2, touched_at = ?2, ended_at = NULL, deleted = '{}'",
    )
    .bind(bytes(&user))
    .bind(millis(now))
    .execute(&mut *c)
    .await?;
    let mut erasure = load(c, user).await?.ok_or(Refusal::NotFound)?;
    for table in ["access_tokens", "visits"] {
        let (rows, _) = delete_rows(c, user, table, now, u32::MAX).await?;
        add_count(&mut erasure.deleted, table, rows);
    }
    save_progress(c, user, &erasure, now).await?;
    Ok(erasure)
}

async fn delete_step(c: &mut SqliteConnection, user: Uuid, now: Timestamp, limit: u32) -> Result<AccountDeletionStep, Failure> {
    let mut erasure = load(c, user).await?.ok_or(Refusal::NotFound)?;
    let mut sessions = Vec::new();
    if erasure.ended_at.is_some() {
        return Ok(AccountDeletionStep { erasure, sessions });
    }
    let mut left = limit.saturating_sub(close_logs(c, user, limit).await?);
    for table in ERASED {
        if left == 0 {
            break;
        }
        let (rows, gone) = delete_rows(c, user, table, now, left).await?;
        add_count(&mut erasure.deleted, table, rows);
        sessions.extend(gone);
        left = left.saturating_sub(u32::try_from(rows).unwrap_or(u32::MAX));
    }
    if left > 0 {
        set_deletion_mark(c, user, false).await?;
        erasure.ended_at = Some(now);
    }
    save_progress(c, user, &erasure, now).await?;
    Ok(AccountDeletionStep { erasure, sessions })
}

/// Closes logs, so that no reader takes a partly deleted log for a complete one.
async fn close_logs(c: &mut SqliteConnection, user: Uuid, limit: u32) -> Result<u32, Failure> {
    let closed = sqlx::query(
        "UPDATE sessions SET event_floor = event_head + 1, oldest_event_at = NULL WHERE user_id = ?1 AND id IN
             (SELECT id FROM sessions WHERE user_id = ?1 AND event_floor <= event_head LIMIT ?2)",
    )
    .bind(bytes(&user))
    .bind(limit);
    Ok(u32::try_from(closed.execute(c).await?.rows_affected()).unwrap_or(u32::MAX))
}

/// Deletes rows of one table. Returns their number, and their ids if they are sessions.
async fn delete_rows(
    c: &mut SqliteConnection,
    user: Uuid,
    table: &str,
    now: Timestamp,
    limit: u32,
) -> Result<(u64, Vec<SessionId>), Failure> {
    let key: String = sqlx::query_scalar(
        "SELECT group_concat(name, ', ') FROM (SELECT name FROM pragma_table_info(?) WHERE pk > 0 AND name <> 'user_id' ORDER BY pk)",
    )
    .bind(table)
    .fetch_one(&mut *c)
    .await?;
    let before = if table == USAGE { "AND day < ?3" } else { "AND ?3 IS NOT NULL" };
    let returning = if table == "sessions" { "RETURNING id" } else { "" };
    let sql = format!(
        "DELETE FROM {table} WHERE user_id = ?1 AND ({key}) IN (SELECT {key} FROM {table} WHERE user_id = ?1 {before} LIMIT ?2) {returning}"
    );
    let query = sqlx::query(AssertSqlSafe(sql)).bind(bytes(&user).to_vec()).bind(limit).bind(Day::of(now).0);
    if !returning.is_empty() {
        let gone = query.fetch_all(c).await?;
        let ids = gone.iter().map(|row| Ok(SessionId(Columns::of(row, "sessions").id("id")?))).collect::<Result<Vec<_>, Failure>>()?;
        return Ok((ids.len() as u64, ids));
    }
    Ok((query.execute(c).await?.rows_affected(), Vec::new()))
}

async fn load(c: &mut SqliteConnection, user: Uuid) -> Result<Option<AccountDeletion>, Failure> {
    let found =
        sqlx::query("SELECT begun_at, ended_at, deleted FROM erasures WHERE user_id = ?").bind(bytes(&user)).fetch_optional(c).await?;
    let erasure = found.map(|row| {
        let c = Columns::of(&row, "erasures");
        let deleted: &str = row.try_get("deleted")?;
        let deleted = serde_json::from_str(deleted).map_err(|_| Refusal::Damaged { table: "erasures", column: "deleted" })?;
        Ok(AccountDeletion { begun_at: c.time("begun_at")?, ended_at: c.opt_time("ended_at")?, deleted })
    });
    erasure.transpose()
}

async fn save_progress(c: &mut SqliteConnection, user: Uuid, erasure: &AccountDeletion, now: Timestamp) -> Result<(), Failure> {
    sqlx::query("UPDATE erasures SET touched_at = ?, ended_at = ?, deleted = ? WHERE user_id = ?")
        .bind(millis(now))
        .bind(erasure.ended_at.map(millis))
        .bind(json(&erasure.deleted, "counts")?)
        .bind(bytes(&user))
        .execute(c)
        .await?;
    Ok(())
}
