//! Queries about connections between entities.

use async_graphql::{Context, ID, Object};

use crate::graphql::{
    model::graph::{self, CommonNeighbourNode, PathNode},
    page::{self, connection_cost},
    scope::{Needs, read_id, scope},
};
use recall_domain::EntityId;
use recall_ports::PathQuery;
use recall_usecases::ResourceId;

#[derive(Default)]
pub(super) struct ConnectionQueries;

#[Object(guard = "Needs::Read")]
impl ConnectionQueries {
    /// Paths between two entities over active facts in either direction: shortest first, then strongest.
    #[graphql(complexity = "connection_cost(first, child_complexity).saturating_add(50)")]
    async fn paths(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The id of the first entity.")] from_id: ID,
        #[graphql(desc = "The id of the last entity.")] to_id: ID,
        #[graphql(desc = "The largest number of facts in a path, 1 to 3.", default = 3)] max_hops: i32,
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<PathNode>> {
        let (from, to): (EntityId, EntityId) = (read_id(&from_id, "fromId")?, read_id(&to_id, "toId")?);
        let asked = PathQuery { from, to, hops: graph::read_hops(max_hops, "maxHops")?, first: page::read_page(first, None)?.first };
        let (s, graph) = (scope(ctx)?, graph::graph_queries(ctx)?);
        let mut memory = &s.own;
        let mut found = graph.ways(&memory.caller(), &asked).await.map_err(graph::to_api_error)?;
        if found.is_empty() {
            memory = s.memory_holding(&[ResourceId::Entity(from)]).await?;
            if memory.is_shared() {
                found = graph.ways(&memory.caller(), &asked).await.map_err(graph::to_api_error)?;
            }
        }
        graph::load_paths(memory, found).await
    }

    /// Entities that active facts connect directly to both of two others, strongest first.
    #[graphql(complexity = "connection_cost(first, child_complexity).saturating_add(20)")]
    async fn common_neighbours(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The id of one entity.")] one_id: ID,
        #[graphql(desc = "The id of the other entity.")] other_id: ID,
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<CommonNeighbourNode>> {
        let (one, other): (EntityId, EntityId) = (read_id(&one_id, "oneId")?, read_id(&other_id, "otherId")?);
        let first = page::read_page(first, None)?.first;
        let (s, graph) = (scope(ctx)?, graph::graph_queries(ctx)?);
        let mut memory = &s.own;
        let mut found = graph.shared(&memory.caller(), one, other, first).await.map_err(graph::to_api_error)?;
        if found.is_empty() {
            memory = s.memory_holding(&[ResourceId::Entity(one)]).await?;
            if memory.is_shared() {
                found = graph.shared(&memory.caller(), one, other, first).await.map_err(graph::to_api_error)?;
            }
        }
        graph::load_common_neighbours(memory, found).await
    }
}
