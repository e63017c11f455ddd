//! Loaders that batch reads. Equal reads by fields of many objects become one statement.
//!
//! Every batch is read from one memory, for one caller.

use std::{
    collections::{HashMap, HashSet},
    hash::{Hash, Hasher},
    sync::Arc,
};

use async_graphql::dataloader;
use axum::http::StatusCode;

use super::budget::ResponseBudget;
use crate::error::ApiError;
use recall_domain::{
    Chunk, Decision, Document, DocumentId, Entity, EntityId, Evidence, Fact, FactId, FactStatus, ForgettingId, Mention, Message, MessageId,
    Ontology, Resource, Session, SessionId, Stance, Timestamp, TokenCount, Topic, TopicId,
};
use recall_facts::weigh;
use recall_ports::Merged;
use recall_usecases::{MAX_RIVALS, MemoryReader};

/// Loads batches from one memory.
pub(crate) struct Loader {
    memory: MemoryReader,
    budget: Arc<ResponseBudget>,
}

/// Comparisons of facts that take as long as resolving one field.
const COMPARED_PER_FIELD: usize = 16;

impl Loader {
    pub(crate) fn new(memory: MemoryReader, budget: Arc<ResponseBudget>) -> Self {
        Self { memory, budget }
    }
}

/// Key: the answer to a question.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct AnswerTo(pub(crate) MessageId);

/// Key: the latest evidence of a fact, and the maximum number of rows.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct EvidenceOf(pub(crate) FactId, pub(crate) u32);

/// Key: the facts that may contradict a fact.
#[derive(Clone)]
pub(crate) struct RivalsOf(pub(crate) Arc<Fact>);

/// Facts that may be rivals. All facts of a batch share them: otherwise thousands of contradicting facts would be copied for each.
#[derive(Clone)]
pub(crate) struct RivalCandidates {
    facts: Arc<[Arc<Fact>]>,
    budget: Arc<ResponseBudget>,
}

impl RivalCandidates {
    /// Waits for a slice in which a fact can be compared with all candidates.
    pub(crate) async fn wait_for_slice(&self) {
        self.budget.wait_for_slice(self.facts.len() / COMPARED_PER_FIELD).await;
    }

    /// Returns the active facts that contradict a fact, at most `most`.
    pub(crate) fn rivals<'c>(&'c self, fact: &'c Fact, ontology: &'c Ontology, most: usize) -> impl Iterator<Item = &'c Arc<Fact>> {
        let is_rival =
            move |other: &&Arc<Fact>| other.id != fact.id && other.status == FactStatus::Active && weigh::is_rival(fact, other, ontology);
        self.facts.iter().filter(is_rival).take(most)
    }

    /// Returns the fact's share of the total support of itself and its rivals.
    pub(crate) fn relative_weight(&self, fact: &Fact, ontology: &Ontology, now: Timestamp) -> f64 {
        weigh::relative_weight(fact, self.facts.iter().map(|other| &**other), ontology, now)
    }
}

impl PartialEq for RivalsOf {
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id
    }
}
impl Eq for RivalsOf {}
impl Hash for RivalsOf {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.id.hash(state);
    }
}

/// Returns the total bytes of message texts, each up to 64 KiB.
pub(crate) fn text_bytes<'m>(messages: impl IntoIterator<Item = &'m Message>) -> usize {
    messages.into_iter().map(|message| message.text.as_str().len()).sum()
}

/// Returns the total bytes of the addresses of resources, each up to 2 KiB.
fn uri_bytes<'r>(resources: impl IntoIterator<Item = &'r Resource>) -> usize {
    resources.into_iter().map(|resource| resource.uri.as_str().len()).sum()
}

type Batch<K, V> = Result<HashMap<K, V>, ApiError>;

impl dataloader::Loader<SessionId> for Loader {
    type Value = Session;
    type Error = ApiError;

    async fn load(&self, keys: &[SessionId]) -> Batch<SessionId, Session> {
        Ok(self.memory.sessions(keys).await?.into_iter().map(|s| (s.id, s)).collect())
    }
}

impl dataloader::Loader<MessageId> for Loader {
    type Value = Message;
    type Error = ApiError;

    async fn load(&self, keys: &[MessageId]) -> Batch<MessageId, Message> {
        let messages = self.memory.messages(keys).await?;
        self.budget.count_loaded_bytes(text_bytes(&messages));
        Ok(messages.into_iter().map(|m| (m.id, m)).collect())
    }
}

impl dataloader::Loader<DocumentId> for Loader {
    type Value = Document;
    type Error = ApiError;

    async fn load(&self, keys: &[DocumentId]) -> Batch<DocumentId, Document> {
        Ok(self.memory.documents(keys).await?.into_iter().map(|d| (d.id, d)).collect())
    }
}

/// Key: the chunk that a message stores.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ChunkOf(pub(crate) MessageId);

impl dataloader::Loader<ChunkOf> for Loader {
    type Value = Chunk;
    type Error = ApiError;

    async fn load(&self, keys: &[ChunkOf]) -> Batch<ChunkOf, Chunk> {
        let ids: Vec<_> = keys.iter().map(|key| key.0).collect();
        let chunks = self.memory.chunks(&ids).await?;
        self.budget.count_loaded_bytes(chunks.iter().map(|chunk| chunk.text.as_str().len()).sum());
        Ok(chunks.into_iter().map(|chunk| (ChunkOf(chunk.id), chunk)).collect())
    }
}

impl dataloader::Loader<TopicId> for Loader {
    type Value = Topic;
    type Error = ApiError;

