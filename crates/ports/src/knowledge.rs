//! What a store knows of entities, mentions, facts and evidence.

use std::sync::Arc;

use async_trait::async_trait;

use super::{
    Claim, CommitError, EntityFilter, FactFilter, FactKey, KnowledgeCommit, MergeRecord, Merged, MessagePlanner, NewMessage, StoreError,
};
use recall_domain::{
    Caller, Decision, Entity, EntityId, EntityKey, EventDraft, Evidence, Fact, FactId, Mention, Message, MessageId, Page, RelationName,
    SessionId, Slice, Stance,
};

/// Most entities that one key finds, so that a name of thousands is not read whole.
pub const MAX_BEARERS: u32 = 256;

/// Reads entities and their merges.
#[async_trait]
pub trait EntityStore: Send + Sync {
    /// Returns the user's own entity, if it exists.
    async fn viewer_entity(&self, caller: &Caller) -> Result<Option<Entity>, StoreError>;
    /// Returns the entities that the keys find, each with its key: by key, most mentioned first, at most [`MAX_BEARERS`] for each.
    async fn entities_by_key(&self, caller: &Caller, keys: &[EntityKey]) -> Result<Vec<(EntityKey, Entity)>, StoreError>;
    /// Returns the entities that the hints find, each with its hint, most mentioned first, at most `limit`.
    async fn entities_by_hint(&self, caller: &Caller, hints: &[String], limit: u32) -> Result<Vec<(String, Entity)>, StoreError>;
    /// Returns entities by id; unknown and forgotten ones are left out. For a merged id it returns the surviving entity.
    async fn entities_by_id(&self, caller: &Caller, ids: &[EntityId]) -> Result<Vec<Entity>, StoreError>;
    /// Lists entities, most mentioned first.
    async fn list_entities(&self, caller: &Caller, filter: &EntityFilter, page: &Page) -> Result<Slice<Entity>, StoreError>;
    /// Counts the matching entities.
    async fn count_entities(&self, caller: &Caller, filter: &EntityFilter) -> Result<u64, StoreError>;
    /// Returns what a merge changed; `None` if the id was not merged, or was merged before records existed.
    async fn merge_record(&self, caller: &Caller, gone: EntityId) -> Result<Option<MergeRecord>, StoreError>;
    /// Returns the merges into these entities that can be undone, latest first.
    async fn merged_into(&self, caller: &Caller, entities: &[EntityId]) -> Result<Vec<(EntityId, Merged)>, StoreError>;
}

/// Reads which messages mention which entities, and why.
#[async_trait]
pub trait MentionStore: Send + Sync {
    /// Returns the entities mentioned in messages, in order of appearance.
    async fn mentions_in(&self, caller: &Caller, messages: &[MessageId]) -> Result<Vec<(MessageId, EntityId, Mention)>, StoreError>;
    /// Returns all mentions of an entity with their positions, ordered by message id.
    async fn mentions_of(&self, caller: &Caller, entity: EntityId) -> Result<Vec<(MessageId, u32, Mention)>, StoreError>;
    /// Lists the messages that mention an entity, latest first.
    async fn list_mentions(&self, caller: &Caller, entity: EntityId, page: &Page) -> Result<Slice<(MessageId, Mention)>, StoreError>;
    /// Returns those of the entities that the session mentions, latest first.
    async fn recently_mentioned(&self, caller: &Caller, session: SessionId, entities: &[EntityId]) -> Result<Vec<EntityId>, StoreError>;
    /// Returns why each mention means its entity, with its position in the message. Mentions from before decisions were stored are left
    /// out.
    async fn decisions_in(&self, caller: &Caller, messages: &[MessageId]) -> Result<Vec<(MessageId, u32, Decision)>, StoreError>;
}

