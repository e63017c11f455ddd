//! Reads facts as edges, seen from either end.

use async_trait::async_trait;
use sqlx::Row;

use super::super::{
    SqliteStore,
    codec::{bytes, id_list, json},
    failure::Failure,
    rows::Columns,
};
use recall_domain::{Caller, EntityId, FactId, RelationName, UserId};
use recall_ports::{Connections, Edge, StoreError};

#[async_trait]
impl Connections for SqliteStore {
    async fn edges(&self, caller: &Caller, of: &[EntityId], relations: &[RelationName]) -> Result<Vec<Edge>, StoreError> {
        Ok(edges(self, caller.user(), of, relations).await?)
    }
}

/// All active facts that have one of the entities at either end, seen from that entity.
///
/// The statement names the indexes because SQLite, without statistics, assumes ten rows for any user.
async fn edges(store: &SqliteStore, user: UserId, of: &[EntityId], relations: &[RelationName]) -> Result<Vec<Edge>, Failure> {
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
    .bind(bytes(&user.0))
    .bind(id_list(of.iter().map(|e| &e.0)))
    .bind(json(relations, "relations")?)
    .fetch_all(store.readers.for_user(user))
    .await?;
    let edges = found.iter().map(|row| {
        let c = Columns::of(row, "facts");
        let (from, to) = (EntityId(c.id("here")?), EntityId(c.id("there")?));
        Ok(Edge { from, to, fact: FactId(c.id("id")?), weight: row.try_get("support")? })
    });
    edges.collect()
}
