//! GraphQL types `Context` and `EntityResolution`.

use std::sync::Arc;

use async_graphql::SimpleObject;

use super::{
    enums::{RetrievalMethod, RetrievalRoute},
    nodes::{ChunkNode, EntityNode, FactNode, MessageNode},
};
use crate::graphql::{
    page::{MAX_CANDIDATES, bounded_list_cost},
    scope::{Memory, OperationScope},
};
use recall_domain::{
    UserText,
    context::{Context, Timings},
};
use recall_facts::CandidateEntity;
use recall_usecases as usecases;

/// The messages, facts and entities found for a question.
#[derive(SimpleObject)]
#[graphql(name = "Context")]
pub(crate) struct ContextNode {
    /// Matching messages, best first.
    messages: Vec<RankedMessageNode>,
    /// Matching chunks of documents, best first. Their scores are comparable with those of messages.
    chunks: Vec<RankedChunkNode>,
    /// Matching facts, best first.
    facts: Vec<RankedFactNode>,
    /// Entities that the question names.
    entities: Vec<EntityNode>,
    /// Retrieval methods that contributed results.
    methods_used: Vec<RetrievalMethod>,
    /// The route that suits the question. It limits the search only if the query requests it.
    route: RouteChoice,
    /// The time that each step took.
    timings: RetrievalTimings,
    /// The question that was searched last, if `expandQuery` changed it.
    expanded_query: Option<String>,
}

/// The route of a question.
#[derive(SimpleObject)]
pub(crate) struct RouteChoice {
    /// The route.
    chosen: RetrievalRoute,
    /// The reason, for people, such as "asks for a relation of a known entity".
    reason: &'static str,
}

/// A message with its score.
#[derive(SimpleObject)]
#[graphql(name = "RankedMessage")]
pub(crate) struct RankedMessageNode {
    /// The message.
    message: MessageNode,
    /// Relevance, 0 to 1; comparable only within this result.
    score: f64,
    /// Retrieval methods that found it.
    methods: Vec<RetrievalMethod>,
    /// Whether it belongs to shared memory.
    shared: bool,
}

/// A chunk of a document with its score.
#[derive(SimpleObject)]
#[graphql(name = "RankedChunk")]
pub(crate) struct RankedChunkNode {
    /// The chunk.
    chunk: ChunkNode,
    /// Relevance, 0 to 1; comparable only within this result.
    score: f64,
    /// How well it fits the question, 0 to 1, mostly by the judgement of a network; comparable between results. Null if no network has judged it.
    relevance: Option<f64>,
    /// Retrieval methods that found it.
    methods: Vec<RetrievalMethod>,
    /// Whether it belongs to shared memory.
    shared: bool,
}

/// A fact with its score.
#[derive(SimpleObject)]
#[graphql(name = "RankedFact")]
pub(crate) struct RankedFactNode {
    /// The fact.
    fact: FactNode,
    /// Relevance, 0 to 1; comparable only within this result.
    score: f64,
    /// Whether it belongs to shared memory. Own and shared facts are listed next to each other, even if they agree or contradict.
    shared: bool,
}

/// The time spent on each step of retrieval, in milliseconds.
#[derive(SimpleObject)]
pub(crate) struct RetrievalTimings {
    /// Embedding the question.
    embed_ms: f64,
    /// Vector search.
    vector_ms: f64,
    /// Keyword search.
    keyword_ms: f64,
    /// Looking up facts about the entities that the question names.
    graph_ms: f64,
    /// Total time.
    total_ms: f64,
}

impl From<Timings> for RetrievalTimings {
    fn from(t: Timings) -> Self {
        Self { embed_ms: t.embed_ms, vector_ms: t.vector_ms, keyword_ms: t.keyword_ms, graph_ms: t.graph_ms, total_ms: t.total_ms }
    }
}

impl ContextNode {
    /// Converts the result of the use case.
    pub(crate) fn of(s: &OperationScope, context: Context, expanded_query: Option<UserText>) -> Self {
        let message = |m: recall_domain::context::RankedMessage| RankedMessageNode {
            message: MessageNode(m.message, s.found_in(m.shared).clone()),
            score: m.score,
            methods: m.methods.into_iter().map(Into::into).collect(),
            shared: m.shared,
        };
        let chunk = |c: recall_domain::context::RankedChunk| RankedChunkNode {
            chunk: ChunkNode(c.chunk, s.found_in(c.shared).clone()),
            score: c.score,
            relevance: c.relevance,
            methods: c.methods.into_iter().map(Into::into).collect(),
            shared: c.shared,
        };
        let fact = |f: recall_domain::context::RankedFact| RankedFactNode {
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
            chunks: context.chunks.into_iter().map(chunk).collect(),
            facts: context.facts.into_iter().map(fact).collect(),
            entities: context.entities.into_iter().map(entity).collect(),
            methods_used: context.methods_used.into_iter().map(Into::into).collect(),
            route: RouteChoice { chosen: context.route.chosen.into(), reason: context.route.reason },
            timings: context.timings.into(),
            expanded_query: expanded_query.map(UserText::into_string),
        }
    }
}

/// The entity that a name refers to, with the candidates.
#[derive(SimpleObject)]
pub(crate) struct EntityResolution {
    /// The entity; null if no candidate is certain enough.
    entity: Option<EntityNode>,
    /// The entity's name.
    canonical_form: Option<String>,
    /// Confidence in the choice, 0 to 1; 0 if nothing was found.
    confidence: f64,
    /// The possible entities, best first; at most 20.
    #[graphql(complexity = "bounded_list_cost(MAX_CANDIDATES, child_complexity)")]
    candidates: Vec<EntityCandidate>,
}

/// An entity that a name may refer to.
#[derive(SimpleObject)]
pub(crate) struct EntityCandidate {
    /// The entity.
    entity: EntityNode,
    /// How well it matches, 0 to 1.
    confidence: f64,
    /// The reason, for people, such as "given name of a known full name, spoken of in this session".
    reason: String,
}

impl EntityResolution {
    /// Converts the result of the use case.
    pub(crate) fn of(memory: &Arc<Memory>, r: usecases::Resolution) -> Self {
        let entity = |e| EntityNode(e, memory.clone());
        let candidate = |c: CandidateEntity| EntityCandidate { entity: entity(c.entity), confidence: c.score, reason: c.reason };
        Self {
            entity: r.entity.map(entity),
            canonical_form: r.canonical_form,
            confidence: r.confidence,
            candidates: r.candidates.into_iter().take(MAX_CANDIDATES).map(candidate).collect(),
        }
    }
}
