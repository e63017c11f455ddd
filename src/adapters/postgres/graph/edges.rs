//! Facts as seen from their sides.

use async_trait::async_trait;

use super::super::{PostgresStore, codec, failure::Failure, rows::Columns};
use crate::{
    domain::{Caller, EntityId, FactId, RelationName, UserId},
    ports::{Connections, Edge, StoreError},
};

#[async_trait]
impl Connections for PostgresStore {
    async fn edges(&self, caller: &Caller, of: &[EntityId], relations: &[RelationName]) -> Result<Vec<Edge>, StoreError> {
        Ok(edges(self, caller.user(), of, relations).await?)
    }
}

/// Each side by an index of its own.
const EDGES: &str = "
    SELECT subject_id AS here, object_id AS there, id, support FROM facts
    WHERE user_id = $1 AND subject_id = ANY($2) AND status = 'active' AND object_id <> subject_id
        AND (cardinality($3::text[]) = 0 OR relation = ANY($3))
    UNION ALL
    SELECT object_id, subject_id, id, support FROM facts
    WHERE user_id = $1 AND object_id = ANY($2) AND status = 'active' AND object_id <> subject_id
        AND (cardinality($3::text[]) = 0 OR relation = ANY($3))";

async fn edges(store: &PostgresStore, user: UserId, of: &[EntityId], relations: &[RelationName]) -> Result<Vec<Edge>, Failure> {
    let found = sqlx::query(EDGES)
        .bind(user.0)
        .bind(of.iter().map(|e| e.0).collect::<Vec<_>>())
        .bind(relations.iter().map(|r| codec::text(r)).collect::<Vec<_>>())
        .fetch_all(store.pool.reading(user))
        .await?;
    let edges = found.iter().map(|row| {
        let c = Columns::of(row, "facts");
        Ok(Edge { from: EntityId(c.id("here")?), to: EntityId(c.id("there")?), fact: FactId(c.id("id")?), weight: c.real("support")? })
    });
    edges.collect()
}
