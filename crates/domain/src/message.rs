//! One turn of a conversation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FactId, MessageId, SessionId, Timestamp, UserText};

/// Longest text of a message, in bytes.
pub const MAX_TEXT_BYTES: usize = 64 * 1024;

/// Who wrote a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user, or a person the user talks with (see [`Message::speaker`]).
    User,
    /// The assistant. Its messages are searched but never taken as evidence for facts.
    Assistant,
}

/// What a message does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// Tells something that can be remembered.
    Statement,
    /// Asks for something.
    Question,
    /// Does both.
    Mixed,
    /// Greeting, thanks, reaction, filler.
    Other,
}

impl MessageKind {
    /// Whether the message wants an answer.
    pub fn asks(self) -> bool {
        matches!(self, Self::Question | Self::Mixed)
    }
}

/// How far a message has come.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageStatus {
    /// Stored and searchable; its facts are still being worked out.
    Processing,
    /// Its facts are in the graph.
    Processed,
    /// Its facts could not be worked out; the text stays stored and searchable.
    Failed,
}

/// A stored message.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Identity.
    pub id: MessageId,
    /// The conversation it belongs to.
    pub session: SessionId,
    /// Place in the conversation, from 1, without holes.
    pub position: u64,
    /// Who wrote it.
    pub role: Role,
    /// Who says it, when that is not the user; "I" in the text then means that person.
    pub speaker: Option<String>,
    /// What was said.
    pub text: UserText,
    /// Known once processed.
    pub kind: Option<MessageKind>,
    /// How far it has come.
    pub status: MessageStatus,
    /// When it was said, by the client's word; defaults to `created_at`. Facts are dated by this.
    pub sent_at: Timestamp,
    /// When it was stored.
    pub created_at: Timestamp,
    /// Whatever the client wants to keep with it.
    pub source_metadata: Option<serde_json::Value>,
    /// The client's own id; a second message of the session with the same one is the first one again.
    pub external_id: Option<String>,
    /// The question this message answers.
    pub answer_to: Option<MessageId>,
    /// What an answer rests on.
    pub citations: Vec<Citation>,
}

/// What one numbered mark in an answer points to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Citation {
    /// The number in the text, from 1.
    pub index: u32,
    /// The message cited.
    pub message_id: Option<MessageId>,
    /// The fact that the message is evidence for, if one was used.
    pub fact_id: Option<FactId>,
    /// The words cited.
    pub excerpt: UserText,
    /// Whether both are of shared memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
}
