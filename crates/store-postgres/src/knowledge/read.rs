//! Looks up entities and facts by id and by key.

use std::collections::HashMap;

use sqlx::PgConnection;
use uuid::Uuid;

use super::super::{
    PostgresStore, codec,
    failure::Failure,
    rows::{self, EntityRow, FactRow},
};
use recall_domain::{Entity, EntityId, EntityKey, Fact, FactId, UserId};
use recall_ports::FactKey;

/// The knowledge version inside a transaction; 0 for a user who never wrote.
pub(in super::super) async fn version(c: &mut PgConnection, user: Uuid) -> Result<u64, Failure> {
    let version = sqlx::query_scalar!("SELECT knowledge_version FROM users WHERE id = $1", user).fetch_optional(c).await?;
    Ok(version.unwrap_or(0).unsigned_abs())
}

pub(super) async fn current_version(store: &PostgresStore, user: UserId) -> Result<u64, Failure> {
    let version = sqlx::query_scalar!("SELECT knowledge_version FROM users WHERE id = $1", user.0);
    Ok(version.fetch_optional(store.pool.reading(user)).await?.unwrap_or(0).unsigned_abs())
}

pub(super) async fn viewer(store: &PostgresStore, user: UserId) -> Result<Option<Entity>, Failure> {
    let row = rows::entities!("WHERE user_id = $1 AND is_viewer", user.0);
    row.fetch_optional(store.pool.reading(user)).await?.map(EntityRow::read).transpose()
}

pub(super) async fn entities_by_key(store: &PostgresStore, user: UserId, keys: &[EntityKey]) -> Result<Vec<(EntityKey, Entity)>, Failure> {
    let asked: HashMap<_, &EntityKey> = keys.iter().map(|key| (codec::key(key.as_str()), key)).collect();
    let keys: Vec<_> = asked.keys().cloned().collect();
    let found = rows::entities_with!(
        "k.key AS found_key",
        "FROM entity_keys k JOIN entities e ON e.user_id = k.user_id AND e.id = k.entity_id
         WHERE k.user_id = $1 AND k.key = ANY($2) ORDER BY k.key, e.mention_count DESC, e.id",
        user.0,
        &keys[..],
    );
    let found = found.fetch_all(store.pool.reading(user)).await?;
    let mut pairs = Vec::with_capacity(found.len());
    for row in found {
        // Return the key that the caller passed, so that only `EntityKey::of` ever makes keys.
        if let Some(key) = asked.get(row.found_key.as_str()) {
            pairs.push(((*key).clone(), rows::entity_of!(row)?));
        }
    }
    Ok(pairs)
}

pub(super) async fn entities_by_hint(
    store: &PostgresStore,
    user: UserId,
    hints: &[String],
    limit: u32,
) -> Result<Vec<(String, Entity)>, Failure> {
    let asked: HashMap<_, &String> = hints.iter().map(|hint| (codec::key(hint), hint)).collect();
    let hints: Vec<_> = asked.keys().cloned().collect();
    let found = rows::entities_with!(
        "h.hint AS found_hint",
        "FROM entity_hints h JOIN entities e ON e.user_id = h.user_id AND e.id = h.entity_id
         WHERE h.user_id = $1 AND h.hint = ANY($2) ORDER BY e.mention_count DESC, e.id, h.hint LIMIT $3",
        user.0,
        &hints[..],
        i64::from(limit),
    );
    let found = found.fetch_all(store.pool.reading(user)).await?;
    let mut pairs = Vec::with_capacity(found.len());
    for row in found {
        // Return the hint that the caller passed: a very long one is stored only as a digest.
        if let Some(hint) = asked.get(row.found_hint.as_str()) {
            pairs.push(((*hint).clone(), rows::entity_of!(row)?));
        }
    }
    Ok(pairs)
}

pub(super) async fn entities_by_id(store: &PostgresStore, user: UserId, ids: &[EntityId]) -> Result<Vec<Entity>, Failure> {
    let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
    let found = rows::entities!(
        "WHERE user_id = $1 AND id IN (
             SELECT unnest($2::uuid[])
             UNION SELECT into_id FROM entity_merges WHERE user_id = $1 AND gone_id = ANY($2))",
        user.0,
        &ids[..],
    );
    found.fetch_all(store.pool.reading(user)).await?.into_iter().map(EntityRow::read).collect()
}

pub(super) async fn facts_by_key(store: &PostgresStore, user: UserId, keys: &[FactKey], most: u32) -> Result<Vec<Fact>, Failure> {
    let (subjects, relations, objects): (Vec<_>, Vec<_>, Vec<_>) =
        keys.iter().map(|k| (k.subject.0, codec::text(&k.relation), k.object.map(|o| o.0))).collect();
    // Several keys may find the same fact.
    let found = rows::facts!(
        FROM "facts WHERE user_id = $1 AND id IN (
             SELECT f.id FROM unnest($2::uuid[], $3::text[], $4::uuid[]) AS k (subject, relation, object)
             JOIN facts f ON f.user_id = $1 AND f.subject_id = k.subject AND f.relation = k.relation
                  AND (k.object IS NULL OR f.object_id = k.object))
         LIMIT $5",
        user.0,
        &subjects[..],
        &relations[..],
        &objects as &[Option<Uuid>],
        i64::from(most),
    );
    read(found.fetch_all(store.pool.reading(user)).await?)
}

pub(super) async fn facts_by_id(store: &PostgresStore, user: UserId, ids: &[FactId]) -> Result<Vec<Fact>, Failure> {
    let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
    let found = rows::facts!(FROM "facts WHERE user_id = $1 AND id = ANY($2)", user.0, &ids[..]);
    read(found.fetch_all(store.pool.reading(user)).await?)
}

/// Lists facts about the entities, up to `limit` per side.
///
/// Each side uses its own index. A fact between an entity and itself counts once.
pub(super) async fn facts_of_entities(
    store: &PostgresStore,
    user: UserId,
    entities: &[EntityId],
    limit: u32,
) -> Result<Vec<Fact>, Failure> {
    let entities: Vec<_> = entities.iter().map(|id| id.0).collect();
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
        user.0,
        &entities[..],
        i64::from(limit),
    );
    read(found.fetch_all(store.pool.reading(user)).await?)
}

/// Looks up each pair separately: a well-known entity costs no more than an unknown one.
pub(super) async fn facts_between(
    store: &PostgresStore,
    user: UserId,
    some: &[EntityId],
    others: &[EntityId],
) -> Result<Vec<Fact>, Failure> {
    let some: Vec<_> = some.iter().map(|id| id.0).collect();
    let others: Vec<_> = others.iter().map(|id| id.0).collect();
    let found = rows::facts!(
        WITH "pairs (subject, object) AS (
             SELECT a, b FROM unnest($2::uuid[]) a CROSS JOIN unnest($3::uuid[]) b
             UNION SELECT b, a FROM unnest($2::uuid[]) a CROSS JOIN unnest($3::uuid[]) b) "
        FROM "pairs p JOIN facts f ON f.user_id = $1 AND f.subject_id = p.subject AND f.object_id = p.object ORDER BY f.id",
        user.0,
        &some[..],
        &others[..],
    );
    read(found.fetch_all(store.pool.reading(user)).await?)
}

fn read(found: Vec<FactRow>) -> Result<Vec<Fact>, Failure> {
    found.into_iter().map(FactRow::read).collect()
}
