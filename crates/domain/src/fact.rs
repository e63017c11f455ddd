//! Facts and the evidence they rest on. How weights change is decided in `recall_facts`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EntityId, FactId, MessageId, RelationName, SessionId, Span, Timestamp, UserText};

/// (subject, relation, object) with what speaks for and against it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// Identity.
    pub id: FactId,
    /// Who or what it is about.
    pub subject: EntityId,
    /// Relation of the ontology.
    pub relation: RelationName,
    /// The other side.
    pub object: EntityId,
    /// Discounted support r at `weighed_at`: each statement adds its confidence, all halve per half-life. Never negative.
    pub support: f64,
    /// Discounted opposition s at `weighed_at`. Never negative.
    pub opposition: f64,
    /// The moment `support` and `opposition` refer to: the latest message that changed them.
    pub weighed_at: Timestamp,
    /// Whether it holds.
    pub status: FactStatus,
    /// Whether all its support has a confidence below 0.7.
    pub flagged: bool,
    /// Since when it is known to hold: the first statement after the last end.
    pub valid_from: Option<Timestamp>,
    /// When it ended.
    pub valid_to: Option<Timestamp>,
    /// Latest statement for it.
    pub last_support: Option<Timestamp>,
    /// When it was first recorded.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// Whether a fact holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FactStatus {
    /// Holds as far as is known; see its belief.
    Active,
    /// Held once, and a message said that it no longer does.
    Ended,
    /// Taken back by the user.
    Retracted,
}

/// What a message does to a fact.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stance {
    /// States it.
    Supports,
    /// Denies it, or states a rival.
    Opposes,
    /// Says that it no longer holds.
    Ends,
}

/// One message's word on one fact.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// The fact.
    pub fact: FactId,
    /// The message.
    pub message: MessageId,
    /// The message's session.
    pub session: SessionId,
    /// For, against, or over.
    pub stance: Stance,
    /// Extraction confidence, 0 to 1.
    pub confidence: f64,
    /// Where in the message the words stand; `None` for a rival's statement.
    pub span: Option<Span>,
    /// The words.
    pub excerpt: UserText,
    /// When the message was said.
    pub created_at: Timestamp,
}
