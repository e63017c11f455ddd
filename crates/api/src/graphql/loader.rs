//! Loaders that batch reads. Equal reads by fields of many objects become one statement.
//!
//! Every batch is read for the one caller of the operation.

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
    Caller, Decision, Entity, EntityId, Evidence, Fact, FactId, FactStatus, Mention, Message, MessageId, Ontology, Session, SessionId,
    Stance, Timestamp, TokenCount,
};
use recall_facts::weigh;
use recall_ports::Merged;
use recall_usecases::UseCases;

/// Loads batches for one caller.
pub(crate) struct Loader {
    caller: Caller,
    usecases: UseCases,
    budget: Arc<ResponseBudget>,
}

/// Maximum number of facts in a batch of rivals, which bounds memory.
const MAX_RIVALS: u32 = 10_000;
/// Comparisons of facts that take as long as resolving one field.
const COMPARED_PER_FIELD: usize = 16;

impl Loader {
    pub(crate) fn new(caller: Caller, usecases: UseCases, budget: Arc<ResponseBudget>) -> Self {
        Self { caller, usecases, budget }
    }
}

/// Key: the answer to a question.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct AnswerTo(pub(crate) MessageId);

/// Key: the mentions in a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct MentionsIn(pub(crate) MessageId);

/// Key: the tokens that model servers used for a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct UsageOf(pub(crate) MessageId);

/// Key: the decisions about which entities the mentions of a message refer to.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct DecisionsIn(pub(crate) MessageId);

/// Key: the entities that were merged into an entity.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct MergedInto(pub(crate) EntityId);

/// Key: the facts that a message is evidence for or against.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FactsIn(pub(crate) MessageId);

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

type Batch<K, V> = Result<HashMap<K, V>, ApiError>;

impl dataloader::Loader<SessionId> for Loader {
    type Value = Session;
    type Error = ApiError;

    async fn load(&self, keys: &[SessionId]) -> Batch<SessionId, Session> {
        Ok(self.usecases.store().sessions_by_id(&self.caller, keys).await?.into_iter().map(|s| (s.id, s)).collect())
    }
}

impl dataloader::Loader<MessageId> for Loader {
    type Value = Message;
    type Error = ApiError;

    async fn load(&self, keys: &[MessageId]) -> Batch<MessageId, Message> {
        let messages = self.usecases.store().messages_by_id(&self.caller, keys).await?;
        self.budget.count_loaded_bytes(text_bytes(&messages));
        Ok(messages.into_iter().map(|m| (m.id, m)).collect())
    }
}

impl dataloader::Loader<EntityId> for Loader {
    type Value = Entity;
    type Error = ApiError;

    async fn load(&self, keys: &[EntityId]) -> Batch<EntityId, Entity> {
        let store = self.usecases.store();
        let mut found: HashMap<_, _> = store.entities_by_id(&self.caller, keys).await?.into_iter().map(|e| (e.id, e)).collect();
        // The id of a merged entity returns the entity that it was merged into. Only a separate read tells which id it belongs to.
        for key in keys {
            if !found.contains_key(key)
                && let Some(successor) = store.entities_by_id(&self.caller, &[*key]).await?.into_iter().next()
            {
                found.insert(*key, successor);
            }
        }
        Ok(found)
    }
}

impl dataloader::Loader<FactId> for Loader {
    type Value = Arc<Fact>;
    type Error = ApiError;

    async fn load(&self, keys: &[FactId]) -> Batch<FactId, Arc<Fact>> {
        Ok(self.usecases.store().facts_by_id(&self.caller, keys).await?.into_iter().map(|f| (f.id, Arc::new(f))).collect())
    }
}

impl dataloader::Loader<AnswerTo> for Loader {
    type Value = Message;
    type Error = ApiError;

    async fn load(&self, keys: &[AnswerTo]) -> Batch<AnswerTo, Message> {
        let ids: Vec<_> = keys.iter().map(|k| k.0).collect();
        let answers = self.usecases.store().answers_to(&self.caller, &ids).await?;
        self.budget.count_loaded_bytes(text_bytes(answers.iter().map(|(_, answer)| answer)));
        Ok(answers.into_iter().map(|(question, answer)| (AnswerTo(question), answer)).collect())
    }
}

impl dataloader::Loader<MentionsIn> for Loader {
    type Value = Vec<(EntityId, Mention)>;
    type Error = ApiError;

    async fn load(&self, keys: &[MentionsIn]) -> Batch<MentionsIn, Self::Value> {
        let ids: Vec<_> = keys.iter().map(|k| k.0).collect();
        let mut found: HashMap<_, Self::Value> = HashMap::new();
        for (message, entity, mention) in self.usecases.store().mentions_in(&self.caller, &ids).await? {
            found.entry(MentionsIn(message)).or_default().push((entity, mention));
        }
        Ok(found)
    }
}

