//! Deletes all data of one user, a bounded number of rows at a time.
//!
//! Each step first locks the row of the deletion, so steps of several processes run one after the other. The user's row is locked
//! only at the end. Then nothing of the user is left, except writes that began before the mark and are not yet committed.

use std::collections::BTreeMap;

use async_trait::async_trait;
use sqlx::{AssertSqlSafe, PgConnection, Row};
use uuid::Uuid;

use super::{
    PostgresStore,
    codec::{self, JsonText, json},
    failure::Failure,
    row_security::RowAccess,
    rows::Column,
    visits,
};
use recall_domain::{Caller, Day, SessionId, Timestamp, UserId, ViewerRole};
use recall_ports::{
    AccountDeletion, AccountDeletionStep, AccountDeletionStore, StoreError,
    account_deletion::{ERASED, USAGE},
};
use recall_store::Refusal;

/// A row of `erasures`.
struct ErasureRow {
    begun_at: Timestamp,
    ended_at: Option<Timestamp>,
    deleted: JsonText,
}

macro_rules! erasure {
    ($rest:literal, $user:expr) => {
        sqlx::query_as!(ErasureRow, "SELECT begun_at, ended_at, deleted FROM erasures WHERE user_id = $1" + $rest, $user)
    };
}

#[async_trait]
impl AccountDeletionStore for PostgresStore {
    async fn begin_erasure(&self, caller: &Caller, now: Timestamp) -> Result<AccountDeletion, StoreError> {
        let input = (caller.user().0, now);
        Ok(self.write(caller, &input, |c, &(user, now)| Box::pin(begin(c, user, now))).await?)
    }

    async fn erase(&self, caller: &Caller, now: Timestamp, limit: u32) -> Result<AccountDeletionStep, StoreError> {
        let input = (caller.user().0, now, limit);
        let step = self.write(caller, &input, |c, &(user, now, limit)| Box::pin(delete_step(c, user, now, limit))).await?;
        for session in &step.sessions {
            self.notifications.deleted(caller, *session);
        }
        Ok(step)
    }

