//! The statements that delete a session and remove its effects from the knowledge.

use async_trait::async_trait;
use sqlx::{SqliteConnection, sqlite::SqliteRow};
use uuid::Uuid;

use super::{
    SqliteStore,
    codec::{bytes, id_list, millis, signed},
    failure::Failure,
    knowledge, rows,
    rows::Columns,
    transaction::WriteTransaction,
};
use recall_domain::{EntityId, Evidence, Fact, FactId, MessageId, SessionId, Timestamp, UserId};
use recall_ports::{SessionDeletionStep, StoreError};
use recall_store::{
    AffectedFacts, DeleteStatements, EvidenceKey, Refusal, Reweighed, ReweighingReads, SessionDeleter, SessionDeletion,
    load_affected_facts, write_deletion,
};

#[async_trait]
impl SessionDeleter for SqliteStore {
    async fn load_affected(&self, deletion: SessionDeletion) -> Result<AffectedFacts, StoreError> {
        let mut snapshot = self.readers.for_server().begin().await.map_err(Failure::from)?;
        let affected = load_affected_facts(&mut Snapshot(&mut snapshot), deletion).await?;
        snapshot.commit().await.map_err(Failure::from)?;
        Ok(affected)
    }

    async fn write_deletion(&self, deletion: SessionDeletion, reweighed: Reweighed) -> Result<Option<SessionDeletionStep>, StoreError> {
        let written = self.write(move |c| Box::pin(async move { write_deletion(&mut WriteTransaction(c), deletion, &reweighed).await }));
        match written.await {
            Err(Failure::Refused(Refusal::Stale)) => Ok(None),
            written => Ok(Some(written?)),
        }
    }
}

/// An open read transaction.
struct Snapshot<'c>(&'c mut SqliteConnection);

#[async_trait]
impl ReweighingReads for Snapshot<'_> {
    type Error = Failure;

    async fn knowledge_version(&mut self, user: UserId) -> Result<u64, Failure> {
        knowledge::version(self.0, user.0).await
    }

    async fn evidence_of_session(&mut self, user: UserId, session: SessionId, limit: u32) -> Result<Vec<EvidenceKey>, Failure> {
        let found = sqlx::query(
            "SELECT fact_id, message_id, stance FROM evidence INDEXED BY evidence_in_session
             WHERE user_id = ? AND session_id = ? ORDER BY fact_id, message_id, stance LIMIT ?",
        );
        let found = found.bind(bytes(&user.0)).bind(bytes(&session.0)).bind(limit).fetch_all(&mut *self.0).await?;
        let key = |row| {
            let c = Columns::of(row, "evidence");
            Ok(EvidenceKey { fact: FactId(c.id("fact_id")?), message: MessageId(c.id("message_id")?), stance: c.word("stance")? })
        };
        found.iter().map(key).collect()
    }

    async fn facts_of_session(&mut self, user: UserId, session: SessionId) -> Result<Vec<Fact>, Failure> {
        let found = sqlx::query(
            "SELECT * FROM facts WHERE user_id = ?1 AND id IN (SELECT fact_id FROM evidence WHERE user_id = ?1 AND session_id = ?2)",
        );
        let found = found.bind(bytes(&user.0)).bind(bytes(&session.0)).fetch_all(&mut *self.0).await?;
        found.iter().map(rows::fact).collect()
    }

    async fn facts(&mut self, user: UserId, ids: &[FactId]) -> Result<Vec<Fact>, Failure> {
        let found = sqlx::query("SELECT * FROM facts WHERE user_id = ?1 AND id IN (SELECT unhex(value) FROM json_each(?2))");
        let found = found.bind(bytes(&user.0)).bind(id_list(ids.iter().map(|f| &f.0))).fetch_all(&mut *self.0).await?;
        found.iter().map(rows::fact).collect()
    }

    async fn evidence_elsewhere(&mut self, user: UserId, session: SessionId, facts: &[FactId]) -> Result<Vec<Evidence>, Failure> {
        let found = sqlx::query(
            "SELECT * FROM evidence WHERE user_id = ? AND fact_id IN (SELECT unhex(value) FROM json_each(?)) AND session_id <> ?
             ORDER BY fact_id, created_at, message_id, stance",
        );
        let found = found.bind(bytes(&user.0)).bind(id_list(facts.iter().map(|f| &f.0))).bind(bytes(&session.0));
        found.fetch_all(&mut *self.0).await?.iter().map(rows::evidence).collect()
    }
}

