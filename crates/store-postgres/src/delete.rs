//! The statements that delete a session and remove its effects from the knowledge.

use async_trait::async_trait;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{
    PostgresStore,
    codec::{column, signed, time},
    failure::Failure,
    knowledge,
    rows::{self, Column, EvidenceRow, FactRow},
    transaction::WriteTransaction,
};
use recall_domain::{EntityId, Evidence, Fact, FactId, MessageId, SessionId, Timestamp, UserId};
use recall_ports::{SessionDeletionStep, StoreError};
use recall_store::{
    AffectedFacts, DeleteStatements, EvidenceKey, Refusal, Reweighed, ReweighingReads, SessionDeleter, SessionDeletion,
    load_affected_facts, write_deletion,
};

#[async_trait]
impl SessionDeleter for PostgresStore {
    async fn load_affected(&self, deletion: SessionDeletion) -> Result<AffectedFacts, StoreError> {
        let loaded = self.snapshot(deletion.user, &deletion, |c, deletion| {
            Box::pin(async move { load_affected_facts(&mut Snapshot(c), *deletion).await })
        });
        Ok(loaded.await?)
    }

    async fn write_deletion(&self, deletion: SessionDeletion, reweighed: Reweighed) -> Result<Option<SessionDeletionStep>, StoreError> {
        let input = (deletion, reweighed);
        let written = self.write(deletion.user, &input, |c, (deletion, reweighed)| {
            Box::pin(async move { write_deletion(&mut WriteTransaction(c), *deletion, reweighed).await })
        });
        match written.await {
            Err(Failure::Refused(Refusal::Stale)) => Ok(None),
            written => Ok(Some(written?)),
        }
    }
}

/// An open read transaction.
struct Snapshot<'c>(&'c mut PgConnection);

#[async_trait]
impl ReweighingReads for Snapshot<'_> {
    type Error = Failure;

    async fn knowledge_version(&mut self, user: UserId) -> Result<u64, Failure> {
        knowledge::version(self.0, user.0).await
    }

    async fn evidence_of_session(&mut self, user: UserId, session: SessionId, limit: u32) -> Result<Vec<EvidenceKey>, Failure> {
        let found = sqlx::query!(
            "SELECT fact_id, message_id, stance FROM evidence WHERE user_id = $1 AND session_id = $2 ORDER BY fact_id LIMIT $3",
            user.0,
            session.0,
            i64::from(limit),
        );
        let keys = found.fetch_all(&mut *self.0).await?.into_iter().map(|row| {
            let stance = Column("evidence", "stance").word(&row.stance)?;
            Ok(EvidenceKey { fact: FactId(row.fact_id), message: MessageId(row.message_id), stance })
        });
        keys.collect()
    }

    async fn facts_of_session(&mut self, user: UserId, session: SessionId) -> Result<Vec<Fact>, Failure> {
        let found = rows::facts!(
            FROM "facts WHERE user_id = $1 AND id IN (SELECT fact_id FROM evidence WHERE user_id = $1 AND session_id = $2)",
            user.0,
            session.0,
        );
        found.fetch_all(&mut *self.0).await?.into_iter().map(FactRow::read).collect()
    }

    async fn facts(&mut self, user: UserId, ids: &[FactId]) -> Result<Vec<Fact>, Failure> {
        let found = rows::facts!(FROM "facts WHERE user_id = $1 AND id = ANY($2)", user.0, &column(ids, |f| f.0)[..]);
        found.fetch_all(&mut *self.0).await?.into_iter().map(FactRow::read).collect()
    }

    async fn evidence_elsewhere(&mut self, user: UserId, session: SessionId, facts: &[FactId]) -> Result<Vec<Evidence>, Failure> {
        let found = rows::evidence!(
            FROM "evidence v WHERE user_id = $1 AND fact_id = ANY($2) AND session_id <> $3
             ORDER BY fact_id, created_at, message_id, stance",
            user.0,
            &column(facts, |f| f.0)[..],
            session.0,
        );
        found.fetch_all(&mut *self.0).await?.into_iter().map(EvidenceRow::read).collect()
    }
}

