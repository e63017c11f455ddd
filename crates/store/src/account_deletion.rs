//! Deletes all data of one user, a bounded number of rows at a time.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::{Refusal, Transaction, json};
use recall_domain::{Day, SessionId, Timestamp, UserId};
use recall_ports::{AccountDeletion, AccountDeletionStep, account_deletion::ERASED};

/// Rows that one statement deleted.
#[derive(Clone, Debug, Default)]
pub struct DeletedRows {
    /// How many.
    pub count: u64,
    /// Their ids, if they are sessions.
    pub sessions: Vec<SessionId>,
}

/// Statements on `erasures` and on the tables that a deletion empties.
#[async_trait]
pub trait AccountDeletionStatements: Transaction {
    /// Returns the latest deletion, and keeps others from making a step until the transaction ends.
    async fn lock_account_deletion(&mut self, user: UserId) -> Result<Option<AccountDeletion>, Self::Error>;
    /// Records a new deletion in place of an ended one. If there is an unfinished one, returns that.
    async fn insert_account_deletion(&mut self, user: UserId, now: Timestamp) -> Result<AccountDeletion, Self::Error>;
    /// Saves the end and the counts of a deletion. The counts are given in JSON.
    async fn save_account_deletion(
        &mut self,
        user: UserId,
        ended_at: Option<Timestamp>,
        counts: &str,
        now: Timestamp,
    ) -> Result<(), Self::Error>;
    /// Sets or clears the deletion mark of a user, and ends an import. Returns false if the user is unknown.
    ///
    /// Both times the versions increase, which voids indexes and plans that were made from the earlier data.
    async fn set_deletion_mark(&mut self, user: UserId, erasing: bool) -> Result<bool, Self::Error>;
    /// Closes logs, so that no reader takes a partly deleted log for a complete one. Returns how many.
    async fn close_logs(&mut self, user: UserId, limit: u32) -> Result<u64, Self::Error>;
    /// Deletes rows of one table. Usage of `today` stays.
    async fn delete_rows(&mut self, user: UserId, table: &'static str, today: Day, limit: u32) -> Result<DeletedRows, Self::Error>;
    /// Waits for transactions that were about to add rows when the user was marked. Returns false if there cannot be any.
    async fn wait_for_writers(&mut self, user: UserId) -> Result<bool, Self::Error>;
    /// Deletes the usage of a user up to a day.
    async fn delete_usage(&mut self, user: UserId, last: Day) -> Result<(), Self::Error>;
    /// Deletes the row of a visitor who has no visit and no deletion left.
    async fn delete_visitor(&mut self, user: UserId) -> Result<(), Self::Error>;
}

/// Begins the deletion of all data of a user, or returns one already begun.
///
/// # Errors
/// `NotFound` if the user is unknown.
pub async fn begin_account_deletion<T: AccountDeletionStatements>(
    tx: &mut T,
    user: UserId,
    now: Timestamp,
) -> Result<AccountDeletion, T::Error> {
    if let Some(erasure) = tx.lock_account_deletion(user).await?
        && erasure.ended_at.is_none()
    {
        return Ok(erasure);
    }
    mark(tx, user, true).await?;
    let mut erasure = tx.insert_account_deletion(user, now).await?;
    delete_tables(tx, user, now, &["access_tokens", "front_ends", "visits"], u32::MAX, &mut erasure).await?;
    save_progress(tx, user, &erasure, now).await?;
    Ok(erasure)
}

/// Deletes about `limit` rows, and ends the deletion when nothing is left.
///
/// # Errors
/// `NotFound` if no deletion was begun.
pub async fn delete_account_rows<T: AccountDeletionStatements>(
    tx: &mut T,
    user: UserId,
    now: Timestamp,
    limit: u32,
) -> Result<AccountDeletionStep, T::Error> {
    let mut erasure = tx.lock_account_deletion(user).await?.ok_or(Refusal::NotFound)?;
    if erasure.ended_at.is_some() {
        return Ok(AccountDeletionStep { erasure, sessions: Vec::new() });
    }
    let closed = tx.close_logs(user, limit).await?;
    let (mut sessions, left) = delete_tables(tx, user, now, ERASED, subtract(limit, closed), &mut erasure).await?;
    if left > 0 {
        if tx.wait_for_writers(user).await? {
            sessions.extend(delete_tables(tx, user, now, ERASED, u32::MAX, &mut erasure).await?.0);
        }
        mark(tx, user, false).await?;
        erasure.ended_at = Some(now);
    }
    save_progress(tx, user, &erasure, now).await?;
    Ok(AccountDeletionStep { erasure, sessions })
}

/// Deletes what was kept until the day after a deletion, once its record is gone.
///
/// # Errors
/// If a statement fails.
pub async fn forget_account<T: AccountDeletionStatements>(tx: &mut T, user: UserId, begun_at: Timestamp) -> Result<(), T::Error> {
    // Later usage is not part of this deletion.
    tx.delete_usage(user, Day::of(begun_at)).await?;
    tx.delete_visitor(user).await
}

/// Counts the rows of one user in all tables that a deletion empties. `parameter` is the engine's first parameter.
///
/// The columns of the result are `held` and `number`.
pub fn holdings_statement(parameter: &str) -> String {
    let counts =
        ERASED.iter().map(|table| format!("SELECT '{table}' AS held, count(*) AS number FROM {table} WHERE user_id = {parameter}"));
    counts.collect::<Vec<_>>().join(" UNION ALL ")
}

/// The result of [`holdings_statement`], without empty tables.
pub fn holdings(counts: Vec<(String, i64)>) -> BTreeMap<String, u64> {
    counts.into_iter().filter(|(_, rows)| *rows > 0).map(|(table, rows)| (table, rows.unsigned_abs())).collect()
}

/// Deletes and counts up to `limit` rows of these tables, in order. Returns the deleted sessions, and how much of the limit is left.
async fn delete_tables<T: AccountDeletionStatements>(
    tx: &mut T,
    user: UserId,
    now: Timestamp,
    tables: &[&'static str],
    limit: u32,
    erasure: &mut AccountDeletion,
) -> Result<(Vec<SessionId>, u32), T::Error> {
    let (mut sessions, mut left) = (Vec::new(), limit);
    for table in tables {
        if left == 0 {
            break;
        }
        let rows = tx.delete_rows(user, table, Day::of(now), left).await?;
        if rows.count > 0 {
            *erasure.deleted.entry((*table).to_owned()).or_default() += rows.count;
        }
        sessions.extend(rows.sessions);
        left = subtract(left, rows.count);
    }
    Ok((sessions, left))
}

fn subtract(limit: u32, rows: u64) -> u32 {
    limit.saturating_sub(u32::try_from(rows).unwrap_or(u32::MAX))
}

async fn mark<T: AccountDeletionStatements>(tx: &mut T, user: UserId, erasing: bool) -> Result<(), T::Error> {
    if tx.set_deletion_mark(user, erasing).await? { Ok(()) } else { Err(Refusal::NotFound.into()) }
}

async fn save_progress<T: AccountDeletionStatements>(
    tx: &mut T,
    user: UserId,
    erasure: &AccountDeletion,
    now: Timestamp,
) -> Result<(), T::Error> {
    tx.save_account_deletion(user, erasure.ended_at, &json(&erasure.deleted, "counts")?, now).await
}
