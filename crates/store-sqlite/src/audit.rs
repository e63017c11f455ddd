//! Appends, reads and prunes the audit log.

use async_trait::async_trait;

use super::{
    SqliteStore,
    codec::{millis, signed},
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
        let kept = self.write(move |tx| {
            let (actor, address) = (entry.actor.map(|a| a.0), entry.address.map(|a| a.to_string()));
            tx.0.execute(
                "INSERT INTO audit (at, actor, action, target, address, instance) VALUES (?, ?, ?, ?, ?, ?)",
                (millis(entry.at), actor, entry.action, entry.target, address, entry.instance),
            )
        });
        kept.await?;
        Ok(())
    }

    async fn audited(&self, caller: &Caller, actor: Option<UserId>, page: &Page) -> Result<Slice<AuditEntry>, StoreError> {
        let before = page.after.as_deref().map_or(Ok(i64::MAX), keys::parse_number)?;
        let (actor, limit) = (audited_actor(caller, actor), keys::limit(page));
        let found = self.read(caller, move |db| match actor {
            None => db.rows("audit", "SELECT * FROM audit WHERE number < ? ORDER BY number DESC LIMIT ?", (before, limit), entry),
            Some(actor) => {
                let sql = "SELECT * FROM audit WHERE actor = ? AND number < ? ORDER BY number DESC LIMIT ?";
                db.rows("audit", sql, (actor.0, before, limit), entry)
            }
        });
        Ok(keys::page(found.await?.into_iter().map(Ok::<_, Failure>), page, |entry| entry.number.to_string())?)
    }

    async fn last_of(&self, caller: &Caller, actions: &[AuditAction]) -> Result<Option<String>, StoreError> {
        let user = caller.user();
        let words = serde_json::to_string(&actions.iter().map(|a| a.as_str()).collect::<Vec<_>>()).unwrap_or_default();
        let last = self.read(caller, move |db| {
            let sql =
                "SELECT action FROM audit WHERE actor = ? AND action IN (SELECT value FROM json_each(?)) ORDER BY number DESC LIMIT 1";
            db.row("audit", sql, (user.0, words), |c| c.text("action"))
        });
        Ok(last.await?)
    }

    async fn forget_audited(&self, before: Timestamp, keep: u64, limit: u32) -> Result<u64, StoreError> {
        let forgotten = self.write(move |tx| {
            // Numbers have no gaps, except for the entries deleted at the beginning.
            tx.0.execute(
                "DELETE FROM audit WHERE number IN (
                 SELECT number FROM audit WHERE at < ?1 OR number <= (SELECT max(number) FROM audit) - ?2 ORDER BY number LIMIT ?3)",
                (millis(before), signed(keep), limit),
            )
        });
        Ok(forgotten.await?)
    }
}

fn entry(c: &Columns<'_, '_>) -> Result<AuditEntry, Failure> {
    let address = c.opt_text("address")?;
    let address = address.as_deref().map(str::parse).transpose().map_err(|_| Refusal::Damaged { table: "audit", column: "address" })?;
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
