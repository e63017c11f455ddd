//! The store: sessions, messages, knowledge, jobs and event logs of all users. It is the truth; everything
//! else (index, graph engine, streams) is made from it.
//!
//! Every function takes a [`Caller`] and touches that user's rows only. The exceptions are [`JobQueue`], [`ChangeFeed`], [`Archive`] and
//! [`VectorStore`], which hand out the caller together with what is theirs, [`AccountDeletionStore::unfinished_erasures`], [`SessionStore::unused_sessions`]
//! and [`SessionDeletionStore::hidden_sessions`], which say whose data is still to be deleted, [`AccessTokenStore::use_access_token`],
//! [`LoginStore`] and [`VisitStore`], which say who showed a secret, and [`RevocationStore`] and [`AuditLog`], whose rows belong to no user.

use async_trait::async_trait;

use super::{
    AccessTokenStore, AccountDeletionStore, Archive, AuditLog, ChangeFeed, Claim, CommitError, Connections, Embedding, EventLog, Inspect,
    JobQueue, KnowledgeCommit, LoginStore, MergeRecord, Merged, RevocationStore, Reweigh, SessionDeletionStore, UsageStore, VectorStore,
    VisitStore,
};
use recall_domain::{
    Caller, Citation, Decision, Entity, EntityId, EntityKey, EntityType, EventDraft, Evidence, Fact, FactId, FactStatus, Mention, Message,
    MessageId, MessageKind, Page, Role, Session, SessionId, Slice, Stance, Timestamp, UserId, UserText,
};

/// All of the store.
pub trait Store:
    SessionStore
    + SessionDeletionStore
    + MessageStore
    + KnowledgeStore
    + AccessTokenStore
    + RevocationStore
    + LoginStore
    + VisitStore
    + JobQueue
    + EventLog
    + UsageStore
    + AuditLog
    + AccountDeletionStore
    + ChangeFeed
    + Connections
    + Inspect
    + Archive
    + VectorStore
{
}
impl<T> Store for T where
    T: SessionStore
        + SessionDeletionStore
        + MessageStore
        + KnowledgeStore
        + AccessTokenStore
        + RevocationStore
        + LoginStore
        + VisitStore
        + JobQueue
        + EventLog
        + UsageStore
        + AuditLog
        + AccountDeletionStore
        + ChangeFeed
        + Connections
        + Inspect
        + Archive
        + VectorStore
{
}

/// Why the store did not do something.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No such row, or not the caller's, which must look the same.
    #[error("not found")]
    NotFound,
    /// A pagination key that this store did not make.
    #[error("the cursor is not valid")]
    BadCursor,
    /// All that the store has of the caller is being deleted; until that is done nothing new is taken.
    #[error("the data is being deleted")]
    BeingErased,
    /// An archive is being imported for the caller; until the import ends nothing else is stored.
    #[error("the data is being imported")]
    BeingImported,
    /// A session of the caller's is being deleted in steps; until that is done the whole cannot be exported.
    #[error("a session is being deleted")]
    SessionBeingDeleted,
    /// A visitor has stored as much as visitors may.
    #[error("the visit may store no more")]
    QuotaUsed,
    /// May work later: busy, connection lost, disk full.
    #[error("the store is not available: {0}")]
    Transient(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A defect or a damaged store.
    #[error("the store failed: {0}")]
    Permanent(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Sessions.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Creates a session with an empty log. `epoch` names the log.
    async fn create_session(
        &self,
        caller: &Caller,
        id: SessionId,
        title: Option<UserText>,
        epoch: String,
        now: Timestamp,
    ) -> Result<Session, StoreError>;
    /// Sessions by id; unknown ones are left out.
    async fn sessions_by_id(&self, caller: &Caller, ids: &[SessionId]) -> Result<Vec<Session>, StoreError>;
    /// All sessions, latest change first.
    async fn list_sessions(&self, caller: &Caller, page: &Page) -> Result<Slice<Session>, StoreError>;
    /// How many sessions there are.
    async fn count_sessions(&self, caller: &Caller) -> Result<u64, StoreError>;
    /// Deletes a session with its messages, events, jobs and evidence, in one transaction. The facts that lose
    /// evidence are weighed anew by `reweigh`, which gets the fact and all evidence left, oldest first, and returns the
    /// new fact or `None` to delete it. Entities without mention and without fact go too.
    async fn delete_session(&self, caller: &Caller, id: SessionId, reweigh: Reweigh<'_>) -> Result<SessionDeleted, StoreError> {
        self.delete_session_unused_since(caller, id, None, reweigh).await
    }
    /// As [`Self::delete_session`]; with a moment only if nobody wrote in the session since, and `NotFound` otherwise.
    async fn delete_session_unused_since(
        &self,
        caller: &Caller,
        id: SessionId,
        since: Option<Timestamp>,
        reweigh: Reweigh<'_>,
    ) -> Result<SessionDeleted, StoreError>;
    /// Sessions of all users in which nobody wrote since a moment, in order of users and ids after one of them. Like the job
    /// queue this makes callers instead of taking one.
    async fn unused_sessions(
        &self,
        since: Timestamp,
        after: Option<(UserId, SessionId)>,
        limit: u32,
    ) -> Result<Vec<(Caller, SessionId)>, StoreError>;
}

/// What went with a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SessionDeleted {
    /// Its messages.
    pub messages: u64,
    /// Facts without any other evidence.
    pub facts_deleted: u64,
    /// Facts with evidence elsewhere, which were weighed anew.
    pub facts_reweighed: u64,
    /// Things that nothing else speaks of.
    pub entities_deleted: u64,
}

