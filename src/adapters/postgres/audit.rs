//! The audit log: written, read, forgotten.

use async_trait::async_trait;
use sqlx::{Row, postgres::PgRow};

use super::{
    PostgresStore,
    codec::{self, signed},
    failure::Failure,
    keys,
    rows::Columns,
};
use crate::{
    domain::{AuditAction, AuditDraft, AuditEntry, Caller, Page, Slice, Timestamp, UserId, ViewerRole},
    ports::{AuditLog, StoreError},
};

#[async_trait]
impl AuditLog for PostgresStore {
    async fn audit(&self, entry: &AuditDraft) -> Result<(), StoreError> {
        sqlx::query("INSERT INTO audit (at, actor, action, target, address, instance) VALUES ($1, $2, $3, $4, $5, $6)")
            .bind(codec::time(entry.at))
            .bind(entry.actor.map(|a| a.0))
            .bind(&entry.action)
            .bind(codec::opt_text(entry.target.as_deref()))
            .bind(entry.address.map(|a| a.to_string()))
            .bind(codec::text(&entry.instance))
            .execute(&self.pool)
            .await
            .map_err(Failure::from)?;
        Ok(())
    }

    async fn audited(&self, caller: &Caller, actor: Option<UserId>, page: &Page) -> Result<Slice<AuditEntry>, StoreError> {
        let actor = if caller.role() == ViewerRole::Admin { actor } else { Some(caller.user()) };
        let before = page.after.as_deref().map_or(Ok(i64::MAX), keys::parse_number)?;
        let found = match actor {
            None => sqlx::query("SELECT * FROM audit WHERE number < $1 ORDER BY number DESC LIMIT $2"),
            Some(_) => sqlx::query("SELECT * FROM audit WHERE number < $1 AND actor = $3 ORDER BY number DESC LIMIT $2"),
        };
        let found = found.bind(before).bind(keys::limit(page));
        let found = match actor {
            None => found,
            Some(actor) => found.bind(actor.0),
        };
        let found = found.fetch_all(&self.pool).await.map_err(Failure::from)?;
        let items = found.iter().map(|row| {
            let entry = entry(row)?;
            Ok((entry.number.to_string(), entry))
        });
        Ok(keys::slice(items.collect::<Result<_, Failure>>()?, page))
    }

    async fn last_of(&self, caller: &Caller, actions: &[AuditAction]) -> Result<Option<String>, StoreError> {
        let last = sqlx::query_scalar("SELECT action FROM audit WHERE actor = $1 AND action = ANY($2) ORDER BY number DESC LIMIT 1")
            .bind(caller.user().0)
            .bind(actions.iter().map(|a| a.as_str()).collect::<Vec<_>>());
        Ok(last.fetch_optional(&self.pool).await.map_err(Failure::from)?)
    }

    async fn forget_audited(&self, before: Timestamp, keep: u64, limit: u32) -> Result<u64, StoreError> {
        // Nearly no holes: numbers that a failed transaction drew, and what was forgotten at the beginning.
        let forgotten = sqlx::query(
            "DELETE FROM audit WHERE number = ANY(ARRAY(
                 SELECT number FROM audit WHERE at < $1 OR number <= (SELECT max(number) FROM audit) - $2 ORDER BY number LIMIT $3))",
        )
        .bind(codec::time(before))
        .bind(signed(keep))
        .bind(i64::from(limit));
        Ok(forgotten.execute(&self.pool).await.map_err(Failure::from)?.rows_affected())
    }
}

fn entry(row: &PgRow) -> Result<AuditEntry, Failure> {
    let c = Columns::of(row, "audit");
    let address: Option<&str> = row.try_get("address")?;
    let address = address.map(str::parse).transpose().map_err(|_| Failure::Damaged { table: "audit", column: "address" })?;
    Ok(AuditEntry {
        number: c.count("number")?,
        said: AuditDraft {
            at: c.time("at")?,
            actor: c.opt_id("actor")?.map(UserId),
            action: c.text("action")?,
            target: c.opt_text("target")?,
            address,
            instance: c.text("instance")?,
        },
    })
}
