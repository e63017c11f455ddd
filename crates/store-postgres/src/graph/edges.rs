//! Reads facts as edges, seen from either end.

use async_trait::async_trait;

use super::super::{PostgresStore, codec, failure::Failure};
use recall_domain::{Caller, EntityId, FactId, RelationName, UserId};
use recall_ports::{Connections, Edge, StoreError};

#[async_trait]
impl Connections for PostgresStore {
    async fn edges(&self, caller: &Caller, of: &[EntityId], relations: &[RelationName]) -> Result<Vec<Edge>, StoreError> {
        Ok(edges(self, caller.user(), of, relations).await?)
    }
}

async fn edges(store: &PostgresStore, user: UserId, of: &[EntityId], relations: &[RelationName]) -> Result<Vec<Edge>, Failure> {
    let of: Vec<_> = of.iter().map(|e| e.0).collect();
    let relations = codec::texts(relations.iter().map(|r| &**r));
    // Each end uses its own index.
    let found = sqlx::query!(
        r#"SELECT subject_id AS "here!", object_id AS "there!", id AS "id!", support AS "support!" FROM facts
         WHERE user_id = $1 AND subject_id = ANY($2) AND status = 'active' AND object_id <> subject_id
             AND (cardinality($3::text[]) = 0 OR relation = ANY($3))
         UNION ALL
         SELECT object_id, subject_id, id, support FROM facts
         WHERE user_id = $1 AND object_id = ANY($2) AND status = 'active' AND object_id <> subject_id
             AND (cardinality($3::text[]) = 0 OR relation = ANY($3))"#,
        user.0,
        &of[..],
        &relations[..],
    );
    let found = found.fetch_all(store.pool.reading(user)).await?;
    Ok(found
        .into_iter()
        .map(|row| Edge { from: EntityId(row.here), to: EntityId(row.there), fact: FactId(row.id), weight: row.support })
        .collect())
}
