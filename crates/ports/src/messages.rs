//! The store's messages: storing, reading and the feed of indexes.

use async_trait::async_trait;
use compact_str::CompactString;

use super::{Embedding, StoreError};
use recall_domain::{
    Caller, Citation, Message, MessageId, MessageKind, Page, Resource, Role, SessionId, Slice, Timestamp, UserText, context::SearchSources,
};

/// A message to store, with everything that its transaction writes.
#[derive(Clone, Debug)]
pub struct NewMessage {
    /// Fresh id.
    pub id: MessageId,
    /// Its session.
    pub session: SessionId,
    /// Who wrote it.
    pub role: Role,
    /// The speaker, if not the user.
    pub speaker: Option<String>,
    /// The text.
    pub text: UserText,
    /// When it was said.
    pub sent_at: Timestamp,
    /// Now.
    pub created_at: Timestamp,
    /// The client's data.
    pub source_metadata: Option<serde_json::Value>,
    /// The client's id, unique in the session.
    pub external_id: Option<String>,
    /// What the message contains or links to.
    pub resources: Vec<Resource>,
    /// Index terms with counts, and the vector.
    pub prepared: IndexEntry,
    /// The work that follows.
    pub mining: FollowUp,
    /// Where the answer may look, if the message is answered.
    pub answer_from: SearchSources,
    /// The kind, if known in advance (imports, answers, assertions).
    pub kind: Option<MessageKind>,
    /// Id of its `message_stored` event.
    pub event: recall_domain::EventId,
    /// The session's title, used if it has none.
    pub title: Option<UserText>,
    /// What it answers, if it is an answer.
    pub answers: Option<AnsweredQuestion>,
}

/// The question that a message answers, and the sources of the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct AnsweredQuestion {
    /// The question, in the same session.
    pub question: MessageId,
    /// The sources. The answer vanishes with any of them.
    pub citations: Vec<Citation>,
    /// What comes nearest to an answer, if nothing answers. The answer vanishes with any of it.
    pub nearest: Vec<Citation>,
}

/// The work that follows the storing of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowUp {
    /// None: the message is stored as processed, without a job.
    Nothing,
    /// As `Nothing`. Its fact is stored with it, so it is remembered although remembering is paused.
    Asserted,
    /// A job extracts its facts.
    Facts,
    /// A job extracts its facts; if it is a question, another job answers it.
    FactsAndAnswer,
    /// A job parses the document whose first message this is.
    Parse,
    /// A job compares the documents of the comparison whose first message this is.
    Compare,
}

/// The index data of a message, computed once.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexEntry {
    /// Index terms in order of first appearance, with their counts, followed by the marks of the message.
    pub terms: Vec<(String, u32)>,
    /// The model of `embedding`.
    pub model: String,
    /// The vector.
    pub embedding: Embedding,
    /// Vectors of other models, by name.
    ///
    /// The store keeps the one whose model is in use for the user. So new messages are found by meaning during a change of models.
    pub further: Vec<(String, Embedding)>,
}

/// A message after `append`.
#[derive(Clone, Debug, PartialEq)]
pub struct Appended {
    /// The message as stored.
    pub message: Message,
    /// The message was already stored under this external id; nothing was written.
    pub duplicate: bool,
}

/// One row of the feed from which an index is built.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedRow {
    /// Increases with every message of the user. Rows become visible in this order.
    pub row: u64,
    /// The message.
    pub message: MessageId,
    /// Its session.
    pub session: SessionId,
    /// Position in the session, from 1.
    pub position: u64,
    /// Who wrote it.
    pub role: Role,
    /// The speaker, if not the user.
    pub speaker: Option<String>,
    /// When it was said.
    pub sent_at: Timestamp,
    /// Index terms and marks, kept where they are: an index is built of millions of them.
    pub terms: Vec<(CompactString, u32)>,
    /// The vector; empty if it belongs to another model than requested.
    pub embedding: Vec<f32>,
}

