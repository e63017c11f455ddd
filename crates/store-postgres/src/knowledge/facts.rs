//! Reads facts.

use std::borrow::Cow;

use async_trait::async_trait;
use sqlx::PgExecutor;
use uuid::Uuid;

use super::super::{
    PostgresStore,
    codec::{self, column},
    failure::Failure,
    keys,
    list::ListStatement,
    rows::{self, FACT, FactRow},
};
use recall_domain::{Caller, EntityId, Fact, FactId, Page, RelationName, Slice, UserId};
use recall_ports::{FactFilter, FactKey, FactStore, StoreError};
use recall_store::filter;

#[async_trait]
impl FactStore for PostgresStore {
    async fn facts_by_key(&self, caller: &Caller, keys: &[FactKey], most: u32) -> Result<Vec<Fact>, StoreError> {
        Ok(facts_by_key(self.pool.reading(caller), caller.user(), keys, most).await?)
    }

    async fn facts_by_id(&self, caller: &Caller, ids: &[FactId]) -> Result<Vec<Fact>, StoreError> {
        let found = rows::facts!(FROM "facts WHERE user_id = $1 AND id = ANY($2)", caller.user().0, &column(ids, |id| id.0)[..]);
        Ok(read(found.fetch_all(self.pool.reading(caller)).await)?)
    }

    /// Each side uses its own index. A fact between an entity and itself counts once.
    async fn facts_of_entities(&self, caller: &Caller, entities: &[EntityId], limit: u32) -> Result<Vec<Fact>, StoreError> {
        let found = rows::facts!(
            WITH "asked AS (SELECT DISTINCT unnest($2::uuid[]) AS entity),
             sides AS (
                 SELECT a.entity, f.id, f.support FROM asked a CROSS JOIN LATERAL (
                     SELECT id, support FROM facts WHERE user_id = $1 AND subject_id = a.entity ORDER BY support DESC, id LIMIT $3) f
                 UNION
                 SELECT a.entity, f.id, f.support FROM asked a CROSS JOIN LATERAL (
                     SELECT id, support FROM facts WHERE user_id = $1 AND object_id = a.entity ORDER BY support DESC, id LIMIT $3) f),
             ranked AS (SELECT id, row_number() OVER (PARTITION BY entity ORDER BY support DESC, id) AS place FROM sides) "
            FROM "facts WHERE user_id = $1 AND id IN (SELECT id FROM ranked WHERE place <= $3) ORDER BY support DESC, id",
            caller.user().0,
            &column(entities, |id| id.0)[..],
            i64::from(limit),
        );
        Ok(read(found.fetch_all(self.pool.reading(caller)).await)?)
    }

    async fn facts_of_relations(
        &self,
        caller: &Caller,
        entities: &[EntityId],
        relations: &[RelationName],
        limit: u32,
    ) -> Result<Vec<Fact>, StoreError> {
        let found = rows::facts!(
            WITH "asked AS (SELECT DISTINCT a.entity, r.relation FROM unnest($2::uuid[]) AS a (entity), unnest($4::text[]) AS r (relation)),
             sides AS (
                 SELECT f.id FROM asked a CROSS JOIN LATERAL (
                     SELECT id FROM facts WHERE user_id = $1 AND subject_id = a.entity AND relation = a.relation
                     ORDER BY support DESC, id LIMIT $3) f
                 UNION SELECT f.id FROM asked a CROSS JOIN LATERAL (
                     SELECT id FROM facts WHERE user_id = $1 AND object_id = a.entity AND relation = a.relation
                     ORDER BY support DESC, id LIMIT $3) f) "
            FROM "facts WHERE user_id = $1 AND id IN (SELECT id FROM sides) ORDER BY support DESC, id",
            caller.user().0,
            &column(entities, |id| id.0)[..],
            i64::from(limit),
            &column(relations, |relation| Cow::Borrowed(relation.as_str()))[..],
        );
        Ok(read(found.fetch_all(self.pool.reading(caller)).await)?)
    }

