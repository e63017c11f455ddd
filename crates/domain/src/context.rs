//! The context of a question: the messages, facts and entities found for it.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Citation, Entity, EntityId, Evidence, Fact, FactValue, Message, SessionId, Timestamp};

/// Speaker name for messages of shared memory without a speaker. Without it, the answerer would attribute them to the asking user.
pub const SHARED_SPEAKER: &str = "Shared memory";

/// Search methods.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = RetrievalMethod)]
pub enum Method {
    /// By meaning: vector search.
    Vector,
    /// By words: keyword search.
    Keyword,
    /// By facts about the named entities.
    Graph,
}

/// How a question is best answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = RetrievalRoute)]
pub enum Route {
    /// By facts: it asks for a relation of a known entity.
    Graph,
    /// By messages that match it in words or meaning: it names no known entity, or asks what was said.
    Vector,
    /// By both.
    Combined,
}

/// The route of a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct RouteChoice {
    /// The route.
    pub chosen: Route,
    /// Why, for people. It contains no user text.
    pub reason: &'static str,
}

impl Default for RouteChoice {
    fn default() -> Self {
        Self { chosen: Route::Combined, reason: "" }
    }
}

/// The scope of a search.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scope {
    /// All sessions of the caller.
    User,
    /// One session.
    Session(SessionId),
}

/// A question to the memory.
#[derive(Clone, Debug)]
pub struct ContextQuery {
    /// The question as asked.
    pub text: super::UserText,
    /// Where to look.
    pub scope: Scope,
    /// Most messages to return, 1 to 100.
    pub first: u32,
    /// Search methods to use; all if empty.
    pub methods: Vec<Method>,
    /// The route to take; without one, all methods are used. Ignored if `methods` are given.
    pub route: Option<Route>,
    /// Only facts that held, and messages that were said, at this moment.
    pub as_of: Option<Timestamp>,
    /// A message to exclude: the question itself.
    pub exclude: Option<super::MessageId>,
    /// Whether to search shared memory too, if the caller may. Ignored if the scope is one session.
    pub shared: bool,
}

/// Everything found for a question, best first.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Messages, best first.
    pub messages: Vec<RankedMessage>,
    /// Facts, best first.
    pub facts: Vec<RankedFact>,
    /// Entities named in the question. A name may have one entity of the user and one of shared memory.
    pub entities: Vec<Entity>,
    /// Those of them that belong to shared memory.
    pub shared_entities: HashSet<EntityId>,
    /// Search methods that found something.
    pub methods_used: Vec<Method>,
    /// The route of the question.
    pub route: RouteChoice,
    /// Duration of each part.
    pub timings: Timings,
}

impl Context {
    /// Whether a citation of this context refers to shared memory.
    pub fn is_shared(&self, citation: &Citation) -> bool {
        let fact = citation.fact_id.is_some_and(|id| self.facts.iter().any(|f| f.shared && f.fact.id == id));
        fact || citation.message_id.is_some_and(|id| self.messages.iter().any(|m| m.shared && m.message.id == id))
    }

    /// Merges the context of a rephrased question, whose results come first.
    pub fn join(&mut self, nearer: Self) {
        let Self { messages, facts, entities, shared_entities, methods_used, route, timings } = nearer;
        self.route = route;
        let old = std::mem::replace(&mut self.messages, messages);
        let add: Vec<_> = old.into_iter().filter(|o| !self.messages.iter().any(|m| m.message.id == o.message.id)).collect();
        self.messages.extend(add);
        let old = std::mem::replace(&mut self.facts, facts);
        let add: Vec<_> = old.into_iter().filter(|o| !self.facts.iter().any(|f| f.fact.id == o.fact.id)).collect();
        self.facts.extend(add);
        let old = std::mem::replace(&mut self.entities, entities);
        let add: Vec<_> = old.into_iter().filter(|o| !self.entities.iter().any(|e| e.id == o.id)).collect();
        self.entities.extend(add);
        self.shared_entities.extend(shared_entities);
        self.methods_used.extend(methods_used);
        self.methods_used.sort();
        self.methods_used.dedup();
        self.timings.embed_ms += timings.embed_ms;
        self.timings.vector_ms += timings.vector_ms;
        self.timings.keyword_ms += timings.keyword_ms;
        self.timings.graph_ms += timings.graph_ms;
        self.timings.total_ms += timings.total_ms;
    }
}

/// A message with its score.
#[derive(Clone, Debug)]
pub struct RankedMessage {
    /// The message.
    pub message: Message,
    /// Score, 0 to 1, comparable within one result.
    pub score: f64,
    /// Search methods that found it.
    pub methods: Vec<Method>,
    /// Whether it belongs to shared memory.
    pub shared: bool,
}

/// A fact with its score.
#[derive(Clone, Debug)]
pub struct RankedFact {
    /// The fact.
    pub fact: Fact,
    /// Its subject.
    pub subject: Entity,
    /// Its object; its subject again if it has a value.
    pub object: Entity,
    /// Its latest evidence, at most a few.
    pub evidence: Vec<Evidence>,
    /// 0 to 1, comparable within one result.
    pub score: f64,
    /// Whether it belongs to shared memory.
    pub shared: bool,
}

impl RankedFact {
    /// Returns the name of the object, or the value as text.
    pub fn object_name(&self) -> String {
        self.fact.value.as_ref().map_or_else(|| self.object.name.clone(), FactValue::shown)
    }
}

/// Milliseconds spent on each part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[schema(as = RetrievalTimings)]
pub struct Timings {
    /// Embedding the question.
    pub embed_ms: f64,
    /// Searching by meaning.
    pub vector_ms: f64,
    /// Searching by words.
    pub keyword_ms: f64,
    /// Looking up facts.
    pub graph_ms: f64,
    /// In total.
    pub total_ms: f64,
}
