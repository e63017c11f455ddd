//! Stores visits and their quotas: begins, finds, ends and adopts them.

use async_trait::async_trait;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{PostgresStore, codec, failure::Failure, row_security::RowAccess, rows::Column, transaction::WriteTransaction};
use recall_domain::{Adopted, Adoption, Caller, EntityId, Timestamp, TokenDigest, UserId, ViewerRole, Visit, VisitLimits};
use recall_ports::{StoreError, VisitStore};
use recall_store::{Transaction, VisitStatements, archive::adopt_visit, begin_visit};

struct VisitRow {
    user_id: Uuid,
    messages_left: i64,
    sessions_left: i64,
    created_at: Timestamp,
    ends_at: Timestamp,
    empty_until: Option<Timestamp>,
}

/// The advisory lock for beginning a visit, so that no two visits take the last place.
const BEGIN_LOCK: i64 = 0x7265_6361_6c6c_0014;

#[async_trait]
impl VisitStore for PostgresStore {
    async fn begin_visit(&self, caller: &Caller, visit: &Visit, limits: &VisitLimits) -> Result<bool, StoreError> {
        let input = (caller.user(), visit, limits);
        let begun = self.write(RowAccess::Visit, &input, |c, &(user, visit, limits)| {
            Box::pin(async move {
                sqlx::query!("SELECT 1 AS one FROM pg_advisory_xact_lock($1)", BEGIN_LOCK).fetch_one(&mut *c).await?;
                begin_visit(&mut WriteTransaction(c), user, visit, limits).await
            })
        });
        Ok(begun.await?)
    }

    async fn visit(&self, digest: TokenDigest, now: Timestamp) -> Result<Option<(Caller, Visit)>, StoreError> {
        Ok(find_visit(self, digest, now).await?)
    }

    async fn use_visit(&self, digest: TokenDigest, now: Timestamp, ends_at: Timestamp, empty_until: Timestamp) -> Result<(), StoreError> {
        let whose = sqlx::query_scalar!("SELECT user_id FROM visits WHERE digest = $1", digest.0.as_slice());
        let whose = whose.fetch_optional(self.pool.reading(RowAccess::Visit)).await.map_err(Failure::from)?;
        let Some(user) = whose else { return Ok(()) };
        // This update does not wait for the disk.
        let used = sqlx::query!(
            "WITH loosely AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
             UPDATE visits SET ends_at = greatest(ends_at, $1),
                 empty_until = CASE WHEN empty_until IS NOT NULL THEN greatest(empty_until, $4) END
             FROM loosely WHERE user_id = $2 AND digest = $3 AND ends_at > $5 AND (empty_until IS NULL OR empty_until > $5)",
            codec::time(ends_at),
            user,
            digest.0.as_slice(),
            codec::time(empty_until),
            codec::time(now),
        );
        used.execute(self.pool.writing(UserId(user))).await.map_err(Failure::from)?;
        Ok(())
    }

    async fn ended_visits(&self, now: Timestamp, limit: u32) -> Result<Vec<Caller>, StoreError> {
        let ended = sqlx::query_scalar!(
            r#"SELECT user_id AS "user_id!" FROM visits WHERE ends_at <= $1
             UNION SELECT user_id FROM visits WHERE empty_until <= $1 LIMIT $2"#,
            codec::time(now),
            i64::from(limit),
        );
        let found = ended.fetch_all(self.pool.reading(RowAccess::Visit)).await.map_err(Failure::from)?;
        Ok(found.into_iter().map(visitor).collect())
    }

    async fn adopt(&self, account: &Caller, digest: TokenDigest, now: Timestamp) -> Result<Option<Adoption>, StoreError> {
        let Some((whose, _)) = find_visit(self, digest, now).await? else { return Ok(None) };
        let input = (whose.user(), *account, digest, now);
        Ok(self
            .write(&whose, &input, |c, (visitor, account, digest, now)| Box::pin(move_to_account(c, *visitor, account, *digest, *now)))
            .await?)
    }

    async fn adopted(&self, caller: &Caller, limit: u32) -> Result<Vec<Adopted>, StoreError> {
        let found = sqlx::query!(
            "SELECT entity_id, is_viewer FROM adopted WHERE user_id = $1 ORDER BY is_viewer DESC, entity_id LIMIT $2",
            caller.user().0,
            i64::from(limit),
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(found.into_iter().map(|row| Adopted { entity: EntityId(row.entity_id), is_viewer: row.is_viewer }).collect())
    }

    async fn settle_adopted(&self, caller: &Caller, entity: EntityId) -> Result<(), StoreError> {
        let settled = sqlx::query!("DELETE FROM adopted WHERE user_id = $1 AND entity_id = $2", caller.user().0, entity.0);
        settled.execute(self.pool.writing(caller)).await.map_err(Failure::from)?;
        Ok(())
    }

    async fn unsettled_adoptions(&self, limit: u32) -> Result<Vec<Caller>, StoreError> {
        let found = sqlx::query_scalar!("SELECT DISTINCT user_id FROM adopted LIMIT $1", i64::from(limit));
        let found = found.fetch_all(self.pool.reading(RowAccess::Visit)).await.map_err(Failure::from)?;
        Ok(found.into_iter().map(|user| Caller::verified(UserId(user), ViewerRole::User)).collect())
    }
}

async fn find_visit(store: &PostgresStore, digest: TokenDigest, now: Timestamp) -> Result<Option<(Caller, Visit)>, Failure> {
    let found = sqlx::query_as!(
        VisitRow,
        "SELECT user_id, messages_left, sessions_left, created_at, ends_at, empty_until FROM visits
         WHERE digest = $1 AND ends_at > $2 AND (empty_until IS NULL OR empty_until > $2)",
        digest.0.as_slice(),
        codec::time(now),
    );
    let found = found.fetch_optional(store.pool.reading(RowAccess::Visit)).await?;
    found.map(|row| visit(row, digest)).transpose()
}

#[async_trait]
impl VisitStatements for WriteTransaction<'_> {
    async fn count_visits(&mut self, now: Timestamp, origin: Option<&str>) -> Result<u64, Failure> {
        let count = match origin {
            Some(origin) => {
                let count = sqlx::query_scalar!(
                    r#"SELECT count(*) AS "there!" FROM visits
                     WHERE origin = $2 AND ends_at > $1 AND (empty_until IS NULL OR empty_until > $1)"#,
                    codec::time(now),
                    origin,
                );
                count.fetch_one(&mut *self.0).await?
            }
            None => {
                let count = sqlx::query_scalar!(
                    r#"SELECT count(*) AS "there!" FROM visits WHERE ends_at > $1 AND (empty_until IS NULL OR empty_until > $1)"#,
                    codec::time(now),
                );
                count.fetch_one(&mut *self.0).await?
            }
        };
        Ok(count.unsigned_abs())
    }

