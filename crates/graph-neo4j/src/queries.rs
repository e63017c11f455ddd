//! Answers graph queries in Cypher. The order of results is part of the contract: all engines must return the same order.

use std::collections::HashSet;

use async_trait::async_trait;
use neo4rs::{BoltType, Query, query};
use uuid::Uuid;

use super::{
    Neo4jGraph,
    failure::Failure,
    values::{Columns, id, ids, null},
};
use recall_domain::{Caller, EntityId, FactId};
use recall_ports::{GraphError, GraphQueries, Neighbour, NeighbourQuery, Path, PathQuery, SharedNeighbour, graph::MAX_HOPS};

#[async_trait]
impl GraphQueries for Neo4jGraph {
    fn engine(&self) -> &'static str {
        "neo4j"
    }

    async fn around(&self, caller: &Caller, asked: &NeighbourQuery) -> Result<Vec<Neighbour>, GraphError> {
        let (mut seen, mut ring) = (HashSet::from([asked.entity]), vec![asked.entity]);
        let (mut found, first) = (Vec::new(), asked.first as usize);
        for distance in 1..=asked.hops.min(MAX_HOPS) {
            let next = self.next_ring(caller, asked, &ring, &seen, distance).await?;
            ring = next.iter().map(|n| n.entity).collect();
            seen.extend(&ring);
            found.extend(next);
            // Entities at greater distances sort after all of these.
            if found.len() >= first || ring.is_empty() {
                break;
            }
        }
        found.truncate(first);
        Ok(found)
    }

    async fn ways(&self, caller: &Caller, asked: &PathQuery) -> Result<Vec<Path>, GraphError> {
        let (mut found, first) = (Vec::new(), asked.first as usize);
        if asked.from == asked.to {
            return Ok(found);
        }
        for hops in 1..=asked.hops.min(MAX_HOPS) {
            if found.len() >= first {
                break;
            }
            let statement = self.user_query(&path_statement(self.types.any(), hops), caller);
            let statement = statement
                .param("from", id(asked.from.0))
                .param("to", id(asked.to.0))
                .param("limit", i64::try_from(first - found.len()).unwrap_or(i64::MAX));
            let rows = self.client.read(self.client.query_timeout, statement).await?;
            for c in rows.iter().map(Columns) {
                found.push(Path {
                    entities: c.ids("entities")?.into_iter().map(EntityId).collect(),
                    facts: c.ids("facts")?.into_iter().map(FactId).collect(),
                    weight: c.get("weight")?,
                });
            }
        }
        Ok(found)
    }

    async fn shared(&self, caller: &Caller, one: EntityId, other: EntityId, first: u32) -> Result<Vec<SharedNeighbour>, GraphError> {
        if one == other {
            return Ok(Vec::new());
        }
        let any = self.types.any();
        let text = format!(
            "MATCH (a:Entity {{user_id: $user, id: $one}})-[r:{any}]-(m:Entity) WHERE r.status = 'active' AND NOT m.id IN [$one, $other]
             WITH m, r ORDER BY r.weight DESC, r.id WITH m, collect(r)[0] AS left
             MATCH (m)-[r:{any}]-(b:Entity {{user_id: $user, id: $other}}) WHERE r.status = 'active'
             WITH m, left, r ORDER BY r.weight DESC, r.id WITH m, left, collect(r)[0] AS right
             WITH m.id AS entity, [left.id, right.id] AS facts,
                 CASE WHEN left.weight < right.weight THEN left.weight ELSE right.weight END AS weight
             RETURN entity, facts, weight ORDER BY weight DESC, entity LIMIT $limit"
        );
        let statement = self.user_query(&text, caller).param("one", id(one.0)).param("other", id(other.0)).param("limit", first);
        let rows = self.client.read(self.client.query_timeout, statement).await?;
        let shared = rows.iter().map(Columns).map(|c| {
            let &[left, right] = c.ids("facts")?.as_slice() else { return Err(Failure::Damaged("facts")) };
            Ok(SharedNeighbour { entity: EntityId(c.id("entity")?), facts: [FactId(left), FactId(right)], weight: c.get("weight")? })
        });
        Ok(shared.collect::<Result<_, Failure>>()?)
    }
}

impl Neo4jGraph {
    fn user_query(&self, text: &str, caller: &Caller) -> Query {
        query(text).param("user", id(caller.user().0))
    }

    /// Finds the unseen entities one step away from `ring`.
    async fn next_ring(
        &self,
        caller: &Caller,
        asked: &NeighbourQuery,
        ring: &[EntityId],
        seen: &HashSet<EntityId>,
        distance: u8,
    ) -> Result<Vec<Neighbour>, Failure> {
        let text = format!(
            "UNWIND $ring AS id MATCH (n:Entity {{user_id: $user, id: id}})-[r:{}]-(m:Entity)
             WHERE r.status = 'active' AND NOT m.id IN $seen AND ($relations IS NULL OR coalesce(r.relation, type(r)) IN $relations)
             WITH m.id AS entity, r.weight AS weight, r.id AS fact ORDER BY weight DESC, fact
             WITH entity, collect({{weight: weight, fact: fact}})[0] AS best
             RETURN entity, best.weight AS weight, best.fact AS fact ORDER BY weight DESC, entity",
            self.types.any()
        );
        let relations: BoltType = if asked.relations.is_empty() { null() } else { asked.relations.clone().into() };
        let statement = self
            .user_query(&text, caller)
            .param("ring", list(ring))
            .param("seen", ids(seen.iter().map(|e| e.0)))
            .param("relations", relations);
        let rows = self.client.read(self.client.query_timeout, statement).await?;
        let neighbours = rows.iter().map(Columns).map(|c| {
            let (entity, fact): (Uuid, Uuid) = (c.id("entity")?, c.id("fact")?);
            Ok(Neighbour { entity: EntityId(entity), distance, fact: FactId(fact), weight: c.get("weight")? })
        });
        neighbours.collect()
    }
}

fn list(entities: &[EntityId]) -> BoltType {
    ids(entities.iter().map(|e| e.0))
}

/// The statement for paths of exactly `hops` facts. A fixed length lets Neo4j search from both ends.
fn path_statement(any: &str, hops: u8) -> String {
    let (mut pattern, mut conditions) = ("(n0:Entity {user_id: $user, id: $from})".to_owned(), Vec::new());
    for i in 1..=hops {
        let end = if i == hops { " {user_id: $user, id: $to}" } else { "" };
        pattern.push_str(&format!("-[r{i}:{any}]-(n{i}:Entity{end})"));
        conditions.push(format!("r{i}.status = 'active'"));
        // No entity occurs twice; otherwise one relationship could also lead back.
        conditions.extend((0..i).filter(|_| hops > 1).map(|j| format!("n{i} <> n{j}")));
    }
    let names = |prefix: char, from: u8, of: &str| (from..=hops).map(|i| format!("{prefix}{i}{of}")).collect::<Vec<_>>().join(", ");
    format!(
        "MATCH {pattern} WHERE {}
         WITH [{}] AS entities, [{}] AS facts, reduce(least = r1.weight, w IN [{}] | CASE WHEN w < least THEN w ELSE least END) AS weight
         RETURN entities, facts, weight ORDER BY weight DESC, facts LIMIT $limit",
        conditions.join(" AND "),
        names('n', 0, ".id"),
        names('r', 1, ".id"),
        names('r', 1, ".weight"),
    )
}
