//! Reads facts.

use async_trait::async_trait;

use super::{
    super::{
        SqliteStore,
        codec::{bytes, id_list, json},
        failure::Failure,
        keys, rows,
    },
    list::ListStatement,
};
use recall_domain::{Caller, EntityId, Fact, FactId, Page, Slice};
use recall_ports::{FactFilter, FactKey, FactStore, StoreError};
use recall_store::filter;

/// Looks up each pair separately: a well-known entity costs no more than an unknown one.
pub(in super::super) const FACTS_BETWEEN: &str =
    "WITH some (id) AS (SELECT unhex(value) FROM json_each(?2)), others (id) AS (SELECT unhex(value) FROM json_each(?3)),
     pairs (subject, object) AS (SELECT a.id, b.id FROM some a CROSS JOIN others b UNION SELECT b.id, a.id FROM some a CROSS JOIN others b)
     SELECT f.* FROM pairs p CROSS JOIN facts f INDEXED BY facts_of_pair
         ON f.user_id = ?1 AND f.subject_id = p.subject AND f.object_id = p.object ORDER BY f.id";

#[async_trait]
impl FactStore for SqliteStore {
    async fn facts_by_key(&self, caller: &Caller, keys: &[FactKey], most: u32) -> Result<Vec<Fact>, StoreError> {
        let hex = |id: &EntityId| id.0.as_simple().to_string();
        let asked: Vec<_> = keys.iter().map(|k| (hex(&k.subject), &k.relation, k.object.as_ref().map(hex))).collect();
        // Names the index because SQLite, without statistics, assumes ten rows for any user and would read all their facts.
        let found = sqlx::query(
            "SELECT DISTINCT f.* FROM json_each(?2) k CROSS JOIN facts f INDEXED BY facts_statement ON f.user_id = ?1
                 AND f.subject_id = unhex(k.value ->> 0) AND f.relation = (k.value ->> 1)
                 AND ((k.value ->> 2) IS NULL OR f.object_id = unhex(k.value ->> 2))
             LIMIT ?3",
        );
        let found = found.bind(bytes(&caller.user().0)).bind(json(&asked, "keys")?).bind(i64::from(most));
        let found = found.fetch_all(self.readers.for_user(caller)).await.map_err(Failure::from)?;
        Ok(found.iter().map(rows::fact).collect::<Result<_, _>>()?)
    }

    async fn facts_by_id(&self, caller: &Caller, ids: &[FactId]) -> Result<Vec<Fact>, StoreError> {
        let found = sqlx::query("SELECT * FROM facts WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?))");
        let found = found.bind(bytes(&caller.user().0)).bind(id_list(ids.iter().map(|id| &id.0)));
        let found = found.fetch_all(self.readers.for_user(caller)).await.map_err(Failure::from)?;
        Ok(found.iter().map(rows::fact).collect::<Result<_, _>>()?)
    }

    /// Each side uses its own index, named for the reason above. A fact between an entity and itself counts once.
    async fn facts_of_entities(&self, caller: &Caller, entities: &[EntityId], limit: u32) -> Result<Vec<Fact>, StoreError> {
        let found = sqlx::query(
            "WITH asked AS (SELECT DISTINCT unhex(value) AS entity FROM json_each(?2)),
             sides AS (
                 SELECT a.entity, f.id, f.support FROM asked a CROSS JOIN facts f ON f.user_id = ?1 AND f.id IN (
                     SELECT id FROM facts INDEXED BY facts_of_subject WHERE user_id = ?1 AND subject_id = a.entity
                     ORDER BY support DESC, id LIMIT ?3)
                 UNION
                 SELECT a.entity, f.id, f.support FROM asked a CROSS JOIN facts f ON f.user_id = ?1 AND f.id IN (
                     SELECT id FROM facts INDEXED BY facts_of_object WHERE user_id = ?1 AND object_id = a.entity
                     ORDER BY support DESC, id LIMIT ?3)),
             ranked AS (SELECT id, row_number() OVER (PARTITION BY entity ORDER BY support DESC, id) AS place FROM sides)
             SELECT * FROM facts WHERE user_id = ?1 AND id IN (SELECT id FROM ranked WHERE place <= ?3) ORDER BY support DESC, id",
        );
        let found = found.bind(bytes(&caller.user().0)).bind(id_list(entities.iter().map(|id| &id.0))).bind(i64::from(limit));
        let found = found.fetch_all(self.readers.for_user(caller)).await.map_err(Failure::from)?;
        Ok(found.iter().map(rows::fact).collect::<Result<_, _>>()?)
    }

    async fn facts_between(&self, caller: &Caller, some: &[EntityId], others: &[EntityId]) -> Result<Vec<Fact>, StoreError> {
        let list = |entities: &[EntityId]| id_list(entities.iter().map(|id| &id.0));
        let found = sqlx::query(FACTS_BETWEEN).bind(bytes(&caller.user().0)).bind(list(some)).bind(list(others));
        let found = found.fetch_all(self.readers.for_user(caller)).await.map_err(Failure::from)?;
        Ok(found.iter().map(rows::fact).collect::<Result<_, _>>()?)
    }

    async fn list_facts(&self, caller: &Caller, filter: &FactFilter, page: &Page) -> Result<Slice<Fact>, StoreError> {
        let mut sql = ListStatement::new("SELECT f.* FROM facts f");
        filter::fact_page(&mut sql, caller.user(), filter, page)?;
        let found = sql.rows(self, caller).await?;
        Ok(keys::page(found.iter().map(rows::fact), page, keys::of_fact)?)
    }

    async fn count_facts(&self, caller: &Caller, filter: &FactFilter) -> Result<u64, StoreError> {
        let mut sql = ListStatement::new("SELECT COUNT(*) FROM facts f");
        filter::fact_conditions(&mut sql, caller.user(), filter);
        Ok(sql.count(self, caller).await?)
    }
}
