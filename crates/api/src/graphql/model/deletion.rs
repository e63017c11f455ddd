//! What a deletion deleted.

use async_graphql::SimpleObject;

use recall_domain::Timestamp;
use recall_ports::{AccountDeletion, GraphCopy};

/// The receipt of a deletion.
#[derive(SimpleObject)]
pub(crate) struct DeletionReceipt {
    /// When it was begun; null when there was nothing to delete.
    begun_at: Option<Timestamp>,
    /// When nothing was left; null while it goes on.
    ended_at: Option<Timestamp>,
    /// What was deleted so far, without what there was nothing of.
    deleted: Vec<DeletedRows>,
    /// Copies that do not know it yet, such as `neo4j`. They follow by themselves.
    pending: Vec<String>,
}

/// How much of one kind was deleted.
#[derive(SimpleObject)]
pub(crate) struct DeletedRows {
    /// Where: the database (`sqlite`, `postgres`), or the graph engine (`neo4j`).
    engine: String,
    /// What: a table of the database; `nodes` or `relationships` of the graph engine.
    kind: String,
    /// How many.
    count: u64,
}

impl DeletionReceipt {
    /// The receipt of the store alone.
    pub(crate) fn of(engine: &str, erasure: Option<AccountDeletion>) -> Self {
        let rows = |(kind, count)| DeletedRows { engine: engine.to_owned(), kind, count };
        Self {
            begun_at: erasure.as_ref().map(|e| e.begun_at),
            ended_at: erasure.as_ref().and_then(|e| e.ended_at),
            deleted: erasure.into_iter().flat_map(|e| e.deleted).map(rows).collect(),
            pending: Vec::new(),
        }
    }

    /// Whether nothing is left in the store.
    pub(crate) fn has_ended(&self) -> bool {
        self.begun_at.is_none() || self.ended_at.is_some()
    }

    /// Adds what a graph engine held before and holds after; nothing, when it could not be asked.
    pub(crate) fn with_graph(mut self, engine: &str, before: Option<GraphCopy>, after: Option<GraphCopy>) -> Self {
        if let (Some(before), Some(after)) = (before, after) {
            let gone = [
                ("nodes", before.nodes.saturating_sub(after.nodes)),
                ("relationships", before.relationships.saturating_sub(after.relationships)),
            ];
            let gone = gone.into_iter().filter(|(_, count)| *count > 0);
            self.deleted.extend(gone.map(|(kind, count)| DeletedRows { engine: engine.to_owned(), kind: kind.to_owned(), count }));
        }
        if !after.is_some_and(GraphCopy::is_empty) {
            self.pending.push(engine.to_owned());
        }
        self
    }
}
