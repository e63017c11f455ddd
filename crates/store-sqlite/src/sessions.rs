//! Creates, reads and lists sessions. `delete` deletes them.

use async_trait::async_trait;

use super::{
    SqliteStore,
    codec::{bytes, id_list, millis},
    failure::Failure,
    keys, rows,
    rows::Columns,
    transaction::WriteTransaction,
};
use recall_domain::{Caller, Page, Session, SessionId, Slice, Timestamp, UserId, UserText, ViewerRole};
use recall_ports::{Reweigh, SessionDeleted, SessionStore, StoreError};
use recall_store::{DeletionExtent, NewSession, SessionDeletion, SessionStatements, delete_session};

#[async_trait]
impl SessionStore for SqliteStore {
    async fn create_session(
        &self,
        caller: &Caller,
        id: SessionId,
        title: Option<UserText>,
        epoch: String,
        now: Timestamp,
    ) -> Result<Session, StoreError> {
        let (caller, new) = (*caller, NewSession { id, title, epoch, now });
        let session =
            self.write(move |c| Box::pin(async move { recall_store::create_session(&mut WriteTransaction(c), &caller, &new).await }));
        Ok(session.await?)
    }

    async fn sessions_by_id(&self, caller: &Caller, ids: &[SessionId]) -> Result<Vec<Session>, StoreError> {
        let found = sqlx::query("SELECT * FROM visible_sessions WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?))")
            .bind(bytes(&caller.user().0))
            .bind(id_list(ids.iter().map(|id| &id.0)))
            .fetch_all(self.readers.for_user(caller))
            .await
            .map_err(Failure::from)?;
        Ok(found.iter().map(rows::session).collect::<Result<_, _>>()?)
    }

    async fn list_sessions(&self, caller: &Caller, page: &Page) -> Result<Slice<Session>, StoreError> {
        let (updated_at, id) = keys::latest_before(page.after.as_deref())?;
        let found = sqlx::query(
            "SELECT * FROM visible_sessions WHERE user_id = ? AND (updated_at, id) < (?, ?) ORDER BY updated_at DESC, id DESC LIMIT ?",
        );
        let found = found.bind(bytes(&caller.user().0)).bind(updated_at).bind(bytes(&id)).bind(keys::limit(page));
        let found = found.fetch_all(self.readers.for_user(caller)).await.map_err(Failure::from)?;
        Ok(keys::page(found.iter().map(rows::session), page, keys::of_session)?)
    }

    async fn count_sessions(&self, caller: &Caller) -> Result<u64, StoreError> {
        let count: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM visible_sessions WHERE user_id = ?")
            .bind(bytes(&caller.user().0))
            .fetch_one(self.readers.for_user(caller))
            .await
            .map_err(Failure::from)?;
        Ok(count.unsigned_abs())
    }

    async fn delete_session_unused_since(
        &self,
        caller: &Caller,
        id: SessionId,
        since: Option<Timestamp>,
        reweigh: Reweigh<'_>,
    ) -> Result<SessionDeleted, StoreError> {
        let extent = DeletionExtent::Whole { unused_since: since };
        let deletion = SessionDeletion { user: caller.user(), session: id, extent };
        Ok(delete_session(self, deletion, reweigh).await?.deleted)
    }

    async fn unused_sessions(
        &self,
        since: Timestamp,
        after: Option<(UserId, SessionId)>,
        limit: u32,
    ) -> Result<Vec<(Caller, SessionId)>, StoreError> {
        let (user, session) = after.map_or((Vec::new(), Vec::new()), |(u, s)| (bytes(&u.0).to_vec(), bytes(&s.0).to_vec()));
        let found = sqlx::query(
            "SELECT user_id, id FROM visible_sessions WHERE (user_id, id) > (?, ?) AND updated_at < ? ORDER BY user_id, id LIMIT ?",
        )
        .bind(user)
        .bind(session)
        .bind(millis(since))
        .bind(limit)
        .fetch_all(self.readers.for_server())
        .await
        .map_err(Failure::from)?;
        Ok(found.iter().map(owned).collect::<Result<_, _>>()?)
    }
}

#[async_trait]
impl SessionStatements for WriteTransaction<'_> {
    async fn insert_session(&mut self, user: UserId, new: &NewSession) -> Result<Session, Failure> {
        let row = sqlx::query(
            "INSERT INTO sessions (user_id, id, title, created_at, updated_at, epoch) VALUES (?1, ?2, ?3, ?4, ?4, ?5) RETURNING *",
        );
        let row = row.bind(bytes(&user.0)).bind(bytes(&new.id.0)).bind(new.title.as_ref().map(UserText::as_str));
        rows::session(&row.bind(millis(new.now)).bind(new.epoch.as_str()).fetch_one(&mut *self.0).await?)
    }
}

/// A session id with the caller of its owner.
pub(super) fn owned(row: &sqlx::sqlite::SqliteRow) -> Result<(Caller, SessionId), Failure> {
    let c = Columns::of(row, "sessions");
    Ok((Caller::verified(UserId(c.id("user_id")?), ViewerRole::User), SessionId(c.id("id")?)))
}
