//! Stores visits and their quotas: begins, finds, ends and adopts them.

use async_trait::async_trait;
use sqlx::{AssertSqlSafe, SqliteConnection, sqlite::SqliteRow};
use uuid::Uuid;

use super::{
    SqliteStore, archive,
    codec::{bytes, millis},
    failure::Failure,
    rows::Columns,
    transaction::WriteTransaction,
};
use recall_domain::{Adopted, Adoption, Caller, EntityId, Timestamp, TokenDigest, UserId, ViewerRole, Visit, VisitLimits};
use recall_ports::{StoreError, VisitStore};
use recall_store::begin_account_deletion;

#[async_trait]
impl VisitStore for SqliteStore {
    async fn begin_visit(&self, caller: &Caller, visit: &Visit, limits: &VisitLimits) -> Result<bool, StoreError> {
        let (user, visit, limits) = (caller.user().0, visit.clone(), *limits);
        let started = self.write(move |c| {
            Box::pin(async move {
                let origin = limits.origin.map(|origin| origin.to_string());
                if !ensure_capacity(c, visit.created_at, origin.as_deref(), &limits).await? {
                    return Ok(false);
                }
                sqlx::query("INSERT INTO users (id, visitor) VALUES (?, 1) ON CONFLICT DO NOTHING")
                    .bind(bytes(&user))
                    .execute(&mut *c)
                    .await?;
                sqlx::query(
                    "INSERT INTO visits (user_id, digest, messages_left, sessions_left, created_at, ends_at, empty_until, origin)
                     VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                )
                .bind(bytes(&user))
                .bind(visit.digest.0.as_slice())
                .bind(visit.messages_left)
                .bind(visit.sessions_left)
                .bind(millis(visit.created_at))
                .bind(millis(visit.ends_at))
                .bind(visit.empty_until.map(millis))
                .bind(origin)
                .execute(c)
                .await?;
                Ok(true)
            })
        });
        Ok(started.await?)
    }

    async fn visit(&self, digest: TokenDigest, now: Timestamp) -> Result<Option<(Caller, Visit)>, StoreError> {
        let mut reader = self.readers.for_server().acquire().await.map_err(Failure::from)?;
        Ok(find_visit(&mut reader, digest, now).await?)
    }

    async fn use_visit(&self, digest: TokenDigest, now: Timestamp, ends_at: Timestamp, empty_until: Timestamp) -> Result<(), StoreError> {
        let used = self.write_relaxed(move |c| {
            Box::pin(async move {
                // NULL stays NULL.
                let query = sqlx::query(
                    "UPDATE visits SET ends_at = max(ends_at, ?2), empty_until = max(empty_until, ?3)
                     WHERE digest = ?1 AND ends_at > ?4 AND (empty_until IS NULL OR empty_until > ?4)",
                );
                let query = query.bind(digest.0.as_slice()).bind(millis(ends_at)).bind(millis(empty_until)).bind(millis(now));
                query.execute(c).await?;
                Ok(())
            })
        });
        Ok(used.await?)
    }

    async fn ended_visits(&self, now: Timestamp, limit: u32) -> Result<Vec<Caller>, StoreError> {
        let found =
            sqlx::query("SELECT user_id FROM visits WHERE ends_at <= ?1 UNION SELECT user_id FROM visits WHERE empty_until <= ?1 LIMIT ?2");
        let found = found.bind(millis(now)).bind(limit);
        let found = found.fetch_all(self.readers.for_server()).await.map_err(Failure::from)?;
        Ok(found.iter().map(|row| Ok(visitor(Columns::of(row, "visits").id("user_id")?))).collect::<Result<_, Failure>>()?)
    }

    async fn adopt(&self, account: &Caller, digest: TokenDigest, now: Timestamp) -> Result<Option<Adoption>, StoreError> {
        let account = *account;
        let adopted = self.write(move |c| {
            Box::pin(async move {
                let Some((visitor, _)) = find_visit(c, digest, now).await? else { return Ok(None) };
                let handover = archive::adopt(c, visitor.user(), &account).await?;
                // The data belongs to the account now. This voids a worker's claim at once; the deletion may run later.
                sqlx::query("DELETE FROM jobs WHERE user_id = ?").bind(bytes(&visitor.user().0)).execute(&mut *c).await?;
                // Also ends the visit.
                begin_account_deletion(&mut WriteTransaction(c), visitor.user(), now).await?;
                Ok(Some(handover.adoption))
            })
        });
        Ok(adopted.await?)
    }

