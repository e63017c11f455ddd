//! Creates, reads and lists sessions. `delete` deletes them.

use async_trait::async_trait;

use super::{
    PostgresStore, codec,
    failure::Failure,
    keys,
    row_security::RowAccess,
    rows::{self, SessionRow},
    transaction::WriteTransaction,
};
use recall_domain::{Caller, Page, Session, SessionId, Slice, Timestamp, UserId, UserText, ViewerRole};
use recall_ports::{Reweigh, SessionDeleted, SessionStore, StoreError};
use recall_store::{DeletionExtent, NewSession, SessionDeletion, SessionStatements, delete_session, rename_session};

#[async_trait]
impl SessionStore for PostgresStore {
    async fn create_session(
        &self,
        caller: &Caller,
        id: SessionId,
        title: Option<UserText>,
        epoch: String,
        now: Timestamp,
    ) -> Result<Session, StoreError> {
        let input = (caller, NewSession { id, title, epoch, now, document: false });
        let session = self.write(caller, &input, |c, (caller, new)| {
            Box::pin(async move { recall_store::create_session(&mut WriteTransaction(c), caller, new).await })
        });
        let session = session.await?;
        self.notifications.committed(caller, session.id);
        Ok(session)
    }

    async fn sessions_by_id(&self, caller: &Caller, ids: &[SessionId]) -> Result<Vec<Session>, StoreError> {
        let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
        let found = rows::sessions!("WHERE user_id = $1 AND id = ANY($2)", caller.user().0, &ids[..]);
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(found.into_iter().map(SessionRow::read).collect::<Result<_, _>>()?)
    }

    async fn rename_session(&self, caller: &Caller, id: SessionId, title: &UserText, now: Timestamp) -> Result<Session, StoreError> {
        let input = (caller.user(), id, title, now);
        let renamed = self.write(caller, &input, |c, &(user, id, title, now)| {
            Box::pin(async move { rename_session(&mut WriteTransaction(c), user, id, title, now).await })
        });
        let renamed = renamed.await?;
        self.notifications.committed(caller, id);
        Ok(renamed)
    }

    async fn list_sessions(&self, caller: &Caller, page: &Page) -> Result<Slice<Session>, StoreError> {
        let (updated_at, id) = codec::latest_before(page.after.as_deref())?;
        let found = rows::sessions!(
            "WHERE user_id = $1 AND document IS NULL AND (updated_at, id) < ($2, $3) ORDER BY updated_at DESC, id DESC LIMIT $4",
            caller.user().0,
            updated_at,
            id,
            keys::limit(page),
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(keys::page(found.into_iter().map(SessionRow::read), page, keys::of_session)?)
    }

    async fn count_sessions(&self, caller: &Caller) -> Result<u64, StoreError> {
        let count = sqlx::query_scalar!(
            r#"SELECT count(*) AS "count!" FROM visible_sessions WHERE user_id = $1 AND document IS NULL"#,
            caller.user().0
        );
        Ok(count.fetch_one(self.pool.reading(caller)).await.map_err(Failure::from)?.unsigned_abs())
    }

    async fn delete_session_unused_since(
        &self,
        caller: &Caller,
        id: SessionId,
        since: Option<Timestamp>,
        now: Timestamp,
        reweigh: Reweigh<'_>,
    ) -> Result<SessionDeleted, StoreError> {
        let extent = DeletionExtent::Whole { unused_since: since, now };
        let deletion = SessionDeletion { user: caller.user(), session: id, extent };
        let deleted = delete_session(self, deletion, reweigh).await?.deleted;
        self.notifications.deleted(caller, id);
        Ok(deleted)
    }

    async fn unused_sessions(
        &self,
        since: Timestamp,
        after: Option<(UserId, SessionId)>,
        limit: u32,
    ) -> Result<Vec<(Caller, SessionId)>, StoreError> {
        let (user, session) = after.map(|(u, s)| (u.0, s.0)).unzip();
        let found = sqlx::query!(
            r#"SELECT user_id AS "user_id!", id AS "id!" FROM visible_sessions
             WHERE ($1::uuid IS NULL OR (user_id, id) > ($1, $2)) AND updated_at < $3 ORDER BY user_id, id LIMIT $4"#,
            user,
            session,
            codec::time(since),
            i64::from(limit),
        );
        let found = found.fetch_all(self.pool.reading(RowAccess::Unused)).await.map_err(Failure::from)?;
        Ok(found.into_iter().map(|row| (Caller::verified(UserId(row.user_id), ViewerRole::User), SessionId(row.id))).collect())
    }
}

#[async_trait]
impl SessionStatements for WriteTransaction<'_> {
    async fn insert_session(&mut self, user: UserId, new: &NewSession) -> Result<Session, Failure> {
        let title = codec::opt_text(new.title.as_ref().map(UserText::as_str));
        let row = sqlx::query_as!(
            SessionRow,
            "INSERT INTO sessions (user_id, id, title, created_at, updated_at, epoch, document)
             VALUES ($1, $2, $3, $4, $4, $5, $6)
             RETURNING id, title, created_at, updated_at, message_count, epoch, event_head",
            user.0,
            new.id.0,
            title.as_deref(),
            codec::time(new.now),
            new.epoch,
            new.document.then_some(true),
        );
        row.fetch_one(&mut *self.0).await?.read()
    }

    async fn set_title(&mut self, user: UserId, session: SessionId, title: &UserText) -> Result<Option<Session>, Failure> {
        let row = sqlx::query_as!(
            SessionRow,
            "UPDATE sessions SET title = $3 WHERE user_id = $1 AND id = $2 AND deletion_at IS NULL
             RETURNING id, title, created_at, updated_at, message_count, epoch, event_head",
            user.0,
            session.0,
            &*codec::text(title.as_str()),
        );
        row.fetch_optional(&mut *self.0).await?.map(SessionRow::read).transpose()
    }
}
