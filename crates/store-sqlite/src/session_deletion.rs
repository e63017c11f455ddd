//! Deletes a large session in steps.

use std::collections::BTreeMap;

use async_trait::async_trait;
use uuid::Uuid;

use super::{
    SqliteStore,
    codec::{Word, id_list, json, millis, signed},
    delete::entity_id,
    failure::Failure,
    rows::Columns,
    sessions,
    transaction::{WriteTransaction, run},
};
use recall_domain::{Caller, EntityId, MessageId, SessionId, Timestamp, UserId};
use recall_ports::{Reweigh, SessionDeleted, SessionDeletionStep, SessionDeletionStore, StoreError};
use recall_store::{DeletionExtent, EvidenceKey, SessionDeletion, SessionDeletionStatements, delete_session, hide_session};

#[async_trait]
impl SessionDeletionStore for SqliteStore {
    async fn hide_session(&self, caller: &Caller, id: SessionId, since: Option<Timestamp>, now: Timestamp) -> Result<u64, StoreError> {
        let user = caller.user();
        Ok(self.write(move |tx| run(hide_session(tx, user, id, since, now))).await?)
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
        let hidden = self.readers.for_server(move |db| {
            let sql = "SELECT user_id, id FROM sessions WHERE deletion_at < ? ORDER BY deletion_at LIMIT 100";
            db.rows("sessions", sql, (millis(since),), sessions::owned)
        });
        Ok(hidden.await?)
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
        let sql = "UPDATE sessions SET deletion_at = ?4, event_floor = event_head + 1, oldest_event_at = NULL
             WHERE user_id = ?1 AND id = ?2 AND deletion_at IS NULL AND (?3 IS NULL OR updated_at < ?3) RETURNING message_count";
        let values = (user.0, session.0, since.map(millis), millis(now));
        Ok(self.0.row("sessions", sql, values, |c| c.integer("message_count"))?.map(i64::unsigned_abs))
    }

    async fn void_claims(&mut self, user: UserId, session: SessionId) -> Result<(), Failure> {
        let sql = "UPDATE jobs SET head = 0, token = token + 1 WHERE user_id = ? AND session_id = ? AND head = 1";
        self.0.execute(sql, (user.0, session.0))?;
        Ok(())
    }

    async fn lock_hidden_session(&mut self, user: UserId, session: SessionId) -> Result<Option<SessionDeleted>, Failure> {
        let sql = "SELECT deletion FROM sessions WHERE user_id = ? AND id = ? AND deletion_at IS NOT NULL";
        self.0.row("sessions", sql, (user.0, session.0), |c| c.json("deletion"))
    }

    async fn save_counts(&mut self, user: UserId, session: SessionId, counts: &str, now: Timestamp) -> Result<(), Failure> {
        let sql = "UPDATE sessions SET deletion = ?3, deletion_at = ?4 WHERE user_id = ?1 AND id = ?2";
        self.0.execute(sql, (user.0, session.0, counts, millis(now)))?;
        Ok(())
    }

    async fn advance_version(&mut self, user: UserId, version: u64) -> Result<bool, Failure> {
        let sql = "UPDATE users SET knowledge_version = knowledge_version + 1 WHERE id = ? AND knowledge_version = ?";
        Ok(self.0.execute(sql, (user.0, signed(version)))? > 0)
    }

