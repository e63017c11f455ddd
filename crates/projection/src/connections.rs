//! Answers graph queries from the store.
//!
//! The store finds facts by either of their entities, so the neighbours of a set of entities take one read. This module
//! combines the reads in the same way for every store.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use async_trait::async_trait;

use super::paths;
use recall_domain::{Caller, EntityId};
use recall_ports::{
    Connections, Edge, GraphError, GraphQueries, Neighbour, NeighbourQuery, Path, PathQuery, SharedNeighbour, graph::MAX_HOPS,
};

/// Answers graph queries from the facts in the store.
pub struct StoreGraph {
    store: Arc<dyn Connections>,
    name: &'static str,
}

impl StoreGraph {
    /// Creates an instance over `store`; metrics show it as `name`.
    pub fn new(store: Arc<dyn Connections>, name: &'static str) -> Self {
        Self { store, name }
    }
}

/// Whether `one` is stronger than `other`; of equal weights, the smaller fact id is stronger.
fn is_stronger(one: &Edge, other: &Edge) -> bool {
    one.weight.total_cmp(&other.weight).then(other.fact.cmp(&one.fact)).is_gt()
}

#[async_trait]
impl GraphQueries for StoreGraph {
    fn engine(&self) -> &'static str {
        self.name
    }

    async fn around(&self, caller: &Caller, query: &NeighbourQuery) -> Result<Vec<Neighbour>, GraphError> {
        let (mut seen, mut frontier) = (HashSet::from([query.entity]), vec![query.entity]);
        let (mut found, first) = (Vec::new(), query.first as usize);
        for distance in 1..=query.hops.min(MAX_HOPS) {
            let edges = self.store.edges(caller, &frontier, &query.relations).await?;
            let best = strongest(edges.into_iter().filter(|e| !seen.contains(&e.to)));
            frontier = best.iter().map(|e| e.to).collect();
            seen.extend(&frontier);
            found.extend(best.into_iter().map(|e| Neighbour { entity: e.to, distance, fact: e.fact, weight: e.weight }));
            // Farther neighbours come after all of these.
            if found.len() >= first || frontier.is_empty() {
                break;
            }
        }
        found.truncate(first);
        Ok(found)
    }

    async fn ways(&self, caller: &Caller, query: &PathQuery) -> Result<Vec<Path>, GraphError> {
        let first = query.first as usize;
        if query.from == query.to || first == 0 {
            return Ok(Vec::new());
        }
        let around = |ids: Vec<EntityId>| async move { self.store.edges(caller, &ids, &[]).await };
        let (from, to) = (around(vec![query.from]).await?, around(vec![query.to]).await?);
        let mut found = paths::one_hop(&from, query.to);
        if found.len() < first && query.hops >= 2 {
            found.extend(paths::two_hops(&from, &to, first));
        }
        if found.len() < first && query.hops >= 3 {
            // The facts in the middle are read from the side with fewer entities.
            let inner = |edges: &[Edge]| -> HashSet<EntityId> {
                edges.iter().map(|e| e.to).filter(|e| *e != query.from && *e != query.to).collect()
            };
            let (near, far) = (inner(&from), inner(&to));
            let middle = if near.len() <= far.len() {
                around(near.into_iter().collect()).await?
            } else {
                let backwards = around(far.into_iter().collect()).await?;
                backwards.into_iter().map(|e| Edge { from: e.to, to: e.from, ..e }).collect()
            };
            found.extend(paths::three_hops(&from, &middle, &to, first));
        }
        found.truncate(first);
        Ok(found)
    }

    async fn shared(&self, caller: &Caller, one: EntityId, other: EntityId, first: u32) -> Result<Vec<SharedNeighbour>, GraphError> {
        if one == other {
            return Ok(Vec::new());
        }
        let of = |entity| async move {
            let edges = self.store.edges(caller, &[entity], &[]).await?;
            Ok::<_, GraphError>(strongest(edges.into_iter().filter(|e| e.to != one && e.to != other)))
        };
        let (left, right) = (of(one).await?, of(other).await?);
        let right: HashMap<EntityId, Edge> = right.into_iter().map(|e| (e.to, e)).collect();
        let both = left.into_iter().filter_map(|l| Some((l, right.get(&l.to)?)));
        let mut found: Vec<SharedNeighbour> =
            both.map(|(l, r)| SharedNeighbour { entity: l.to, facts: [l.fact, r.fact], weight: l.weight.min(r.weight) }).collect();
        found.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.entity.cmp(&b.entity)));
        found.truncate(first as usize);
        Ok(found)
    }
}

/// Returns the strongest edge to each entity, by falling weight, then by id.
fn strongest(edges: impl Iterator<Item = Edge>) -> Vec<Edge> {
    let mut best: HashMap<EntityId, Edge> = HashMap::new();
    for edge in edges {
        best.entry(edge.to)
            .and_modify(|b| {
                if is_stronger(&edge, b) {
                    *b = edge
                }
            })
            .or_insert(edge);
    }
    let mut best: Vec<Edge> = best.into_values().collect();
    best.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.to.cmp(&b.to)));
    best
}
