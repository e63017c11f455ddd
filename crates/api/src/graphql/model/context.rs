//! What is found for a question, and which thing a name means.

use std::sync::Arc;

use async_graphql::SimpleObject;

use super::{EntityNode, FactNode, MessageNode, enums::RetrievalMethod};
use crate::graphql::{
    page::{MOST_CANDIDATES, bounded},
    scope::{Memory, Scope},
};
use recall_domain::context::{Context, Timings};
use recall_facts::CandidateEntity;
use recall_usecases as usecases;

/// Everything found for one question, best first.
#[derive(SimpleObject)]
#[graphql(name = "Context")]
pub(crate) struct ContextNode {
    /// Messages, best first.
    messages: Vec<RankedMessage>,
    /// Facts, best first.
    facts: Vec<RankedFact>,
    /// Things named in the question.
    entities: Vec<EntityNode>,
    /// Ways of finding that contributed.
    methods_used: Vec<RetrievalMethod>,
    /// How long each part took.
    timings: RetrievalTimings,
}

/// A message with its score.
#[derive(SimpleObject)]
pub(crate) struct RankedMessage {
    /// The message.
    message: MessageNode,
    /// 0 to 1, comparable within one result.
    score: f64,
    /// Ways that found it.
    methods: Vec<RetrievalMethod>,
    /// Whether it is of shared memory.
    shared: bool,
}

/// A fact with its score.
#[derive(SimpleObject)]
pub(crate) struct RankedFact {
    /// The fact.
    fact: FactNode,
    /// 0 to 1, comparable within one result.
    score: f64,
    /// Whether it is of shared memory. Facts of both stand side by side, also where they say the same or the contrary.
    shared: bool,
}

/// Milliseconds spent on a question.
#[derive(SimpleObject)]
pub(crate) struct RetrievalTimings {
    /// Turning the question into a vector.
    embed_ms: f64,
    /// Searching by meaning.
    vector_ms: f64,
    /// Searching by words.
    keyword_ms: f64,
    /// Looking up facts.
    graph_ms: f64,
    /// All of it.
    total_ms: f64,
}

impl From<Timings> for RetrievalTimings {
    fn from(t: Timings) -> Self {
        Self { embed_ms: t.embed_ms, vector_ms: t.vector_ms, keyword_ms: t.keyword_ms, graph_ms: t.graph_ms, total_ms: t.total_ms }
    }
}

impl ContextNode {
    /// What an operation found.
    pub(crate) fn of(s: &Scope, context: Context) -> Self {
        let message = |m: recall_domain::context::RankedMessage| RankedMessage {
            message: MessageNode(m.message, s.found_in(m.shared).clone()),
            score: m.score,
            methods: m.methods.into_iter().map(Into::into).collect(),
            shared: m.shared,
        };
        let fact = |f: recall_domain::context::RankedFact| RankedFact {
            fact: FactNode(f.fact.into(), s.found_in(f.shared).clone()),
            score: f.score,
            shared: f.shared,
        };
        let entity = |e: recall_domain::Entity| {
            let shared = context.shared_entities.contains(&e.id);
            EntityNode(e, s.found_in(shared).clone())
        };
        Self {
            messages: context.messages.into_iter().map(message).collect(),
            facts: context.facts.into_iter().map(fact).collect(),
            entities: context.entities.into_iter().map(entity).collect(),
            methods_used: context.methods_used.into_iter().map(Into::into).collect(),
            timings: context.timings.into(),
        }
    }
}

/// Which thing a name means.
#[derive(SimpleObject)]
#[graphql(name = "EntityResolution")]
pub(crate) struct Resolution {
    /// The thing; null when none is meant well enough.
    entity: Option<EntityNode>,
    /// Its name.
    canonical_form: Option<String>,
    /// How sure that is, 0 to 1; 0 when nothing was found.
    confidence: f64,
    /// What could be meant, best first, at most 20.
    #[graphql(complexity = "bounded(MOST_CANDIDATES, child_complexity)")]
    candidates: Vec<EntityCandidate>,
}

/// A thing that a name could mean.
#[derive(SimpleObject)]
pub(crate) struct EntityCandidate {
    /// The thing.
    entity: EntityNode,
    /// How well it fits, 0 to 1.
    confidence: f64,
    /// Why, in words for people: "given name of a known full name, spoken of in this session".
    reason: String,
}

impl Resolution {
    /// What a name means in a memory.
    pub(crate) fn of(memory: &Arc<Memory>, r: usecases::Resolution) -> Self {
        let entity = |e| EntityNode(e, memory.clone());
        let candidate = |c: CandidateEntity| EntityCandidate { entity: entity(c.entity), confidence: c.score, reason: c.reason };
        Self {
            entity: r.entity.map(entity),
            canonical_form: r.canonical_form,
            confidence: r.confidence,
            candidates: r.candidates.into_iter().take(MOST_CANDIDATES).map(candidate).collect(),
        }
    }
}
