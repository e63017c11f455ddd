//! Forgets facts and messages: the port, and the statements on messages and records. `forget_knowledge` has the others.
//!
//! Each transaction locks the sessions and then the user, like every other one.

use std::borrow::Cow;

use async_trait::async_trait;
use sqlx::PgExecutor;
use uuid::Uuid;

use super::{
    PostgresStore,
    codec::{column, time},
    failure::Failure,
    row_security::RowAccess,
    rows::{self, Column, EntityRow},
    transaction::WriteTransaction,
};
use recall_domain::{Caller, Entity, EntityId, FactId, ForgettingId, MessageId, SessionId, Timestamp, UserId, ViewerRole};
use recall_ports::{CommitError, ForgetPlan, ForgetStore, Forgetting, RestorePlan, StoreError};
use recall_store::{ForgettingRow, ForgottenMessage, Treatment, read_forgetting};

#[async_trait]
impl ForgetStore for PostgresStore {
    async fn forget(&self, caller: &Caller, plan: &ForgetPlan) -> Result<(), CommitError> {
        let input = (caller.user(), plan);
        let forgotten = self.write(caller, &input, |c, &(user, plan)| {
            Box::pin(async move { recall_store::forget(&mut WriteTransaction(c), user, plan).await })
        });
        forgotten.await?;
        self.report(caller, plan.events.iter().map(|(session, _)| *session));
        Ok(())
    }

    async fn forgetting(&self, caller: &Caller, id: ForgettingId) -> Result<Option<Forgetting>, StoreError> {
        let input = (caller.user(), id);
        let found = self.snapshot(caller, &input, |c, &(user, id)| {
            Box::pin(async move {
                let Some(row) = forgetting(&mut *c, user, id).await? else { return Ok(None) };
                let messages = sqlx::query!(
                    "SELECT m.id, m.session_id FROM messages m JOIN visible_sessions s ON s.user_id = m.user_id AND s.id = m.session_id
                     WHERE m.user_id = $1 AND m.forgetting_id = $2 ORDER BY m.feed_row",
                    user.0,
                    id.0,
                );
                let messages = messages.fetch_all(c).await?.into_iter().map(|row| (MessageId(row.id), SessionId(row.session_id)));
                Ok(Some(read_forgetting(&row, messages.collect())?))
            })
        });
        Ok(found.await?)
    }

    async fn entities_to_restore(&self, caller: &Caller, ids: &[EntityId]) -> Result<Vec<Entity>, StoreError> {
        let found = rows::entities!(
            "WHERE user_id = $1 AND id IN (
                 SELECT unnest($2::uuid[])
                 UNION SELECT into_id FROM entity_merges WHERE user_id = $1 AND gone_id = ANY($2))",
            caller.user().0,
            &column(ids, |id| id.0)[..],
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(found.into_iter().map(EntityRow::read).collect::<Result<_, _>>()?)
    }

    async fn restore_forgotten(&self, caller: &Caller, plan: &RestorePlan) -> Result<(), CommitError> {
        let input = (caller, plan);
        let restored = self.write(caller, &input, |c, &(caller, plan)| {
            Box::pin(async move { recall_store::restore_forgotten(&mut WriteTransaction(c), caller, plan).await })
        });
        restored.await?;
        self.report(caller, plan.events.iter().map(|(session, _)| *session));
        Ok(())
    }

    async fn purge_forgotten(&self, caller: &Caller, id: ForgettingId, now: Timestamp) -> Result<(), StoreError> {
        let input = (caller.user(), id, now);
        let purged = self.write(caller, &input, |c, &(user, id, now)| {
            Box::pin(async move { recall_store::purge_forgotten(&mut WriteTransaction(c), user, id, now).await })
        });
        Ok(purged.await?)
    }

