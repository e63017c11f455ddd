//! The statements that delete a session and remove its effects from the knowledge.

use async_trait::async_trait;
use uuid::Uuid;

use super::{
    SqliteStore,
    codec::{id_list, millis, signed},
    failure::Failure,
    knowledge, rows,
    rows::Columns,
    transaction::{ReadTransaction, WriteTransaction, run},
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
        let affected = self.readers.for_server(move |db| db.snapshot(|db| run(load_affected_facts(&mut ReadTransaction(db), deletion))));
        Ok(affected.await?)
    }

    async fn write_deletion(&self, deletion: SessionDeletion, reweighed: Reweighed) -> Result<Option<SessionDeletionStep>, StoreError> {
        match self.write(move |tx| run(write_deletion(tx, deletion, &reweighed))).await {
            Err(Failure::Refused(Refusal::Stale)) => Ok(None),
            written => Ok(Some(written?)),
        }
    }
}

#[async_trait]
impl ReweighingReads for ReadTransaction<'_> {
    type Error = Failure;

    async fn knowledge_version(&mut self, user: UserId) -> Result<u64, Failure> {
        knowledge::version(self.0, user)
    }

    async fn evidence_of_session(&mut self, user: UserId, session: SessionId, limit: u32) -> Result<Vec<EvidenceKey>, Failure> {
        let sql = "SELECT fact_id, message_id, stance FROM evidence INDEXED BY evidence_in_session
             WHERE user_id = ? AND session_id = ? ORDER BY fact_id, message_id, stance LIMIT ?";
        self.0.rows("evidence", sql, (user.0, session.0, limit), |c| {
            Ok(EvidenceKey { fact: FactId(c.id("fact_id")?), message: MessageId(c.id("message_id")?), stance: c.word("stance")? })
        })
    }

    async fn facts_of_session(&mut self, user: UserId, session: SessionId) -> Result<Vec<Fact>, Failure> {
        let sql = "SELECT * FROM facts WHERE user_id = ?1 AND id IN (SELECT fact_id FROM evidence WHERE user_id = ?1 AND session_id = ?2)";
        self.0.rows("facts", sql, (user.0, session.0), rows::fact)
    }

    async fn facts(&mut self, user: UserId, ids: &[FactId]) -> Result<Vec<Fact>, Failure> {
        let sql = "SELECT * FROM facts WHERE user_id = ?1 AND id IN (SELECT unhex(value) FROM json_each(?2))";
        self.0.rows("facts", sql, (user.0, id_list(ids.iter().map(|f| &f.0))), rows::fact)
    }

    async fn evidence_elsewhere(&mut self, user: UserId, session: SessionId, facts: &[FactId]) -> Result<Vec<Evidence>, Failure> {
        let sql = "SELECT * FROM evidence WHERE user_id = ? AND fact_id IN (SELECT unhex(value) FROM json_each(?)) AND session_id <> ?
             ORDER BY fact_id, created_at, message_id, stance";
        self.0.rows("evidence", sql, (user.0, id_list(facts.iter().map(|f| &f.0)), session.0), rows::evidence)
    }
}

#[async_trait]
impl DeleteStatements for WriteTransaction<'_> {
    async fn lock_unused_session(&mut self, user: UserId, session: SessionId, since: Option<Timestamp>) -> Result<Option<u64>, Failure> {
        let sql = "SELECT message_count FROM sessions
             WHERE user_id = ?1 AND id = ?2 AND deletion_at IS NULL AND (?3 IS NULL OR updated_at < ?3)";
        let messages = self.0.row("sessions", sql, (user.0, session.0, since.map(millis)), |c| c.integer("message_count"))?;
        Ok(messages.map(i64::unsigned_abs))
    }

    async fn void_indexes(&mut self, user: UserId, version: Option<u64>) -> Result<bool, Failure> {
        let sql = "UPDATE users SET knowledge_version = knowledge_version + 1, feed_generation = feed_generation + 1
             WHERE id = ?1 AND (?2 IS NULL OR knowledge_version = ?2) AND importing = 0";
        Ok(self.0.execute(sql, (user.0, version.map(signed)))? > 0)
    }

    async fn last_memory_number(&mut self, user: UserId, session: SessionId) -> Result<Option<i64>, Failure> {
        let sql = "SELECT memory_seq FROM events WHERE user_id = ? AND session_id = ? ORDER BY seq DESC LIMIT 1";
        Ok(self.0.row("events", sql, (user.0, session.0), |c| c.get::<Option<i64>>("memory_seq"))?.flatten())
    }

    async fn delete_session(&mut self, user: UserId, session: SessionId) -> Result<(), Failure> {
        // Cascades to messages, vectors, terms, events, jobs, mentions and evidence.
        self.0.execute("DELETE FROM sessions WHERE user_id = ? AND id = ?", (user.0, session.0))?;
        Ok(())
    }

    async fn entities_of_session(&mut self, user: UserId, session: SessionId) -> Result<Vec<EntityId>, Failure> {
        let sql = "SELECT DISTINCT entity_id AS id FROM mentions WHERE user_id = ? AND session_id = ?";
        self.0.rows("entities", sql, (user.0, session.0), entity_id)
    }

    async fn subtract_session(&mut self, user: UserId, session: SessionId, entities: &[EntityId]) -> Result<(), Failure> {
        self.0.execute(
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
            (user.0, session.0, id_list(ids(entities))),
        )?;
        Ok(())
    }

    async fn entities_merged_into(&mut self, user: UserId, entities: &[EntityId]) -> Result<Vec<EntityId>, Failure> {
        let sql = "SELECT gone_id AS id FROM entity_merges WHERE user_id = ? AND into_id IN (SELECT unhex(value) FROM json_each(?))";
        self.0.rows("entities", sql, (user.0, id_list(ids(entities))), entity_id)
    }

    async fn delete_unused_merge_records(&mut self, user: UserId, gone: &[EntityId]) -> Result<(), Failure> {
        self.0.execute(
            "DELETE FROM merges WHERE user_id = ?1 AND gone_id IN (SELECT unhex(value) FROM json_each(?2))
             AND NOT EXISTS (SELECT 1 FROM merged_mentions m WHERE m.user_id = ?1 AND m.gone_id = merges.gone_id)
             AND NOT EXISTS (SELECT 1 FROM merged_evidence v JOIN merged_facts f ON f.user_id = ?1 AND f.gone_id = v.gone_id AND f.id = v.fact_id
                             WHERE v.user_id = ?1 AND v.gone_id = merges.gone_id AND merges.gone_id IN (f.subject_id, f.object_id))",
            (user.0, id_list(ids(gone))),
        )?;
        Ok(())
    }

    async fn delete_unused_entities(&mut self, user: UserId, entities: &[EntityId]) -> Result<u64, Failure> {
        self.0.execute(
            "DELETE FROM entities WHERE user_id = ?1 AND id IN (SELECT unhex(value) FROM json_each(?2))
             AND NOT EXISTS (SELECT 1 FROM mentions m WHERE m.user_id = ?1 AND m.entity_id = entities.id)
             AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.user_id = ?1 AND f.subject_id = entities.id)
             AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.user_id = ?1 AND f.object_id = entities.id)",
            (user.0, id_list(ids(entities))),
        )
    }
}

fn ids(entities: &[EntityId]) -> impl Iterator<Item = &Uuid> {
    entities.iter().map(|e| &e.0)
}

pub(super) fn entity_id(c: &Columns<'_, '_>) -> Result<EntityId, Failure> {
    Ok(EntityId(c.id("id")?))
}
