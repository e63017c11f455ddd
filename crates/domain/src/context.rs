//! What is found for one question.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Citation, Entity, EntityId, Evidence, Fact, Message, SessionId, Timestamp};

/// Who is said to speak where nobody in particular does, in shared memory. Without a name it would be the one who asks.
pub const SHARED_SPEAKER: &str = "Shared memory";

/// Ways of finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// By meaning.
    Vector,
    /// By words.
    Keyword,
    /// By facts about the things named.
    Graph,
}

/// Where to look.
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
    /// How many messages at most, 1 to 100.
    pub first: u32,
    /// Which ways to use; all when empty.
    pub methods: Vec<Method>,
    /// Only what was known to hold, and had been said, at this moment.
    pub as_of: Option<Timestamp>,
    /// A message that must not be found: the question itself.
    pub exclude: Option<super::MessageId>,
    /// Whether to look in shared memory too, if the caller may; not where the scope is one session.
    pub shared: bool,
}

/// Everything found, best first.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Messages, best first.
    pub messages: Vec<RankedMessage>,
    /// Facts, best first.
    pub facts: Vec<RankedFact>,
    /// Things named in the question: of one name there may be the user's and one of shared memory, which are two.
    pub entities: Vec<Entity>,
    /// Which of these are of shared memory.
    pub shared_entities: HashSet<EntityId>,
    /// Ways that contributed.
    pub methods_used: Vec<Method>,
    /// How long each part took.
    pub timings: Timings,
}

impl Context {
    /// Whether a citation made from this points into shared memory.
    pub fn is_shared(&self, citation: &Citation) -> bool {
        let fact = citation.fact_id.is_some_and(|id| self.facts.iter().any(|f| f.shared && f.fact.id == id));
        fact || citation.message_id.is_some_and(|id| self.messages.iter().any(|m| m.shared && m.message.id == id))
    }

    /// Takes in what was found for the same question put otherwise: what that found is nearer, and goes first.
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
    /// 0 to 1, comparable within one result.
    pub score: f64,
    /// Ways that found it.
    pub methods: Vec<Method>,
    /// Whether it is of shared memory.
    pub shared: bool,
}

/// A fact with its score.
#[derive(Clone, Debug)]
pub struct RankedFact {
    /// The fact.
    pub fact: Fact,
    /// Name of its subject.
    pub subject: Entity,
    /// Name of its object.
    pub object: Entity,
    /// Its latest evidence, at most a few.
    pub evidence: Vec<Evidence>,
    /// 0 to 1, comparable within one result.
    pub score: f64,
    /// Whether it is of shared memory.
    pub shared: bool,
}

/// Milliseconds spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timings {
    /// Turning the question into a vector.
    pub embed_ms: f64,
    /// Searching by meaning.
    pub vector_ms: f64,
    /// Searching by words.
    pub keyword_ms: f64,
    /// Looking up facts.
    pub graph_ms: f64,
    /// All of it.
    pub total_ms: f64,
}
