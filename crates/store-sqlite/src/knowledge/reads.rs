//! The reads of a plan, inside the transaction that commits it.

use async_trait::async_trait;

use super::{super::connection::Db, commit, entities, evidence, facts, mentions};
use recall_domain::{Entity, EntityId, EntityKey, Evidence, Fact, FactId, MessageId, SessionId, Stance, UserId};
use recall_ports::{EntityFilter, FactFilter, FactKey, KnowledgeReads, StoreError};

/// The reads of one user's knowledge in an open transaction.
pub(super) struct Reads<'c> {
    pub(super) db: &'c mut Db,
    pub(super) user: UserId,
}

#[async_trait]
impl KnowledgeReads for Reads<'_> {
    async fn version(&mut self) -> Result<u64, StoreError> {
        // SQLite has one writer, so there is nothing to lock.
        Ok(commit::version(self.db, self.user)?)
    }

    async fn viewer_entity(&mut self) -> Result<Option<Entity>, StoreError> {
        Ok(entities::viewer_entity(self.db, self.user)?)
    }

    async fn entities_by_key(&mut self, keys: &[EntityKey]) -> Result<Vec<(EntityKey, Entity)>, StoreError> {
        Ok(entities::entities_by_key(self.db, self.user, keys)?)
    }

    async fn entities_by_hint(&mut self, hints: &[String], limit: u32) -> Result<Vec<(String, Entity)>, StoreError> {
        Ok(entities::entities_by_hint(self.db, self.user, hints, limit)?)
    }

    async fn entities_by_id(&mut self, ids: &[EntityId]) -> Result<Vec<Entity>, StoreError> {
        Ok(entities::entities_by_id(self.db, self.user, ids)?)
    }

    async fn recently_mentioned(&mut self, session: SessionId, entities: &[EntityId]) -> Result<Vec<EntityId>, StoreError> {
        Ok(mentions::recently_mentioned(self.db, self.user, session, entities)?)
    }

    async fn facts_between(&mut self, some: &[EntityId], others: &[EntityId]) -> Result<Vec<Fact>, StoreError> {
        Ok(facts::facts_between(self.db, self.user, some, others)?)
    }

    async fn facts_by_key(&mut self, keys: &[FactKey]) -> Result<Vec<Fact>, StoreError> {
        Ok(facts::facts_by_key(self.db, self.user, keys, u32::MAX)?)
    }

    async fn facts_in(&mut self, messages: &[MessageId]) -> Result<Vec<(MessageId, FactId, Stance)>, StoreError> {
        Ok(evidence::facts_in(self.db, self.user, messages)?)
    }

    async fn evidence_of(&mut self, facts: &[FactId], limit: u32) -> Result<Vec<Evidence>, StoreError> {
        Ok(evidence::evidence_of(self.db, self.user, facts, limit)?)
    }

    async fn count_entities(&mut self, filter: &EntityFilter) -> Result<u64, StoreError> {
        Ok(entities::count_entities(self.db, self.user, filter)?)
    }

    async fn count_facts(&mut self, filter: &FactFilter) -> Result<u64, StoreError> {
        Ok(facts::count_facts(self.db, self.user, filter)?)
    }
}
