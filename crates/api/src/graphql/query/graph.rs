//! How two things hang together.

use async_graphql::{Context, ID, Object};

use crate::graphql::{
    model::graph::{self, SharedNode, WayNode},
    page::{self, cost},
    scope::{Needs, read_id, scope},
};
use recall_domain::EntityId;
use recall_ports::PathQuery;
use recall_usecases::ResourceId;

#[derive(Default)]
pub(super) struct GraphQueries;

#[Object(guard = "Needs::Read")]
impl GraphQueries {
    /// Ways from one thing to another over active facts in either direction: shortest first, then strongest.
    #[graphql(complexity = "cost(first, child_complexity).saturating_add(50)")]
    async fn paths(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "One end.")] from_id: ID,
        #[graphql(desc = "The other end.")] to_id: ID,
        #[graphql(desc = "Over how many facts at most, 1 to 3.", default = 3)] max_hops: i32,
        #[graphql(desc = "How many, 1 to 100; 20 when nothing is said.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<WayNode>> {
        let (from, to): (EntityId, EntityId) = (read_id(&from_id, "fromId")?, read_id(&to_id, "toId")?);
        let asked = PathQuery { from, to, hops: graph::hops(max_hops, "maxHops")?, first: page::page(first, None)?.first };
        let (s, graph) = (scope(ctx)?, graph::graph(ctx)?);
        let mut memory = &s.own;
        let mut found = graph.ways(&memory.caller, &asked).await.map_err(graph::refused)?;
        if found.is_empty() {
            memory = s.holder(&[ResourceId::Entity(from)]).await?;
            if memory.is_shared() {
                found = graph.ways(&memory.caller, &asked).await.map_err(graph::refused)?;
            }
        }
        graph::ways(memory, found).await
    }

    /// Things that active facts connect directly to both of two others, strongest first.
    #[graphql(complexity = "cost(first, child_complexity).saturating_add(20)")]
    async fn common_neighbours(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "One thing.")] one_id: ID,
        #[graphql(desc = "The other thing.")] other_id: ID,
        #[graphql(desc = "How many, 1 to 100; 20 when nothing is said.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<SharedNode>> {
        let (one, other): (EntityId, EntityId) = (read_id(&one_id, "oneId")?, read_id(&other_id, "otherId")?);
        let first = page::page(first, None)?.first;
        let (s, graph) = (scope(ctx)?, graph::graph(ctx)?);
        let mut memory = &s.own;
        let mut found = graph.shared(&memory.caller, one, other, first).await.map_err(graph::refused)?;
        if found.is_empty() {
            memory = s.holder(&[ResourceId::Entity(one)]).await?;
            if memory.is_shared() {
                found = graph.shared(&memory.caller, one, other, first).await.map_err(graph::refused)?;
            }
        }
        graph::shared(memory, found).await
    }
}