    async fn delete_evidence_rows(&mut self, user: UserId, rows: &[EvidenceKey]) -> Result<(), Failure> {
        let hex = |id: &Uuid| id.as_simple().to_string();
        let rows: Vec<_> = rows.iter().map(|row| (hex(&row.fact.0), hex(&row.message.0), row.stance.word())).collect();
        self.0.execute(
            "DELETE FROM evidence WHERE user_id = ?1 AND (fact_id, message_id, stance) IN (
                 SELECT unhex(value ->> 0), unhex(value ->> 1), value ->> 2 FROM json_each(?2))",
            (user.0, json(&rows, "evidence")?),
        )?;
        Ok(())
    }

    async fn delete_mentions(&mut self, user: UserId, session: SessionId, limit: u32) -> Result<Vec<(EntityId, MessageId)>, Failure> {
        let sql = "DELETE FROM mentions WHERE user_id = ?1 AND (message_id, ordinal) IN (
                 SELECT message_id, ordinal FROM mentions INDEXED BY mentions_in_session
                 WHERE user_id = ?1 AND session_id = ?2 ORDER BY entity_id LIMIT ?3) RETURNING entity_id, message_id";
        self.0.rows("mentions", sql, (user.0, session.0, limit), mention_key)
    }

    async fn mentions_in(&mut self, user: UserId, messages: &[MessageId]) -> Result<Vec<(EntityId, MessageId)>, Failure> {
        let sql = "SELECT entity_id, message_id FROM mentions WHERE user_id = ? AND message_id IN (SELECT unhex(value) FROM json_each(?))";
        self.0.rows("mentions", sql, (user.0, id_list(ids(messages))), mention_key)
    }

    async fn subtract_mentions(&mut self, user: UserId, counts: &[(EntityId, u32)], messages: &[MessageId]) -> Result<(), Failure> {
        let counts: BTreeMap<String, u32> = counts.iter().map(|(entity, count)| (entity.0.as_simple().to_string(), *count)).collect();
        self.0.execute(
            "UPDATE entities SET mention_count = MAX(0, mention_count - gone.value),
                 first_message = CASE
                     WHEN first_message IN (SELECT unhex(value) FROM json_each(?3)) THEN (
                         SELECT m.message_id FROM mentions m WHERE m.user_id = ?1 AND m.entity_id = entities.id
                         ORDER BY m.said_at, m.message_id LIMIT 1)
                     ELSE first_message END
             FROM json_each(?2) gone WHERE entities.user_id = ?1 AND entities.id = unhex(gone.key)",
            (user.0, json(&counts, "counts")?, id_list(ids(messages))),
        )?;
        Ok(())
    }

    async fn delete_events(&mut self, user: UserId, session: SessionId, limit: u32) -> Result<u64, Failure> {
        self.0.execute(
            "DELETE FROM events WHERE user_id = ?1 AND session_id = ?2 AND seq IN (
                 SELECT seq FROM events WHERE user_id = ?1 AND session_id = ?2 ORDER BY seq LIMIT ?3)",
            (user.0, session.0, limit),
        )
    }

    async fn messages_of_session(&mut self, user: UserId, session: SessionId, limit: u32) -> Result<Vec<MessageId>, Failure> {
        let sql = "SELECT id FROM messages WHERE user_id = ? AND session_id = ? ORDER BY position LIMIT ?";
        self.0.rows("messages", sql, (user.0, session.0, limit), |c| Ok(MessageId(c.id("id")?)))
    }

    async fn delete_messages(&mut self, user: UserId, messages: &[MessageId]) -> Result<(), Failure> {
        let sql = "DELETE FROM messages WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?))";
        self.0.execute(sql, (user.0, id_list(ids(messages))))?;
        Ok(())
    }

    async fn merges_with_messages(&mut self, user: UserId, messages: &[MessageId]) -> Result<Vec<EntityId>, Failure> {
        let sql = "SELECT gone_id AS id FROM merged_mentions WHERE user_id = ?1 AND message_id IN (SELECT unhex(value) FROM json_each(?2))
             UNION SELECT gone_id FROM merged_evidence WHERE user_id = ?1 AND message_id IN (SELECT unhex(value) FROM json_each(?2))";
        self.0.rows("entities", sql, (user.0, id_list(ids(messages))), entity_id)
    }
}

fn ids(messages: &[MessageId]) -> impl Iterator<Item = &Uuid> {
    messages.iter().map(|m| &m.0)
}

/// The entity and the message of a mention.
fn mention_key(c: &Columns<'_, '_>) -> Result<(EntityId, MessageId), Failure> {
    Ok((EntityId(c.id("entity_id")?), MessageId(c.id("message_id")?)))
}
