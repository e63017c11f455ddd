//! Learning from messages: each is planned from what is known, inside the transaction that commits the plan.

use async_trait::async_trait;

use super::{EntityFilter, FactFilter, FactKey, KnowledgeCommit, StoreError};
use recall_domain::{Entity, EntityId, EntityKey, EventId, Evidence, Fact, FactId, MessageId, SessionId, Stance};

/// What a plan reads of one user's knowledge. It sees what earlier plans of the same transaction have written.
///
/// The methods are described where [`KnowledgeStore`](super::KnowledgeStore) has the same ones.
#[async_trait]
pub trait KnowledgeReads: Send {
    /// Returns the version, and keeps others from changing the knowledge until the transaction ends.
    async fn version(&mut self) -> Result<u64, StoreError>;
    /// Returns the user's own entity, if it exists.
    async fn viewer_entity(&mut self) -> Result<Option<Entity>, StoreError>;
    /// Returns the entities that the keys find, each with its key: by key, most mentioned first, at most
    /// [`MAX_BEARERS`](super::MAX_BEARERS) for each.
    async fn entities_by_key(&mut self, keys: &[EntityKey]) -> Result<Vec<(EntityKey, Entity)>, StoreError>;
    /// Returns the entities that the hints find, each with its hint, most mentioned first, at most `limit`.
    async fn entities_by_hint(&mut self, hints: &[String], limit: u32) -> Result<Vec<(String, Entity)>, StoreError>;
    /// Returns entities by id; unknown and forgotten ones are left out.
    async fn entities_by_id(&mut self, ids: &[EntityId]) -> Result<Vec<Entity>, StoreError>;
    /// Returns those of the entities that the session mentions, latest first.
    async fn recently_mentioned(&mut self, session: SessionId, entities: &[EntityId]) -> Result<Vec<EntityId>, StoreError>;
    /// Returns facts between `some` and `others`, in either direction, whatever their status, by id.
    async fn facts_between(&mut self, some: &[EntityId], others: &[EntityId]) -> Result<Vec<Fact>, StoreError>;
    /// Returns the facts that match one of the keys, whatever their status.
    async fn facts_by_key(&mut self, keys: &[FactKey]) -> Result<Vec<Fact>, StoreError>;
    /// Returns the stances of messages on facts, by message and fact.
    async fn facts_in(&mut self, messages: &[MessageId]) -> Result<Vec<(MessageId, FactId, Stance)>, StoreError>;
    /// Returns evidence of facts, latest first, at most `limit` per fact.
    async fn evidence_of(&mut self, facts: &[FactId], limit: u32) -> Result<Vec<Evidence>, StoreError>;
    /// Counts the matching entities.
    async fn count_entities(&mut self, filter: &EntityFilter) -> Result<u64, StoreError>;
    /// Counts the matching facts.
    async fn count_facts(&mut self, filter: &FactFilter) -> Result<u64, StoreError>;
}

/// Plans what one message changes. A store may ask again if it has to repeat the transaction.
#[async_trait]
pub trait MessagePlanner: Send + Sync {
    /// The session of the message.
    fn session(&self) -> SessionId;
    /// The message.
    fn message(&self) -> MessageId;
    /// For a chunk: the id of the event that tells the progress of its document.
    fn chunk_event(&self) -> Option<EventId> {
        None
    }
    /// Plans the changes. The plan asks for an answer if the message does; the store drops that if nobody waits for one any more.
    ///
    /// # Errors
    /// If a read fails.
    async fn plan(&self, known: &mut dyn KnowledgeReads) -> Result<KnowledgeCommit, StoreError>;
}
