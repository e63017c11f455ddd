//! Stores visits and their quotas: begins, finds, ends and adopts them.

use async_trait::async_trait;
use sqlx::{AssertSqlSafe, SqliteConnection, sqlite::SqliteRow};
use uuid::Uuid;

use super::{
    SqliteStore,
    codec::{bytes, millis},
    failure::Failure,
    rows::Columns,
    transaction::WriteTransaction,
};
use recall_domain::{Adopted, Adoption, Caller, EntityId, Timestamp, TokenDigest, UserId, ViewerRole, Visit, VisitLimits};
use recall_ports::{StoreError, VisitStore};
use recall_store::{VisitStatements, archive::adopt_visit, begin_visit};

#[async_trait]
impl VisitStore for SqliteStore {
    async fn begin_visit(&self, caller: &Caller, visit: &Visit, limits: &VisitLimits) -> Result<bool, StoreError> {
        let (user, visit, limits) = (caller.user(), visit.clone(), *limits);
        Ok(self.write(move |c| Box::pin(async move { begin_visit(&mut WriteTransaction(c), user, &visit, &limits).await })).await?)
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
                Ok(Some(adopt_visit(&mut WriteTransaction(c), visitor.user(), &account, now).await?))
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

#[async_trait]
impl VisitStatements for WriteTransaction<'_> {
    async fn count_visits(&mut self, now: Timestamp, origin: Option<&str>) -> Result<u64, Failure> {
        let of = of_origin(origin);
        let count = format!("SELECT COUNT(*) FROM visits WHERE ends_at > ?1 AND (empty_until IS NULL OR empty_until > ?1) AND {of}");
        let count = sqlx::query_scalar::<_, i64>(AssertSqlSafe(count)).bind(millis(now)).bind(origin.map(str::to_owned));
        Ok(count.fetch_one(&mut *self.0).await?.unsigned_abs())
    }

    async fn evict_empty_visit(&mut self, now: Timestamp, origin: Option<&str>) -> Result<bool, Failure> {
        let ended = format!(
            "UPDATE visits SET ends_at = ?1, empty_until = ?1, messages_left = 0, sessions_left = 0 WHERE user_id = (
                 SELECT user_id FROM visits WHERE empty_until > ?1 AND ends_at > ?1 AND {} ORDER BY empty_until LIMIT 1)",
            of_origin(origin)
        );
        let ended = sqlx::query(AssertSqlSafe(ended)).bind(millis(now)).bind(origin.map(str::to_owned));
        Ok(ended.execute(&mut *self.0).await?.rows_affected() > 0)
    }

    async fn insert_visit(&mut self, user: UserId, visit: &Visit, origin: Option<&str>) -> Result<(), Failure> {
        let visitor = sqlx::query("INSERT INTO users (id, visitor) VALUES (?, 1) ON CONFLICT DO NOTHING").bind(bytes(&user.0));
        visitor.execute(&mut *self.0).await?;
        sqlx::query(
            "INSERT INTO visits (user_id, digest, messages_left, sessions_left, created_at, ends_at, empty_until, origin)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(bytes(&user.0))
        .bind(visit.digest.0.as_slice())
        .bind(visit.messages_left)
        .bind(visit.sessions_left)
        .bind(millis(visit.created_at))
        .bind(millis(visit.ends_at))
        .bind(visit.empty_until.map(millis))
        .bind(origin)
        .execute(&mut *self.0)
        .await?;
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
