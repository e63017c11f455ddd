//! Deletes a large session in steps. Each locks the session and then the user, so steps of several processes run one after the other.

use std::borrow::Cow;

use async_trait::async_trait;

use super::{
    PostgresStore,
    codec::{JsonText, Word, column, signed, time},
    delete::entity_ids,
    failure::Failure,
    row_security::RowAccess,
    rows::Column,
    transaction::WriteTransaction,
};
use recall_domain::{Caller, EntityId, MessageId, SessionId, Timestamp, UserId, ViewerRole};
use recall_ports::{Reweigh, SessionDeleted, SessionDeletionStep, SessionDeletionStore, SessionRemainder, StoreError};
use recall_store::{DeletionExtent, EvidenceKey, SessionDeletion, SessionDeletionStatements, delete_session, hide_session};

#[async_trait]
impl SessionDeletionStore for PostgresStore {
    async fn hide_session(&self, caller: &Caller, id: SessionId, since: Option<Timestamp>, now: Timestamp) -> Result<u64, StoreError> {
        let input = (caller.user(), id, since, now);
        let hidden = self.write(caller, &input, |c, &(user, id, since, now)| {
            Box::pin(async move { hide_session(&mut WriteTransaction(c), user, id, since, now).await })
        });
        let messages = hidden.await?;
        self.notifications.deleted(caller, id);
        Ok(messages)
    }

    async fn delete_hidden(
        &self,
        caller: &Caller,
        id: SessionId,
        now: Timestamp,
        limit: u32,
        reweigh: Reweigh<'_>,
    ) -> Result<SessionDeletionStep, StoreError> {
        let deletion = SessionDeletion { user: caller.user(), session: id, extent: DeletionExtent::Step { limit, now } };
        let step = delete_session(self, deletion, reweigh).await?;
        if step.left == SessionRemainder::Nothing {
            self.notifications.deleted(caller, id);
        }
        Ok(step)
    }

    async fn hidden_sessions(&self, since: Timestamp) -> Result<Vec<(Caller, SessionId)>, StoreError> {
        let found = sqlx::query!("SELECT user_id, id FROM sessions WHERE deletion_at < $1 ORDER BY deletion_at LIMIT 100", time(since));
        let found = found.fetch_all(self.pool.reading(RowAccess::Unused)).await.map_err(Failure::from)?;
        Ok(found.into_iter().map(|row| (Caller::verified(UserId(row.user_id), ViewerRole::User), SessionId(row.id))).collect())
    }
}

