//! One entry of a session's event log, as subscriptions deliver it.

use async_graphql::SimpleObject;

use recall_domain::Timestamp;

/// Something that happened in a session.
#[derive(SimpleObject)]
#[graphql(name = "Event")]
pub(crate) struct EventNode {
    /// Number within the session, from 1, without holes. An event that is not kept (`answer_delta`, `context_ready`) repeats
    /// the number of the last one that is; a `gap` has the number of the last event it stands for.
    pub(crate) seq: u64,
    /// Where to go on after this event: what to pass as `after`.
    pub(crate) cursor: String,
    /// What happened: `message_stored`, `fact_update`, …, or `gap` when events could not be delivered: then refetch, and go
    /// on from here.
    pub(crate) r#type: String,
    /// When it was recorded.
    pub(crate) created_at: Timestamp,
    /// The event itself, as described by `schema.events.json`; for a `gap` its `from`, `to` and `reason`.
    pub(crate) data: serde_json::Value,
}
