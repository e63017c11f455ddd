//! Creates, reads and lists sessions. `delete` deletes them.

use async_trait::async_trait;
use sqlx::PgExecutor;

use super::{
    PostgresStore, codec,
    failure::Failure,
    keys,
    list::ListStatement,
    row_security::RowAccess,
    rows::{self, Column, SESSION, SessionRow},
    transaction::WriteTransaction,
};
use recall_domain::{Caller, Page, Session, SessionId, Slice, Timestamp, UserId, UserText, ViewerRole};
use recall_ports::{Activity, Reweigh, SessionDeleted, SessionFilter, SessionStore, SessionUpdate, StoreError};
use recall_store::{DeletionExtent, NewSession, SessionDeletion, SessionStatements, delete_session, filter, set_paused, update_session};

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

    async fn update_session(&self, caller: &Caller, id: SessionId, update: &SessionUpdate, now: Timestamp) -> Result<Session, StoreError> {
        let input = (caller.user(), id, update, now);
        let updated = self.write(caller, &input, |c, &(user, id, update, now)| {
            Box::pin(async move { update_session(&mut WriteTransaction(c), user, id, update, now).await })
        });
        let updated = updated.await?;
        self.notifications.committed(caller, id);
        Ok(updated)
    }

    async fn list_sessions(&self, caller: &Caller, filter: &SessionFilter, page: &Page) -> Result<Slice<Session>, StoreError> {
        let mut sql = ListStatement::new(format!("SELECT {SESSION} FROM visible_sessions s"));
        filter::session_page(&mut sql, caller.user(), filter, page)?;
        let found = sql.rows::<SessionRow>(self.pool.reading(caller)).await?;
        Ok(keys::page(found.into_iter().map(SessionRow::read), page, keys::of_session)?)
    }

    async fn count_sessions(&self, caller: &Caller, filter: &SessionFilter) -> Result<u64, StoreError> {
        let mut sql = ListStatement::new("SELECT count(*) FROM visible_sessions s");
        filter::session_conditions(&mut sql, caller.user(), filter);
        Ok(sql.count(self.pool.reading(caller)).await?)
    }

    async fn activity(&self, caller: &Caller) -> Result<Activity, StoreError> {
        let found = sqlx::query!(
            r#"SELECT count(*) AS "sessions!", coalesce(sum(message_count), 0)::bigint AS "messages!", max(updated_at) AS "latest: Timestamp"
             FROM visible_sessions WHERE user_id = $1 AND document IS NULL"#,
            caller.user().0,
        );
        let row = found.fetch_one(self.pool.reading(caller)).await.map_err(Failure::from)?;
        let of = |column| Column("sessions", column);
        Ok(Activity { sessions: of("sessions").count(row.sessions)?, messages: of("messages").count(row.messages)?, latest: row.latest })
    }

    async fn is_paused(&self, caller: &Caller) -> Result<bool, StoreError> {
        Ok(is_paused(self.pool.reading(caller), caller.user()).await?)
    }

    async fn set_paused(&self, caller: &Caller, paused: bool, now: Timestamp) -> Result<(), StoreError> {
        let input = (caller.user(), paused, now);
        let set = self.write(caller, &input, |c, &(user, paused, now)| {
            Box::pin(async move { set_paused(&mut WriteTransaction(c), user, paused, now).await })
        });
        if set.await? {
            self.notifications.committed_to_memory(caller);
        }
        Ok(())
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

async fn is_paused(db: impl PgExecutor<'_>, user: UserId) -> Result<bool, Failure> {
    let paused = sqlx::query_scalar!(r#"SELECT EXISTS (SELECT 1 FROM users WHERE id = $1 AND paused IS NOT NULL) AS "paused!""#, user.0);
    Ok(paused.fetch_one(db).await?)
}

#[async_trait]
impl SessionStatements for WriteTransaction<'_> {
    async fn insert_session(&mut self, user: UserId, new: &NewSession) -> Result<Session, Failure> {
        let title = codec::opt_text(new.title.as_ref().map(UserText::as_str));
        let search = new.search();
        let search = codec::opt_text(search.as_deref());
        let row = sqlx::query_as!(
            SessionRow,
            "INSERT INTO sessions (user_id, id, title, created_at, updated_at, epoch, document, search)
             VALUES ($1, $2, $3, $4, $4, $5, $6, $7)
             RETURNING id, title, created_at, updated_at, message_count, epoch, event_head, pinned, archived, paused",
            user.0,
            new.id.0,
            title.as_deref(),
            codec::time(new.now),
            new.epoch,
            new.document.then_some(true),
            search.as_deref(),
        );
        row.fetch_one(&mut *self.0).await?.read()
    }

    async fn update_session(
        &mut self,
        user: UserId,
        session: SessionId,
        update: &SessionUpdate,
        search: Option<&str>,
    ) -> Result<Option<Session>, Failure> {
        let (title, search) = (codec::opt_text(update.title.as_ref().map(UserText::as_str)), codec::opt_text(search));
        let row = sqlx::query_as!(
            SessionRow,
            "UPDATE sessions SET title = coalesce($3, title), search = coalesce($4, search),
                 pinned = nullif(coalesce($5, pinned), false), archived = nullif(coalesce($6, archived), false),
                 paused = nullif(coalesce($7, paused), false)
             WHERE user_id = $1 AND id = $2 AND deletion_at IS NULL
             RETURNING id, title, created_at, updated_at, message_count, epoch, event_head, pinned, archived, paused",
            user.0,
            session.0,
            title.as_deref(),
            search.as_deref(),
            update.pinned,
            update.archived,
            update.paused,
        );
        row.fetch_optional(&mut *self.0).await?.map(SessionRow::read).transpose()
    }

    async fn set_paused(&mut self, user: UserId, paused: bool) -> Result<bool, Failure> {
        if is_paused(&mut *self.0, user).await? == paused {
            return Ok(false);
        }
        sqlx::query!("UPDATE users SET paused = $2 WHERE id = $1", user.0, paused.then_some(true)).execute(&mut *self.0).await?;
        Ok(true)
    }
}