/// Reads facts.
#[async_trait]
pub trait FactStore: Send + Sync {
    /// Returns up to `most` facts that match one of the keys, whatever their status.
    async fn facts_by_key(&self, caller: &Caller, keys: &[FactKey], most: u32) -> Result<Vec<Fact>, StoreError>;
    /// Returns facts by id; unknown ids are left out.
    async fn facts_by_id(&self, caller: &Caller, ids: &[FactId]) -> Result<Vec<Fact>, StoreError>;
    /// Returns facts with one of the entities on either side, strongest support first, at most `limit` per entity.
    async fn facts_of_entities(&self, caller: &Caller, entities: &[EntityId], limit: u32) -> Result<Vec<Fact>, StoreError>;
    /// Returns facts of these relations with one of the entities on either side, strongest support first, at most `limit` per entity, side and
    /// relation.
    async fn facts_of_relations(
        &self,
        caller: &Caller,
        entities: &[EntityId],
        relations: &[RelationName],
        limit: u32,
    ) -> Result<Vec<Fact>, StoreError>;
    /// Returns facts between `some` and `others`, in either direction, whatever their status, by id.
    async fn facts_between(&self, caller: &Caller, some: &[EntityId], others: &[EntityId]) -> Result<Vec<Fact>, StoreError>;
    /// Lists facts, latest change first.
    async fn list_facts(&self, caller: &Caller, filter: &FactFilter, page: &Page) -> Result<Slice<Fact>, StoreError>;
    /// Counts the matching facts.
    async fn count_facts(&self, caller: &Caller, filter: &FactFilter) -> Result<u64, StoreError>;
}

/// Reads the evidence of facts.
#[async_trait]
pub trait EvidenceStore: Send + Sync {
    /// Returns evidence of facts, latest first, at most `limit` per fact.
    async fn evidence_of(&self, caller: &Caller, facts: &[FactId], limit: u32) -> Result<Vec<Evidence>, StoreError>;
    /// Lists the evidence of one fact, latest first.
    async fn list_evidence(&self, caller: &Caller, fact: FactId, page: &Page) -> Result<Slice<Evidence>, StoreError>;
    /// Returns the stances of messages on facts, by message and fact. If a message has several, an end comes before a statement.
    async fn facts_in(&self, caller: &Caller, messages: &[MessageId]) -> Result<Vec<(MessageId, FactId, Stance)>, StoreError>;
    /// Returns sessions with evidence of a fact, latest first, at most `limit`.
    async fn sessions_of_fact(&self, caller: &Caller, fact: FactId, limit: u32) -> Result<Vec<SessionId>, StoreError>;
}

/// An answer to store.
#[derive(Clone, Debug)]
pub struct AnswerCommit {
    /// The assistant's message with what it answers; its `external_id` is unset.
    pub message: NewMessage,
    /// Events after the `message_stored` of the answer.
    pub events: Vec<EventDraft>,
}

/// Entities, facts and evidence of a user, which change together: in one commit at a time.
#[async_trait]
pub trait KnowledgeStore: EntityStore + MentionStore + FactStore + EvidenceStore {
    /// Returns the version of the user's knowledge, which counts commits.
    async fn knowledge_version(&self, caller: &Caller) -> Result<u64, StoreError>;
    /// Commits a plan in ONE transaction. Returns the numbers of its events.
    async fn commit(&self, caller: &Caller, plan: &KnowledgeCommit) -> Result<Vec<u64>, CommitError>;
    /// Plans messages of one session and commits the plans, one after another, in ONE transaction; at least one message is given.
    ///
    /// With a claim it also ends their jobs: the claim is on the job of the first message, and the others follow in its lane. It may
    /// stop early: when the lane does not continue with the next message, or when others have waited long enough. Returns the changed
    /// facts of each message that was committed, at least of the first.
    async fn learn(
        &self,
        caller: &Caller,
        messages: &[Arc<dyn MessagePlanner>],
        claim: Option<&Claim>,
    ) -> Result<Vec<Vec<Fact>>, CommitError>;
    /// Stores a message together with what it states, in ONE transaction. Returns the changed facts.
    async fn append_and_learn(
        &self,
        caller: &Caller,
        message: &NewMessage,
        planner: Arc<dyn MessagePlanner>,
    ) -> Result<Vec<Fact>, CommitError>;
    /// Stores an answer with its events and the end of its job, in ONE transaction.
    async fn commit_answer(&self, caller: &Caller, answer: &AnswerCommit, claim: &Claim) -> Result<Message, CommitError>;
}
