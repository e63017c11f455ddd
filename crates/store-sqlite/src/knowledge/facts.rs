//! Reads facts.

use async_trait::async_trait;

use super::super::{
    SqliteStore,
    codec::{id_list, json},
    connection::Db,
    failure::Failure,
    keys,
    list::ListStatement,
    rows,
};
use recall_domain::{Caller, EntityId, Fact, FactId, Page, RelationName, Slice, UserId};
use recall_ports::{FactFilter, FactKey, FactStore, StoreError};
use recall_store::filter;

/// The strongest facts of a subject.
pub(in super::super) const FACTS_OF_SUBJECT: &str =
    "SELECT * FROM facts INDEXED BY facts_of_subject WHERE user_id = ? AND subject_id = ? ORDER BY support DESC, id LIMIT ?";
/// The strongest facts of an object.
pub(in super::super) const FACTS_OF_OBJECT: &str =
    "SELECT * FROM facts INDEXED BY facts_of_object WHERE user_id = ? AND object_id = ? ORDER BY support DESC, id LIMIT ?";

/// The strongest facts of a relation of a subject.
pub(in super::super) const FACTS_OF_SUBJECT_AND_RELATION: &str = "SELECT * FROM facts INDEXED BY facts_of_subject_and_relation
     WHERE user_id = ? AND subject_id = ? AND relation = ? ORDER BY support DESC, id LIMIT ?";
/// The strongest facts of a relation of an object.
pub(in super::super) const FACTS_OF_OBJECT_AND_RELATION: &str = "SELECT * FROM facts INDEXED BY facts_of_object_and_relation
     WHERE user_id = ? AND object_id = ? AND relation = ? ORDER BY support DESC, id LIMIT ?";

/// Finds facts by their keys. Each form of a key uses all of its columns: a well-known subject costs no more than an unknown one. Several
/// keys may find the same fact.
pub(in super::super) const FACTS_BY_KEY: &str =
    "WITH keys AS (SELECT unhex(value ->> 0) AS subject, value ->> 1 AS relation, unhex(value ->> 2) AS object, value ->> 3 AS value FROM json_each(?2))
     SELECT * FROM facts WHERE user_id = ?1 AND id IN (
         SELECT f.id FROM keys k CROSS JOIN facts f INDEXED BY facts_statement ON f.user_id = ?1 AND f.subject_id = k.subject
             AND f.relation = k.relation AND f.object_id = k.object AND COALESCE(f.value ->> 'key', '') = k.value
         UNION ALL SELECT f.id FROM keys k CROSS JOIN facts f INDEXED BY facts_statement ON f.user_id = ?1 AND f.subject_id = k.subject
             AND f.relation = k.relation AND f.object_id = k.object AND k.value IS NULL
         UNION ALL SELECT f.id FROM keys k CROSS JOIN facts f INDEXED BY facts_statement ON f.user_id = ?1 AND f.subject_id = k.subject
             AND f.relation = k.relation AND k.object IS NULL AND (k.value IS NULL OR COALESCE(f.value ->> 'key', '') = k.value))
     LIMIT ?3";

/// Looks up each pair separately: a well-known entity costs no more than an unknown one.
pub(in super::super) const FACTS_BETWEEN: &str =
    "WITH some (id) AS MATERIALIZED (SELECT unhex(value) FROM json_each(?2)), others (id) AS MATERIALIZED (SELECT unhex(value) FROM json_each(?3))
     SELECT * FROM facts WHERE user_id = ?1 AND id IN (
         SELECT f.id FROM some a CROSS JOIN others b CROSS JOIN facts f INDEXED BY facts_of_pair
             ON f.user_id = ?1 AND f.subject_id = a.id AND f.object_id = b.id
         UNION ALL SELECT f.id FROM some a CROSS JOIN others b CROSS JOIN facts f INDEXED BY facts_of_pair
             ON f.user_id = ?1 AND f.subject_id = b.id AND f.object_id = a.id)
     ORDER BY id";

#[async_trait]
impl FactStore for SqliteStore {
    async fn facts_by_key(&self, caller: &Caller, keys: &[FactKey], most: u32) -> Result<Vec<Fact>, StoreError> {
        let (user, keys) = (caller.user(), keys.to_vec());
        Ok(self.read(caller, move |db| facts_by_key(db, user, &keys, most)).await?)
    }

    async fn facts_by_id(&self, caller: &Caller, ids: &[FactId]) -> Result<Vec<Fact>, StoreError> {
        let values = (caller.user().0, id_list(ids.iter().map(|id| &id.0)));
        let found = self.read(caller, move |db| {
            let sql = "SELECT * FROM facts WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?))";
            db.rows("facts", sql, values, rows::fact)
        });
        Ok(found.await?)
    }

