//! Entries of the event logs of sessions and memories, as sent to clients.
//!
//! A change here changes the protocol: `schema.events.json` is generated from these types.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use strum::IntoStaticStr;

use super::{
    Citation, DocumentId, DocumentStatus, EntityId, EntityType, EventId, FactId, FactStatus, FactValue, MessageId, MessageKind,
    MessageStatus, Role, SessionId, Timestamp, UndoableForgetting, UserText, comparison::ComparisonUpdate, context::Timings,
};

/// An event before it gets a number.
#[derive(Clone, Debug, PartialEq)]
pub struct EventDraft {
    /// Identity, unchanged on repeated deliveries.
    pub id: EventId,
    /// The content.
    pub body: EventBody,
}

/// An event as stored and sent.
#[derive(Clone, Debug)]
pub struct StoredEvent {
    /// Number within the log, from 1, without gaps.
    pub seq: u64,
    /// Identity.
    pub id: EventId,
    /// The body's `type`.
    pub kind: String,
    /// When it was recorded.
    pub created_at: Timestamp,
    /// The body as JSON, `type` included. It is passed on as it was stored.
    pub data: Box<RawValue>,
}

impl PartialEq for StoredEvent {
    fn eq(&self, other: &Self) -> bool {
        let all = |e: &Self| (e.seq, e.id, e.created_at);
        all(self) == all(other) && self.kind == other.kind && self.data.get() == other.data.get()
    }
}

/// The content of an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, IntoStaticStr)]
#[serde(tag = "type", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum EventBody {
    /// A message was stored.
    MessageStored(MessageStored),
    /// The facts of a message are stored.
    MessageProcessed(MessageProcessed),
    /// The facts of a message could not be extracted.
    MessageFailed(MessageFailed),
    /// An entity was mentioned or changed.
    EntityUpdate(EntityUpdate),
    /// A fact changed.
    FactUpdate(FactUpdate),
    /// A question was answered.
    AnswerCompleted(AnswerCompleted),
    /// A question could not be answered.
    AnswerFailed(AnswerFailed),
    /// Messages were forgotten.
    MessageForgotten(MessagesChanged),
    /// Forgotten messages were restored.
    MessageRestored(MessagesChanged),
    /// A document made progress.
    DocumentUpdate(DocumentUpdate),
    /// A comparison of documents made progress.
    ComparisonUpdate(ComparisonUpdate),
    /// A session was created, renamed, pinned, archived or paused, or the reverse. Only `memoryEvents` has it.
    SessionUpdate(SessionChanged),
    /// A session, document or comparison was deleted, with what only it said. Only `memoryEvents` has it.
    SessionDeleted(SessionChanged),
    /// What the user decided for all sessions changed. It belongs to no session. Only `memoryEvents` has it.
    ViewerUpdate(ViewerChanged),
}

impl EventBody {
    /// Returns the `type` field.
    pub fn kind(&self) -> &'static str {
        self.into()
    }
}

/// A message was stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageStored {
    /// The session.
    pub session_id: SessionId,
    /// The message.
    pub message_id: MessageId,
    /// Who wrote it.
    pub role: Role,
    /// The speaker, if not the user.
    pub speaker: Option<String>,
    /// The text.
    pub text: UserText,
    /// `processing`, or `processed` for messages without extraction of facts.
    pub status: MessageStatus,
    /// When it was said.
    pub sent_at: Timestamp,
    /// When it was stored.
    pub created_at: Timestamp,
    /// The client's id of the message.
    pub client_message_id: Option<String>,
    /// The question that this message answers.
    pub answer_to: Option<MessageId>,
    /// False if remembering was paused: nothing is learned from the message or found in it.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub remembered: bool,
}

fn yes() -> bool {
    true
}

fn is_true(value: &bool) -> bool {
    *value
}

/// The facts of a message are stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageProcessed {
    /// The session.
    pub session_id: SessionId,
    /// The message.
    pub message_id: MessageId,
    /// The kind of the message.
    pub kind: MessageKind,
    /// Number of facts that it changed.
    pub facts: u32,
    /// Number of entities that it mentions.
    pub entities: u32,
    /// Positions of the mentions.
    pub mentions: Vec<EventMention>,
}

/// A mention of an entity, positioned in Unicode code points of the text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventMention {
    /// The entity.
    pub entity_id: EntityId,
    /// Its name.
    pub name: String,
    /// Its type.
    pub entity_type: EntityType,
    /// First code point.
    pub start: u32,
    /// One past the last code point.
    pub end: u32,
}

/// The facts of a message could not be extracted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageFailed {
    /// The session.
    pub session_id: SessionId,
    /// The message.
    pub message_id: MessageId,
    /// A stable code.
    pub code: String,
    /// Number of attempts.
    pub attempts: u32,
}

/// An entity was mentioned or changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EntityUpdate {
    /// The session.
    pub session_id: SessionId,
    /// The entity.
    pub entity_id: EntityId,
    /// Its present name.
    pub name: String,
    /// Its type.
    pub entity_type: EntityType,
    /// The change.
    pub change: EntityChange,
    /// Number of messages that mention it.
    pub mention_count: u64,
    /// Whether it stands for the user.
    pub is_viewer: bool,
    /// The message that caused it.
    pub message_id: Option<MessageId>,
    /// For `merged`: the entity that was merged away. For `unmerged`: the entity that was restored.
    pub merged_id: Option<EntityId>,
}

/// The change of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntityChange {
    /// First mention.
    Added,
    /// Mentioned again.
    Mentioned,
    /// Renamed.
    Renamed,
    /// Got another type from the user.
    Retyped,
    /// Took over the facts and mentions of another entity.
    Merged,
    /// Gave back the facts and mentions of a merged entity.
    Unmerged,
    /// Restored after a merge.
    Restored,
}

