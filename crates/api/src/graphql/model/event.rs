//! GraphQL type `Event`.

use async_graphql::{Json, SimpleObject};
use serde_json::value::RawValue;

use recall_domain::Timestamp;

/// An entry of an event log: of a session, or of the memory.
#[derive(SimpleObject)]
#[graphql(name = "Event")]
pub(crate) struct EventNode {
    /// The number within the session or the memory, from 1, without gaps. Ephemeral events (`answer_delta`, `context_ready`) are not numbered: they
    /// repeat the last number. A `gap` has the number of the last event that it replaces.
    pub(crate) seq: u64,
    /// The cursor of this event. To resume after it, pass it as `after`.
    pub(crate) cursor: String,
    /// The type, such as `message_stored` or `fact_update`. `gap` means that events could not be delivered: fetch the current state,
    /// then continue from here.
    pub(crate) r#type: String,
    /// When it was recorded.
    pub(crate) created_at: Timestamp,
    /// The content of the event, as defined in `schema.events.json`. A `gap` has `from`, `to` and `reason`.
    pub(crate) data: Json<Box<RawValue>>,
}