    async fn expired_forgettings(&self, now: Timestamp, limit: u32) -> Result<Vec<(Caller, ForgettingId)>, StoreError> {
        let found =
            sqlx::query!("SELECT user_id, id FROM forgettings WHERE until <= $1 ORDER BY until LIMIT $2", time(now), i64::from(limit));
        let found = found.fetch_all(self.pool.reading(RowAccess::Forgettings)).await.map_err(Failure::from)?;
        Ok(found.into_iter().map(|row| (Caller::verified(UserId(row.user_id), ViewerRole::User), ForgettingId(row.id))).collect())
    }

    async fn answers_citing(
        &self,
        caller: &Caller,
        messages: &[MessageId],
        facts: &[FactId],
        limit: u32,
    ) -> Result<Vec<MessageId>, StoreError> {
        let cited: Vec<Cow<str>> =
            messages.iter().map(|m| m.0).chain(facts.iter().map(|f| f.0)).map(|id| Cow::from(id.to_string())).collect();
        // `->>` refuses JSON with the escape of U+0000 anywhere, which an excerpt may have.
        let found = sqlx::query_scalar!(
            r#"SELECT m.id AS "id!" FROM visible_messages m WHERE m.user_id = $1 AND m.answer_to IS NOT NULL
             AND EXISTS (SELECT 1 FROM json_array_elements(replace(m.citations::text, '\u0000', '\u0001')::json) AS c (value)
                         WHERE c.value ->> 'message_id' = ANY($2::text[]) OR c.value ->> 'fact_id' = ANY($2::text[])
                            OR c.value -> 'chunk' ->> 'chunk_id' = ANY($2::text[]))
             ORDER BY m.id LIMIT $3"#,
            caller.user().0,
            &cited[..],
            i64::from(limit),
        );
        let found = found.fetch_all(self.pool.reading(caller)).await.map_err(Failure::from)?;
        Ok(found.into_iter().map(MessageId).collect())
    }
}

impl PostgresStore {
    fn report(&self, caller: &Caller, sessions: impl Iterator<Item = SessionId>) {
        for session in sessions {
            self.notifications.committed(caller, session);
        }
    }
}

pub(super) async fn forgetting(db: impl PgExecutor<'_>, user: UserId, id: ForgettingId) -> Result<Option<ForgettingRow>, Failure> {
    let row = sqlx::query!(
        r#"SELECT created_at, until, record::text AS "record!" FROM forgettings WHERE user_id = $1 AND id = $2"#,
        user.0,
        id.0
    );
    let row = row.fetch_optional(db).await?;
    Ok(row.map(|row| ForgettingRow { id, created_at: row.created_at, until: row.until, record: row.record }))
}

