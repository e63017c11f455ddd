//! Messages: the turns of a conversation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantNames};
use utoipa::ToSchema;

use super::{CitedChunk, FactId, MessageId, SessionId, Timestamp, UserText};

/// Longest text of a message, in bytes.
pub const MAX_TEXT_BYTES: usize = 64 * 1024;

/// Who wrote a message.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema, ToSchema, EnumString, IntoStaticStr, VariantNames,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Role {
    /// The user, or another person in the conversation (see [`Message::speaker`]).
    User,
    /// The assistant. Its messages are searched but are never evidence for facts.
    Assistant,
    /// A document. The message is one of its chunks, or its first message, which holds its name.
    Document,
}

/// The kind of a message.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema, ToSchema, EnumString, IntoStaticStr, VariantNames,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum MessageKind {
    /// States something that can be remembered.
    Statement,
    /// Asks something.
    Question,
    /// States something and asks something.
    Mixed,
    /// Greeting, thanks, reaction, filler.
    Other,
}

impl MessageKind {
    /// Whether the message expects an answer.
    pub fn asks(self) -> bool {
        matches!(self, Self::Question | Self::Mixed)
    }
}

/// The processing status of a message.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema, ToSchema, EnumString, IntoStaticStr, VariantNames,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum MessageStatus {
    /// Stored and searchable; its facts are not known yet.
    Processing,
    /// Its facts are stored.
    Processed,
    /// Its facts could not be extracted; the text stays stored and searchable.
    Failed,
}

/// A stored message.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Identity.
    pub id: MessageId,
    /// The conversation it belongs to.
    pub session: SessionId,
    /// Position in the conversation, from 1, without gaps.
    pub position: u64,
    /// Who wrote it.
    pub role: Role,
    /// The speaker, if not the user. "I" in the text then means that person.
    pub speaker: Option<String>,
    /// The text.
    pub text: UserText,
    /// Its kind, once processed.
    pub kind: Option<MessageKind>,
    /// Its processing status.
    pub status: MessageStatus,
    /// When it was said, according to the client; default: `created_at`. Facts get this date.
    pub sent_at: Timestamp,
    /// When it was stored.
    pub created_at: Timestamp,
    /// Data that the client stores with it.
    pub source_metadata: Option<serde_json::Value>,
    /// The client's id, unique in the session. A message with a repeated id returns the first message.
    pub external_id: Option<String>,
    /// The question this message answers.
    pub answer_to: Option<MessageId>,
    /// The sources of an answer.
    pub citations: Vec<Citation>,
    /// What comes nearest to an answer, if nothing answers the question. The text quotes it without a mark.
    pub nearest: Vec<Citation>,
    /// Whether it may be learned from and found. False for a message that was stored while remembering was paused.
    pub remembered: bool,
}

/// The source behind one numbered mark of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, ToSchema)]
pub struct Citation {
    /// The number in the text, from 1.
    pub index: u32,
    /// The message cited.
    pub message_id: Option<MessageId>,
    /// The chunk cited, instead of a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<CitedChunk>,
    /// The fact that the answer used, if any. The message is evidence for it.
    pub fact_id: Option<FactId>,
    /// The words cited.
    pub excerpt: UserText,
    /// Whether both belong to shared memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
}

/// Longest excerpt of a document in a citation, in characters.
pub const MAX_CITED_CHARS: usize = 100;

impl Citation {
    /// Makes it a citation of a chunk instead of the message that stores it.
    pub fn cite(&mut self, chunk: CitedChunk) {
        self.message_id = None;
        self.chunk = Some(chunk);
        self.excerpt = UserText::from(shortened(self.excerpt.as_str(), MAX_CITED_CHARS));
    }
}

/// Returns the beginning of a text, cut at a word, with at most `most` characters.
fn shortened(text: &str, most: usize) -> String {
    let text = text.trim();
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let cut: String = text.chars().take(most.saturating_sub(1)).collect();
    let at_word = cut.rsplit_once(char::is_whitespace).map_or(cut.as_str(), |(head, _)| head);
    format!("{}…", at_word.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpt_of_a_chunk_is_cut_at_a_word() {
        assert_eq!(shortened(" short ", 10), "short");
        assert_eq!(shortened("one two three four", 12), "one two…");
        assert_eq!(shortened(&"ä".repeat(200), MAX_CITED_CHARS).chars().count(), MAX_CITED_CHARS);
    }
}
