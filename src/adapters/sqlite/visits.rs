//! Visits: begun, found, used, over, adopted; and what visitors may store.

use async_trait::async_trait;
use sqlx::{SqliteConnection, sqlite::SqliteRow};
use uuid::Uuid;

use super::{
    SqliteStore, archive,
    codec::{bytes, millis, signed},
    erase,
    failure::Failure,
    rows::Columns,
};
use crate::{
    domain::{Adopted, Adoption, Caller, EntityId, Timestamp, TokenDigest, UserId, ViewerRole, Visit},
    ports::{StoreError, VisitStore},
};

#[async_trait]
impl VisitStore for SqliteStore {
    async fn begin_visit(&self, caller: &Caller, visit: &Visit, most: u64) -> Result<bool, StoreError> {
        let (user, visit) = (caller.user().0, visit.clone());
        let begun = self.write(move |c| {
            Box::pin(async move {
                let there: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM visits").fetch_one(&mut *c).await?;
                if there.unsigned_abs() >= most {
                    return Ok(false);
                }
                sqlx::query("INSERT INTO users (id, visitor) VALUES (?, 1) ON CONFLICT DO NOTHING")
                    .bind(bytes(&user))
                    .execute(&mut *c)
                    .await?;
                sqlx::query(
                    "INSERT INTO visits (user_id, digest, messages_left, sessions_left, created_at, ends_at) VALUES (?, ?, ?, ?, ?, ?)",
                )
                .bind(bytes(&user))
                .bind(visit.digest.0.as_slice())
                .bind(visit.messages_left)
                .bind(visit.sessions_left)
                .bind(millis(visit.created_at))
                .bind(millis(visit.ends_at))
                .execute(c)
                .await?;
                Ok(true)
            })
        });
        Ok(begun.await?)
    }

    async fn visit(&self, digest: TokenDigest, now: Timestamp) -> Result<Option<(Caller, Visit)>, StoreError> {
        let found = sqlx::query("SELECT * FROM visits WHERE digest = ? AND ends_at > ?")
            .bind(digest.0.as_slice())
            .bind(millis(now))
            .fetch_optional(&self.readers)
            .await
            .map_err(Failure::from)?;
        Ok(found.map(|row| visit(&row, digest)).transpose()?)
    }

    async fn use_visit(&self, digest: TokenDigest, ends_at: Timestamp) -> Result<(), StoreError> {
        let used = self.write_loosely(move |c| {
            Box::pin(async move {
                let query = sqlx::query("UPDATE visits SET ends_at = max(ends_at, ?) WHERE digest = ?");
                query.bind(millis(ends_at)).bind(digest.0.as_slice()).execute(c).await?;
                Ok(())
            })
        });
        Ok(used.await?)
    }

    async fn ended_visits(&self, now: Timestamp, limit: u32) -> Result<Vec<Caller>, StoreError> {
        let found = sqlx::query("SELECT user_id FROM visits WHERE ends_at <= ? ORDER BY ends_at LIMIT ?").bind(millis(now)).bind(limit);
        let found = found.fetch_all(&self.readers).await.map_err(Failure::from)?;
        Ok(found.iter().map(|row| Ok(visitor(Columns::of(row, "visits").id("user_id")?))).collect::<Result<_, Failure>>()?)
    }

    async fn adopt(&self, account: &Caller, digest: TokenDigest, now: Timestamp) -> Result<Option<Adoption>, StoreError> {
        let account = *account;
        let adopted = self.write(move |c| {
            Box::pin(async move {
                let found =
                    sqlx::query("SELECT * FROM visits WHERE digest = ? AND ends_at > ?").bind(digest.0.as_slice()).bind(millis(now));
                let Some(row) = found.fetch_optional(&mut *c).await? else { return Ok(None) };
                let (whose, _) = visit(&row, digest)?;
                let handover = archive::adopt(c, whose.user(), &account).await?;
                // Ends the visit too.
                erase::begin(c, whose.user().0, now).await?;
                Ok(Some(handover.adoption))
            })
        });
        Ok(adopted.await?)
    }

    async fn adopted(&self, caller: &Caller, limit: u32) -> Result<Vec<Adopted>, StoreError> {
        let found = sqlx::query("SELECT entity_id, is_viewer FROM adopted WHERE user_id = ? ORDER BY is_viewer DESC, entity_id LIMIT ?")
            .bind(bytes(&caller.user().0))
            .bind(limit)
            .fetch_all(&self.readers)
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
        let found = found.fetch_all(&self.readers).await.map_err(Failure::from)?;
        let caller = |row| Ok(Caller::verified(UserId(Columns::of(row, "adopted").id("user_id")?), ViewerRole::User));
        Ok(found.iter().map(caller).collect::<Result<_, Failure>>()?)
    }
}

/// Forgets the users of visits of which nothing else is left.
pub(super) async fn forget(c: &mut SqliteConnection) -> Result<(), Failure> {
    let gone = sqlx::query(
        "DELETE FROM users WHERE visitor = 1 AND NOT EXISTS (SELECT 1 FROM visits v WHERE v.user_id = users.id)
             AND NOT EXISTS (SELECT 1 FROM erasures e WHERE e.user_id = users.id)",
    );
    gone.execute(c).await?;
    Ok(())
}

/// Takes messages out of the visit of a caller who is on one. Others have none.
pub(super) async fn take_messages(c: &mut SqliteConnection, caller: &Caller, count: usize) -> Result<(), Failure> {
    take(c, caller, "UPDATE visits SET messages_left = messages_left - ?2 WHERE user_id = ?1 AND messages_left >= ?2", count).await
}

/// The same for a session.
pub(super) async fn take_session(c: &mut SqliteConnection, caller: &Caller) -> Result<(), Failure> {
    take(c, caller, "UPDATE visits SET sessions_left = sessions_left - ?2 WHERE user_id = ?1 AND sessions_left >= ?2", 1).await
}

async fn take(c: &mut SqliteConnection, caller: &Caller, sql: &'static str, count: usize) -> Result<(), Failure> {
    if caller.role() != ViewerRole::Anonymous || count == 0 {
        return Ok(());
    }
    let taken = sqlx::query(sql).bind(bytes(&caller.user().0)).bind(signed(count as u64)).execute(c).await?;
    if taken.rows_affected() == 0 { Err(Failure::QuotaUsed) } else { Ok(()) }
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
    };
    Ok((visitor(c.id("user_id")?), visit))
}
