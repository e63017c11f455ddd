//! Appends, reads and prunes the audit log. It belongs to no user, because it outlives the users that it names.

use async_trait::async_trait;
use uuid::Uuid;

use super::{
    PostgresStore,
    codec::{self, signed},
    failure::Failure,
    keys,
    row_security::RowAccess,
    rows::Column,
};
use recall_domain::{AuditAction, AuditDraft, AuditEntry, Caller, Page, Slice, Timestamp, UserId};
use recall_ports::{AuditLog, StoreError};
use recall_store::{Refusal, audited_actor};

/// A row of `audit`.
struct AuditRow {
    number: i64,
    at: Timestamp,
    actor: Option<Uuid>,
    action: String,
    target: Option<String>,
    address: Option<String>,
    instance: String,
}

macro_rules! audit {
    ($rest:literal $(, $value:expr)*) => {
        sqlx::query_as!(AuditRow, "SELECT number, at, actor, action, target, address, instance FROM audit " + $rest $(, $value)*)
    };
}

#[async_trait]
impl AuditLog for PostgresStore {
    async fn audit(&self, entry: &AuditDraft) -> Result<(), StoreError> {
        let target = codec::opt_text(entry.target.as_deref());
        let insert = sqlx::query!(
            "INSERT INTO audit (at, actor, action, target, address, instance) VALUES ($1, $2, $3, $4, $5, $6)",
            codec::time(entry.at),
            entry.actor.map(|a| a.0),
            entry.action,
            target.as_deref(),
            entry.address.map(|a| a.to_string()),
            &*codec::text(&entry.instance),
        );
        insert.execute(self.pool.writing(RowAccess::Nobody)).await.map_err(Failure::from)?;
        Ok(())
    }

    async fn audited(&self, caller: &Caller, actor: Option<UserId>, page: &Page) -> Result<Slice<AuditEntry>, StoreError> {
        let before = page.after.as_deref().map_or(Ok(i64::MAX), keys::parse_number)?;
        let (limit, reading) = (keys::limit(page), self.pool.reading(RowAccess::Nobody));
        let found = match audited_actor(caller, actor) {
            None => audit!("WHERE number < $1 ORDER BY number DESC LIMIT $2", before, limit).fetch_all(reading).await,
            Some(actor) => {
                audit!("WHERE number < $1 AND actor = $3 ORDER BY number DESC LIMIT $2", before, limit, actor.0).fetch_all(reading).await
            }
        };
        let found = found.map_err(Failure::from)?;
        Ok(keys::page(found.into_iter().map(entry), page, |entry| entry.number.to_string())?)
    }

    async fn last_of(&self, caller: &Caller, actions: &[AuditAction]) -> Result<Option<String>, StoreError> {
        let actions = codec::texts(actions.iter().map(|a| a.as_str()));
        let last = sqlx::query_scalar!(
            "SELECT action FROM audit WHERE actor = $1 AND action = ANY($2) ORDER BY number DESC LIMIT 1",
            caller.user().0,
            &actions[..],
        );
        Ok(last.fetch_optional(self.pool.reading(RowAccess::Nobody)).await.map_err(Failure::from)?)
    }

    async fn forget_audited(&self, before: Timestamp, keep: u64, limit: u32) -> Result<u64, StoreError> {
        // Numbers have few gaps: those of failed transactions, and the entries deleted at the beginning.
        let forgotten = sqlx::query!(
            "DELETE FROM audit WHERE number = ANY(ARRAY(
                 SELECT number FROM audit WHERE at < $1 OR number <= (SELECT max(number) FROM audit) - $2::bigint ORDER BY number LIMIT $3))",
            codec::time(before),
            signed(keep),
            i64::from(limit),
        );
        Ok(forgotten.execute(self.pool.writing(RowAccess::Nobody)).await.map_err(Failure::from)?.rows_affected())
    }
}

fn entry(row: AuditRow) -> Result<AuditEntry, Failure> {
    let of = |column| Column("audit", column);
    let address = row.address.map(|a| a.parse()).transpose();
    Ok(AuditEntry {
        number: of("number").count(row.number)?,
        said: AuditDraft {
            at: row.at,
            actor: row.actor.map(UserId),
            action: of("action").text(row.action)?,
            target: of("target").opt_text(row.target)?,
            address: address.map_err(|_| Refusal::Damaged { table: "audit", column: "address" })?,
            instance: of("instance").text(row.instance)?,
        },
    })
}
