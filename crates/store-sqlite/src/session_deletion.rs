//! Deletes a large session in steps.

use std::collections::BTreeMap;

use async_trait::async_trait;
use sqlx::sqlite::SqliteRow;
use uuid::Uuid;

use super::{
    SqliteStore,
    codec::{Word, bytes, id_list, json, millis, signed},
    delete::entity_id,
    failure::Failure,
    rows::Columns,
    sessions,
    transaction::WriteTransaction,
};
use recall_domain::{Caller, EntityId, MessageId, SessionId, Timestamp, UserId};
use recall_ports::{Reweigh, SessionDeleted, SessionDeletionStep, SessionDeletionStore, StoreError};
use recall_store::{DeletionExtent, EvidenceKey, SessionDeletion, SessionDeletionStatements, delete_session, hide_session};

#[async_trait]
impl SessionDeletionStore for SqliteStore {
    async fn hide_session(&self, caller: &Caller, id: SessionId, since: Option<Timestamp>, now: Timestamp) -> Result<u64, StoreError> {
        let user = caller.user();
        let hidden = self.write(move |c| Box::pin(async move { hide_session(&mut WriteTransaction(c), user, id, since, now).await }));
        Ok(hidden.await?)
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
        delete_session(self, deletion, reweigh).await
    }

    async fn hidden_sessions(&self, since: Timestamp) -> Result<Vec<(Caller, SessionId)>, StoreError> {
        let found = sqlx::query("SELECT user_id, id FROM sessions WHERE deletion_at < ? ORDER BY deletion_at LIMIT 100")
            .bind(millis(since))
            .fetch_all(self.readers.for_server())
            .await
            .map_err(Failure::from)?;
        Ok(found.iter().map(sessions::owned).collect::<Result<_, _>>()?)
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
        let messages = sqlx::query_scalar(
            "UPDATE sessions SET deletion_at = ?4, event_floor = event_head + 1, oldest_event_at = NULL
             WHERE user_id = ?1 AND id = ?2 AND deletion_at IS NULL AND (?3 IS NULL OR updated_at < ?3) RETURNING message_count",
        );
        let messages = messages.bind(bytes(&user.0)).bind(bytes(&session.0)).bind(since.map(millis)).bind(millis(now));
        Ok(messages.fetch_optional(&mut *self.0).await?.map(i64::unsigned_abs))
    }