    async fn adopted(&self, caller: &Caller, limit: u32) -> Result<Vec<Adopted>, StoreError> {
        let found = sqlx::query("SELECT entity_id, is_viewer FROM adopted WHERE user_id = ? ORDER BY is_viewer DESC, entity_id LIMIT ?")
            .bind(bytes(&caller.user().0))
            .bind(limit)
            .fetch_all(self.readers.for_user(caller))
            .await
            .map_err(Failure::from)?;
        let adopted = |row| {
            let c = Columns::of(row, "adopted");
            Ok(Adopted { entity: EntityId(c.id("entity_id")?), is_viewer: c.flag("is_viewer")? })
        };
        Ok(found.iter().map(adopted).collect::<Result<_, Failure>>()?)
    }

    async fn settle_adopted(&self, caller: &Caller, entity: EntityId) -> Result<(), StoreError> {
        let user = caller.user().0;
        let settled = self.write(move |c| {
            Box::pin(async move {
                let query = sqlx::query("DELETE FROM adopted WHERE user_id = ? AND entity_id = ?");
                query.bind(bytes(&user)).bind(bytes(&entity.0)).execute(c).await?;
                Ok(())
            })
        });
        Ok(settled.await?)
    }

    async fn unsettled_adoptions(&self, limit: u32) -> Result<Vec<Caller>, StoreError> {
        let found = sqlx::query("SELECT DISTINCT user_id FROM adopted LIMIT ?").bind(limit);
        let found = found.fetch_all(self.readers.for_server()).await.map_err(Failure::from)?;
        let caller = |row| Ok(Caller::verified(UserId(Columns::of(row, "adopted").id("user_id")?), ViewerRole::User));
        Ok(found.iter().map(caller).collect::<Result<_, Failure>>()?)
    }
}

async fn find_visit(c: &mut SqliteConnection, digest: TokenDigest, now: Timestamp) -> Result<Option<(Caller, Visit)>, Failure> {
    let found = sqlx::query("SELECT * FROM visits WHERE digest = ?1 AND ends_at > ?2 AND (empty_until IS NULL OR empty_until > ?2)")
        .bind(digest.0.as_slice())
        .bind(millis(now))
        .fetch_optional(c)
        .await?;
    found.map(|row| visit(&row, digest)).transpose()
}

/// Whether one more visit may begin. Evicts empty visits where a limit is reached.
async fn ensure_capacity(c: &mut SqliteConnection, now: Timestamp, origin: Option<&str>, limits: &VisitLimits) -> Result<bool, Failure> {
    let of_origin = origin.map(|origin| (Some(origin), limits.most_of_origin));
    for (origin, most) in of_origin.into_iter().chain([(None, limits.most)]) {
        // Separate texts, because SQLite uses a partial index only if the condition always implies it.
        let of = if origin.is_some() { "origin = ?2" } else { "?2 IS NULL" };
        let there = format!("SELECT COUNT(*) FROM visits WHERE ends_at > ?1 AND (empty_until IS NULL OR empty_until > ?1) AND {of}");
        let there: i64 =
            sqlx::query_scalar(AssertSqlSafe(there)).bind(millis(now)).bind(origin.map(str::to_owned)).fetch_one(&mut *c).await?;
        if there.unsigned_abs() < most {
            continue;
        }
        // The quota becomes zero too: a request in flight must not store data that would then be deleted.
        let ended = format!(
            "UPDATE visits SET ends_at = ?1, empty_until = ?1, messages_left = 0, sessions_left = 0 WHERE user_id = (
                 SELECT user_id FROM visits WHERE empty_until > ?1 AND ends_at > ?1 AND {of} ORDER BY empty_until LIMIT 1)"
        );
        let ended = sqlx::query(AssertSqlSafe(ended));
        if ended.bind(millis(now)).bind(origin.map(str::to_owned)).execute(&mut *c).await?.rows_affected() == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Deletes the user row of a visitor who has no visit and no deletion record left.
pub(super) async fn forget_visitor(c: &mut SqliteConnection, user: &[u8]) -> Result<(), Failure> {
    let gone = sqlx::query(
        "DELETE FROM users WHERE id = ?1 AND visitor = 1 AND NOT EXISTS (SELECT 1 FROM visits WHERE user_id = ?1)
             AND NOT EXISTS (SELECT 1 FROM erasures WHERE user_id = ?1)",
    );
    gone.bind(user).execute(c).await?;
    Ok(())
}

fn visitor(user: Uuid) -> Caller {
    Caller::verified(UserId(user), ViewerRole::Anonymous)
}

fn visit(row: &SqliteRow, digest: TokenDigest) -> Result<(Caller, Visit), Failure> {
    let c = Columns::of(row, "visits");
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