    /// Each side is a statement of its own. One statement for all would sort their union, which takes twice as long. They need one snapshot.
    async fn facts_of_entities(&self, caller: &Caller, entities: &[EntityId], limit: u32) -> Result<Vec<Fact>, StoreError> {
        let (user, entities) = (caller.user(), entities.to_vec());
        let read = move |db: &mut Db| {
            let mut found = Vec::new();
            for entity in &entities {
                let mut of_entity = db.rows("facts", FACTS_OF_SUBJECT, (user.0, entity.0, limit), rows::fact)?;
                of_entity.extend(db.rows("facts", FACTS_OF_OBJECT, (user.0, entity.0, limit), rows::fact)?);
                found.extend(strongest_first(of_entity).into_iter().take(limit as usize));
            }
            Ok(strongest_first(found))
        };
        Ok(self.read(caller, move |db| db.snapshot(read)).await?)
    }

    async fn facts_of_relations(
        &self,
        caller: &Caller,
        entities: &[EntityId],
        relations: &[RelationName],
        limit: u32,
    ) -> Result<Vec<Fact>, StoreError> {
        let (user, entities, relations) = (caller.user(), entities.to_vec(), relations.to_vec());
        let read = move |db: &mut Db| {
            let mut found = Vec::new();
            for (entity, relation) in entities.iter().flat_map(|entity| relations.iter().map(move |relation| (entity, relation))) {
                let values = (user.0, entity.0, relation.as_str(), limit);
                found.extend(db.rows("facts", FACTS_OF_SUBJECT_AND_RELATION, values, rows::fact)?);
                found.extend(db.rows("facts", FACTS_OF_OBJECT_AND_RELATION, values, rows::fact)?);
            }
            Ok(strongest_first(found))
        };
        Ok(self.read(caller, move |db| db.snapshot(read)).await?)
    }

    async fn facts_between(&self, caller: &Caller, some: &[EntityId], others: &[EntityId]) -> Result<Vec<Fact>, StoreError> {
        let (user, some, others) = (caller.user(), some.to_vec(), others.to_vec());
        Ok(self.read(caller, move |db| facts_between(db, user, &some, &others)).await?)
    }

    async fn list_facts(&self, caller: &Caller, filter: &FactFilter, page: &Page) -> Result<Slice<Fact>, StoreError> {
        let mut sql = ListStatement::new("SELECT f.* FROM facts f");
        filter::fact_page(&mut sql, caller.user(), filter, page)?;
        let found = self.read(caller, move |db| sql.rows(db, "facts", rows::fact)).await?;
        keys::page(found.into_iter().map(Ok), page, |fact| keys::of_fact(filter.order, fact))
    }

    async fn count_facts(&self, caller: &Caller, filter: &FactFilter) -> Result<u64, StoreError> {
        let (user, filter) = (caller.user(), filter.clone());
        Ok(self.read(caller, move |db| count_facts(db, user, &filter)).await?)
    }
}

/// Up to `most` facts that match one of the keys, whatever their status.
pub(in super::super) fn facts_by_key(db: &Db, user: UserId, keys: &[FactKey], most: u32) -> Result<Vec<Fact>, Failure> {
    let hex = |id: &EntityId| id.0.as_simple().to_string();
    let asked: Vec<_> = keys.iter().map(|k| (hex(&k.subject), &k.relation, k.object.as_ref().map(hex), &k.value)).collect();
    db.rows("facts", FACTS_BY_KEY, (user.0, json(&asked, "keys")?, most), rows::fact)
}

/// Sorts facts by their support. A fact between an entity and itself counts once.
fn strongest_first(mut facts: Vec<Fact>) -> Vec<Fact> {
    facts.sort_by(|a, b| b.support.total_cmp(&a.support).then_with(|| a.id.cmp(&b.id)));
    facts.dedup_by_key(|fact| fact.id);
    facts
}

/// Facts between `some` and `others`, in either direction, whatever their status, by id.
pub(in super::super) fn facts_between(db: &Db, user: UserId, some: &[EntityId], others: &[EntityId]) -> Result<Vec<Fact>, Failure> {
    let list = |entities: &[EntityId]| id_list(entities.iter().map(|id| &id.0));
    db.rows("facts", FACTS_BETWEEN, (user.0, list(some), list(others)), rows::fact)
}

/// The number of matching facts.
pub(in super::super) fn count_facts(db: &Db, user: UserId, filter: &FactFilter) -> Result<u64, Failure> {
    let mut sql = ListStatement::new("SELECT COUNT(*) FROM facts f");
    filter::fact_conditions(&mut sql, user, filter);
    sql.count(db)
}