impl dataloader::Loader<UsageOf> for Loader {
    type Value = TokenCount;
    type Error = ApiError;

    async fn load(&self, keys: &[UsageOf]) -> Batch<UsageOf, TokenCount> {
        let ids: Vec<_> = keys.iter().map(|k| k.0).collect();
        let usage = self.usecases.store().usage_of_messages(&self.caller, &ids).await?;
        Ok(usage.into_iter().map(|(message, tokens)| (UsageOf(message), tokens)).collect())
    }
}

impl dataloader::Loader<DecisionsIn> for Loader {
    /// By index of the mention in its message.
    type Value = HashMap<u32, Decision>;
    type Error = ApiError;

    async fn load(&self, keys: &[DecisionsIn]) -> Batch<DecisionsIn, Self::Value> {
        let ids: Vec<_> = keys.iter().map(|k| k.0).collect();
        let mut found: HashMap<_, Self::Value> = HashMap::new();
        for (message, place, decision) in self.usecases.store().decisions_in(&self.caller, &ids).await? {
            found.entry(DecisionsIn(message)).or_default().insert(place, decision);
        }
        Ok(found)
    }
}

impl dataloader::Loader<MergedInto> for Loader {
    type Value = Vec<Merged>;
    type Error = ApiError;

    async fn load(&self, keys: &[MergedInto]) -> Batch<MergedInto, Self::Value> {
        let ids: Vec<_> = keys.iter().map(|k| k.0).collect();
        let mut found: HashMap<_, Self::Value> = HashMap::new();
        for (entity, merged) in self.usecases.store().merged_into(&self.caller, &ids).await? {
            found.entry(MergedInto(entity)).or_default().push(merged);
        }
        Ok(found)
    }
}

impl dataloader::Loader<FactsIn> for Loader {
    /// Each fact once.
    type Value = Vec<(FactId, Stance)>;
    type Error = ApiError;

    async fn load(&self, keys: &[FactsIn]) -> Batch<FactsIn, Self::Value> {
        let ids: Vec<_> = keys.iter().map(|k| k.0).collect();
        let mut found: HashMap<_, Self::Value> = HashMap::new();
        for (message, fact, stance) in self.usecases.store().facts_in(&self.caller, &ids).await? {
            let facts = found.entry(FactsIn(message)).or_default();
            if facts.last().is_none_or(|(last, _)| *last != fact) {
                facts.push((fact, stance));
            }
        }
        Ok(found)
    }
}

impl dataloader::Loader<EvidenceOf> for Loader {
    type Value = Vec<Evidence>;
    type Error = ApiError;

    async fn load(&self, keys: &[EvidenceOf]) -> Batch<EvidenceOf, Self::Value> {
        let ids: Vec<_> = keys.iter().map(|k| k.0).collect::<HashSet<_>>().into_iter().collect();
        let most = keys.iter().map(|k| k.1).max().unwrap_or(1);
        let mut by_fact: HashMap<FactId, Vec<Evidence>> = HashMap::new();
        for evidence in self.usecases.store().evidence_of(&self.caller, &ids, most).await? {
            by_fact.entry(evidence.fact).or_default().push(evidence);
        }
        let first_rows = |key: &EvidenceOf| by_fact.get(&key.0).map(|all| all.iter().take(key.1 as usize).cloned().collect());
        Ok(keys.iter().map(|key| (*key, first_rows(key).unwrap_or_default())).collect())
    }
}

impl dataloader::Loader<RivalsOf> for Loader {
    type Value = RivalCandidates;
    type Error = ApiError;

    async fn load(&self, keys: &[RivalsOf]) -> Batch<RivalsOf, Self::Value> {
        let ontology = self.usecases.ontology();
        let patterns: HashSet<_> = keys.iter().flat_map(|k| weigh::rival_keys(&k.0, ontology)).collect();
        let patterns: Vec<_> = patterns.into_iter().collect();
        let found = match patterns.is_empty() {
            true => Vec::new(),
            false => self.usecases.store().facts_by_key(&self.caller, &patterns, MAX_RIVALS).await?,
        };
        if found.len() >= MAX_RIVALS as usize {
            let message =
                format!("These facts have more than {MAX_RIVALS} rivals. Request fewer facts, or leave out `rivals` and `relativeWeight`.");
            return Err(ApiError::refused(StatusCode::BAD_REQUEST, "RESPONSE_TOO_LARGE", message));
        }
        let candidates = RivalCandidates { facts: found.into_iter().map(Arc::new).collect(), budget: self.budget.clone() };
        Ok(keys.iter().map(|k| (k.clone(), candidates.clone())).collect())
    }
}