#[async_trait]
impl DeleteStatements for WriteTransaction<'_> {
    async fn lock_unused_session(&mut self, user: UserId, session: SessionId, since: Option<Timestamp>) -> Result<Option<u64>, Failure> {
        let messages = sqlx::query_scalar!(
            "SELECT message_count FROM sessions
             WHERE user_id = $1 AND id = $2 AND deletion_at IS NULL AND ($3::timestamptz IS NULL OR updated_at < $3)
             FOR NO KEY UPDATE",
            user.0,
            session.0,
            since.map(time),
        );
        Ok(messages.fetch_optional(&mut *self.0).await?.map(i64::unsigned_abs))
    }

    async fn void_indexes(&mut self, user: UserId, version: Option<u64>) -> Result<bool, Failure> {
        let voided = sqlx::query!(
            "UPDATE users SET knowledge_version = knowledge_version + 1, feed_generation = feed_generation + 1
             WHERE id = $1 AND ($2::bigint IS NULL OR knowledge_version = $2) AND NOT importing",
            user.0,
            version.map(signed),
        );
        Ok(voided.execute(&mut *self.0).await?.rows_affected() > 0)
    }

    async fn last_memory_number(&mut self, user: UserId, session: SessionId) -> Result<Option<i64>, Failure> {
        let last = sqlx::query_scalar!(
            "SELECT memory_seq FROM events WHERE user_id = $1 AND session_id = $2 ORDER BY seq DESC LIMIT 1",
            user.0,
            session.0,
        );
        Ok(last.fetch_optional(&mut *self.0).await?.flatten())
    }

    async fn delete_session(&mut self, user: UserId, session: SessionId) -> Result<(), Failure> {
        // Cascades to messages, vectors, terms, events, jobs, mentions and evidence.
        sqlx::query!("DELETE FROM sessions WHERE user_id = $1 AND id = $2", user.0, session.0).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn entities_of_session(&mut self, user: UserId, session: SessionId) -> Result<Vec<EntityId>, Failure> {
        let found =
            sqlx::query_scalar!("SELECT DISTINCT entity_id FROM mentions WHERE user_id = $1 AND session_id = $2", user.0, session.0);
        Ok(entity_ids(found.fetch_all(&mut *self.0).await?))
    }

    async fn subtract_session(&mut self, user: UserId, session: SessionId, entities: &[EntityId]) -> Result<(), Failure> {
        let subtracted = sqlx::query!(
            "UPDATE entities e SET
                 mention_count = greatest(0, mention_count - (
                     SELECT count(DISTINCT m.message_id) FROM mentions m
                     WHERE m.user_id = $1 AND m.session_id = $2 AND m.entity_id = e.id)),
                 first_message = CASE
                     WHEN first_message IN (SELECT id FROM messages WHERE user_id = $1 AND session_id = $2) THEN (
                         SELECT m.message_id FROM mentions m
                         WHERE m.user_id = $1 AND m.entity_id = e.id AND m.session_id <> $2
                         ORDER BY m.said_at, m.message_id LIMIT 1)
                     ELSE first_message END
             WHERE user_id = $1 AND id = ANY($3)",
            user.0,
            session.0,
            &column(entities, |e| e.0)[..],
        );
        subtracted.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn entities_merged_into(&mut self, user: UserId, entities: &[EntityId]) -> Result<Vec<EntityId>, Failure> {
        let found = sqlx::query_scalar!(
            "SELECT gone_id FROM entity_merges WHERE user_id = $1 AND into_id = ANY($2)",
            user.0,
            &column(entities, |e| e.0)[..],
        );
        Ok(entity_ids(found.fetch_all(&mut *self.0).await?))
    }

    async fn delete_unused_merge_records(&mut self, user: UserId, gone: &[EntityId]) -> Result<(), Failure> {
        let merges = sqlx::query!(
            "DELETE FROM merges g WHERE user_id = $1 AND gone_id = ANY($2)
             AND NOT EXISTS (SELECT 1 FROM merged_mentions m WHERE m.user_id = $1 AND m.gone_id = g.gone_id)
             AND NOT EXISTS (SELECT 1 FROM merged_evidence v JOIN merged_facts f ON f.user_id = $1 AND f.gone_id = v.gone_id AND f.id = v.fact_id
                             WHERE v.user_id = $1 AND v.gone_id = g.gone_id AND g.gone_id IN (f.subject_id, f.object_id))",
            user.0,
            &column(gone, |e| e.0)[..],
        );
        merges.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn delete_unused_entities(&mut self, user: UserId, entities: &[EntityId]) -> Result<u64, Failure> {
        let gone = sqlx::query!(
            "DELETE FROM entities e WHERE user_id = $1 AND id = ANY($2)
             AND NOT EXISTS (SELECT 1 FROM mentions m WHERE m.user_id = $1 AND m.entity_id = e.id)
             AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.user_id = $1 AND f.subject_id = e.id)
             AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.user_id = $1 AND f.object_id = e.id)",
            user.0,
            &column(entities, |e| e.0)[..],
        );
        Ok(gone.execute(&mut *self.0).await?.rows_affected())
    }
}

pub(super) fn entity_ids(ids: Vec<Uuid>) -> Vec<EntityId> {
    ids.into_iter().map(EntityId).collect()
}
