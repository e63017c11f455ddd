//! The context of a question: the messages, facts and entities found for it.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    Chunk, Citation, CitedChunk, Document, DocumentId, Entity, EntityId, Evidence, Fact, FactValue, Message, MessageId, MessageStatus,
    Role, SessionId, Timestamp,
};

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

/// What a search looks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchSource {
    /// Messages of conversations.
    Messages,
    /// Chunks of documents.
    Documents,
}

/// Which messages and documents a search looks at. The default is all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchSources {
    /// What to look for; everything if empty.
    pub of: Vec<SearchSource>,
    /// Only documents of these collections; of all if empty.
    pub collections: Vec<String>,
    /// Only these documents, whatever their version; all current ones if empty.
    pub documents: Vec<DocumentId>,
}

impl SearchSources {
    /// Whether the search looks at everything.
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the search looks for a source.
    pub fn include(&self, source: SearchSource) -> bool {
        self.of.is_empty() || self.of.contains(&source)
    }

    /// Whether the search looks at a document, apart from its version.
    pub fn include_document(&self, id: DocumentId, collection: &str) -> bool {
        let named = self.documents.is_empty() || self.documents.contains(&id);
        self.include(SearchSource::Documents) && named && (self.collections.is_empty() || self.collections.iter().any(|c| c == collection))
    }

    /// Whether the search names documents or their collections.
    pub fn names_documents(&self) -> bool {
        !self.collections.is_empty() || !self.documents.is_empty()
    }
}

/// A question to the memory.
#[derive(Clone, Debug)]
pub struct ContextQuery {
    /// The question as asked.
    pub text: super::UserText,
    /// Where to look.
    pub scope: Scope,
    /// Most messages and chunks to return together, 1 to 100.
    pub first: u32,
    /// Which messages and documents to look at.
    pub sources: SearchSources,
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
    /// Whether messages that are not encoded yet are encoded first, which may take a fraction of a second. Else they are encoded afterwards.
    pub waits: bool,
}

/// Everything found for a question, best first.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Messages, best first.
    pub messages: Vec<RankedMessage>,
    /// Chunks of documents, best first. Their scores are comparable with those of messages.
    pub chunks: Vec<RankedChunk>,
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
    /// Statements of the messages that later messages correct. Only answers need them, so a search leaves them out.
    pub withdrawn: Vec<Withdrawn>,
    /// Duration of each part.
    pub timings: Timings,
}

/// A statement that a later message corrects or changes.
#[derive(Clone, Debug)]
pub struct Withdrawn {
    /// The message that makes it.
    pub message: MessageId,
    /// The evidence of the message that corrects it.
    pub correction: Evidence,
}

impl Context {
    /// Removes other names and descriptions of entities: they may come from messages and documents that an answer must not use.
    pub fn forget_other_names(&mut self) {
        let sides = self.facts.iter_mut().flat_map(|f| [&mut f.subject, &mut f.object]);
        for entity in self.entities.iter_mut().chain(sides) {
            entity.aliases.clear();
            entity.description = None;
        }
    }

    /// Whether a citation of this context refers to shared memory.
    pub fn is_shared(&self, citation: &Citation) -> bool {
        let fact = citation.fact_id.is_some_and(|id| self.facts.iter().any(|f| f.shared && f.fact.id == id));
        let chunk = citation.chunk.as_ref().map(|cited| cited.chunk_id);
        fact || chunk.is_some_and(|id| self.chunks.iter().any(|c| c.shared && c.chunk.id == id))
            || citation.message_id.is_some_and(|id| self.messages.iter().any(|m| m.shared && m.message.id == id))
    }

    /// Returns messages and chunks as messages, best first.
    pub fn passages(&self) -> Vec<RankedMessage> {
        let mut all = self.messages.clone();
        if !self.chunks.is_empty() {
            all.extend(self.chunks.iter().map(RankedChunk::as_message));
            all.sort_by(|a, b| b.score.total_cmp(&a.score));
        }
        all
    }

    /// Returns a chunk by the id of its message.
    pub fn chunk(&self, id: MessageId) -> Option<&RankedChunk> {
        self.chunks.iter().find(|c| c.chunk.id == id)
    }

    /// Makes citations of chunks out of citations of the messages that store them.
    pub fn cite_chunks(&self, citations: &mut [Citation]) {
        for citation in citations {
            if let Some(chunk) = citation.message_id.and_then(|id| self.chunk(id)) {
                citation.excerpt = chunk.chunk.without_headings(citation.excerpt.as_str()).into();
                citation.cite(chunk.cited());
            }
        }
    }

    /// Merges the context of a rephrased question, whose results come first.
    pub fn join(&mut self, nearer: Self) {
        let Self { messages, chunks, facts, entities, shared_entities, methods_used, route, withdrawn, timings } = nearer;
        self.withdrawn.extend(withdrawn);
        self.route = route;
        let old = std::mem::replace(&mut self.messages, messages);
        let add: Vec<_> = old.into_iter().filter(|o| !self.messages.iter().any(|m| m.message.id == o.message.id)).collect();
        self.messages.extend(add);
        let old = std::mem::replace(&mut self.chunks, chunks);
        let add: Vec<_> = old.into_iter().filter(|o| self.chunk(o.chunk.id).is_none()).collect();
        self.chunks.extend(add);
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

/// A chunk with its score.
#[derive(Clone, Debug)]
pub struct RankedChunk {
    /// The chunk.
    pub chunk: Chunk,
    /// Its document.
    pub document: Document,
    /// Score, 0 to 1, comparable within one result.
    pub score: f64,
    /// How well it fits the question, 0 to 1, comparable between results; `None` if chunks are not ordered by their meaning.
    pub relevance: Option<f64>,
    /// Search methods that found it.
    pub methods: Vec<Method>,
    /// Whether it belongs to shared memory.
    pub shared: bool,
}

impl RankedChunk {
    /// Returns what a citation of the chunk says.
    pub fn cited(&self) -> CitedChunk {
        CitedChunk {
            chunk_id: self.chunk.id,
            document_id: self.document.id,
            filename: self.document.filename.clone(),
            pages: self.chunk.pages,
        }
    }

    /// Returns the chunk as a message, whose speaker is the name of the file.
    pub fn as_message(&self) -> RankedMessage {
        let message = Message {
            id: self.chunk.id,
            session: self.document.id.session(),
            // The first message of the session holds the name of the document.
            position: u64::from(self.chunk.position) + 2,
            role: Role::Document,
            speaker: Some(self.document.filename.as_str().to_owned()),
            text: self.chunk.text.clone(),
            kind: None,
            status: MessageStatus::Processed,
            sent_at: self.document.created_at,
            created_at: self.document.created_at,
            source_metadata: None,
            external_id: None,
            answer_to: None,
            citations: Vec::new(),
            nearest: Vec::new(),
            remembered: true,
        };
        RankedMessage { message, score: self.score, methods: self.methods.clone(), shared: self.shared }
    }
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

/// Least score of a requested fact: the question has a word of its relation, or names both sides.
const ASKED_FOR: f64 = 0.55;

impl RankedFact {
    /// Returns the name of the object, or the value as text.
    pub fn object_name(&self) -> String {
        self.fact.value.as_ref().map_or_else(|| self.object.name.clone(), FactValue::shown)
    }

    /// Whether the question asks for this fact, and not only names one of its sides.
    pub fn is_asked_for(&self) -> bool {
        self.score >= ASKED_FOR
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
