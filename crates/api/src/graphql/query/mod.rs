//! Reading. One file per room of the memory; nothing here changes anything.

mod audit;
mod context;
mod graph;
mod knowledge;
mod node;
mod sessions;

use async_graphql::MergedObject;

/// Everything that can be read.
#[derive(MergedObject, Default)]
pub(crate) struct Query(
    sessions::SessionQueries,
    context::ContextQueries,
    knowledge::KnowledgeQueries,
    graph::GraphQueries,
    node::NodeQueries,
    audit::AuditQueries,
);
