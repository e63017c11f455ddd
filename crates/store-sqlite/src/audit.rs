//! Appends, reads and prunes the audit log.

use async_trait::async_trait;
use sqlx::{Row, sqlite::SqliteRow};

use super::{
    SqliteStore,
    codec::{bytes, millis, signed},
    failure::Failure,
    keys,
    rows::Columns,
};
use recall_domain::{AuditAction, AuditDraft, AuditEntry, Caller, Page, Slice, Timestamp, UserId};
use recall_ports::{AuditLog, StoreError};
use recall_store::{Refusal, audited_actor};

#[async_trait]
impl AuditLog for SqliteStore {
    async fn audit(&self, entry: &AuditDraft) -> Result<(), StoreError> {
        let entry = entry.clone();
        let kept = self.write(move |c| {
            Box::pin(async move {
                sqlx::query("INSERT INTO audit (at, actor, action, target, address, instance) VALUES (?, ?, ?, ?, ?, ?)")
                    .bind(millis(entry.at))
                    .bind(entry.actor.map(|a| bytes(&a.0).to_vec()))
                    .bind(entry.action)
                    .bind(entry.target)
                    .bind(entry.address.map(|a| a.to_string()))
                    .bind(entry.instance)
                    .execute(c)
                    .await?;
                Ok(())
            })
        });
        Ok(kept.await?)
    }

    async fn audited(&self, caller: &Caller, actor: Option<UserId>, page: &Page) -> Result<Slice<AuditEntry>, StoreError> {
        let before = page.after.as_deref().map_or(Ok(i64::MAX), keys::parse_number)?;
        let found = match audited_actor(caller, actor) {
            None => sqlx::query("SELECT * FROM audit WHERE number < ? ORDER BY number DESC LIMIT ?"),
            Some(actor) => sqlx::query("SELECT * FROM audit WHERE actor = ? AND number < ? ORDER BY number DESC LIMIT ?")
                .bind(bytes(&actor.0).to_vec()),
        };
        let found = found.bind(before).bind(keys::limit(page)).fetch_all(self.readers.for_user(caller)).await.map_err(Failure::from)?;
        Ok(keys::page(found.iter().map(entry), page, |entry| entry.number.to_string())?)
    }

    async fn last_of(&self, caller: &Caller, actions: &[AuditAction]) -> Result<Option<String>, StoreError> {
        let words = serde_json::to_string(&actions.iter().map(|a| a.as_str()).collect::<Vec<_>>()).unwrap_or_default();
        let last = sqlx::query_scalar(
            "SELECT action FROM audit WHERE actor = ? AND action IN (SELECT value FROM json_each(?)) ORDER BY number DESC LIMIT 1",
        );
        Ok(last.bind(bytes(&caller.user().0)).bind(words).fetch_optional(self.readers.for_user(caller)).await.map_err(Failure::from)?)
    }

    async fn forget_audited(&self, before: Timestamp, keep: u64, limit: u32) -> Result<u64, StoreError> {
        let forgotten = self.write(move |c| {
            Box::pin(async move {
                // Numbers have no gaps, except for the entries deleted at the beginning.
                let query = sqlx::query(
                    "DELETE FROM audit WHERE number IN (
                         SELECT number FROM audit WHERE at < ?1 OR number <= (SELECT max(number) FROM audit) - ?2 ORDER BY number LIMIT ?3)",
                );
                Ok(query.bind(millis(before)).bind(signed(keep)).bind(limit).execute(c).await?.rows_affected())
            })
        });
        Ok(forgotten.await?)
    }
}

fn entry(row: &SqliteRow) -> Result<AuditEntry, Failure> {
    let c = Columns::of(row, "audit");
    let address: Option<&str> = row.try_get("address")?;
    let address = address.map(str::parse).transpose().map_err(|_| Refusal::Damaged { table: "audit", column: "address" })?;
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