/// A message to be stored, with everything that its one transaction writes.
#[derive(Clone, Debug)]
pub struct NewMessage {
    /// Fresh id.
    pub id: MessageId,
    /// Its session.
    pub session: SessionId,
    /// Who wrote it.
    pub role: Role,
    /// Who says it.
    pub speaker: Option<String>,
    /// What is said.
    pub text: UserText,
    /// When it was said.
    pub sent_at: Timestamp,
    /// Now.
    pub created_at: Timestamp,
    /// The client's data.
    pub source_metadata: Option<serde_json::Value>,
    /// The client's id, unique in the session.
    pub external_id: Option<String>,
    /// Index terms with their counts, and the vector.
    pub prepared: IndexEntry,
    /// What is to be done with it later.
    pub mining: FollowUp,
    /// Given when the kind is known beforehand (imports, answers, assertions).
    pub kind: Option<MessageKind>,
    /// Id of its `message_stored` event.
    pub event: recall_domain::EventId,
    /// Becomes the session's title if it has none.
    pub title: Option<UserText>,
}

/// What is to be done with a message after it was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowUp {
    /// Nothing: it is stored as processed, without a job.
    Nothing,
    /// A job finds its facts.
    Facts,
    /// A job finds its facts, and another answers it if it turns out to be a question.
    FactsAndAnswer,
}

/// What the index needs of a message, computed once.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexEntry {
    /// Index terms in order of first appearance, with how often each occurs, then the marks of the message.
    pub terms: Vec<(String, u32)>,
    /// Names the model of `embedding`.
    pub model: String,
    /// The vector.
    pub embedding: Embedding,
    /// Vectors of other models, by name. One is kept while its model is the one by which the user is searched, so that a new message
    /// is found by meaning during a change of models too.
    pub further: Vec<(String, Embedding)>,
}

/// A message that is stored now.
#[derive(Clone, Debug, PartialEq)]
pub struct Appended {
    /// The message as stored.
    pub message: Message,
    /// It had been stored before under the same external id; nothing was written.
    pub duplicate: bool,
}

/// One row of the feed from which an index is made.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedRow {
    /// Grows with every message of the user; rows become visible in this order.
    pub row: u64,
    /// The message.
    pub message: MessageId,
    /// Its session.
    pub session: SessionId,
    /// Place in the session, from 1.
    pub position: u64,
    /// Who wrote it.
    pub role: Role,
    /// Who says it.
    pub speaker: Option<String>,
    /// When it was said.
    pub sent_at: Timestamp,
    /// Index terms and marks.
    pub terms: Vec<(String, u32)>,
    /// The vector, empty when it was made by another model than asked for.
    pub embedding: Vec<f32>,
}

/// What an index must have been made from to be right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeedState {
    /// Changes whenever a message of the user is deleted or other vectors come into use; an index made before is void then.
    pub generation: u64,
    /// The model by whose vectors the user is searched; none until a message was stored.
    pub model: Option<String>,
}