    async fn erasure(&self, caller: &Caller) -> Result<Option<AccountDeletion>, StoreError> {
        let found = erasure!("", caller.user().0).fetch_optional(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(found.map(ErasureRow::read).transpose()?)
    }

    async fn unfinished_erasures(&self, since: Timestamp) -> Result<Vec<Caller>, StoreError> {
        let found = sqlx::query_scalar!(
            "SELECT user_id FROM erasures WHERE ended_at IS NULL AND touched_at < $1 ORDER BY touched_at LIMIT 100",
            codec::time(since)
        );
        let found = found.fetch_all(self.pool.reading(RowAccess::Erasures)).await.map_err(Failure::from)?;
        Ok(found.into_iter().map(|user| Caller::verified(UserId(user), ViewerRole::User)).collect())
    }

    async fn forget_erasures(&self, today: Day, limit: u32) -> Result<u64, StoreError> {
        // A day is a number of days since 1970 in UTC, as in the usage table. The users are listed first and then changed one by
        // one: no statement changes rows of several users.
        let users = sqlx::query_scalar!(
            "SELECT user_id FROM erasures WHERE ended_at < to_timestamp($1::bigint * 86400) LIMIT $2",
            i64::from(today.0),
            i64::from(limit),
        );
        let users = users.fetch_all(self.pool.reading(RowAccess::Erasures)).await.map_err(Failure::from)?;
        for user in &users {
            self.write(UserId(*user), &(*user, today), |c, &(user, today)| Box::pin(forget_deletion(c, user, today))).await?;
        }
        Ok(users.len() as u64)
    }

    async fn holdings(&self, caller: &Caller) -> Result<BTreeMap<String, u64>, StoreError> {
        let user = caller.user().0;
        let counted = self.snapshot(caller, &user, |c, user| {
            Box::pin(async move {
                let mut held = BTreeMap::new();
                for table in ERASED {
                    let rows: i64 = sqlx::query_scalar(AssertSqlSafe(count_statement(table))).bind(user).fetch_one(&mut *c).await?;
                    add_count(&mut held, table, rows.unsigned_abs());
                }
                Ok(held)
            })
        });
        Ok(counted.await?)
    }
}

/// Deletes the record of a deletion, unless another deletion has begun, and the usage up to its day.
///
/// Later usage is not part of this deletion.
async fn forget_deletion(c: &mut PgConnection, user: Uuid, today: Day) -> Result<(), Failure> {
    let row = sqlx::query_as!(
        ErasureRow,
        "DELETE FROM erasures WHERE user_id = $1 AND ended_at < to_timestamp($2::bigint * 86400) RETURNING begun_at, ended_at, deleted",
        user,
        i64::from(today.0),
    );
    let Some(row) = row.fetch_optional(&mut *c).await? else { return Ok(()) };
    let last = Day::of(row.read()?.begun_at);
    sqlx::query!("DELETE FROM usage_days WHERE user_id = $1 AND day <= $2", user, last.0).execute(&mut *c).await?;
    visits::forget_visitor(c, user).await
}

fn add_count(deleted: &mut BTreeMap<String, u64>, table: &str, rows: u64) {
    if rows > 0 {
        *deleted.entry(table.to_owned()).or_default() += rows;
    }
}

/// Sets or clears the deletion mark of a user.
///
/// Both times the versions increase, which voids indexes and plans that were made from the earlier data.
async fn set_deletion_mark(c: &mut PgConnection, user: Uuid, erasing: bool) -> Result<(), Failure> {
    let marked = sqlx::query!(
        "UPDATE users SET erasing = $2, importing = false, feed_generation = feed_generation + 1,
             knowledge_version = knowledge_version + 1 WHERE id = $1",
        user,
        erasing,
    );
    if marked.execute(c).await?.rows_affected() == 0 { Err(Refusal::NotFound.into()) } else { Ok(()) }
}

pub(super) async fn begin(c: &mut PgConnection, user: Uuid, now: Timestamp) -> Result<AccountDeletion, Failure> {
    if let Some(row) = erasure!(" FOR UPDATE", user).fetch_optional(&mut *c).await? {
        let erasure = row.read()?;
        if erasure.ended_at.is_none() {
            return Ok(erasure);
        }
    }
    set_deletion_mark(c, user, true).await?;
    let row = sqlx::query_as!(
        ErasureRow,
        "INSERT INTO erasures AS e (user_id, begun_at, touched_at) VALUES ($1, $2, $2)
         ON CONFLICT (user_id) DO UPDATE SET begun_at = $2, touched_at = $2, ended_at = NULL, deleted = '{}' WHERE e.ended_at IS NOT NULL
         RETURNING begun_at, ended_at, deleted",
        user,
        codec::time(now),
    );
    let mut erasure = match row.fetch_optional(&mut *c).await? {
        Some(row) => row.read()?,
        // Another deletion began at the same moment and was first.
        None => erasure!("", user).fetch_one(&mut *c).await?.read()?,
    };
    for table in ["access_tokens", "visits"] {
        let (rows, _) = delete_rows(c, user, table, now, u32::MAX).await?;
        add_count(&mut erasure.deleted, table, rows);
    }
    save_progress(c, user, &erasure, now).await?;
    Ok(erasure)
}

async fn delete_step(c: &mut PgConnection, user: Uuid, now: Timestamp, limit: u32) -> Result<AccountDeletionStep, Failure> {
    let mut erasure = erasure!(" FOR UPDATE", user).fetch_optional(&mut *c).await?.ok_or(Refusal::NotFound)?.read()?;
    let mut sessions = Vec::new();
    if erasure.ended_at.is_some() {
        return Ok(AccountDeletionStep { erasure, sessions });
    }
    let mut left = limit.saturating_sub(close_logs(c, user, limit).await?);
    left = delete_from_tables(c, user, now, left, &mut erasure, &mut sessions).await?;
    if left > 0 {
        // Waits for transactions that were about to add rows when the user was marked.
        sqlx::query_scalar!("SELECT 1 FROM users WHERE id = $1 FOR UPDATE", user).fetch_optional(&mut *c).await?;
        delete_from_tables(c, user, now, u32::MAX, &mut erasure, &mut sessions).await?;
        set_deletion_mark(c, user, false).await?;
        erasure.ended_at = Some(now);
    }
    save_progress(c, user, &erasure, now).await?;
    Ok(AccountDeletionStep { erasure, sessions })
}

/// Deletes from all tables in order. Returns how much of the limit is left.
async fn delete_from_tables(
    c: &mut PgConnection,
    user: Uuid,
    now: Timestamp,
    mut left: u32,
    erasure: &mut AccountDeletion,
    sessions: &mut Vec<SessionId>,
) -> Result<u32, Failure> {
    for table in ERASED {
        if left == 0 {
            break;
        }
        let (rows, gone) = delete_rows(c, user, table, now, left).await?;
        add_count(&mut erasure.deleted, table, rows);
        sessions.extend(gone);
        left = left.saturating_sub(u32::try_from(rows).unwrap_or(u32::MAX));
    }
    Ok(left)
}

/// Closes logs, so that no reader takes a partly deleted log for a complete one.
async fn close_logs(c: &mut PgConnection, user: Uuid, limit: u32) -> Result<u32, Failure> {
    let closed = sqlx::query!(
        "UPDATE sessions SET event_floor = event_head + 1, oldest_event_at = NULL WHERE user_id = $1 AND id = ANY(ARRAY(
             SELECT id FROM sessions WHERE user_id = $1 AND event_floor <= event_head LIMIT $2))",
        user,
        i64::from(limit),
    );
    Ok(u32::try_from(closed.execute(c).await?.rows_affected()).unwrap_or(u32::MAX))
}

