//! Deletes all data of one user, a bounded number of rows at a time.
//!
//! Each step first locks the row of the deletion, so steps of several processes run one after the other. The user's row is locked
//! only at the end. Then nothing of the user is left, except writes that began before the mark and are not yet committed.

use std::collections::BTreeMap;

use async_trait::async_trait;
use sqlx::{AssertSqlSafe, Row};

use super::{
    PostgresStore,
    codec::{JsonText, time},
    failure::Failure,
    row_security::RowAccess,
    rows::Column,
    transaction::WriteTransaction,
};
use recall_domain::{Caller, Day, SessionId, Timestamp, UserId, ViewerRole};
use recall_ports::{AccountDeletion, AccountDeletionStep, AccountDeletionStore, StoreError, account_deletion::USAGE};
use recall_store::{
    AccountDeletionStatements, DeletedRows, begin_account_deletion, delete_account_rows, forget_account, holdings, holdings_statement,
};

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
        let input = (caller.user(), now);
        let begun = self.write(caller, &input, |c, &(user, now)| {
            Box::pin(async move { begin_account_deletion(&mut WriteTransaction(c), user, now).await })
        });
        Ok(begun.await?)
    }

    async fn erase(&self, caller: &Caller, now: Timestamp, limit: u32) -> Result<AccountDeletionStep, StoreError> {
        let input = (caller.user(), now, limit);
        let step = self.write(caller, &input, |c, &(user, now, limit)| {
            Box::pin(async move { delete_account_rows(&mut WriteTransaction(c), user, now, limit).await })
        });
        let step = step.await?;
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
            time(since)
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
            let input = (UserId(*user), today);
            let forgotten = self.write(input.0, &input, |c, &(user, today)| {
                Box::pin(async move {
                    // Unless another deletion has begun.
                    let gone = sqlx::query_scalar!(
                        "DELETE FROM erasures WHERE user_id = $1 AND ended_at < to_timestamp($2::bigint * 86400) RETURNING begun_at",
                        user.0,
                        i64::from(today.0),
                    );
                    match gone.fetch_optional(&mut *c).await? {
                        Some(begun_at) => forget_account(&mut WriteTransaction(c), user, begun_at).await,
                        None => Ok(()),
                    }
                })
            });
            forgotten.await?;
        }
        Ok(users.len() as u64)
    }

    async fn holdings(&self, caller: &Caller) -> Result<BTreeMap<String, u64>, StoreError> {
        let counts = sqlx::query_as(AssertSqlSafe(holdings_statement("$1"))).bind(caller.user().0);
        Ok(holdings(counts.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?))
    }
}

impl ErasureRow {
    fn read(self) -> Result<AccountDeletion, Failure> {
        let deleted = Column("erasures", "deleted").json(&self.deleted)?;
        Ok(AccountDeletion { begun_at: self.begun_at, ended_at: self.ended_at, deleted })
    }
}

