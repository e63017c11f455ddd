//! GraphQL type `AuditEntry`.

use async_graphql::{ID, SimpleObject};

use recall_domain::{AuditEntry, Timestamp};

/// An entry of the audit log. It contains no user text and no secrets.
#[derive(SimpleObject)]
#[graphql(name = "AuditEntry")]
pub(crate) struct AuditEntryNode {
    /// The id, a number that grows with every entry.
    id: ID,
    /// When it happened.
    at: Timestamp,
    /// The user who acted; null for an operator at the command line and for the server itself.
    /// The user's data may have been deleted since.
    actor_id: Option<ID>,
    /// What was done, as a stable code such as `data.deleted`.
    action: String,
    /// The object of the action: an id or the name of a field.
    target: Option<String>,
    /// The IP address of the client.
    address: Option<String>,
    /// The server process that handled the action.
    instance: String,
}

impl From<AuditEntry> for AuditEntryNode {
    fn from(entry: AuditEntry) -> Self {
        Self {
            id: ID::from(entry.number),
            at: entry.said.at,
            actor_id: entry.said.actor.map(ID::from),
            action: entry.said.action,
            target: entry.said.target,
            address: entry.said.address.map(|a| a.to_string()),
            instance: entry.said.instance,
        }
    }
}
