//! The reads of a plan, in the transaction that commits it.

use async_trait::async_trait;
use sqlx::PgConnection;

use super::{super::failure::Failure, entities, evidence, facts, mentions};
use recall_domain::{Entity, EntityId, EntityKey, Evidence, Fact, FactId, MessageId, SessionId, Stance, UserId};
use recall_ports::{EntityFilter, FactFilter, FactKey, KnowledgeReads, StoreError};

/// Reads one user's knowledge in an open transaction.
pub(super) struct Reads<'t> {
    pub(super) connection: &'t mut PgConnection,
    pub(super) user: UserId,
}

#[async_trait]
impl KnowledgeReads for Reads<'_> {
    /// Locks the user's row. Each later statement sees all that was committed before, and nobody commits more.
    async fn version(&mut self) -> Result<u64, StoreError> {
        let version = sqlx::query_scalar!("SELECT knowledge_version FROM users WHERE id = $1 FOR NO KEY UPDATE", self.user.0);
        let version = version.fetch_optional(&mut *self.connection).await.map_err(Failure::from)?;
        Ok(version.unwrap_or(0).unsigned_abs())
    }

    async fn viewer_entity(&mut self) -> Result<Option<Entity>, StoreError> {
        Ok(entities::viewer_entity(&mut *self.connection, self.user).await?)
    }

    async fn entities_by_key(&mut self, keys: &[EntityKey]) -> Result<Vec<(EntityKey, Entity)>, StoreError> {
        Ok(entities::entities_by_key(&mut *self.connection, self.user, keys).await?)
    }

    async fn entities_by_hint(&mut self, hints: &[String], limit: u32) -> Result<Vec<(String, Entity)>, StoreError> {
        Ok(entities::entities_by_hint(&mut *self.connection, self.user, hints, limit).await?)
    }

    async fn entities_by_id(&mut self, ids: &[EntityId]) -> Result<Vec<Entity>, StoreError> {
        Ok(entities::entities_by_id(&mut *self.connection, self.user, ids).await?)
    }

    async fn recently_mentioned(&mut self, session: SessionId, entities: &[EntityId]) -> Result<Vec<EntityId>, StoreError> {
        Ok(mentions::recently_mentioned(&mut *self.connection, self.user, session, entities).await?)
    }

    async fn facts_between(&mut self, some: &[EntityId], others: &[EntityId]) -> Result<Vec<Fact>, StoreError> {
        Ok(facts::facts_between(&mut *self.connection, self.user, some, others).await?)
    }

    async fn facts_by_key(&mut self, keys: &[FactKey]) -> Result<Vec<Fact>, StoreError> {
        Ok(facts::facts_by_key(&mut *self.connection, self.user, keys, u32::MAX).await?)
    }

    async fn facts_in(&mut self, messages: &[MessageId]) -> Result<Vec<(MessageId, FactId, Stance)>, StoreError> {
        Ok(evidence::facts_in(&mut *self.connection, self.user, messages).await?)
    }

    async fn evidence_of(&mut self, facts: &[FactId], limit: u32) -> Result<Vec<Evidence>, StoreError> {
        Ok(evidence::evidence_of(&mut *self.connection, self.user, facts, limit).await?)
    }

    async fn count_entities(&mut self, filter: &EntityFilter) -> Result<u64, StoreError> {
        Ok(entities::count_entities(&mut *self.connection, self.user, filter).await?)
    }

    async fn count_facts(&mut self, filter: &FactFilter) -> Result<u64, StoreError> {
        Ok(facts::count_facts(&mut *self.connection, self.user, filter).await?)
    }
}
