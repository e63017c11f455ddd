//! Entries of the audit log as the API shows them.

use async_graphql::{ID, SimpleObject};

use recall_domain::{AuditEntry, Timestamp};

/// Something that was done: by whom and to what, without texts of users and without secrets.
#[derive(SimpleObject)]
#[graphql(name = "AuditEntry")]
pub(crate) struct AuditEntryNode {
    /// Identity; grows with every entry.
    id: ID,
    /// When.
    at: Timestamp,
    /// Who; null for an operator at the command line, and for the server itself. May be a user whose data is gone.
    actor_id: Option<ID>,
    /// What, as a stable word such as `data.deleted`.
    action: String,
    /// To what: an id, or the name of a field.
    target: Option<String>,
    /// From which address.
    address: Option<String>,
    /// Through which process of the server.
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
