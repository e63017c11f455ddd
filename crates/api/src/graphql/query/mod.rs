//! Queries, one file per topic. A query changes nothing, except that reads by administrators are audited.

mod audit;
mod comparisons;
mod context;
mod documents;
mod graph;
mod knowledge;
mod node;
mod sessions;
mod topics;
mod users;

use async_graphql::MergedObject;

/// The queries of the API.
#[derive(MergedObject, Default)]
pub(crate) struct Query(
    sessions::SessionQueries,
    context::ContextQueries,
    documents::DocumentQueries,
    comparisons::ComparisonQueries,
    topics::TopicQueries,
    knowledge::KnowledgeQueries,
    graph::ConnectionQueries,
    node::NodeQueries,
    audit::AuditQueries,
    users::UserQueries,
);
