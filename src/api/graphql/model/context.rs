//! What is found for a question, and which thing a name means.

use async_graphql::SimpleObject;

use super::{EntityNode, FactNode, MessageNode, enums::RetrievalMethod};
use crate::{
    conversation,
    domain::context::{Context, Timings},
    facts::Likely,
};

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
}

/// A fact with its score.
#[derive(SimpleObject)]
pub(crate) struct RankedFact {
    /// The fact.
    fact: FactNode,
    /// 0 to 1, comparable within one result.
    score: f64,
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

impl From<Context> for ContextNode {
    fn from(context: Context) -> Self {
        let message = |m: crate::domain::context::RankedMessage| RankedMessage {
            message: MessageNode(m.message),
            score: m.score,
            methods: m.methods.into_iter().map(Into::into).collect(),
        };
        Self {
            messages: context.messages.into_iter().map(message).collect(),
            facts: context.facts.into_iter().map(|f| RankedFact { fact: FactNode(f.fact), score: f.score }).collect(),
            entities: context.entities.into_iter().map(EntityNode).collect(),
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
    /// Everything that could be meant, best first.
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

impl From<conversation::Resolution> for Resolution {
    fn from(r: conversation::Resolution) -> Self {
        let candidate = |c: Likely| EntityCandidate { entity: EntityNode(c.entity), confidence: c.score, reason: c.reason };
        Self {
            entity: r.entity.map(EntityNode),
            canonical_form: r.canonical_form,
            confidence: r.confidence,
            candidates: r.candidates.into_iter().map(candidate).collect(),
        }
    }
}