impl WriteTransaction<'_> {
    pub(super) async fn insert_forgetting_row(&mut self, user: UserId, row: &ForgettingRow) -> Result<(), Failure> {
        let insert = sqlx::query!(
            "INSERT INTO forgettings (user_id, id, created_at, until, record) VALUES ($1, $2, $3, $4, $5::text::json)",
            user.0,
            row.id.0,
            time(row.created_at),
            time(row.until),
            row.record,
        );
        insert.execute(&mut *self.0).await?;
        Ok(())
    }

    pub(super) async fn lock_forgetting_row(&mut self, user: UserId, id: ForgettingId) -> Result<Option<ForgettingRow>, Failure> {
        let locked = sqlx::query_scalar!("SELECT id FROM forgettings WHERE user_id = $1 AND id = $2 FOR UPDATE", user.0, id.0);
        if locked.fetch_optional(&mut *self.0).await?.is_none() {
            return Ok(None);
        }
        forgetting(&mut *self.0, user, id).await
    }

    pub(super) async fn mark_messages(
        &mut self,
        user: UserId,
        messages: &[MessageId],
        treatment: Treatment,
        id: ForgettingId,
    ) -> Result<u64, Failure> {
        let marked = sqlx::query!(
            "UPDATE messages SET forgotten = $3, forgetting_id = $4,
                 external_id = CASE WHEN $3::text = 'hidden' THEN NULL ELSE external_id END
             WHERE user_id = $1 AND id = ANY($2) AND forgetting_id IS NULL AND forgotten IS DISTINCT FROM 'hidden'",
            user.0,
            &column(messages, |m| m.0)[..],
            treatment.word(),
            id.0,
        );
        Ok(marked.execute(&mut *self.0).await?.rows_affected())
    }

    pub(super) async fn messages_of_forgetting(&mut self, user: UserId, id: ForgettingId) -> Result<Vec<ForgottenMessage>, Failure> {
        let found = sqlx::query!(
            r#"SELECT id, session_id, status, forgotten = 'hidden' AS "hidden!" FROM messages
             WHERE user_id = $1 AND forgetting_id = $2 ORDER BY feed_row"#,
            user.0,
            id.0,
        );
        let messages = found.fetch_all(&mut *self.0).await?.into_iter().map(|row| {
            let treatment = if row.hidden { Treatment::Hidden } else { Treatment::Redacted };
            let status = Column("messages", "status").word(&row.status)?;
            Ok(ForgottenMessage { id: MessageId(row.id), session: SessionId(row.session_id), status, treatment })
        });
        messages.collect()
    }

    pub(super) async fn external_ids_of(&mut self, user: UserId, messages: &[MessageId]) -> Result<Vec<(MessageId, String)>, Failure> {
        let found = sqlx::query!(
            r#"SELECT id, external_id AS "external_id!" FROM messages WHERE user_id = $1 AND id = ANY($2) AND external_id IS NOT NULL"#,
            user.0,
            &column(messages, |m| m.0)[..],
        );
        // They go back into the column as they are, so nothing is decoded.
        Ok(found.fetch_all(&mut *self.0).await?.into_iter().map(|row| (MessageId(row.id), row.external_id)).collect())
    }

    pub(super) async fn set_external_ids(&mut self, user: UserId, given: &[(MessageId, String)]) -> Result<(), Failure> {
        let set = sqlx::query!(
            "UPDATE messages m SET external_id = g.external FROM unnest($2::uuid[], $3::text[]) AS g (id, external)
             WHERE m.user_id = $1 AND m.id = g.id AND m.external_id IS NULL AND NOT EXISTS (
                 SELECT 1 FROM messages o WHERE o.user_id = $1 AND o.session_id = m.session_id AND o.external_id = g.external)",
            user.0,
            &column(given, |(message, _)| message.0)[..],
            &column(given, |(_, external)| Cow::Borrowed(external.as_str()))[..],
        );
        set.execute(&mut *self.0).await?;
        Ok(())
    }

    pub(super) async fn erase_message_texts(&mut self, user: UserId, messages: &[MessageId]) -> Result<(), Failure> {
        let ids: &[Uuid] = &column(messages, |m| m.0);
        let texts = sqlx::query!(
            "UPDATE messages SET text = '', source_metadata = NULL, citations = '[]', forgetting_id = NULL,
                 status = CASE status WHEN 'processing' THEN 'processed' ELSE status END
             WHERE user_id = $1 AND id = ANY($2)",
            user.0,
            ids,
        );
        texts.execute(&mut *self.0).await?;
        sqlx::query!("DELETE FROM message_vectors WHERE user_id = $1 AND message_id = ANY($2)", user.0, ids).execute(&mut *self.0).await?;
        sqlx::query!("DELETE FROM passage_vectors WHERE user_id = $1 AND message_id = ANY($2)", user.0, ids).execute(&mut *self.0).await?;
        sqlx::query!("DELETE FROM resources WHERE user_id = $1 AND message_id = ANY($2)", user.0, ids).execute(&mut *self.0).await?;
        sqlx::query!("DELETE FROM answer_sources WHERE user_id = $1 AND message_id = ANY($2)", user.0, ids).execute(&mut *self.0).await?;
        sqlx::query!("DELETE FROM message_index WHERE user_id = $1 AND message_id = ANY($2)", user.0, ids).execute(&mut *self.0).await?;
        sqlx::query!("UPDATE merged_evidence SET excerpt = '' WHERE user_id = $1 AND message_id = ANY($2)", user.0, ids)
            .execute(&mut *self.0)
            .await?;
        Ok(())
    }
}
