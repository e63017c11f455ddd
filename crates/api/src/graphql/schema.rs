//! The schema: all queries, mutations and subscriptions, with the limits of the library.

use async_graphql::{SDLExportOptions, Schema};

use super::{
    model::{
        AuditEntryNode, ChunkNode, ComparisonNode, DocumentNode, EntityNode, EvidenceNode, FactNode, MessageNode, SessionNode, TopicNode,
        UserNode,
    },
    mutation::Mutation,
    page::Connection,
    query::Query,
    subscription::Subscription,
};
use crate::limits::Limits;

/// The executable schema.
pub(crate) type ApiSchema = Schema<Query, Mutation, Subscription>;

/// Builds the schema with the limits of the library.
pub(super) fn builder(limits: &Limits) -> async_graphql::SchemaBuilder<Query, Mutation, Subscription> {
    Schema::build(Query::default(), Mutation::default(), Subscription)
        // `cost` checks depth and complexity itself, because its errors contain the figures.
        .limit_directives(limits.document.directives)
        .limit_recursive_depth(limits.document.nesting)
        .override_output_type_description::<Connection<SessionNode>>("A page of sessions.")
        .override_output_type_description::<Connection<MessageNode>>("A page of messages.")
        .override_output_type_description::<Connection<EntityNode>>("A page of entities.")
        .override_output_type_description::<Connection<DocumentNode>>("A page of documents.")
        .override_output_type_description::<Connection<ChunkNode>>("A page of chunks of a document.")
        .override_output_type_description::<Connection<ComparisonNode>>("A page of comparisons of documents.")
        .override_output_type_description::<Connection<TopicNode>>("A page of topics.")
        .override_output_type_description::<Connection<FactNode>>("A page of facts.")
        .override_output_type_description::<Connection<EvidenceNode>>("A page of evidence.")
        .override_output_type_description::<Connection<AuditEntryNode>>("A page of the audit log.")
        .override_output_type_description::<Connection<UserNode>>("A page of users.")
}

/// Returns the schema as text in a stable order: the content of `schema.graphql`.
pub fn sdl() -> String {
    let options = SDLExportOptions::new().use_space_ident().include_specified_by();
    builder(&Limits::default()).finish().sdl_with_options(options)
}
