//! GraphQL types `Neighbour`, `Path` and `CommonNeighbour`.

use std::{collections::HashMap, sync::Arc};

use async_graphql::{Context, SimpleObject};

use super::nodes::{EntityNode, FactNode};
use crate::{
    error::ApiError,
    graphql::{
        page::bounded_list_cost,
        scope::{Memory, service},
    },
};
use recall_domain::{EntityId, FactId};
use recall_ports::{GraphError, GraphQueries, Neighbour, Path, SharedNeighbour, graph::MAX_HOPS};

/// An entity that active facts connect to another one.
#[derive(SimpleObject)]
#[graphql(name = "Neighbour")]
pub(crate) struct NeighbourNode {
    /// The entity.
    entity: EntityNode,
    /// The smallest number of facts between the two entities.
    distance: u8,
    /// The strongest fact that connects it to an entity one step nearer.
    fact: FactNode,
}

/// A path between two entities over active facts in either direction. It visits no entity twice.
#[derive(SimpleObject)]
#[graphql(name = "Path")]
pub(crate) struct PathNode {
    /// The entities on the path, both ends included.
    #[graphql(complexity = "bounded_list_cost(MAX_HOPS as usize + 1, child_complexity)")]
    entities: Vec<EntityNode>,
    /// The facts between the entities, in order.
    #[graphql(complexity = "bounded_list_cost(MAX_HOPS as usize, child_complexity)")]
    facts: Vec<FactNode>,
}

/// An entity that active facts connect to two others.
#[derive(SimpleObject)]
#[graphql(name = "CommonNeighbour")]
pub(crate) struct CommonNeighbourNode {
    /// The entity.
    entity: EntityNode,
    /// The strongest fact to each of the two entities, in the order of the arguments.
    #[graphql(complexity = "bounded_list_cost(2, child_complexity)")]
    facts: Vec<FactNode>,
}

/// Returns the service for graph queries.
pub(crate) fn graph_queries<'c>(ctx: &Context<'c>) -> Result<&'c Arc<dyn GraphQueries>, ApiError> {
    service(ctx)
}

/// Converts a failure of the graph into an error for clients.
pub(crate) fn to_api_error(error: GraphError) -> ApiError {
    match error {
        GraphError::Store(e) => e.into(),
        e @ (GraphError::Unavailable(_) | GraphError::Contended) => {
            ApiError::unavailable(std::time::Duration::from_secs(1), Arc::new(e) as Arc<_>)
        }
        e @ GraphError::Failed(_) => ApiError::internal(Arc::new(e) as Arc<_>),
    }
}

/// Checks the number of hops. `path` names the argument.
pub(crate) fn read_hops(asked: i32, path: &str) -> Result<u8, ApiError> {
    let most = MAX_HOPS;
    u8::try_from(asked)
        .ok()
        .filter(|h| (1..=most).contains(h))
        .ok_or_else(|| ApiError::invalid("INVALID_HOPS", format!("The number of hops is out of range. Ask for 1 to {most}."), path))
}

/// Entities and facts by id, read in two statements. What has been deleted in the meantime is missing.
struct LoadedNodes {
    entities: HashMap<EntityId, EntityNode>,
    facts: HashMap<FactId, FactNode>,
}

impl LoadedNodes {
    async fn read(
        memory: &Arc<Memory>,
        entities: impl Iterator<Item = EntityId>,
        facts: impl Iterator<Item = FactId>,
    ) -> async_graphql::Result<Self> {
        let (entities, facts): (Vec<_>, Vec<_>) = (entities.collect(), facts.collect());
        let (entities, facts) = futures_util::future::join(memory.load.load_many(entities), memory.load.load_many(facts)).await;
        Ok(Self {
            entities: entities?.into_iter().map(|(id, e)| (id, EntityNode(e, memory.clone()))).collect(),
            facts: facts?.into_iter().map(|(id, f)| (id, FactNode(f, memory.clone()))).collect(),
        })
    }

    fn entity(&self, id: &EntityId) -> Option<EntityNode> {
        self.entities.get(id).cloned()
    }

    fn fact(&self, id: &FactId) -> Option<FactNode> {
        self.facts.get(id).cloned()
    }

    fn chain(&self, facts: &[FactId]) -> Option<Vec<FactNode>> {
        facts.iter().map(|f| self.fact(f)).collect()
    }
}

/// Loads the entities and facts of neighbours.
pub(crate) async fn load_neighbours(memory: &Arc<Memory>, found: Vec<Neighbour>) -> async_graphql::Result<Vec<NeighbourNode>> {
    let loaded = LoadedNodes::read(memory, found.iter().map(|n| n.entity), found.iter().map(|n| n.fact)).await?;
    let nodes = found
        .iter()
        .filter_map(|n| Some(NeighbourNode { entity: loaded.entity(&n.entity)?, distance: n.distance, fact: loaded.fact(&n.fact)? }));
    Ok(nodes.collect())
}

/// Loads the entities and facts of paths.
pub(crate) async fn load_paths(memory: &Arc<Memory>, found: Vec<Path>) -> async_graphql::Result<Vec<PathNode>> {
    let entities = found.iter().flat_map(|w| w.entities.iter().copied());
    let loaded = LoadedNodes::read(memory, entities, found.iter().flat_map(|w| w.facts.iter().copied())).await?;
    let nodes = found.iter().filter_map(|w| {
        Some(PathNode { entities: w.entities.iter().map(|e| loaded.entity(e)).collect::<Option<_>>()?, facts: loaded.chain(&w.facts)? })
    });
    Ok(nodes.collect())
}

/// Loads the entities and facts of common neighbours.
pub(crate) async fn load_common_neighbours(
    memory: &Arc<Memory>,
    found: Vec<SharedNeighbour>,
) -> async_graphql::Result<Vec<CommonNeighbourNode>> {
    let loaded = LoadedNodes::read(memory, found.iter().map(|s| s.entity), found.iter().flat_map(|s| s.facts)).await?;
    let nodes =
        found.iter().filter_map(|s| Some(CommonNeighbourNode { entity: loaded.entity(&s.entity)?, facts: loaded.chain(&s.facts)? }));
    Ok(nodes.collect())
}