/// Messages by place and time. What is missing does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageRange {
    /// Their session.
    pub session: Option<SessionId>,
    /// They were said at this moment or later.
    pub after: Option<Timestamp>,
    /// They were said before this moment.
    pub before: Option<Timestamp>,
}

impl MessageRange {
    /// Whether the range contains a message.
    pub fn contains(&self, message: &Message) -> bool {
        self.session.is_none_or(|session| session == message.session)
            && self.after.is_none_or(|after| message.sent_at >= after)
            && self.before.is_none_or(|before| message.sent_at < before)
    }
}

/// The state of the feed, which decides whether an index is valid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeedState {
    /// Changes when a message of the user is deleted or other vectors come into use. It invalidates older indexes.
    pub generation: u64,
    /// The model of the vectors in use for the user; `None` until a message is stored.
    pub model: Option<String>,
}

/// Messages.
#[async_trait]
pub trait MessageStore: Send + Sync {
    /// Stores messages of one session in order, in ONE transaction.
    ///
    /// For each message it writes the row, resources, terms, vector, job (unless `mining` is `Nothing`) and `message_stored` event. A message with a
    /// known external id returns the stored one as a duplicate.
    ///
    /// # Errors
    /// `NotFound` if the session is not the caller's; nothing is written.
    async fn append(&self, caller: &Caller, session: SessionId, messages: Vec<NewMessage>) -> Result<Vec<Appended>, StoreError>;
    /// Returns messages by id; unknown ids are left out.
    async fn messages_by_id(&self, caller: &Caller, ids: &[MessageId]) -> Result<Vec<Message>, StoreError>;
    /// Returns those messages of a session that have one of the clients' ids. Unknown ids are left out; the order is not defined.
    async fn messages_by_external_id(&self, caller: &Caller, session: SessionId, ids: &[String]) -> Result<Vec<Message>, StoreError>;
    /// Returns the messages of a session in order; `backwards` starts with the newest.
    async fn list_messages(&self, caller: &Caller, session: SessionId, page: &Page, backwards: bool) -> Result<Slice<Message>, StoreError>;
    /// Returns the number of messages that [`list_messages`](Self::list_messages) lists.
    async fn count_messages(&self, caller: &Caller, session: SessionId) -> Result<u64, StoreError>;
    /// Returns up to `limit` messages before `position`, oldest first.
    async fn messages_before(&self, caller: &Caller, session: SessionId, position: u64, limit: u32) -> Result<Vec<Message>, StoreError>;
    /// Returns up to `limit` messages of a session, or of all, that were said at `after` or later and before `before`, in order of storing.
    async fn messages_within(&self, caller: &Caller, range: &MessageRange, limit: u32) -> Result<Vec<MessageId>, StoreError>;
    /// Returns the answers to questions, as (question, answer).
    async fn answers_to(&self, caller: &Caller, questions: &[MessageId]) -> Result<Vec<(MessageId, Message)>, StoreError>;
    /// Returns where the answer to a message may look.
    async fn answer_sources(&self, caller: &Caller, message: MessageId) -> Result<SearchSources, StoreError>;
    /// Returns the resources of messages, in order.
    async fn resources_of(&self, caller: &Caller, messages: &[MessageId]) -> Result<Vec<(MessageId, Resource)>, StoreError>;
    /// Returns feed rows after `after`, ascending, with vectors of `model`.
    async fn feed(&self, caller: &Caller, model: &str, after: u64, limit: u32) -> Result<Vec<FeedRow>, StoreError>;
    /// Returns the state of the feed.
    async fn feed_state(&self, caller: &Caller) -> Result<FeedState, StoreError>;
    /// Returns the generation of [`FeedState`] alone.
    async fn feed_generation(&self, caller: &Caller) -> Result<u64, StoreError> {
        Ok(self.feed_state(caller).await?.generation)
    }
    /// Returns the nearest messages by cosine similarity (-1 to 1), exact over all vectors of `model`.
    async fn nearest(
        &self,
        caller: &Caller,
        model: &str,
        vector: &Embedding,
        session: Option<SessionId>,
        limit: u32,
    ) -> Result<Vec<(MessageId, f32)>, StoreError>;
}
