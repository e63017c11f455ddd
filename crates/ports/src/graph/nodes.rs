//! The nodes of the graph, as the store reads them and an engine keeps them.

use uuid::Uuid;

use recall_domain::{
    DocumentId, DocumentStatus, Entity, EntityId, Fact, FactId, FactStatus, MessageId, MessageKind, PageRange, RelationName, Role,
    SessionId, Timestamp, TopicId, UserText,
};

/// The id of a node in the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeId {
    /// A conversation, or a document, which is stored as one. Or a topic, which is listed as one.
    Session(SessionId),
    /// An entity.
    Entity(EntityId),
    /// A turn of a conversation, or a chunk, which is stored as one.
    Message(MessageId),
    /// A fact.
    Fact(FactId),
}

/// A conversation in the graph.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphSession {
    /// Identity.
    pub id: SessionId,
    /// Its title.
    pub title: Option<UserText>,
    /// When it was created.
    pub created_at: Timestamp,
}

/// A message in the graph, without its text, which only the store contains.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphMessage {
    /// Identity.
    pub id: MessageId,
    /// Its conversation.
    pub session: SessionId,
    /// Position in the conversation, from 1.
    pub position: u64,
    /// Who wrote it.
    pub role: Role,
    /// The speaker, if not the user.
    pub speaker: Option<String>,
    /// Its kind, once known.
    pub kind: Option<MessageKind>,
    /// When it was said.
    pub sent_at: Timestamp,
    /// Mentioned entities, each once, by id.
    pub mentions: Vec<EntityId>,
    /// The documents that its citations name, each once, by id. Deleted documents and those of shared memory are left out.
    pub cited: Vec<DocumentId>,
    /// The documents that the answers to it cite, each once, by id.
    pub answered_by: Vec<DocumentId>,
}

impl GraphMessage {
    /// Whether it is a question.
    pub fn asks(&self) -> bool {
        self.kind.is_some_and(MessageKind::asks)
    }
}

/// A document in the graph, without its progress, which changes with every step.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphDocument {
    /// Identity.
    pub id: DocumentId,
    /// Its collection.
    pub collection: String,
    /// Where the owner keeps it.
    pub path: Option<UserText>,
    /// The version, from 1.
    pub version: u32,
    /// The name of its file.
    pub filename: UserText,
    /// The title that it states.
    pub title: Option<UserText>,
    /// The media type, once it is parsed.
    pub media_type: Option<String>,
    /// The size of its file.
    pub bytes: u64,
    /// The number of its pages, if its format has pages.
    pub pages: Option<u32>,
    /// The number of its chunks; 0 until it is parsed.
    pub chunk_count: u32,
    /// Its state.
    pub status: DocumentStatus,
    /// The addresses that it links to, each once, in order.
    pub links: Vec<UserText>,
    /// When it was added.
    pub created_at: Timestamp,
    /// When its owner last viewed it.
    pub viewed_at: Option<Timestamp>,
}

/// A topic of documents in the graph. A topic of conversations only is not in the graph.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphTopic {
    /// Identity.
    pub id: TopicId,
    /// Its name.
    pub name: UserText,
    /// The documents that are about it, each once, by id.
    pub documents: Vec<DocumentId>,
}

/// A chunk of a document in the graph, without its text, which only the store contains.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphChunk {
    /// Identity: the message that stores it.
    pub id: MessageId,
    /// The document.
    pub document: DocumentId,
    /// Position in the document, from 0.
    pub position: u32,
    /// The heading of its section.
    pub heading: Option<UserText>,
    /// The offset of its text in the text of the document, in characters.
    pub char_offset: u64,
    /// The pages on which it stands, if the format has pages.
    pub pages: Option<PageRange>,
    /// Mentioned entities, each once, by id.
    pub mentions: Vec<EntityId>,
}

/// A fact in the graph, as of its last change.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphFact {
    /// Identity.
    pub id: FactId,
    /// The subject.
    pub subject: EntityId,
    /// The relation.
    pub relation: RelationName,
    /// The other side; the subject itself for a fact with a value.
    pub object: EntityId,
    /// The value as text.
    pub value: Option<UserText>,
    /// Support at `timestamp`.
    pub weight: f64,
    /// Opposition at `timestamp`.
    pub opposition: f64,
    /// Expected probability at `timestamp` that the fact holds.
    pub belief: f64,
    /// Its status.
    pub status: FactStatus,
    /// Whether all its support has a low confidence.
    pub flagged: bool,
    /// The message that stated it last, with the session of that message.
    pub source: Option<(MessageId, SessionId)>,
    /// The moment to which weight and belief refer: the latest message that changed them.
    pub timestamp: Timestamp,
    /// Start of its validity.
    pub valid_from: Option<Timestamp>,
    /// When a message said that it had ended: a bound, as it may have ended earlier.
    pub valid_to: Option<Timestamp>,
    /// When it was first recorded.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// The present state of a changed node.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeState {
    /// Its present state.
    Session(GraphSession),
    /// Its present state.
    Entity(Entity),
    /// Its present state.
    Message(GraphMessage),
    /// Its present state. Its id is that of its session.
    Document(GraphDocument),
    /// Its present state. Its id is that of its message.
    Chunk(GraphChunk),
    /// Its present state. It is listed as a session with its id.
    Topic(GraphTopic),
    /// Its present state, with the message that stated it last and the session of that message.
    Fact(Fact, Option<(MessageId, SessionId)>),
    /// Deleted.
    Gone(NodeId),
}

impl NodeState {
    /// Returns the id of the node.
    pub fn id(&self) -> NodeId {
        match self {
            Self::Session(session) => NodeId::Session(session.id),
            Self::Entity(entity) => NodeId::Entity(entity.id),
            Self::Message(message) => NodeId::Message(message.id),
            Self::Document(document) => NodeId::Session(document.id.session()),
            Self::Chunk(chunk) => NodeId::Message(chunk.id),
            Self::Topic(topic) => NodeId::Session(SessionId(topic.id.0)),
            Self::Fact(fact, _) => NodeId::Fact(fact.id),
            Self::Gone(id) => *id,
        }
    }
}

/// The complete graph of one user, each kind by id.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphContents {
    /// Conversations.
    pub sessions: Vec<GraphSession>,
    /// Entities.
    pub entities: Vec<Entity>,
    /// Messages with their mentions and citations.
    pub messages: Vec<GraphMessage>,
    /// Documents with their links.
    pub documents: Vec<GraphDocument>,
    /// Chunks with their mentions.
    pub chunks: Vec<GraphChunk>,
    /// Topics with their documents.
    pub topics: Vec<GraphTopic>,
    /// Facts.
    pub facts: Vec<GraphFact>,
    /// Nodes that cannot be read because another program changed them.
    pub damaged: Vec<UnreadableNode>,
}

impl GraphContents {
    /// The number of sessions, entities, messages, documents, chunks, topics and facts that can be read.
    pub fn len(&self) -> usize {
        let documents = self.documents.len() + self.chunks.len() + self.topics.len();
        self.sessions.len() + self.entities.len() + self.messages.len() + documents + self.facts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A node that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnreadableNode {
    /// `session`, `entity`, `message`, `document`, `chunk`, `topic` or `fact`.
    pub kind: &'static str,
    /// Its id, if it has one.
    pub id: Option<Uuid>,
}
