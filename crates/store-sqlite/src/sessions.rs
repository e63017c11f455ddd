//! Creates, reads and lists sessions. `delete` deletes them.

use async_trait::async_trait;

use super::{
    SqliteStore,
    codec::{id_list, millis},
    failure::Failure,
    keys,
    list::ListStatement,
    rows,
    rows::Columns,
    transaction::{WriteTransaction, run},
};
use recall_domain::{Caller, Page, Session, SessionId, Slice, Timestamp, UserId, UserText, ViewerRole};
use recall_ports::{Activity, Reweigh, SessionDeleted, SessionFilter, SessionStore, SessionUpdate, StoreError};
use recall_store::{DeletionExtent, NewSession, SessionDeletion, SessionStatements, delete_session, filter, set_paused, update_session};

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
        let (caller, new) = (*caller, NewSession { id, title, epoch, now, document: false });
        Ok(self.write(move |tx| run(recall_store::create_session(tx, &caller, &new))).await?)
    }

    async fn sessions_by_id(&self, caller: &Caller, ids: &[SessionId]) -> Result<Vec<Session>, StoreError> {
        let (user, ids) = (caller.user(), id_list(ids.iter().map(|id| &id.0)));
        let found = self.read(caller, move |db| {
            let sql = "SELECT * FROM visible_sessions WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?))";
            db.rows("sessions", sql, (user.0, ids), rows::session)
        });
        Ok(found.await?)
    }

    async fn update_session(&self, caller: &Caller, id: SessionId, update: &SessionUpdate, now: Timestamp) -> Result<Session, StoreError> {
        let (user, update) = (caller.user(), update.clone());
        Ok(self.write(move |tx| run(update_session(tx, user, id, &update, now))).await?)
    }

    async fn list_sessions(&self, caller: &Caller, filter: &SessionFilter, page: &Page) -> Result<Slice<Session>, StoreError> {
        let mut sql = ListStatement::new("SELECT s.* FROM visible_sessions s");
        filter::session_page(&mut sql, caller.user(), filter, page)?;
        let found = self.read(caller, move |db| sql.rows(db, "sessions", rows::session)).await?;
        Ok(keys::page(found.into_iter().map(Ok::<_, Failure>), page, keys::of_session)?)
    }

    async fn count_sessions(&self, caller: &Caller, filter: &SessionFilter) -> Result<u64, StoreError> {
        let mut sql = ListStatement::new("SELECT COUNT(*) FROM visible_sessions s");
        filter::session_conditions(&mut sql, caller.user(), filter);
        Ok(self.read(caller, move |db| sql.count(db)).await?)
    }

    async fn activity(&self, caller: &Caller) -> Result<Activity, StoreError> {
        let user = caller.user();
        let activity = self.read(caller, move |db| {
            let sql = "SELECT COUNT(*) AS sessions, COALESCE(SUM(message_count), 0) AS messages, MAX(updated_at) AS latest
                 FROM visible_sessions WHERE user_id = ? AND document IS NULL";
            db.only_row("sessions", sql, (user.0,), |c| {
                Ok(Activity { sessions: c.count("sessions")?, messages: c.count("messages")?, latest: c.opt_time("latest")? })
            })
        });
        Ok(activity.await?)
    }

    async fn is_paused(&self, caller: &Caller) -> Result<bool, StoreError> {
        let user = caller.user();
        let paused = self.read(caller, move |db| db.number("SELECT COUNT(*) FROM users WHERE id = ? AND paused IS NOT NULL", (user.0,)));
        Ok(paused.await? > 0)
    }

    async fn set_paused(&self, caller: &Caller, paused: bool, now: Timestamp) -> Result<(), StoreError> {
        let user = caller.user();
        self.write(move |tx| run(set_paused(tx, user, paused, now))).await?;
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
        Ok(delete_session(self, deletion, reweigh).await?.deleted)
    }

    async fn unused_sessions(
        &self,
        since: Timestamp,
        after: Option<(UserId, SessionId)>,
        limit: u32,
    ) -> Result<Vec<(Caller, SessionId)>, StoreError> {
        let (user, session) = after.map_or((Vec::new(), Vec::new()), |(u, s)| (u.0.as_bytes().to_vec(), s.0.as_bytes().to_vec()));
        let found = self.readers.for_server(move |db| {
            let sql =
                "SELECT user_id, id FROM visible_sessions WHERE (user_id, id) > (?, ?) AND updated_at < ? ORDER BY user_id, id LIMIT ?";
            db.rows("sessions", sql, (user, session, millis(since), limit), owned)
        });
        Ok(found.await?)
    }
}

#[async_trait]
impl SessionStatements for WriteTransaction<'_> {
    async fn insert_session(&mut self, user: UserId, new: &NewSession) -> Result<Session, Failure> {
        let sql = "INSERT INTO sessions (user_id, id, title, created_at, updated_at, epoch, document, search)
             VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7) RETURNING *";
        let title = new.title.as_ref().map(UserText::as_str);
        self.0.only_row(
            "sessions",
            sql,
            (user.0, new.id.0, title, millis(new.now), &new.epoch, new.document.then_some(true), new.search()),
            rows::session,
        )
    }

    async fn update_session(
        &mut self,
        user: UserId,
        session: SessionId,
        update: &SessionUpdate,
        search: Option<&str>,
    ) -> Result<Option<Session>, Failure> {
        let sql =
            "UPDATE sessions SET title = COALESCE(?3, title), search = COALESCE(?4, search), pinned = NULLIF(COALESCE(?5, pinned), 0),
                 archived = NULLIF(COALESCE(?6, archived), 0), paused = NULLIF(COALESCE(?7, paused), 0)
             WHERE user_id = ?1 AND id = ?2 AND deletion_at IS NULL RETURNING *";
        let title = update.title.as_ref().map(UserText::as_str);
        let values = (user.0, session.0, title, search, update.pinned, update.archived, update.paused);
        self.0.row("sessions", sql, values, rows::session)
    }

    async fn set_paused(&mut self, user: UserId, paused: bool) -> Result<bool, Failure> {
        let sql = "UPDATE users SET paused = ?1 WHERE id = ?2 AND paused IS NOT ?1";
        Ok(self.0.execute(sql, (paused.then_some(true), user.0))? > 0)
    }
}

/// A session id with the caller of its owner.
pub(super) fn owned(c: &Columns<'_, '_>) -> Result<(Caller, SessionId), Failure> {
    Ok((Caller::verified(UserId(c.id("user_id")?), ViewerRole::User), SessionId(c.id("id")?)))
}