    async fn void_claims(&mut self, user: UserId, session: SessionId) -> Result<(), Failure> {
        let voided = sqlx::query("UPDATE jobs SET head = 0, token = token + 1 WHERE user_id = ? AND session_id = ? AND head = 1");
        voided.bind(bytes(&user.0)).bind(bytes(&session.0)).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn lock_hidden_session(&mut self, user: UserId, session: SessionId) -> Result<Option<SessionDeleted>, Failure> {
        let row = sqlx::query("SELECT deletion FROM sessions WHERE user_id = ? AND id = ? AND deletion_at IS NOT NULL");
        let row = row.bind(bytes(&user.0)).bind(bytes(&session.0)).fetch_optional(&mut *self.0).await?;
        row.map(|row| Columns::of(&row, "sessions").json("deletion")).transpose()
    }

    async fn save_counts(&mut self, user: UserId, session: SessionId, counts: &str, now: Timestamp) -> Result<(), Failure> {
        let saved = sqlx::query("UPDATE sessions SET deletion = ?3, deletion_at = ?4 WHERE user_id = ?1 AND id = ?2");
        saved.bind(bytes(&user.0)).bind(bytes(&session.0)).bind(counts).bind(millis(now)).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn advance_version(&mut self, user: UserId, version: u64) -> Result<bool, Failure> {
        let current = sqlx::query("UPDATE users SET knowledge_version = knowledge_version + 1 WHERE id = ? AND knowledge_version = ?");
        Ok(current.bind(bytes(&user.0)).bind(signed(version)).execute(&mut *self.0).await?.rows_affected() > 0)
    }

    async fn delete_evidence_rows(&mut self, user: UserId, rows: &[EvidenceKey]) -> Result<(), Failure> {
        let hex = |id: &Uuid| id.as_simple().to_string();
        let rows: Vec<_> = rows.iter().map(|row| (hex(&row.fact.0), hex(&row.message.0), row.stance.word())).collect();
        let gone = sqlx::query(
            "DELETE FROM evidence WHERE user_id = ?1 AND (fact_id, message_id, stance) IN (
                 SELECT unhex(value ->> 0), unhex(value ->> 1), value ->> 2 FROM json_each(?2))",
        );
        gone.bind(bytes(&user.0)).bind(json(&rows, "evidence")?).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn delete_mentions(&mut self, user: UserId, session: SessionId, limit: u32) -> Result<Vec<(EntityId, MessageId)>, Failure> {
        let gone = sqlx::query(
            "DELETE FROM mentions WHERE user_id = ?1 AND (message_id, ordinal) IN (
                 SELECT message_id, ordinal FROM mentions INDEXED BY mentions_in_session
                 WHERE user_id = ?1 AND session_id = ?2 ORDER BY entity_id LIMIT ?3) RETURNING entity_id, message_id",
        );
        let gone = gone.bind(bytes(&user.0)).bind(bytes(&session.0)).bind(limit).fetch_all(&mut *self.0).await?;
        gone.iter().map(mention_key).collect()
    }

    async fn mentions_in(&mut self, user: UserId, messages: &[MessageId]) -> Result<Vec<(EntityId, MessageId)>, Failure> {
        let found = sqlx::query(
            "SELECT entity_id, message_id FROM mentions WHERE user_id = ? AND message_id IN (SELECT unhex(value) FROM json_each(?))",
        );
        let found = found.bind(bytes(&user.0)).bind(id_list(ids(messages))).fetch_all(&mut *self.0).await?;
        found.iter().map(mention_key).collect()
    }

    async fn subtract_mentions(&mut self, user: UserId, counts: &[(EntityId, u32)], messages: &[MessageId]) -> Result<(), Failure> {
        let counts: BTreeMap<String, u32> = counts.iter().map(|(entity, count)| (entity.0.as_simple().to_string(), *count)).collect();
        let subtracted = sqlx::query(
            "UPDATE entities SET mention_count = MAX(0, mention_count - gone.value),
                 first_message = CASE
                     WHEN first_message IN (SELECT unhex(value) FROM json_each(?3)) THEN (
                         SELECT m.message_id FROM mentions m WHERE m.user_id = ?1 AND m.entity_id = entities.id
                         ORDER BY m.said_at, m.message_id LIMIT 1)
                     ELSE first_message END
             FROM json_each(?2) gone WHERE entities.user_id = ?1 AND entities.id = unhex(gone.key)",
        );
        let subtracted = subtracted.bind(bytes(&user.0)).bind(json(&counts, "counts")?).bind(id_list(ids(messages)));
        subtracted.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn delete_events(&mut self, user: UserId, session: SessionId, limit: u32) -> Result<u64, Failure> {
        let gone = sqlx::query(
            "DELETE FROM events WHERE user_id = ?1 AND session_id = ?2 AND seq IN (
                 SELECT seq FROM events WHERE user_id = ?1 AND session_id = ?2 ORDER BY seq LIMIT ?3)",
        );
        Ok(gone.bind(bytes(&user.0)).bind(bytes(&session.0)).bind(limit).execute(&mut *self.0).await?.rows_affected())
    }

    async fn messages_of_session(&mut self, user: UserId, session: SessionId, limit: u32) -> Result<Vec<MessageId>, Failure> {
        let found = sqlx::query("SELECT id FROM messages WHERE user_id = ? AND session_id = ? ORDER BY position LIMIT ?");
        let found = found.bind(bytes(&user.0)).bind(bytes(&session.0)).bind(limit).fetch_all(&mut *self.0).await?;
        found.iter().map(|row| Ok(MessageId(Columns::of(row, "messages").id("id")?))).collect()
    }

    async fn delete_messages(&mut self, user: UserId, messages: &[MessageId]) -> Result<(), Failure> {
        let gone = sqlx::query("DELETE FROM messages WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?))");
        gone.bind(bytes(&user.0)).bind(id_list(ids(messages))).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn merges_with_messages(&mut self, user: UserId, messages: &[MessageId]) -> Result<Vec<EntityId>, Failure> {
        let found = sqlx::query(
            "SELECT gone_id AS id FROM merged_mentions WHERE user_id = ?1 AND message_id IN (SELECT unhex(value) FROM json_each(?2))
             UNION SELECT gone_id FROM merged_evidence WHERE user_id = ?1 AND message_id IN (SELECT unhex(value) FROM json_each(?2))",
        );
        let found = found.bind(bytes(&user.0)).bind(id_list(ids(messages))).fetch_all(&mut *self.0).await?;
        found.iter().map(entity_id).collect()
    }
}

fn ids(messages: &[MessageId]) -> impl Iterator<Item = &Uuid> {
    messages.iter().map(|m| &m.0)
}

/// The entity and the message of a mention.
fn mention_key(row: &SqliteRow) -> Result<(EntityId, MessageId), Failure> {
    let c = Columns::of(row, "mentions");
    Ok((EntityId(c.id("entity_id")?), MessageId(c.id("message_id")?)))
}
