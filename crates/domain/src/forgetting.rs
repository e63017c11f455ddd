//! A forgetting that a reply reports, and how it is stored with the reply.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{ForgettingId, Message, Timestamp};

/// The key in the metadata of a reply.
const KEY: &str = "forgetting";
/// The key in its value that tells of the undoing.
const UNDONE_AT: &str = "undone_at";

/// What the reply to a command has forgotten, and until when that can be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[schema(as = Forgetting)]
pub struct UndoableForgetting {
    /// The token for `undoForget`.
    pub token: ForgettingId,
    /// Until when it can be undone.
    #[schema(value_type = String, format = DateTime)]
    pub undo_until: Timestamp,
}

impl UndoableForgetting {
    /// Returns the metadata of the reply that reports it.
    pub fn to_metadata(self) -> serde_json::Value {
        serde_json::json!({ KEY: self })
    }

    /// Returns what a stored reply reports. It may have been undone since.
    pub fn of_reply(reply: &Message) -> Option<Self> {
        // Only the server says what a message answers, so a client cannot write such metadata.
        reply.answer_to?;
        Self::deserialize(reply.source_metadata.as_ref()?.get(KEY)?).ok()
    }

    /// Returns the metadata of a reply whose forgetting is undone; `None` if it reports another one.
    pub fn undone(mut metadata: serde_json::Value, token: ForgettingId, at: Timestamp) -> Option<serde_json::Value> {
        let told = metadata.get_mut(KEY)?;
        if Self::deserialize(&*told).ok()?.token != token {
            return None;
        }
        told.as_object_mut()?.insert(UNDONE_AT.to_owned(), serde_json::json!(at));
        Some(metadata)
    }

    /// Returns when the forgetting was undone that a stored reply reports.
    pub fn undone_at(reply: &Message) -> Option<Timestamp> {
        reply.answer_to?;
        Timestamp::deserialize(reply.source_metadata.as_ref()?.get(KEY)?.get(UNDONE_AT)?).ok()
    }
}
