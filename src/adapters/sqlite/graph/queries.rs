//! Questions about connections. Facts lie under the things of both their sides, so a ring of things is one statement; what a
//! ring means is put together here.

use std::collections::{HashMap, HashSet};

use async_trait::async_trait;
use sqlx::Row;
use uuid::Uuid;

use super::{
    super::{
        SqliteStore,
        codec::{bytes, id_list, json},
        failure::Failure,
        rows::Columns,
    },
    ways,
};
use crate::{
    domain::{Caller, EntityId, FactId, RelationName},
    ports::{Around, Between, GraphError, GraphQueries, Neighbour, Shared, StoreError, Way, graph::MAX_HOPS},
};

/// An active fact as seen from one of its sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Edge {
    pub(super) from: EntityId,
    pub(super) to: EntityId,
    pub(super) fact: FactId,
    pub(super) weight: f64,
}

impl Edge {
    /// Whether this one is to be named where both lead to the same thing.
    fn beats(&self, other: &Self) -> bool {
        self.weight.total_cmp(&other.weight).then(other.fact.cmp(&self.fact)).is_gt()
    }
}

#[async_trait]
impl GraphQueries for SqliteStore {
    fn engine(&self) -> &'static str {
        "sqlite"
    }

    async fn around(&self, caller: &Caller, asked: &Around) -> Result<Vec<Neighbour>, GraphError> {
        let (mut seen, mut ring) = (HashSet::from([asked.entity]), vec![asked.entity]);
        let (mut found, first) = (Vec::new(), asked.first as usize);
        for distance in 1..=asked.hops.min(MAX_HOPS) {
            let edges = edges(self, caller.user().0, &ring, &asked.relations).await.map_err(StoreError::from)?;
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

    async fn ways(&self, caller: &Caller, asked: &Between) -> Result<Vec<Way>, GraphError> {
        let (user, first) = (caller.user().0, asked.first as usize);
        if asked.from == asked.to || first == 0 {
            return Ok(Vec::new());
        }
        let around = |ids: Vec<EntityId>| async move { edges(self, user, &ids, &[]).await.map_err(StoreError::from) };
        let (from, to) = (around(vec![asked.from]).await?, around(vec![asked.to]).await?);
        let mut found = ways::one(&from, asked.to);
        if found.len() < first && asked.hops >= 2 {
            found.extend(ways::two(&from, &to, first));
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
            found.extend(ways::three(&from, &middle, &to, first));
        }
        found.truncate(first);
        Ok(found)
    }

    async fn shared(&self, caller: &Caller, one: EntityId, other: EntityId, first: u32) -> Result<Vec<Shared>, GraphError> {
        if one == other {
            return Ok(Vec::new());
        }
        let of = |entity| async move {
            let edges = edges(self, caller.user().0, &[entity], &[]).await.map_err(StoreError::from)?;
            Ok::<_, StoreError>(strongest(edges.into_iter().filter(|e| e.to != one && e.to != other)))
        };
        let (left, right) = (of(one).await?, of(other).await?);
        let right: HashMap<EntityId, Edge> = right.into_iter().map(|e| (e.to, e)).collect();
        let both = left.into_iter().filter_map(|l| Some((l, right.get(&l.to)?)));
        let mut found: Vec<Shared> =
            both.map(|(l, r)| Shared { entity: l.to, facts: [l.fact, r.fact], weight: l.weight.min(r.weight) }).collect();
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
                if edge.beats(b) {
                    *b = edge
                }
            })
            .or_insert(edge);
    }
    let mut best: Vec<Edge> = best.into_values().collect();
    best.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.to.cmp(&b.to)));
    best
}

/// All active facts with one of the things on either side, seen from there. The indexes are named because SQLite, without
/// statistics, takes any user to have ten rows.
async fn edges(store: &SqliteStore, user: Uuid, from: &[EntityId], relations: &[RelationName]) -> Result<Vec<Edge>, Failure> {
    let found = sqlx::query(
        "WITH asked AS (SELECT DISTINCT unhex(value) AS entity FROM json_each(?2))
         SELECT f.subject_id AS here, f.object_id AS there, f.id, f.support FROM asked a
             CROSS JOIN facts f INDEXED BY facts_of_subject ON f.user_id = ?1 AND f.subject_id = a.entity
             WHERE f.status = 'active' AND f.object_id <> f.subject_id
             AND (?3 = '[]' OR f.relation IN (SELECT value FROM json_each(?3)))
         UNION ALL
         SELECT f.object_id, f.subject_id, f.id, f.support FROM asked a
             CROSS JOIN facts f INDEXED BY facts_of_object ON f.user_id = ?1 AND f.object_id = a.entity
             WHERE f.status = 'active' AND f.object_id <> f.subject_id
             AND (?3 = '[]' OR f.relation IN (SELECT value FROM json_each(?3)))",
    )
    .bind(bytes(&user))
    .bind(id_list(from.iter().map(|e| &e.0)))
    .bind(json(relations, "relations")?)
    .fetch_all(&store.readers)
    .await?;
    let edges = found.iter().map(|row| {
        let c = Columns::of(row, "facts");
        let (from, to) = (EntityId(c.id("here")?), EntityId(c.id("there")?));
        Ok(Edge { from, to, fact: FactId(c.id("id")?), weight: row.try_get("support")? })
    });
    edges.collect()
}
