//! Stores visits and their quotas: begins, finds, ends and adopts them.

use async_trait::async_trait;
use uuid::Uuid;

use super::{
    SqliteStore,
    codec::millis,
    connection::Db,
    failure::Failure,
    rows::Columns,
    transaction::{WriteTransaction, run},
};
use recall_domain::{Adopted, Adoption, Caller, EntityId, Timestamp, TokenDigest, UserId, ViewerRole, Visit, VisitLimits};
use recall_ports::{StoreError, VisitStore};
use recall_store::{VisitStatements, archive::adopt_visit, begin_visit};

#[async_trait]
impl VisitStore for SqliteStore {
    async fn begin_visit(&self, caller: &Caller, visit: &Visit, limits: &VisitLimits) -> Result<bool, StoreError> {
        let (user, visit, limits) = (caller.user(), visit.clone(), *limits);
        Ok(self.write(move |tx| run(begin_visit(tx, user, &visit, &limits))).await?)
    }

    async fn visit(&self, digest: TokenDigest, now: Timestamp) -> Result<Option<(Caller, Visit)>, StoreError> {
        Ok(self.readers.for_server(move |db| find_visit(db, digest, now)).await?)
    }

    async fn use_visit(&self, digest: TokenDigest, now: Timestamp, ends_at: Timestamp, empty_until: Timestamp) -> Result<(), StoreError> {
        let used = self.write_relaxed(move |tx| {
            // NULL stays NULL.
            tx.0.execute(
                "UPDATE visits SET ends_at = max(ends_at, ?2), empty_until = max(empty_until, ?3)
                 WHERE digest = ?1 AND ends_at > ?4 AND (empty_until IS NULL OR empty_until > ?4)",
                (digest.0.as_slice(), millis(ends_at), millis(empty_until), millis(now)),
            )?;
            Ok(())
        });
        Ok(used.await?)
    }

    async fn ended_visits(&self, now: Timestamp, limit: u32) -> Result<Vec<Caller>, StoreError> {
        let ended = self.readers.for_server(move |db| {
            let sql = "SELECT user_id FROM visits WHERE ends_at <= ?1 UNION SELECT user_id FROM visits WHERE empty_until <= ?1 LIMIT ?2";
            db.rows("visits", sql, (millis(now), limit), |c| Ok(visitor(c.id("user_id")?)))
        });
        Ok(ended.await?)
    }

    async fn adopt(&self, account: &Caller, digest: TokenDigest, now: Timestamp) -> Result<Option<Adoption>, StoreError> {
        let account = *account;
        let adopted = self.write(move |tx| {
            let Some((visitor, _)) = find_visit(tx.0, digest, now)? else { return Ok(None) };
            Ok(Some(run(adopt_visit(tx, visitor.user(), &account, now))?))
        });
        Ok(adopted.await?)
    }

    async fn adopted(&self, caller: &Caller, limit: u32) -> Result<Vec<Adopted>, StoreError> {
        let user = caller.user();
        let adopted = self.read(caller, move |db| {
            let sql = "SELECT entity_id, is_viewer FROM adopted WHERE user_id = ? ORDER BY is_viewer DESC, entity_id LIMIT ?";
            db.rows("adopted", sql, (user.0, limit), |c| {
                Ok(Adopted { entity: EntityId(c.id("entity_id")?), is_viewer: c.flag("is_viewer")? })
            })
        });
        Ok(adopted.await?)
    }

    async fn settle_adopted(&self, caller: &Caller, entity: EntityId) -> Result<(), StoreError> {
        let user = caller.user();
        let settled = self.write(move |tx| {
            tx.0.execute("DELETE FROM adopted WHERE user_id = ? AND entity_id = ?", (user.0, entity.0))?;
            Ok(())
        });
        Ok(settled.await?)
    }

    async fn unsettled_adoptions(&self, limit: u32) -> Result<Vec<Caller>, StoreError> {
        let accounts = self.readers.for_server(move |db| {
            db.rows("adopted", "SELECT DISTINCT user_id FROM adopted LIMIT ?", (limit,), |c| {
                Ok(Caller::verified(UserId(c.id("user_id")?), ViewerRole::User))
            })
        });
        Ok(accounts.await?)
    }
}

fn find_visit(db: &Db, digest: TokenDigest, now: Timestamp) -> Result<Option<(Caller, Visit)>, Failure> {
    let sql = "SELECT * FROM visits WHERE digest = ?1 AND ends_at > ?2 AND (empty_until IS NULL OR empty_until > ?2)";
    db.row("visits", sql, (digest.0.as_slice(), millis(now)), |c| visit(c, digest))
}

#[async_trait]
impl VisitStatements for WriteTransaction<'_> {
    async fn count_visits(&mut self, now: Timestamp, origin: Option<&str>) -> Result<u64, Failure> {
        let of = of_origin(origin);
        let count = format!("SELECT COUNT(*) FROM visits WHERE ends_at > ?1 AND (empty_until IS NULL OR empty_until > ?1) AND {of}");
        Ok(self.0.number(&count, (millis(now), origin))?.unsigned_abs())
    }

    async fn evict_empty_visit(&mut self, now: Timestamp, origin: Option<&str>) -> Result<bool, Failure> {
        let ended = format!(
            "UPDATE visits SET ends_at = ?1, empty_until = ?1, messages_left = 0, sessions_left = 0 WHERE user_id = (
                 SELECT user_id FROM visits WHERE empty_until > ?1 AND ends_at > ?1 AND {} ORDER BY empty_until LIMIT 1)",
            of_origin(origin)
        );
        Ok(self.0.execute(&ended, (millis(now), origin))? > 0)
    }

    async fn insert_visit(&mut self, user: UserId, visit: &Visit, origin: Option<&str>) -> Result<(), Failure> {
        self.0.execute("INSERT INTO users (id, visitor) VALUES (?, 1) ON CONFLICT DO NOTHING", (user.0,))?;
        self.0.execute(
            "INSERT INTO visits (user_id, digest, messages_left, sessions_left, created_at, ends_at, empty_until, origin)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                user.0,
                visit.digest.0.as_slice(),
                visit.messages_left,
                visit.sessions_left,
                millis(visit.created_at),
                millis(visit.ends_at),
                visit.empty_until.map(millis),
                origin,
            ),
        )?;
        Ok(())
    }
}

/// Separate texts, because SQLite uses a partial index only if the condition always implies it.
fn of_origin(origin: Option<&str>) -> &'static str {
    if origin.is_some() { "origin = ?2" } else { "?2 IS NULL" }
}

fn visitor(user: Uuid) -> Caller {
    Caller::verified(UserId(user), ViewerRole::Anonymous)
}

fn visit(c: &Columns<'_, '_>, digest: TokenDigest) -> Result<(Caller, Visit), Failure> {
    let visit = Visit {
        digest,
        messages_left: c.small("messages_left")?,
        sessions_left: c.small("sessions_left")?,
        created_at: c.time("created_at")?,
        ends_at: c.time("ends_at")?,
        empty_until: c.opt_time("empty_until")?,
    };
    Ok((visitor(c.id("user_id")?), visit))
}
