//! Questions about connections, answered from the store. Facts lie under the things of both their sides, so a ring of things is
//! one read; what a ring means is put together here, the same for every store.

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

/// The graph as the store has it.
pub struct StoreGraph {
    store: Arc<dyn Connections>,
    name: &'static str,
}

impl StoreGraph {
    /// Answers from `store`, which goes by `name` in metrics.
    pub fn new(store: Arc<dyn Connections>, name: &'static str) -> Self {
        Self { store, name }
    }
}

/// Whether the first is to be named where both lead to the same thing.
fn beats(one: &Edge, other: &Edge) -> bool {
    one.weight.total_cmp(&other.weight).then(other.fact.cmp(&one.fact)).is_gt()
}

#[async_trait]
impl GraphQueries for StoreGraph {
    fn engine(&self) -> &'static str {
        self.name
    }

    async fn around(&self, caller: &Caller, asked: &NeighbourQuery) -> Result<Vec<Neighbour>, GraphError> {
        let (mut seen, mut ring) = (HashSet::from([asked.entity]), vec![asked.entity]);
        let (mut found, first) = (Vec::new(), asked.first as usize);
        for distance in 1..=asked.hops.min(MAX_HOPS) {
            let edges = self.store.edges(caller, &ring, &asked.relations).await?;
            let best = strongest(edges.into_iter().filter(|e| !seen.contains(&e.to)));
            ring = best.iter().map(|e| e.to).collect();
            seen.extend(&ring);
            found.extend(best.into_iter().map(|e| Neighbour { entity: e.to, distance, fact: e.fact, weight: e.weight }));
            // Farther ones come after all of these.
            if found.len() >= first || ring.is_empty() {
                break;
            }
        }
        found.truncate(first);
        Ok(found)
    }

    async fn ways(&self, caller: &Caller, asked: &PathQuery) -> Result<Vec<Path>, GraphError> {
        let first = asked.first as usize;
        if asked.from == asked.to || first == 0 {
            return Ok(Vec::new());
        }
        let around = |ids: Vec<EntityId>| async move { self.store.edges(caller, &ids, &[]).await };
        let (from, to) = (around(vec![asked.from]).await?, around(vec![asked.to]).await?);
        let mut found = paths::one(&from, asked.to);
        if found.len() < first && asked.hops >= 2 {
            found.extend(paths::two(&from, &to, first));
        }
        if found.len() < first && asked.hops >= 3 {
            // The facts in the middle are read from the side that has fewer things.
            let inner = |edges: &[Edge]| -> HashSet<EntityId> {
                edges.iter().map(|e| e.to).filter(|e| *e != asked.from && *e != asked.to).collect()
            };
            let (near, far) = (inner(&from), inner(&to));
            let middle = if near.len() <= far.len() {
                around(near.into_iter().collect()).await?
            } else {
                let backwards = around(far.into_iter().collect()).await?;
                backwards.into_iter().map(|e| Edge { from: e.to, to: e.from, ..e }).collect()
            };
            found.extend(paths::three(&from, &middle, &to, first));
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

/// Per thing that the edges lead to the strongest of them, by falling weight, then by the thing.
fn strongest(edges: impl Iterator<Item = Edge>) -> Vec<Edge> {
    let mut best: HashMap<EntityId, Edge> = HashMap::new();
    for edge in edges {
        best.entry(edge.to)
            .and_modify(|b| {
                if beats(&edge, b) {
                    *b = edge
                }
            })
            .or_insert(edge);
    }
    let mut best: Vec<Edge> = best.into_values().collect();
    best.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.to.cmp(&b.to)));
    best
}
