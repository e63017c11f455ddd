//! Stores topics: groups of texts of about the same meaning.
//!
//! The texts of one session are grouped together, and each group is a part of a topic. Parts of different sessions with about the same
//! meaning have the same topic. So a topic exists while it has a part, and its name is that of its largest part: nothing is left of a
//! session that is deleted.

use async_trait::async_trait;

use super::{CommitError, Embedding, StoreError};
use recall_domain::{Caller, DocumentId, EntityId, MessageId, Page, SessionId, Slice, Timestamp, Topic, TopicId, UserText};

/// Which texts of a session to group.
#[derive(Clone, Copy, Debug)]
pub struct TopicTexts {
    /// The session.
    pub session: SessionId,
    /// Messages before this position are left out.
    pub from: u64,
    /// Only each message with a position that this number divides. At least 1.
    pub step: u64,
    /// Most texts, the latest ones.
    pub limit: u32,
}

/// A text with its vector.
#[derive(Clone, Debug, PartialEq)]
pub struct TopicText {
    /// The message that stores it.
    pub message: MessageId,
    /// The text.
    pub text: UserText,
    /// The model of the vector.
    pub model: String,
    /// The vector; may be empty.
    pub embedding: Embedding,
}

/// A part of a topic: a group of texts of one session.
#[derive(Clone, Debug)]
pub struct TopicPart {
    /// The id of its topic, if no known topic is about the same.
    pub fresh: TopicId,
    /// Its name.
    pub name: UserText,
    /// Index terms that are characteristic of it.
    pub terms: Vec<String>,
    /// The mean of its vectors, of unit length.
    pub centroid: Vec<f32>,
    /// The messages that store its texts; not empty.
    pub messages: Vec<MessageId>,
}

/// All topics of one session.
#[derive(Clone, Debug)]
pub struct SessionTopics {
    /// The session.
    pub session: SessionId,
    /// The model of the vectors.
    pub model: String,
    /// The parts. A message is in one of them at most.
    pub parts: Vec<TopicPart>,
    /// Now.
    pub now: Timestamp,
}

/// Stores topics.
#[async_trait]
pub trait TopicStore: Send + Sync {
    /// Returns texts of a session with their vectors, latest first. Forgotten messages, and those of the kind `Other`, are left out.
    async fn topic_texts(&self, caller: &Caller, texts: &TopicTexts) -> Result<Vec<TopicText>, StoreError>;
    /// Replaces the topics of a session, in ONE transaction. A part gets the topic of the known part that is most like it, if there is one.
    ///
    /// # Errors
    /// `Stale` if a message was forgotten or deleted in the meantime, or the session; nothing is written.
    async fn replace_topics(&self, caller: &Caller, topics: &SessionTopics) -> Result<(), CommitError>;
    /// Lists the topics, largest first.
    async fn list_topics(&self, caller: &Caller, page: &Page) -> Result<Slice<Topic>, StoreError>;
    /// Returns topics by id; unknown ids are left out.
    async fn topics_by_id(&self, caller: &Caller, ids: &[TopicId]) -> Result<Vec<Topic>, StoreError>;
    /// Returns the topics of sessions, those with most texts in the session first. A document is a session with the same id.
    async fn topics_of_sessions(&self, caller: &Caller, sessions: &[SessionId]) -> Result<Vec<(SessionId, TopicId)>, StoreError>;
    /// Returns up to `limit` documents of a topic, those with most texts of it first.
    async fn documents_of_topic(&self, caller: &Caller, id: TopicId, limit: u32) -> Result<Vec<DocumentId>, StoreError>;
    /// Lists the messages of a topic, without chunks of documents, latest first.
    async fn messages_of_topic(&self, caller: &Caller, id: TopicId, page: &Page) -> Result<Slice<MessageId>, StoreError>;
    /// Returns up to `limit` entities that the texts of a topic mention, most mentions first.
    async fn entities_of_topic(&self, caller: &Caller, id: TopicId, limit: u32) -> Result<Vec<EntityId>, StoreError>;
    /// Returns up to `limit` other topics, those with the most similar meaning first.
    async fn related_topics(&self, caller: &Caller, id: TopicId, limit: u32) -> Result<Vec<TopicId>, StoreError>;
}