    async fn facts_between(&self, caller: &Caller, some: &[EntityId], others: &[EntityId]) -> Result<Vec<Fact>, StoreError> {
        Ok(facts_between(self.pool.reading(caller), caller.user(), some, others).await?)
    }

    async fn list_facts(&self, caller: &Caller, filter: &FactFilter, page: &Page) -> Result<Slice<Fact>, StoreError> {
        let mut sql = ListStatement::new(format!("SELECT {FACT} FROM facts f"));
        filter::fact_page(&mut sql, caller.user(), filter, page)?;
        let found = sql.rows::<FactRow>(self.pool.reading(caller)).await?;
        Ok(keys::page(found.into_iter().map(FactRow::read), page, |fact| keys::of_fact(filter.order, fact))?)
    }

    async fn count_facts(&self, caller: &Caller, filter: &FactFilter) -> Result<u64, StoreError> {
        Ok(count_facts(self.pool.reading(caller), caller.user(), filter).await?)
    }
}

pub(in super::super) async fn facts_by_key(
    db: impl PgExecutor<'_>,
    user: UserId,
    keys: &[FactKey],
    most: u32,
) -> Result<Vec<Fact>, Failure> {
    // Each form of a key uses all of its columns: a well-known subject costs no more than an unknown one. Several keys may find the same fact.
    let found = rows::facts!(
        WITH "keys AS (SELECT * FROM unnest($2::uuid[], $3::text[], $4::uuid[], $5::text[]) AS k (subject, relation, object, value)) "
        FROM "facts WHERE user_id = $1 AND id IN (
             SELECT f.id FROM keys k JOIN facts f ON f.user_id = $1 AND f.subject_id = k.subject AND f.relation = k.relation
                  AND f.object_id = k.object AND COALESCE(f.value ->> 'key', '') = k.value
             UNION ALL SELECT f.id FROM keys k JOIN facts f ON f.user_id = $1 AND f.subject_id = k.subject AND f.relation = k.relation
                  AND f.object_id = k.object AND k.value IS NULL
             UNION ALL SELECT f.id FROM keys k JOIN facts f ON f.user_id = $1 AND f.subject_id = k.subject AND f.relation = k.relation
                  AND k.object IS NULL AND (k.value IS NULL OR COALESCE(f.value ->> 'key', '') = k.value))
         LIMIT $6",
        user.0,
        &column(keys, |k| k.subject.0)[..],
        &column(keys, |k| codec::text(&k.relation))[..],
        &column(keys, |k| k.object.map(|o| o.0)) as &[Option<Uuid>],
        &column(keys, |k| k.value.clone()) as &[Option<String>],
        i64::from(most),
    );
    read(found.fetch_all(db).await)
}

/// Looks up each pair separately: a well-known entity costs no more than an unknown one.
pub(in super::super) async fn facts_between(
    db: impl PgExecutor<'_>,
    user: UserId,
    some: &[EntityId],
    others: &[EntityId],
) -> Result<Vec<Fact>, Failure> {
    let found = rows::facts!(
        WITH "pairs (subject, object) AS (
             SELECT a, b FROM unnest($2::uuid[]) a CROSS JOIN unnest($3::uuid[]) b
             UNION SELECT b, a FROM unnest($2::uuid[]) a CROSS JOIN unnest($3::uuid[]) b) "
        FROM "pairs p JOIN facts f ON f.user_id = $1 AND f.subject_id = p.subject AND f.object_id = p.object ORDER BY f.id",
        user.0,
        &column(some, |id| id.0)[..],
        &column(others, |id| id.0)[..],
    );
    read(found.fetch_all(db).await)
}

pub(in super::super) async fn count_facts(db: impl PgExecutor<'_>, user: UserId, filter: &FactFilter) -> Result<u64, Failure> {
    let mut sql = ListStatement::new("SELECT COUNT(*) FROM facts f");
    filter::fact_conditions(&mut sql, user, filter);
    sql.count(db).await
}

fn read(found: Result<Vec<FactRow>, sqlx::Error>) -> Result<Vec<Fact>, Failure> {
    found?.into_iter().map(FactRow::read).collect()
}