    async fn load(&self, keys: &[TopicId]) -> Batch<TopicId, Topic> {
        Ok(self.memory.topics(keys).await?.into_iter().map(|topic| (topic.id, topic)).collect())
    }
}

impl dataloader::Loader<EntityId> for Loader {
    type Value = Entity;
    type Error = ApiError;

    async fn load(&self, keys: &[EntityId]) -> Batch<EntityId, Entity> {
        Ok(self.memory.entities(keys).await?)
    }
}

impl dataloader::Loader<FactId> for Loader {
    type Value = Arc<Fact>;
    type Error = ApiError;

    async fn load(&self, keys: &[FactId]) -> Batch<FactId, Arc<Fact>> {
        Ok(self.memory.facts(keys).await?.into_iter().map(|f| (f.id, Arc::new(f))).collect())
    }
}

impl dataloader::Loader<AnswerTo> for Loader {
    type Value = Message;
    type Error = ApiError;

    async fn load(&self, keys: &[AnswerTo]) -> Batch<AnswerTo, Message> {
        let ids: Vec<_> = keys.iter().map(|key| key.0).collect();
        let answers = self.memory.answers(&ids).await?;
        self.budget.count_loaded_bytes(text_bytes(answers.values()));
        Ok(answers.into_iter().map(|(question, answer)| (AnswerTo(question), answer)).collect())
    }
}

/// Declares keys for what belongs to an object, with the read for all objects of a batch.
macro_rules! related {
    ($($(#[$doc:meta])+ $key:ident($id:ty) -> $value:ty = $read:ident;)+) => {$(
        $(#[$doc])+
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub(crate) struct $key(pub(crate) $id);

        impl dataloader::Loader<$key> for Loader {
            type Value = $value;
            type Error = ApiError;

            async fn load(&self, keys: &[$key]) -> Batch<$key, $value> {
                let ids: Vec<_> = keys.iter().map(|key| key.0).collect();
                Ok(self.memory.$read(&ids).await?.into_iter().map(|(id, value)| ($key(id), value)).collect())
            }
        }
    )+};
}

related! {
    /// Key: the mentions in a message.
    MentionsIn(MessageId) -> Vec<(EntityId, Mention)> = mentions;
    /// Key: the decisions about which entities the mentions of a message refer to, by index of the mention in its message.
    DecisionsIn(MessageId) -> HashMap<u32, Decision> = decisions;
    /// Key: the topics of a session, which may store a document.
    TopicsOf(SessionId) -> Vec<TopicId> = topics_of;
    /// Key: when the caller last viewed a document of shared memory. Loaded from the caller's own memory.
    SharedViewOf(DocumentId) -> Timestamp = shared_views;
    /// Key: the facts that a message is evidence for or against, each once.
    FactsIn(MessageId) -> Vec<(FactId, Stance)> = facts_in;
    /// Key: until when a forgetting can be undone.
    UndoTimeOf(ForgettingId) -> Timestamp = undo_times;
    /// Key: the tokens that model servers used for a message.
    UsageOf(MessageId) -> TokenCount = usage_of_messages;
    /// Key: the entities that were merged into an entity.
    MergedInto(EntityId) -> Vec<Merged> = merged_into;
}

/// Key: the resources of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ResourcesOf(pub(crate) MessageId);

impl dataloader::Loader<ResourcesOf> for Loader {
    type Value = Vec<Resource>;
    type Error = ApiError;

    async fn load(&self, keys: &[ResourcesOf]) -> Batch<ResourcesOf, Self::Value> {
        let ids: Vec<_> = keys.iter().map(|key| key.0).collect();
        let resources = self.memory.resources(&ids).await?;
        self.budget.count_loaded_bytes(uri_bytes(resources.values().flatten()));
        Ok(resources.into_iter().map(|(message, resources)| (ResourcesOf(message), resources)).collect())
    }
}

impl dataloader::Loader<EvidenceOf> for Loader {
    type Value = Vec<Evidence>;
    type Error = ApiError;

    async fn load(&self, keys: &[EvidenceOf]) -> Batch<EvidenceOf, Self::Value> {
        let ids: Vec<_> = keys.iter().map(|k| k.0).collect::<HashSet<_>>().into_iter().collect();
        let most = keys.iter().map(|k| k.1).max().unwrap_or(1);
        let by_fact = self.memory.evidence(&ids, most).await?;
        let first_rows = |key: &EvidenceOf| by_fact.get(&key.0).map(|all| all.iter().take(key.1 as usize).cloned().collect());
        Ok(keys.iter().map(|key| (*key, first_rows(key).unwrap_or_default())).collect())
    }
}

impl dataloader::Loader<RivalsOf> for Loader {
    type Value = RivalCandidates;
    type Error = ApiError;

    async fn load(&self, keys: &[RivalsOf]) -> Batch<RivalsOf, Self::Value> {
        let found = self.memory.rival_candidates(keys.iter().map(|key| &*key.0)).await?;
        if found.len() >= MAX_RIVALS as usize {
            let message =
                format!("These facts have more than {MAX_RIVALS} rivals. Request fewer facts, or leave out `rivals` and `relativeWeight`.");
            return Err(ApiError::refused(StatusCode::BAD_REQUEST, "RESPONSE_TOO_LARGE", message));
        }
        let candidates = RivalCandidates { facts: found.into_iter().map(Arc::new).collect(), budget: self.budget.clone() };
        Ok(keys.iter().map(|k| (k.clone(), candidates.clone())).collect())
    }
}
