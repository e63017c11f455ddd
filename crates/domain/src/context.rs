//! The context of a question: the messages, facts and entities found for it.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Citation, Entity, EntityId, Evidence, Fact, Message, SessionId, Timestamp};

/// Speaker name for messages of shared memory without a speaker. Without it, the answerer would attribute them to the asking user.
pub const SHARED_SPEAKER: &str = "Shared memory";

/// Search methods.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// By meaning: vector search.
    Vector,
    /// By words: keyword search.
    Keyword,
    /// By facts about the named entities.
    Graph,
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
        let Self { messages, facts, entities, shared_entities, methods_used, timings } = nearer;
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
    /// Its object.
    pub object: Entity,
    /// Its latest evidence, at most a few.
    pub evidence: Vec<Evidence>,
    /// 0 to 1, comparable within one result.
    pub score: f64,
    /// Whether it belongs to shared memory.
    pub shared: bool,
}

/// Milliseconds spent on each part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
