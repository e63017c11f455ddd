//! Deletes all data of one user, a bounded number of rows at a time.

use std::collections::BTreeMap;

use async_trait::async_trait;
use sqlx::{AssertSqlSafe, SqliteConnection, sqlite::SqliteRow};

use super::{
    SqliteStore,
    codec::{bytes, millis},
    failure::Failure,
    rows::Columns,
    transaction::WriteTransaction,
};
use recall_domain::{Caller, Day, SessionId, Timestamp, UserId, ViewerRole};
use recall_ports::{AccountDeletion, AccountDeletionStep, AccountDeletionStore, StoreError, account_deletion::USAGE};
use recall_store::{
    AccountDeletionStatements, DeletedRows, begin_account_deletion, delete_account_rows, forget_account, holdings, holdings_statement,
};

#[async_trait]
impl AccountDeletionStore for SqliteStore {
    async fn begin_erasure(&self, caller: &Caller, now: Timestamp) -> Result<AccountDeletion, StoreError> {
        let user = caller.user();
        let begun = self.write(move |c| Box::pin(async move { begin_account_deletion(&mut WriteTransaction(c), user, now).await }));
        Ok(begun.await?)
    }

    async fn erase(&self, caller: &Caller, now: Timestamp, limit: u32) -> Result<AccountDeletionStep, StoreError> {
        let user = caller.user();
        let step = self.write(move |c| Box::pin(async move { delete_account_rows(&mut WriteTransaction(c), user, now, limit).await }));
        Ok(step.await?)
    }

    async fn erasure(&self, caller: &Caller) -> Result<Option<AccountDeletion>, StoreError> {
        let mut reader = self.readers.for_server().acquire().await.map_err(Failure::from)?;
        Ok(load(&mut reader, caller.user()).await?)
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
        let before = i64::from(today.0).saturating_mul(86_400_000);
        let forgotten = self.write(move |c| {
            Box::pin(async move {
                let gone = sqlx::query(
                    "DELETE FROM erasures WHERE user_id IN (SELECT user_id FROM erasures WHERE ended_at < ? LIMIT ?)
                     RETURNING user_id, begun_at",
                );
                let gone = gone.bind(before).bind(limit).fetch_all(&mut *c).await?;
                for row in &gone {
                    let of = Columns::of(row, "erasures");
                    forget_account(&mut WriteTransaction(c), UserId(of.id("user_id")?), of.time("begun_at")?).await?;
                }
                Ok(gone.len() as u64)
            })
        });
        Ok(forgotten.await?)
    }

    async fn holdings(&self, caller: &Caller) -> Result<BTreeMap<String, u64>, StoreError> {
        let counts = sqlx::query_as(AssertSqlSafe(holdings_statement("?1"))).bind(bytes(&caller.user().0).to_vec());
        Ok(holdings(counts.fetch_all(self.readers.for_server()).await.map_err(Failure::from)?))
    }
}

async fn load(c: &mut SqliteConnection, user: UserId) -> Result<Option<AccountDeletion>, Failure> {
    let found = sqlx::query("SELECT begun_at, ended_at, deleted FROM erasures WHERE user_id = ?").bind(bytes(&user.0));
    found.fetch_optional(c).await?.as_ref().map(account_deletion).transpose()
}

fn account_deletion(row: &SqliteRow) -> Result<AccountDeletion, Failure> {
    let c = Columns::of(row, "erasures");
    Ok(AccountDeletion { begun_at: c.time("begun_at")?, ended_at: c.opt_time("ended_at")?, deleted: c.json("deleted")? })
}

