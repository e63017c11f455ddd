//! How things hang together: neighbours, ways, and what two things share.

use std::{collections::HashMap, sync::Arc};

use async_graphql::{Context, SimpleObject};

use super::{EntityNode, FactNode};
use crate::{
    error::ApiError,
    graphql::{page::bounded, scope::Memory},
};
use recall_domain::{EntityId, FactId};
use recall_ports::{GraphError, GraphQueries, Neighbour, Path, SharedNeighbour, graph::MAX_HOPS};

/// A thing that active facts lead to.
#[derive(SimpleObject)]
#[graphql(name = "Neighbour")]
pub(crate) struct NeighbourNode {
    /// The thing.
    entity: EntityNode,
    /// Over how many facts, at least.
    distance: u8,
    /// The strongest of the facts that lead to it from a thing one step nearer.
    fact: FactNode,
}

/// A way from one thing to another over active facts, in either direction, that visits nothing twice.
#[derive(SimpleObject)]
#[graphql(name = "Path")]
pub(crate) struct WayNode {
    /// The things, both ends included.
    #[graphql(complexity = "bounded(MAX_HOPS as usize + 1, child_complexity)")]
    entities: Vec<EntityNode>,
    /// The facts between them, in order.
    #[graphql(complexity = "bounded(MAX_HOPS as usize, child_complexity)")]
    facts: Vec<FactNode>,
}

/// A thing that active facts connect to two others.
#[derive(SimpleObject)]
#[graphql(name = "CommonNeighbour")]
pub(crate) struct SharedNode {
    /// The thing.
    entity: EntityNode,
    /// The strongest fact that connects it to either, in the order of the arguments.
    #[graphql(complexity = "bounded(2, child_complexity)")]
    facts: Vec<FactNode>,
}

/// Who answers questions about connections.
pub(crate) fn graph<'c>(ctx: &Context<'c>) -> Result<&'c Arc<dyn GraphQueries>, ApiError> {
    ctx.data::<Arc<dyn GraphQueries>>().map_err(|e| ApiError::internal(Arc::new(std::io::Error::other(e.message)) as Arc<_>))
}

/// A failure of the graph, as an error for clients.
pub(crate) fn refused(error: GraphError) -> ApiError {
    match error {
        GraphError::Store(e) => e.into(),
        e @ (GraphError::Unavailable(_) | GraphError::Contended) => {
            ApiError::unavailable(std::time::Duration::from_secs(1), Arc::new(e) as Arc<_>)
        }
        e @ GraphError::Failed(_) => ApiError::internal(Arc::new(e) as Arc<_>),
    }
}

/// How far to go.
pub(crate) fn hops(asked: i32, path: &str) -> Result<u8, ApiError> {
    let most = MAX_HOPS;
    u8::try_from(asked)
        .ok()
        .filter(|h| (1..=most).contains(h))
        .ok_or_else(|| ApiError::invalid("INVALID_HOPS", format!("The number of hops is out of range. Ask for 1 to {most}."), path))
}

/// Things and facts by id, read in two statements. What was deleted meanwhile is missing.
struct Known {
    entities: HashMap<EntityId, EntityNode>,
    facts: HashMap<FactId, FactNode>,
}

impl Known {
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

/// Neighbours with what they are.
pub(crate) async fn neighbours(memory: &Arc<Memory>, found: Vec<Neighbour>) -> async_graphql::Result<Vec<NeighbourNode>> {
    let known = Known::read(memory, found.iter().map(|n| n.entity), found.iter().map(|n| n.fact)).await?;
    let nodes = found
        .iter()
        .filter_map(|n| Some(NeighbourNode { entity: known.entity(&n.entity)?, distance: n.distance, fact: known.fact(&n.fact)? }));
    Ok(nodes.collect())
}

/// Ways with what lies on them.
pub(crate) async fn ways(memory: &Arc<Memory>, found: Vec<Path>) -> async_graphql::Result<Vec<WayNode>> {
    let entities = found.iter().flat_map(|w| w.entities.iter().copied());
    let known = Known::read(memory, entities, found.iter().flat_map(|w| w.facts.iter().copied())).await?;
    let nodes = found.iter().filter_map(|w| {
        Some(WayNode { entities: w.entities.iter().map(|e| known.entity(e)).collect::<Option<_>>()?, facts: known.chain(&w.facts)? })
    });
    Ok(nodes.collect())
}

/// Shared things with what they are.
pub(crate) async fn shared(memory: &Arc<Memory>, found: Vec<SharedNeighbour>) -> async_graphql::Result<Vec<SharedNode>> {
    let known = Known::read(memory, found.iter().map(|s| s.entity), found.iter().flat_map(|s| s.facts)).await?;
    let nodes = found.iter().filter_map(|s| Some(SharedNode { entity: known.entity(&s.entity)?, facts: known.chain(&s.facts)? }));
    Ok(nodes.collect())
}
