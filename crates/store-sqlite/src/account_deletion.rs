//! Deletes all data of one user, a bounded number of rows at a time.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::{
    SqliteStore,
    codec::millis,
    connection::Db,
    failure::Failure,
    rows::Columns,
    transaction::{WriteTransaction, run},
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
        Ok(self.write(move |tx| run(begin_account_deletion(tx, user, now))).await?)
    }

    async fn erase(&self, caller: &Caller, now: Timestamp, limit: u32) -> Result<AccountDeletionStep, StoreError> {
        let user = caller.user();
        Ok(self.write(move |tx| run(delete_account_rows(tx, user, now, limit))).await?)
    }

    async fn erasure(&self, caller: &Caller) -> Result<Option<AccountDeletion>, StoreError> {
        let user = caller.user();
        Ok(self.readers.for_server(move |db| load(db, user)).await?)
    }

    async fn unfinished_erasures(&self, since: Timestamp) -> Result<Vec<Caller>, StoreError> {
        let unfinished = self.readers.for_server(move |db| {
            let sql = "SELECT user_id FROM erasures WHERE ended_at IS NULL AND touched_at < ? ORDER BY touched_at LIMIT 100";
            db.rows("erasures", sql, (millis(since),), |c| Ok(Caller::verified(UserId(c.id("user_id")?), ViewerRole::User)))
        });
        Ok(unfinished.await?)
    }

    async fn forget_erasures(&self, today: Day, limit: u32) -> Result<u64, StoreError> {
        let before = i64::from(today.0).saturating_mul(86_400_000);
        let forgotten = self.write(move |tx| {
            let sql = "DELETE FROM erasures WHERE user_id IN (SELECT user_id FROM erasures WHERE ended_at < ? LIMIT ?)
             RETURNING user_id, begun_at";
            let gone = tx.0.rows("erasures", sql, (before, limit), |c| Ok((UserId(c.id("user_id")?), c.time("begun_at")?)))?;
            for (user, begun_at) in &gone {
                run(forget_account(tx, *user, *begun_at))?;
            }
            Ok(gone.len() as u64)
        });
        Ok(forgotten.await?)
    }

    async fn holdings(&self, caller: &Caller) -> Result<BTreeMap<String, u64>, StoreError> {
        let user = caller.user();
        let counts = self
            .readers
            .for_server(move |db| db.rows("users", &holdings_statement("?1"), (user.0,), |c| Ok((c.text("held")?, c.integer("number")?))));
        Ok(holdings(counts.await?))
    }
}

fn load(db: &Db, user: UserId) -> Result<Option<AccountDeletion>, Failure> {
    db.row("erasures", "SELECT begun_at, ended_at, deleted FROM erasures WHERE user_id = ?", (user.0,), account_deletion)
}

fn account_deletion(c: &Columns<'_, '_>) -> Result<AccountDeletion, Failure> {
    Ok(AccountDeletion { begun_at: c.time("begun_at")?, ended_at: c.opt_time("ended_at")?, deleted: c.json("deleted")? })
}

#[async_trait]
impl AccountDeletionStatements for WriteTransaction<'_> {
    async fn lock_account_deletion(&mut self, user: UserId) -> Result<Option<AccountDeletion>, Failure> {
        load(self.0, user)
    }

    async fn insert_account_deletion(&mut self, user: UserId, now: Timestamp) -> Result<AccountDeletion, Failure> {
        let sql = "INSERT INTO erasures (user_id, begun_at, touched_at) VALUES (?1, ?2, ?2)
             ON CONFLICT (user_id) DO UPDATE SET begun_at = ?2, touched_at = ?2, ended_at = NULL, deleted = '{}'
             RETURNING begun_at, ended_at, deleted";
        self.0.only_row("erasures", sql, (user.0, millis(now)), account_deletion)
    }

    async fn save_account_deletion(
        &mut self,
        user: UserId,
        ended_at: Option<Timestamp>,
        counts: &str,
        now: Timestamp,
    ) -> Result<(), Failure> {
        let sql = "UPDATE erasures SET touched_at = ?2, ended_at = ?3, deleted = ?4 WHERE user_id = ?1";
        self.0.execute(sql, (user.0, millis(now), ended_at.map(millis), counts))?;
        Ok(())
    }

    async fn set_deletion_mark(&mut self, user: UserId, erasing: bool) -> Result<bool, Failure> {
        let sql = "UPDATE users SET erasing = ?2, importing = 0, memory_head = memory_head + 1, memory_floor = memory_head + 2,
                 feed_generation = feed_generation + 1,
                 knowledge_version = knowledge_version + 1 WHERE id = ?1";
        Ok(self.0.execute(sql, (user.0, erasing))? > 0)
    }

    async fn close_logs(&mut self, user: UserId, limit: u32) -> Result<u64, Failure> {
        self.0.execute(
            "UPDATE sessions SET event_floor = event_head + 1, oldest_event_at = NULL WHERE user_id = ?1 AND id IN
                 (SELECT id FROM sessions WHERE user_id = ?1 AND event_floor <= event_head LIMIT ?2)",
            (user.0, limit),
        )
    }

    async fn delete_rows(&mut self, user: UserId, table: &'static str, today: Day, limit: u32) -> Result<DeletedRows, Failure> {
        let key =
            "SELECT group_concat(name, ', ') FROM (SELECT name FROM pragma_table_info(?) WHERE pk > 0 AND name <> 'user_id' ORDER BY pk)";
        let key: String = self.0.raw().prepare_cached(key)?.query_row((table,), |row| row.get(0))?;
        let before = if table == USAGE { "AND day < ?3" } else { "AND ?3 IS NOT NULL" };
        let returning = if table == "sessions" { "RETURNING id" } else { "" };
        let sql = format!(
            "DELETE FROM {table} WHERE user_id = ?1 AND ({key}) IN (SELECT {key} FROM {table} WHERE user_id = ?1 {before} LIMIT ?2) {returning}"
        );
        let values = (user.0, limit, today.0);
        if returning.is_empty() {
            return Ok(DeletedRows { count: self.0.execute(&sql, values)?, sessions: Vec::new() });
        }
        let sessions = self.0.rows("sessions", &sql, values, |c| Ok(SessionId(c.id("id")?)))?;
        Ok(DeletedRows { count: sessions.len() as u64, sessions })
    }

    async fn wait_for_writers(&mut self, _user: UserId) -> Result<bool, Failure> {
        // SQLite has one writer.
        Ok(false)
    }

    async fn delete_usage(&mut self, user: UserId, last: Day) -> Result<(), Failure> {
        self.0.execute("DELETE FROM usage_days WHERE user_id = ? AND day <= ?", (user.0, last.0))?;
        Ok(())
    }

    async fn delete_visitor(&mut self, user: UserId) -> Result<(), Failure> {
        self.0.execute(
            "DELETE FROM users WHERE id = ?1 AND visitor = 1 AND NOT EXISTS (SELECT 1 FROM visits WHERE user_id = ?1)
             AND NOT EXISTS (SELECT 1 FROM erasures WHERE user_id = ?1)",
            (user.0,),
        )?;
        Ok(())
    }
}
