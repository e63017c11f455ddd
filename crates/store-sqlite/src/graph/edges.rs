//! Reads facts as edges, seen from either end.

use async_trait::async_trait;

use super::super::{
    SqliteStore,
    codec::{id_list, json},
    connection::Db,
    failure::Failure,
};
use recall_domain::{Caller, EntityId, FactId, RelationName, UserId};
use recall_ports::{Connections, Edge, StoreError};

#[async_trait]
impl Connections for SqliteStore {
    async fn edges(&self, caller: &Caller, of: &[EntityId], relations: &[RelationName]) -> Result<Vec<Edge>, StoreError> {
        let (user, of, relations) = (caller.user(), of.to_vec(), relations.to_vec());
        Ok(self.read(caller, move |db| edges(db, user, &of, &relations)).await?)
    }
}

/// All active facts that have one of the entities at either end, seen from that entity.
///
/// The statement names the indexes because SQLite, without statistics, assumes ten rows for any user.
fn edges(db: &Db, user: UserId, of: &[EntityId], relations: &[RelationName]) -> Result<Vec<Edge>, Failure> {
    let sql = "WITH asked AS (SELECT DISTINCT unhex(value) AS entity FROM json_each(?2))
         SELECT f.subject_id AS here, f.object_id AS there, f.id, f.support FROM asked a
             CROSS JOIN facts f INDEXED BY facts_of_subject ON f.user_id = ?1 AND f.subject_id = a.entity
             WHERE f.status = 'active' AND f.object_id <> f.subject_id
             AND (?3 = '[]' OR f.relation IN (SELECT value FROM json_each(?3)))
         UNION ALL
         SELECT f.object_id, f.subject_id, f.id, f.support FROM asked a
             CROSS JOIN facts f INDEXED BY facts_of_object ON f.user_id = ?1 AND f.object_id = a.entity
             WHERE f.status = 'active' AND f.object_id <> f.subject_id
             AND (?3 = '[]' OR f.relation IN (SELECT value FROM json_each(?3)))";
    db.rows("facts", sql, (user.0, id_list(of.iter().map(|e| &e.0)), json(relations, "relations")?), |c| {
        let (from, to) = (EntityId(c.id("here")?), EntityId(c.id("there")?));
        Ok(Edge { from, to, fact: FactId(c.id("id")?), weight: c.real("support")? })
    })
}