/// A fact changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FactUpdate {
    /// The session.
    pub session_id: SessionId,
    /// The fact.
    pub fact_id: FactId,
    /// Name of its subject.
    pub entity: String,
    /// Its subject.
    pub entity_id: EntityId,
    /// Type of its subject; absent in events of older servers.
    #[serde(default)]
    pub entity_type: Option<EntityType>,
    /// The relation's phrase: "likes".
    pub relation: String,
    /// The relation's name in the ontology: `LIKES`.
    pub relation_name: String,
    /// Name of its object, or its value as text.
    pub target: String,
    /// Its object; absent if it has a value.
    pub target_id: Option<EntityId>,
    /// Type of its object; absent in events of older servers.
    #[serde(default)]
    pub target_type: Option<EntityType>,
    /// The value that it states of its subject, instead of an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<FactValue>,
    /// Present discounted support.
    pub weight: f64,
    /// Expected probability that the fact holds, 0 to 1.
    pub belief: f64,
    /// Uncertainty, 0 to 1.
    pub uncertainty: f64,
    /// Share of the support among its rivals and itself, 0 to 1.
    pub relative_weight: f64,
    /// Its status.
    pub status: FactStatus,
    /// The change.
    pub change: FactChange,
    /// Whether all its support has low confidence.
    pub flagged: bool,
    /// The message that caused it.
    pub message_id: Option<MessageId>,
    /// The words that state it.
    pub excerpt: Option<UserText>,
    /// Rivals that have support.
    pub rivals: Vec<RivalFact>,
}

/// A fact that contradicts another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RivalFact {
    /// The rival.
    pub fact_id: FactId,
    /// The relation's phrase.
    pub relation: String,
    /// Name of its object, or its value as text.
    pub target: String,
    /// Its share of the support, 0 to 1.
    pub relative_weight: f64,
}

/// The change of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FactChange {
    /// First statement.
    Added,
    /// Stated again.
    Reinforced,
    /// Denied, or a rival was stated.
    Opposed,
    /// No longer holds.
    Ended,
    /// Retracted by the user.
    Retracted,
    /// Active again after it had ended or been retracted.
    Restored,
    /// Got another side or weight through a manual change: a merge, its undoing, or the retraction of a rival.
    Revised,
    /// Removed: it became part of another fact, or its two sides became one entity.
    Removed,
}

/// A question was answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerCompleted {
    /// The session.
    pub session_id: SessionId,
    /// The answer.
    pub message_id: MessageId,
    /// The question.
    pub answer_to: MessageId,
    /// The answer's text with marks like `[1]`.
    pub text: UserText,
    /// The sources of the marks.
    pub citations: Vec<Citation>,
    /// What comes nearest to an answer, if nothing answers the question. The text quotes it without a mark.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nearest: Vec<Citation>,
    /// Whether stored knowledge supports it. `false` means that the answer is not known.
    pub grounded: bool,
    /// The answerer: `extractive`, a model's name, or `command` for the reply to a command.
    pub answerer: String,
    /// Duration of retrieval.
    pub timings: Timings,
    /// What the reply to a command has forgotten, if that can be undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forgetting: Option<UndoableForgetting>,
}

/// A question could not be answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerFailed {
    /// The session.
    pub session_id: SessionId,
    /// The question.
    pub message_id: MessageId,
    /// A stable code.
    pub code: String,
    /// A sentence for people.
    pub message: String,
}

/// Messages that were forgotten or restored. Clients load them again: each is gone, has lost its text, or is back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessagesChanged {
    /// The session.
    pub session_id: SessionId,
    /// The messages of this session.
    pub message_ids: Vec<MessageId>,
}

/// A session as a whole changed. Clients load it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionChanged {
    /// The session. A document or comparison has the id of the session that stores it.
    pub session_id: SessionId,
}

/// What the user decided for all sessions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ViewerChanged {
    /// Whether remembering is paused in all sessions.
    pub paused: bool,
}

/// A document made progress. The log is that of the document, whose session has the same id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentUpdate {
    /// The session that stores the document.
    pub session_id: SessionId,
    /// The document.
    pub document_id: DocumentId,
    /// Its state.
    pub status: DocumentStatus,
    /// The completed steps. Storing a chunk is one step, and extracting its facts is another.
    pub done: u32,
    /// The number of steps; 0 until the document is parsed.
    pub total: u32,
    /// Why it failed, for its owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl EventBody {
    /// Returns the same event for the log of another session. An event that belongs to no session stays as it is.
    pub fn in_session(&self, session: SessionId) -> Self {
        let mut body = self.clone();
        let id = match &mut body {
            Self::MessageStored(e) => &mut e.session_id,
            Self::MessageProcessed(e) => &mut e.session_id,
            Self::MessageFailed(e) => &mut e.session_id,
            Self::EntityUpdate(e) => &mut e.session_id,
            Self::FactUpdate(e) => &mut e.session_id,
            Self::AnswerCompleted(e) => &mut e.session_id,
            Self::AnswerFailed(e) => &mut e.session_id,
            Self::MessageForgotten(e) | Self::MessageRestored(e) => &mut e.session_id,
            Self::DocumentUpdate(e) => &mut e.session_id,
            Self::ComparisonUpdate(e) => &mut e.session_id,
            Self::SessionUpdate(e) | Self::SessionDeleted(e) => &mut e.session_id,
            Self::ViewerUpdate(_) => return body,
        };
        *id = session;
        body
    }
}