#[async_trait]
impl DeleteStatements for WriteTransaction<'_> {
    async fn lock_unused_session(&mut self, user: UserId, session: SessionId, since: Option<Timestamp>) -> Result<Option<u64>, Failure> {
        let messages = sqlx::query_scalar(
            "SELECT message_count FROM sessions
             WHERE user_id = ?1 AND id = ?2 AND deletion_at IS NULL AND (?3 IS NULL OR updated_at < ?3)",
        );
        let messages = messages.bind(bytes(&user.0)).bind(bytes(&session.0)).bind(since.map(millis));
        Ok(messages.fetch_optional(&mut *self.0).await?.map(i64::unsigned_abs))
    }

    async fn void_indexes(&mut self, user: UserId, version: Option<u64>) -> Result<bool, Failure> {
        let voided = sqlx::query(
            "UPDATE users SET knowledge_version = knowledge_version + 1, feed_generation = feed_generation + 1
             WHERE id = ?1 AND (?2 IS NULL OR knowledge_version = ?2) AND importing = 0",
        );
        Ok(voided.bind(bytes(&user.0)).bind(version.map(signed)).execute(&mut *self.0).await?.rows_affected() > 0)
    }

    async fn delete_session(&mut self, user: UserId, session: SessionId) -> Result<(), Failure> {
        // Cascades to messages, vectors, terms, events, jobs, mentions and evidence.
        let gone = sqlx::query("DELETE FROM sessions WHERE user_id = ? AND id = ?");
        gone.bind(bytes(&user.0)).bind(bytes(&session.0)).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn entities_of_session(&mut self, user: UserId, session: SessionId) -> Result<Vec<EntityId>, Failure> {
        let found = sqlx::query("SELECT DISTINCT entity_id AS id FROM mentions WHERE user_id = ? AND session_id = ?");
        let found = found.bind(bytes(&user.0)).bind(bytes(&session.0)).fetch_all(&mut *self.0).await?;
        found.iter().map(entity_id).collect()
    }

    async fn subtract_session(&mut self, user: UserId, session: SessionId, entities: &[EntityId]) -> Result<(), Failure> {
        let subtracted = sqlx::query(
            "UPDATE entities SET
                 mention_count = MAX(0, mention_count - (
                     SELECT COUNT(DISTINCT m.message_id) FROM mentions m
                     WHERE m.user_id = ?1 AND m.session_id = ?2 AND m.entity_id = entities.id)),
                 first_message = CASE
                     WHEN first_message IN (SELECT id FROM messages WHERE user_id = ?1 AND session_id = ?2) THEN (
                         SELECT m.message_id FROM mentions m
                         WHERE m.user_id = ?1 AND m.entity_id = entities.id AND m.session_id <> ?2
                         ORDER BY m.said_at, m.message_id LIMIT 1)
                     ELSE first_message END
             WHERE user_id = ?1 AND id IN (SELECT unhex(value) FROM json_each(?3))",
        );
        let subtracted = subtracted.bind(bytes(&user.0)).bind(bytes(&session.0)).bind(id_list(ids(entities)));
        subtracted.execute(&mut *self.0).await?;
        Ok(())
    }

    async fn entities_merged_into(&mut self, user: UserId, entities: &[EntityId]) -> Result<Vec<EntityId>, Failure> {
        let found =
            sqlx::query("SELECT gone_id AS id FROM entity_merges WHERE user_id = ? AND into_id IN (SELECT unhex(value) FROM json_each(?))");
        let found = found.bind(bytes(&user.0)).bind(id_list(ids(entities))).fetch_all(&mut *self.0).await?;
        found.iter().map(entity_id).collect()
    }

    async fn delete_unused_merge_records(&mut self, user: UserId, gone: &[EntityId]) -> Result<(), Failure> {
        let merges = sqlx::query(
            "DELETE FROM merges WHERE user_id = ?1 AND gone_id IN (SELECT unhex(value) FROM json_each(?2))
             AND NOT EXISTS (SELECT 1 FROM merged_mentions m WHERE m.user_id = ?1 AND m.gone_id = merges.gone_id)
             AND NOT EXISTS (SELECT 1 FROM merged_evidence v JOIN merged_facts f ON f.user_id = ?1 AND f.gone_id = v.gone_id AND f.id = v.fact_id
                             WHERE v.user_id = ?1 AND v.gone_id = merges.gone_id AND merges.gone_id IN (f.subject_id, f.object_id))",
        );
        merges.bind(bytes(&user.0)).bind(id_list(ids(gone))).execute(&mut *self.0).await?;
        Ok(())
    }

    async fn delete_unused_entities(&mut self, user: UserId, entities: &[EntityId]) -> Result<u64, Failure> {
        let gone = sqlx::query(
            "DELETE FROM entities WHERE user_id = ?1 AND id IN (SELECT unhex(value) FROM json_each(?2))
             AND NOT EXISTS (SELECT 1 FROM mentions m WHERE m.user_id = ?1 AND m.entity_id = entities.id)
             AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.user_id = ?1 AND f.subject_id = entities.id)
             AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.user_id = ?1 AND f.object_id = entities.id)",
        );
        Ok(gone.bind(bytes(&user.0)).bind(id_list(ids(entities))).execute(&mut *self.0).await?.rows_affected())
    }
}

fn ids(entities: &[EntityId]) -> impl Iterator<Item = &Uuid> {
    entities.iter().map(|e| &e.0)
}

pub(super) fn entity_id(row: &SqliteRow) -> Result<EntityId, Failure> {
    Ok(EntityId(Columns::of(row, "entities").id("id")?))
}