// The port lists the tables, so these two statements are built at run time. A test prepares them for each table.

fn count_statement(table: &str) -> String {
    format!("SELECT count(*) FROM {table} WHERE user_id = $1")
}

fn delete_statement(table: &str) -> String {
    let before = if table == USAGE { "day < $3" } else { "$3::integer IS NOT NULL" };
    let returning = if table == "sessions" { "RETURNING id" } else { "" };
    format!(
        "DELETE FROM {table} WHERE user_id = $1 AND ctid = ANY(ARRAY(SELECT ctid FROM {table} WHERE user_id = $1 AND {before} LIMIT $2)) {returning}"
    )
}

/// Deletes rows of one table. Returns their number, and their ids if they are sessions.
async fn delete_rows(c: &mut PgConnection, user: Uuid, table: &str, now: Timestamp, limit: u32) -> Result<(u64, Vec<SessionId>), Failure> {
    let sql = delete_statement(table);
    let query = sqlx::query(AssertSqlSafe(sql)).bind(user).bind(i64::from(limit)).bind(Day::of(now).0);
    if table == "sessions" {
        let gone: Vec<Uuid> = query.fetch_all(c).await?.iter().map(|row| row.try_get("id")).collect::<Result<_, _>>()?;
        return Ok((gone.len() as u64, gone.into_iter().map(SessionId).collect()));
    }
    Ok((query.execute(c).await?.rows_affected(), Vec::new()))
}

impl ErasureRow {
    fn read(self) -> Result<AccountDeletion, Failure> {
        let deleted = Column("erasures", "deleted").json(&self.deleted)?;
        Ok(AccountDeletion { begun_at: self.begun_at, ended_at: self.ended_at, deleted })
    }
}

async fn save_progress(c: &mut PgConnection, user: Uuid, erasure: &AccountDeletion, now: Timestamp) -> Result<(), Failure> {
    let noted = sqlx::query!(
        "UPDATE erasures SET touched_at = $2, ended_at = $3, deleted = $4::text::json WHERE user_id = $1",
        user,
        codec::time(now),
        erasure.ended_at.map(codec::time),
        json(&erasure.deleted, "counts")?,
    );
    noted.execute(c).await?;
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use sqlx::{Executor, SqlSafeStr};

    use super::{super::tests::store, *};
    use recall_ports::Inspect;

    #[tokio::test]
    async fn count_and_delete_statements_fit_every_table() {
        let Some(store) = store().await else { return };
        let mut connection = store.pool.lend(RowAccess::Nobody).await.unwrap();
        for sql in ERASED.iter().flat_map(|table| [count_statement(table), delete_statement(table)]) {
            let prepared = connection.prepare(AssertSqlSafe(sql.clone()).into_sql_str()).await;
            assert!(prepared.is_ok(), "{sql}: {:?}", prepared.err());
        }
        drop(connection);
        store.close().await;
    }
}
