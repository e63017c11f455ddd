//! Entries of a session's event log, as they go to clients. A change here is a change of the protocol:
//! `schema.events.json` is generated from these types.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Citation, EntityId, EntityType, EventId, FactId, FactStatus, MessageId, MessageKind, MessageStatus, Role, SessionId, Timestamp,
    UserText, context::Timings,
};

/// An event before it has a number.
#[derive(Clone, Debug, PartialEq)]
pub struct EventDraft {
    /// Identity, the same on every delivery.
    pub id: EventId,
    /// What happened.
    pub body: EventBody,
}

/// An event as stored and sent.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredEvent {
    /// Number within the session, from 1, without holes.
    pub seq: u64,
    /// Identity.
    pub id: EventId,
    /// The body's `type`.
    pub kind: String,
    /// When it was recorded.
    pub created_at: Timestamp,
    /// The body as JSON, `type` included.
    pub data: serde_json::Value,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventBody {
    /// A message was stored.
    MessageStored(MessageStored),
    /// A message's facts are in the graph.
    MessageProcessed(MessageProcessed),
    /// A message's facts could not be worked out.
    MessageFailed(MessageFailed),
    /// A thing was mentioned, or changed.
    EntityUpdate(EntityUpdate),
    /// A fact changed.
    FactUpdate(FactUpdate),
    /// A question was answered.
    AnswerCompleted(AnswerCompleted),
    /// A question could not be answered.
    AnswerFailed(AnswerFailed),
}

impl EventBody {
    /// The `type` field.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::MessageStored(_) => "message_stored",
            Self::MessageProcessed(_) => "message_processed",
            Self::MessageFailed(_) => "message_failed",
            Self::EntityUpdate(_) => "entity_update",
            Self::FactUpdate(_) => "fact_update",
            Self::AnswerCompleted(_) => "answer_completed",
            Self::AnswerFailed(_) => "answer_failed",
        }
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
    /// Who says it, when that is not the user.
    pub speaker: Option<String>,
    /// What was said.
    pub text: UserText,
    /// `processing`, or `processed` for messages that are not mined for facts.
    pub status: MessageStatus,
    /// When it was said.
    pub sent_at: Timestamp,
    /// When it was stored.
    pub created_at: Timestamp,
    /// The client's own id.
    pub client_message_id: Option<String>,
    /// The question this answers.
    pub answer_to: Option<MessageId>,
}

/// A message's facts are in the graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageProcessed {
    /// The session.
    pub session_id: SessionId,
    /// The message.
    pub message_id: MessageId,
    /// What it does.
    pub kind: MessageKind,
    /// How many facts it speaks on.
    pub facts: u32,
    /// How many things it mentions.
    pub entities: u32,
    /// Where it mentions them.
    pub mentions: Vec<EventMention>,
}

/// Where a message mentions a thing, in Unicode code points of its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventMention {
    /// The thing.
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

/// A message's facts could not be worked out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageFailed {
    /// The session.
    pub session_id: SessionId,
    /// The message.
    pub message_id: MessageId,
    /// A stable code.
    pub code: String,
    /// How often it was tried.
    pub attempts: u32,
}

/// A thing was mentioned, or changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EntityUpdate {
    /// The session.
    pub session_id: SessionId,
    /// The thing.
    pub entity_id: EntityId,
    /// Its name now.
    pub name: String,
    /// Its type.
    pub entity_type: EntityType,
    /// What happened to it.
    pub change: EntityChange,
    /// In how many messages it was mentioned.
    pub mention_count: u64,
    /// Whether it is the user's own node.
    pub is_viewer: bool,
    /// The message that caused it.
    pub message_id: Option<MessageId>,
    /// For `merged`: the thing that is no more. For `unmerged`: the thing that is back.
    pub merged_id: Option<EntityId>,
}

/// What happened to an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntityChange {
    /// First mention.
    Added,
    /// Mentioned again.
    Mentioned,
    /// Has another name now.
    Renamed,
    /// Took over another thing's facts and mentions.
    Merged,
    /// Gave back what it had taken over.
    Unmerged,
    /// Is back, after it had been merged into another.
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
    /// What its subject is; absent in events of older servers.
    #[serde(default)]
    pub entity_type: Option<EntityType>,
    /// The relation as people say it: "likes".
    pub relation: String,
    /// The relation's name in the ontology: `LIKES`.
    pub relation_name: String,
    /// Name of its object.
    pub target: String,
    /// Its object.
    pub target_id: EntityId,
    /// What its object is; absent in events of older servers.
    #[serde(default)]
    pub target_type: Option<EntityType>,
    /// Discounted support now.
    pub weight: f64,
    /// Expected probability that it holds, 0 to 1.
    pub belief: f64,
    /// How little is known, 0 to 1.
    pub uncertainty: f64,
    /// Share of the support among its rivals and itself, 0 to 1.
    pub relative_weight: f64,
    /// Whether it holds.
    pub status: FactStatus,
    /// What happened to it.
    pub change: FactChange,
    /// Whether all its support has low confidence.
    pub flagged: bool,
    /// The message that caused it.
    pub message_id: Option<MessageId>,
    /// The words that state it.
    pub excerpt: Option<UserText>,
    /// Facts that contradict it and have support.
    pub rivals: Vec<RivalFact>,
}

/// A fact that contradicts another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RivalFact {
    /// The rival.
    pub fact_id: FactId,
    /// The relation as people say it.
    pub relation: String,
    /// Name of its object.
    pub target: String,
    /// Its share of the support, 0 to 1.
    pub relative_weight: f64,
}

/// What happened to a fact.
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
    /// Taken back by the user.
    Retracted,
    /// Holds again after it had ended or been taken back.
    Restored,
    /// Has another side or another weight, because something else was changed by hand: two things were made one or told apart
    /// again, or a fact that spoke against this one was taken back.
    Revised,
    /// Is no fact of its own any more: it is a part of another one, or its two sides are one thing.
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
    /// What the marks point to.
    pub citations: Vec<Citation>,
    /// Whether something known supports it; `false` is an honest "I do not know".
    pub grounded: bool,
    /// Who answered: `extractive`, or a model's name.
    pub answerer: String,
    /// How long retrieval took.
    pub timings: Timings,
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

impl EventBody {
    /// The same news for another session's log.
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
        };
        *id = session;
        body
    }
}