#[async_trait]
impl AccountDeletionStatements for WriteTransaction<'_> {
    async fn lock_account_deletion(&mut self, user: UserId) -> Result<Option<AccountDeletion>, Failure> {
        erasure!(" FOR UPDATE", user.0).fetch_optional(&mut *self.0).await?.map(ErasureRow::read).transpose()
    }

    async fn insert_account_deletion(&mut self, user: UserId, now: Timestamp) -> Result<AccountDeletion, Failure> {
        let row = sqlx::query_as!(
            ErasureRow,
            "INSERT INTO erasures AS e (user_id, begun_at, touched_at) VALUES ($1, $2, $2)
             ON CONFLICT (user_id) DO UPDATE SET begun_at = $2, touched_at = $2, ended_at = NULL, deleted = '{}' WHERE e.ended_at IS NOT NULL
             RETURNING begun_at, ended_at, deleted",
            user.0,
            time(now),
        );
        match row.fetch_optional(&mut *self.0).await? {
            Some(row) => row.read(),
            // Another deletion began at the same moment and was first.
            None => erasure!("", user.0).fetch_one(&mut *self.0).await?.read(),
        }
    }

    async fn save_account_deletion(
        &mut self,
        user: UserId,
        ended_at: Option<Timestamp>,
        counts: &str,
        now: Timestamp,
    ) -> Result<(), Failure> {
        let saved = sqlx::query!(
            "UPDATE erasures SET touched_at = $2, ended_at = $3, deleted = $4::text::json WHERE user_id = $1",
            user.0,
            time(now),
            ended_at.map(time),
            counts,
        );
        saved.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn set_deletion_mark(&mut self, user: UserId, erasing: bool) -> Result<bool, Failure> {
        let marked = sqlx::query!(
            "UPDATE users SET erasing = $2, importing = false, memory_head = memory_head + 1, memory_floor = memory_head + 2,
                 feed_generation = feed_generation + 1,
                 knowledge_version = knowledge_version + 1 WHERE id = $1",
            user.0,
            erasing,
        );
        Ok(marked.execute(&mut *self.0).await?.rows_affected() > 0)
    }

    async fn close_logs(&mut self, user: UserId, limit: u32) -> Result<u64, Failure> {
        let closed = sqlx::query!(
            "UPDATE sessions SET event_floor = event_head + 1, oldest_event_at = NULL WHERE user_id = $1 AND id = ANY(ARRAY(
                 SELECT id FROM sessions WHERE user_id = $1 AND event_floor <= event_head LIMIT $2))",
            user.0,
            i64::from(limit),
        );
        Ok(closed.execute(&mut *self.0).await?.rows_affected())
    }

    async fn delete_rows(&mut self, user: UserId, table: &'static str, today: Day, limit: u32) -> Result<DeletedRows, Failure> {
        let query = sqlx::query(AssertSqlSafe(delete_statement(table))).bind(user.0).bind(i64::from(limit)).bind(today.0);
        if table != "sessions" {
            return Ok(DeletedRows { count: query.execute(&mut *self.0).await?.rows_affected(), sessions: Vec::new() });
        }
        let gone = query.fetch_all(&mut *self.0).await?;
        let sessions = gone.iter().map(|row| Ok(SessionId(row.try_get("id")?))).collect::<Result<Vec<_>, Failure>>()?;
        Ok(DeletedRows { count: sessions.len() as u64, sessions })
    }

    async fn wait_for_writers(&mut self, user: UserId) -> Result<bool, Failure> {
        sqlx::query_scalar!("SELECT 1 FROM users WHERE id = $1 FOR UPDATE", user.0).fetch_optional(&mut *self.0).await?;
        Ok(true)
    }

    async fn delete_usage(&mut self, user: UserId, last: Day) -> Result<(), Failure> {
        let used = sqlx::query!("DELETE FROM usage_days WHERE user_id = $1 AND day <= $2", user.0, last.0);
        used.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn delete_visitor(&mut self, user: UserId) -> Result<(), Failure> {
        let gone = sqlx::query!(
            "DELETE FROM users WHERE id = $1 AND visitor AND NOT EXISTS (SELECT 1 FROM visits WHERE user_id = $1)
             AND NOT EXISTS (SELECT 1 FROM erasures WHERE user_id = $1)",
            user.0,
        );
        if gone.execute(&mut *self.0).await?.rows_affected() > 0 {
            sqlx::query!("DELETE FROM allowances WHERE user_id = $1", user.0).execute(&mut *self.0).await?;
        }
        Ok(())
    }
}

/// The statement is built at run time, because the port lists the tables. A test prepares it for each table.
fn delete_statement(table: &str) -> String {
    let before = if table == USAGE { "day < $3" } else { "$3::integer IS NOT NULL" };
    let returning = if table == "sessions" { "RETURNING id" } else { "" };
    format!(
        "DELETE FROM {table} WHERE user_id = $1 AND ctid = ANY(ARRAY(SELECT ctid FROM {table} WHERE user_id = $1 AND {before} LIMIT $2)) {returning}"
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use sqlx::{Executor, SqlSafeStr};

    use super::{super::tests::store, *};
    use recall_ports::{Inspect, account_deletion::ERASED};

    #[tokio::test]
    async fn count_and_delete_statements_fit_every_table() {
        let Some(store) = store().await else { return };
        let mut connection = store.pool.lend(RowAccess::Nobody).await.unwrap();
        for sql in ERASED.iter().map(|table| delete_statement(table)).chain([holdings_statement("$1")]) {
            let prepared = connection.prepare(AssertSqlSafe(sql.clone()).into_sql_str()).await;
            assert!(prepared.is_ok(), "{sql}: {:?}", prepared.err());
        }
        drop(connection);
        store.close().await;
    }
}