#[async_trait]
impl AccountDeletionStatements for WriteTransaction<'_> {
    async fn lock_account_deletion(&mut self, user: UserId) -> Result<Option<AccountDeletion>, Failure> {
        load(self.0, user).await
    }

    async fn insert_account_deletion(&mut self, user: UserId, now: Timestamp) -> Result<AccountDeletion, Failure> {
        let inserted = sqlx::query(
            "INSERT INTO erasures (user_id, begun_at, touched_at) VALUES (?1, ?2, ?2)
             ON CONFLICT (user_id) DO UPDATE SET begun_at = ?2, touched_at = ?2, ended_at = NULL, deleted = '{}'
             RETURNING begun_at, ended_at, deleted",
        );
        account_deletion(&inserted.bind(bytes(&user.0)).bind(millis(now)).fetch_one(&mut *self.0).await?)
    }

    async fn save_account_deletion(
        &mut self,
        user: UserId,
        ended_at: Option<Timestamp>,
        counts: &str,
        now: Timestamp,
    ) -> Result<(), Failure> {
        let saved = sqlx::query("UPDATE erasures SET touched_at = ?2, ended_at = ?3, deleted = ?4 WHERE user_id = ?1");
        saved.bind(bytes(&user.0)).bind(millis(now)).bind(ended_at.map(millis)).bind(counts).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn set_deletion_mark(&mut self, user: UserId, erasing: bool) -> Result<bool, Failure> {
        let marked = sqlx::query(
            "UPDATE users SET erasing = ?2, importing = 0, feed_generation = feed_generation + 1,
                 knowledge_version = knowledge_version + 1 WHERE id = ?1",
        );
        Ok(marked.bind(bytes(&user.0)).bind(erasing).execute(&mut *self.0).await?.rows_affected() > 0)
    }

    async fn close_logs(&mut self, user: UserId, limit: u32) -> Result<u64, Failure> {
        let closed = sqlx::query(
            "UPDATE sessions SET event_floor = event_head + 1, oldest_event_at = NULL WHERE user_id = ?1 AND id IN
                 (SELECT id FROM sessions WHERE user_id = ?1 AND event_floor <= event_head LIMIT ?2)",
        );
        Ok(closed.bind(bytes(&user.0)).bind(limit).execute(&mut *self.0).await?.rows_affected())
    }

    async fn delete_rows(&mut self, user: UserId, table: &'static str, today: Day, limit: u32) -> Result<DeletedRows, Failure> {
        let key = sqlx::query_scalar(
            "SELECT group_concat(name, ', ') FROM (SELECT name FROM pragma_table_info(?) WHERE pk > 0 AND name <> 'user_id' ORDER BY pk)",
        );
        let key: String = key.bind(table).fetch_one(&mut *self.0).await?;
        let before = if table == USAGE { "AND day < ?3" } else { "AND ?3 IS NOT NULL" };
        let returning = if table == "sessions" { "RETURNING id" } else { "" };
        let sql = format!(
            "DELETE FROM {table} WHERE user_id = ?1 AND ({key}) IN (SELECT {key} FROM {table} WHERE user_id = ?1 {before} LIMIT ?2) {returning}"
        );
        let query = sqlx::query(AssertSqlSafe(sql)).bind(bytes(&user.0)).bind(limit).bind(today.0);
        if returning.is_empty() {
            return Ok(DeletedRows { count: query.execute(&mut *self.0).await?.rows_affected(), sessions: Vec::new() });
        }
        let gone = query.fetch_all(&mut *self.0).await?;
        let sessions = gone.iter().map(|row| Ok(SessionId(Columns::of(row, "sessions").id("id")?))).collect::<Result<Vec<_>, Failure>>()?;
        Ok(DeletedRows { count: sessions.len() as u64, sessions })
    }

    async fn wait_for_writers(&mut self, _user: UserId) -> Result<bool, Failure> {
        // SQLite has one writer.
        Ok(false)
    }

    async fn delete_usage(&mut self, user: UserId, last: Day) -> Result<(), Failure> {
        let used = sqlx::query("DELETE FROM usage_days WHERE user_id = ? AND day <= ?");
        used.bind(bytes(&user.0)).bind(last.0).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn delete_visitor(&mut self, user: UserId) -> Result<(), Failure> {
        let gone = sqlx::query(
            "DELETE FROM users WHERE id = ?1 AND visitor = 1 AND NOT EXISTS (SELECT 1 FROM visits WHERE user_id = ?1)
             AND NOT EXISTS (SELECT 1 FROM erasures WHERE user_id = ?1)",
        );
        gone.bind(bytes(&user.0)).execute(&mut *self.0).await?;
        Ok(())
    }
}