/// Messages.
#[async_trait]
pub trait MessageStore: Send + Sync {
    /// Stores messages of one session in order, in ONE transaction: per message its row, terms, vector, job (unless `mining` is `Nothing`)
    /// and `message_stored` event. A message whose external id is known returns the first one as duplicate.
    ///
    /// # Errors
    /// `NotFound` when the session is not the caller's; then nothing is written.
    async fn append(&self, caller: &Caller, session: SessionId, messages: Vec<NewMessage>) -> Result<Vec<Appended>, StoreError>;
    /// Messages by id; unknown ones are left out.
    async fn messages_by_id(&self, caller: &Caller, ids: &[MessageId]) -> Result<Vec<Message>, StoreError>;
    /// Messages of a session, in order; `backwards` starts from the newest.
    async fn list_messages(&self, caller: &Caller, session: SessionId, page: &Page, backwards: bool) -> Result<Slice<Message>, StoreError>;
    /// Up to `limit` messages before `position`, oldest first.
    async fn messages_before(&self, caller: &Caller, session: SessionId, position: u64, limit: u32) -> Result<Vec<Message>, StoreError>;
    /// The answers to questions, as (question, answer).
    async fn answers_to(&self, caller: &Caller, questions: &[MessageId]) -> Result<Vec<(MessageId, Message)>, StoreError>;
    /// Rows after `after`, ascending, for an index with vectors of `model`.
    async fn feed(&self, caller: &Caller, model: &str, after: u64, limit: u32) -> Result<Vec<FeedRow>, StoreError>;
    /// What an index must have been made from.
    async fn feed_state(&self, caller: &Caller) -> Result<FeedState, StoreError>;
    /// The generation of [`FeedState`] alone.
    async fn feed_generation(&self, caller: &Caller) -> Result<u64, StoreError> {
        Ok(self.feed_state(caller).await?.generation)
    }
    /// The nearest messages by cosine similarity (-1 to 1), exact over all of the user's vectors of `model`.
    async fn nearest(
        &self,
        caller: &Caller,
        model: &str,
        vector: &Embedding,
        session: Option<SessionId>,
        limit: u32,
    ) -> Result<Vec<(MessageId, f32)>, StoreError>;
}

/// A fact pattern to look up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FactKey {
    /// Subject.
    pub subject: EntityId,
    /// Relation.
    pub relation: String,
    /// Object; any when absent.
    pub object: Option<EntityId>,
}

/// Filters of a list of entities; all given ones must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EntityFilter {
    /// Only of this type.
    pub entity_type: Option<EntityType>,
    /// Name or alias contains this, ignoring case.
    pub text: Option<String>,
    /// Mentioned in this session.
    pub session: Option<SessionId>,
}

/// Filters of a list of facts; all given ones must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FactFilter {
    /// Has this subject.
    pub subject: Option<EntityId>,
    /// Has this object.
    pub object: Option<EntityId>,
    /// Has this entity on either side.
    pub entity: Option<EntityId>,
    /// Uses this relation.
    pub relation: Option<String>,
    /// Has this status.
    pub status: Option<FactStatus>,
    /// Has evidence in this session.
    pub session: Option<SessionId>,
    /// Has evidence in this message.
    pub message: Option<MessageId>,
    /// Belief (r+1)/(r+s+2) at the time of its last change is at least this.
    pub min_belief: Option<f64>,
    /// Was known and held at this moment.
    pub as_of: Option<Timestamp>,
    /// A name on either side contains this, ignoring case.
    pub text: Option<String>,
}

/// An answer to be stored.
#[derive(Clone, Debug)]
pub struct AnswerCommit {
    /// The assistant's message; its `external_id` is unset.
    pub message: NewMessage,
    /// The question.
    pub answer_to: MessageId,
    /// What it rests on.
    pub citations: Vec<Citation>,
    /// Events after the `message_stored` of the answer.
    pub events: Vec<EventDraft>,
}