    async fn evict_empty_visit(&mut self, now: Timestamp, origin: Option<&str>) -> Result<bool, Failure> {
        while let Some(oldest) = oldest_empty_visit(self.0, now, origin).await? {
            self.act_for(oldest).await?;
            // A visitor who stores a message at this moment is waited for and keeps the visit.
            let ended = sqlx::query!(
                "UPDATE visits SET ends_at = $2, empty_until = $2, messages_left = 0, sessions_left = 0
                 WHERE user_id = $1 AND empty_until IS NOT NULL",
                oldest.0,
                codec::time(now),
            );
            if ended.execute(&mut *self.0).await?.rows_affected() > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn insert_visit(&mut self, user: UserId, visit: &Visit, origin: Option<&str>) -> Result<(), Failure> {
        let visitor = sqlx::query!("INSERT INTO users (id, visitor) VALUES ($1, true) ON CONFLICT DO NOTHING", user.0);
        visitor.execute(&mut *self.0).await?;
        let insert = sqlx::query!(
            "INSERT INTO visits (user_id, digest, messages_left, sessions_left, created_at, ends_at, empty_until, origin)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            user.0,
            visit.digest.0.as_slice(),
            i64::from(visit.messages_left),
            i64::from(visit.sessions_left),
            codec::time(visit.created_at),
            codec::time(visit.ends_at),
            visit.empty_until.map(codec::time),
            origin,
        );
        insert.execute(&mut *self.0).await?;
        Ok(())
    }
}

/// Returns the owner of the least recently used empty visit from one address, or of all.
async fn oldest_empty_visit(c: &mut PgConnection, now: Timestamp, origin: Option<&str>) -> Result<Option<UserId>, Failure> {
    let oldest = match origin {
        Some(origin) => {
            let oldest = sqlx::query_scalar!(
                "SELECT user_id FROM visits WHERE origin = $2 AND empty_until > $1 AND ends_at > $1 ORDER BY empty_until LIMIT 1",
                codec::time(now),
                origin,
            );
            oldest.fetch_optional(c).await?
        }
        None => {
            let oldest = sqlx::query_scalar!(
                "SELECT user_id FROM visits WHERE empty_until > $1 AND ends_at > $1 ORDER BY empty_until LIMIT 1",
                codec::time(now),
            );
            oldest.fetch_optional(c).await?
        }
    };
    Ok(oldest.map(UserId))
}

/// Waits for the visitor's running writes, then moves the data to an account.
async fn move_to_account(
    c: &mut PgConnection,
    visitor: UserId,
    account: &Caller,
    digest: TokenDigest,
    now: Timestamp,
) -> Result<Option<Adoption>, Failure> {
    let sessions = sqlx::query_scalar!("SELECT id FROM sessions WHERE user_id = $1 ORDER BY id FOR UPDATE", visitor.0);
    sessions.fetch_all(&mut *c).await?;
    sqlx::query_scalar!("SELECT id FROM users WHERE id = $1 FOR UPDATE", visitor.0).fetch_all(&mut *c).await?;
    // The visit may have been adopted or ended meanwhile.
    let still =
        sqlx::query_scalar!("SELECT user_id FROM visits WHERE user_id = $1 AND digest = $2 FOR UPDATE", visitor.0, digest.0.as_slice(),);
    if still.fetch_optional(&mut *c).await?.is_none() {
        return Ok(None);
    }
    Ok(Some(adopt_visit(&mut WriteTransaction(c), visitor, account, now).await?))
}

fn visitor(user: Uuid) -> Caller {
    Caller::verified(UserId(user), ViewerRole::Anonymous)
}

fn visit(row: VisitRow, digest: TokenDigest) -> Result<(Caller, Visit), Failure> {
    let of = |column| Column("visits", column);
    let visit = Visit {
        digest,
        messages_left: of("messages_left").small(row.messages_left)?,
        sessions_left: of("sessions_left").small(row.sessions_left)?,
        created_at: row.created_at,
        ends_at: row.ends_at,
        empty_until: row.empty_until,
    };
    Ok((visitor(row.user_id), visit))
}
