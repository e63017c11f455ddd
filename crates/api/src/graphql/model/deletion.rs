//! GraphQL type `DeletionReceipt`.

use async_graphql::SimpleObject;

use recall_domain::Timestamp;
use recall_ports::{AccountDeletion, GraphCopy};

/// The receipt for the deletion of all of a user's data.
#[derive(SimpleObject)]
pub(crate) struct DeletionReceipt {
    /// When the deletion started; null if there was nothing to delete.
    begun_at: Option<Timestamp>,
    /// When the deletion finished; null while it is running.
    ended_at: Option<Timestamp>,
    /// What has been deleted so far. Kinds without rows are left out.
    deleted: Vec<DeletedRows>,
    /// Copies that still hold data, such as `neo4j`. The server deletes it there in the background.
    pending: Vec<String>,
}

/// The number of deleted rows or objects of one kind.
#[derive(SimpleObject)]
pub(crate) struct DeletedRows {
    /// The engine: the database (`sqlite`, `postgres`) or the graph engine (`neo4j`).
    engine: String,
    /// The kind: a table of the database, or `nodes` or `relationships` of the graph engine.
    kind: String,
    /// The number deleted.
    count: u64,
}

impl DeletionReceipt {
    /// Creates the receipt for the store alone.
    pub(crate) fn of(engine: &str, erasure: Option<AccountDeletion>) -> Self {
        let rows = |(kind, count)| DeletedRows { engine: engine.to_owned(), kind, count };
        Self {
            begun_at: erasure.as_ref().map(|e| e.begun_at),
            ended_at: erasure.as_ref().and_then(|e| e.ended_at),
            deleted: erasure.into_iter().flat_map(|e| e.deleted).map(rows).collect(),
            pending: Vec::new(),
        }
    }

    /// Returns whether the store holds no more data of the user.
    pub(crate) fn has_ended(&self) -> bool {
        self.begun_at.is_none() || self.ended_at.is_some()
    }

    /// Adds what was deleted from a graph engine, given its contents before and after. Adds nothing if the engine was
    /// unreachable.
    pub(crate) fn with_graph(mut self, engine: &str, before: Option<GraphCopy>, after: Option<GraphCopy>) -> Self {
        if let (Some(before), Some(after)) = (before, after) {
            let deleted = [
                ("nodes", before.nodes.saturating_sub(after.nodes)),
                ("relationships", before.relationships.saturating_sub(after.relationships)),
            ];
            let deleted = deleted.into_iter().filter(|(_, count)| *count > 0);
            self.deleted.extend(deleted.map(|(kind, count)| DeletedRows { engine: engine.to_owned(), kind: kind.to_owned(), count }));
        }
        if !after.is_some_and(GraphCopy::is_empty) {
            self.pending.push(engine.to_owned());
        }
        self
    }
}