/// Entities, facts and evidence.
#[async_trait]
pub trait KnowledgeStore: Send + Sync {
    /// Counts the commits of this user's knowledge.
    async fn knowledge_version(&self, caller: &Caller) -> Result<u64, StoreError>;
    /// The user's own node, if it exists.
    async fn viewer_entity(&self, caller: &Caller) -> Result<Option<Entity>, StoreError>;
    /// Entities that one of the keys finds, each with the key that found it.
    async fn entities_by_key(&self, caller: &Caller, keys: &[EntityKey]) -> Result<Vec<(EntityKey, Entity)>, StoreError>;
    /// Entities that one of the hints finds, each with the hint that found it, most mentioned first, at most `limit`.
    async fn entities_by_hint(&self, caller: &Caller, hints: &[String], limit: u32) -> Result<Vec<(String, Entity)>, StoreError>;
    /// Which of the entities a session has mentioned, the latest first.
    async fn recently_mentioned(&self, caller: &Caller, session: SessionId, entities: &[EntityId]) -> Result<Vec<EntityId>, StoreError>;
    /// Why the mentions of messages mean what they mean, with the place of the mention in its message. Mentions from before this
    /// was noted are left out.
    async fn decisions_in(&self, caller: &Caller, messages: &[MessageId]) -> Result<Vec<(MessageId, u32, Decision)>, StoreError>;
    /// Entities by id; unknown ones are left out. An id that was merged away gives the entity that took over.
    async fn entities_by_id(&self, caller: &Caller, ids: &[EntityId]) -> Result<Vec<Entity>, StoreError>;
    /// Facts that match one of the keys, whatever their status; `most` at most.
    async fn facts_by_key(&self, caller: &Caller, keys: &[FactKey], most: u32) -> Result<Vec<Fact>, StoreError>;
    /// Facts by id; unknown ones are left out.
    async fn facts_by_id(&self, caller: &Caller, ids: &[FactId]) -> Result<Vec<Fact>, StoreError>;
    /// Facts with one of the entities on either side, strongest support first, at most `limit` per entity.
    async fn facts_of_entities(&self, caller: &Caller, entities: &[EntityId], limit: u32) -> Result<Vec<Fact>, StoreError>;
    /// Facts between one of some entities and one of others, in either direction, whatever their status, by id.
    async fn facts_between(&self, caller: &Caller, some: &[EntityId], others: &[EntityId]) -> Result<Vec<Fact>, StoreError>;
    /// Commits a plan and, with a claim, the end of its job, in ONE transaction. Returns the numbers of its events.
    async fn commit(&self, caller: &Caller, plan: &KnowledgeCommit, claim: Option<&Claim>) -> Result<Vec<u64>, CommitError>;
    /// Stores an answer with its events and the end of its job, in ONE transaction.
    async fn commit_answer(&self, caller: &Caller, answer: &AnswerCommit, claim: &Claim) -> Result<Message, CommitError>;
    /// Entities, most mentioned first.
    async fn list_entities(&self, caller: &Caller, filter: &EntityFilter, page: &Page) -> Result<Slice<Entity>, StoreError>;
    /// How many entities match.
    async fn count_entities(&self, caller: &Caller, filter: &EntityFilter) -> Result<u64, StoreError>;
    /// Facts, latest change first.
    async fn list_facts(&self, caller: &Caller, filter: &FactFilter, page: &Page) -> Result<Slice<Fact>, StoreError>;
    /// How many facts match.
    async fn count_facts(&self, caller: &Caller, filter: &FactFilter) -> Result<u64, StoreError>;
    /// Evidence of facts, latest first, at most `limit` per fact.
    async fn evidence_of(&self, caller: &Caller, facts: &[FactId], limit: u32) -> Result<Vec<Evidence>, StoreError>;
    /// Evidence of one fact, latest first.
    async fn list_evidence(&self, caller: &Caller, fact: FactId, page: &Page) -> Result<Slice<Evidence>, StoreError>;
    /// Things mentioned in messages, in order of appearance.
    async fn mentions_in(&self, caller: &Caller, messages: &[MessageId]) -> Result<Vec<(MessageId, EntityId, Mention)>, StoreError>;
    /// What messages say of facts, by message and fact. A message may have several stances on a fact: an end comes first, then a statement.
    async fn facts_in(&self, caller: &Caller, messages: &[MessageId]) -> Result<Vec<(MessageId, FactId, Stance)>, StoreError>;
    /// All mentions of an entity with their places in their messages, in order of the messages' ids.
    async fn mentions_of(&self, caller: &Caller, entity: EntityId) -> Result<Vec<(MessageId, u32, Mention)>, StoreError>;
    /// What a merge changed; `None` when the id was not merged away, or before this was recorded.
    async fn merge_record(&self, caller: &Caller, gone: EntityId) -> Result<Option<MergeRecord>, StoreError>;
    /// What was merged into entities and can be undone, the latest first.
    async fn merged_into(&self, caller: &Caller, entities: &[EntityId]) -> Result<Vec<(EntityId, Merged)>, StoreError>;
    /// Messages that mention an entity, latest first.
    async fn list_mentions(&self, caller: &Caller, entity: EntityId, page: &Page) -> Result<Slice<(MessageId, Mention)>, StoreError>;
    /// Sessions with evidence of a fact, latest first, at most `limit`.
    async fn sessions_of_fact(&self, caller: &Caller, fact: FactId, limit: u32) -> Result<Vec<SessionId>, StoreError>;
}