#[async_trait]
impl SessionDeletionStatements for WriteTransaction<'_> {
    async fn hide_session(
        &mut self,
        user: UserId,
        session: SessionId,
        since: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Option<u64>, Failure> {
        let messages = sqlx::query_scalar!(
            "UPDATE sessions SET deletion_at = $4, event_floor = event_head + 1, oldest_event_at = NULL
             WHERE user_id = $1 AND id = $2 AND deletion_at IS NULL AND ($3::timestamptz IS NULL OR updated_at < $3)
             RETURNING message_count",
            user.0,
            session.0,
            since.map(time),
            time(now),
        );
        Ok(messages.fetch_optional(&mut *self.0).await?.map(i64::unsigned_abs))
    }

    async fn void_claims(&mut self, user: UserId, session: SessionId) -> Result<(), Failure> {
        let voided = sqlx::query!(
            "UPDATE jobs SET head = false, token = token + 1 WHERE user_id = $1 AND session_id = $2 AND head",
            user.0,
            session.0
        );
        voided.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn lock_hidden_session(&mut self, user: UserId, session: SessionId) -> Result<Option<SessionDeleted>, Failure> {
        let counts = sqlx::query_scalar!(
            r#"SELECT deletion AS "deletion!: JsonText" FROM sessions
             WHERE user_id = $1 AND id = $2 AND deletion_at IS NOT NULL FOR NO KEY UPDATE"#,
            user.0,
            session.0
        );
        counts.fetch_optional(&mut *self.0).await?.map(|counts| Column("sessions", "deletion").json(&counts)).transpose()
    }

    async fn save_counts(&mut self, user: UserId, session: SessionId, counts: &str, now: Timestamp) -> Result<(), Failure> {
        let saved = sqlx::query!(
            "UPDATE sessions SET deletion = $3::text::json, deletion_at = $4 WHERE user_id = $1 AND id = $2",
            user.0,
            session.0,
            counts,
            time(now),
        );
        saved.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn advance_version(&mut self, user: UserId, version: u64) -> Result<bool, Failure> {
        let current = sqlx::query!(
            "UPDATE users SET knowledge_version = knowledge_version + 1 WHERE id = $1 AND knowledge_version = $2",
            user.0,
            signed(version),
        );
        Ok(current.execute(&mut *self.0).await?.rows_affected() > 0)
    }

    async fn delete_evidence_rows(&mut self, user: UserId, rows: &[EvidenceKey]) -> Result<(), Failure> {
        let gone = sqlx::query!(
            "DELETE FROM evidence v USING unnest($2::uuid[], $3::uuid[], $4::text[]) AS g (fact, message, stance)
             WHERE v.user_id = $1 AND v.fact_id = g.fact AND v.message_id = g.message AND v.stance = g.stance",
            user.0,
            &column(rows, |row| row.fact.0)[..],
            &column(rows, |row| row.message.0)[..],
            &column(rows, |row| Cow::Borrowed(row.stance.word()))[..],
        );
        gone.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn delete_mentions(&mut self, user: UserId, session: SessionId, limit: u32) -> Result<Vec<(EntityId, MessageId)>, Failure> {
        let gone = sqlx::query!(
            "DELETE FROM mentions WHERE user_id = $1 AND ctid = ANY(ARRAY(
                 SELECT ctid FROM mentions WHERE user_id = $1 AND session_id = $2 ORDER BY entity_id LIMIT $3))
             RETURNING entity_id, message_id",
            user.0,
            session.0,
            i64::from(limit),
        );
        let gone = gone.fetch_all(&mut *self.0).await?.into_iter();
        Ok(gone.map(|row| (EntityId(row.entity_id), MessageId(row.message_id))).collect())
    }

    async fn mentions_in(&mut self, user: UserId, messages: &[MessageId]) -> Result<Vec<(EntityId, MessageId)>, Failure> {
        let found = sqlx::query!(
            "SELECT entity_id, message_id FROM mentions WHERE user_id = $1 AND message_id = ANY($2)",
            user.0,
            &column(messages, |m| m.0)[..],
        );
        let found = found.fetch_all(&mut *self.0).await?.into_iter();
        Ok(found.map(|row| (EntityId(row.entity_id), MessageId(row.message_id))).collect())
    }

    async fn subtract_mentions(&mut self, user: UserId, counts: &[(EntityId, u32)], messages: &[MessageId]) -> Result<(), Failure> {
        let subtracted = sqlx::query!(
            "UPDATE entities e SET mention_count = greatest(0, mention_count - gone.number),
                 first_message = CASE
                     WHEN first_message = ANY($4) THEN (
                         SELECT m.message_id FROM mentions m WHERE m.user_id = $1 AND m.entity_id = e.id
                         ORDER BY m.said_at, m.message_id LIMIT 1)
                     ELSE first_message END
             FROM unnest($2::uuid[], $3::bigint[]) AS gone (id, number) WHERE e.user_id = $1 AND e.id = gone.id",
            user.0,
            &column(counts, |(entity, _)| entity.0)[..],
            &column(counts, |(_, count)| i64::from(*count))[..],
            &column(messages, |m| m.0)[..],
        );
        subtracted.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn delete_events(&mut self, user: UserId, session: SessionId, limit: u32) -> Result<u64, Failure> {
        let gone = sqlx::query!(
            "DELETE FROM events WHERE user_id = $1 AND session_id = $2 AND seq = ANY(ARRAY(
                 SELECT seq FROM events WHERE user_id = $1 AND session_id = $2 ORDER BY seq LIMIT $3))",
            user.0,
            session.0,
            i64::from(limit),
        );
        Ok(gone.execute(&mut *self.0).await?.rows_affected())
    }

    async fn messages_of_session(&mut self, user: UserId, session: SessionId, limit: u32) -> Result<Vec<MessageId>, Failure> {
        let found = sqlx::query_scalar!(
            "SELECT id FROM messages WHERE user_id = $1 AND session_id = $2 ORDER BY position LIMIT $3",
            user.0,
            session.0,
            i64::from(limit),
        );
        Ok(found.fetch_all(&mut *self.0).await?.into_iter().map(MessageId).collect())
    }

    async fn delete_messages(&mut self, user: UserId, messages: &[MessageId]) -> Result<(), Failure> {
        let gone = sqlx::query!("DELETE FROM messages WHERE user_id = $1 AND id = ANY($2)", user.0, &column(messages, |m| m.0)[..]);
        gone.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn merges_with_messages(&mut self, user: UserId, messages: &[MessageId]) -> Result<Vec<EntityId>, Failure> {
        let found = sqlx::query_scalar!(
            r#"SELECT gone_id AS "gone!" FROM merged_mentions WHERE user_id = $1 AND message_id = ANY($2)
             UNION SELECT gone_id FROM merged_evidence WHERE user_id = $1 AND message_id = ANY($2)"#,
            user.0,
            &column(messages, |m| m.0)[..],
        );
        Ok(entity_ids(found.fetch_all(&mut *self.0).await?))
    }
}
