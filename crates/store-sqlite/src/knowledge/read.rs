//! Looks up entities and facts by id and by key.

use std::collections::HashMap;

use sqlx::{Row, SqliteConnection};
use uuid::Uuid;

use super::super::{
    SqliteStore,
    codec::{bytes, id_list, json},
    failure::Failure,
    rows,
};
use recall_domain::{Entity, EntityId, EntityKey, Fact, FactId, UserId};
use recall_ports::FactKey;

/// Finds people by part of a name. Runs for each message that names a person.
pub(in super::super) const ENTITIES_BY_HINT: &str =
    "SELECT h.hint AS found_hint, e.* FROM entity_hints h JOIN entities e ON e.user_id = h.user_id AND e.id = h.entity_id
     WHERE h.user_id = ? AND h.hint IN (SELECT value FROM json_each(?)) ORDER BY e.mention_count DESC, e.id, h.hint LIMIT ?";
const VERSION: &str = "SELECT knowledge_version FROM users WHERE id = ?";

/// The knowledge version inside a transaction; 0 for a user who never wrote.
pub(in super::super) async fn version(c: &mut SqliteConnection, user: Uuid) -> Result<u64, Failure> {
    let version: Option<i64> = sqlx::query_scalar(VERSION).bind(bytes(&user)).fetch_optional(c).await?;
    Ok(version.unwrap_or(0).unsigned_abs())
}

pub(super) async fn current_version(store: &SqliteStore, user: UserId) -> Result<u64, Failure> {
    let version: Option<i64> = sqlx::query_scalar(VERSION).bind(bytes(&user.0)).fetch_optional(store.readers.for_user(user)).await?;
    Ok(version.unwrap_or(0).unsigned_abs())
}

pub(super) async fn viewer(store: &SqliteStore, user: UserId) -> Result<Option<Entity>, Failure> {
    let row = sqlx::query("SELECT * FROM entities WHERE user_id = ? AND is_viewer = 1").bind(bytes(&user.0));
    row.fetch_optional(store.readers.for_user(user)).await?.as_ref().map(rows::entity).transpose()
}

pub(super) async fn entities_by_key(store: &SqliteStore, user: UserId, keys: &[EntityKey]) -> Result<Vec<(EntityKey, Entity)>, Failure> {
    let texts: Vec<&str> = keys.iter().map(EntityKey::as_str).collect();
    let found = sqlx::query(
        "SELECT k.key AS found_key, e.* FROM entity_keys k JOIN entities e ON e.user_id = k.user_id AND e.id = k.entity_id
         WHERE k.user_id = ? AND k.key IN (SELECT value FROM json_each(?)) ORDER BY k.key, e.mention_count DESC, e.id",
    )
    .bind(bytes(&user.0))
    .bind(json(&texts, "keys")?)
    .fetch_all(store.readers.for_user(user))
    .await?;
    let asked: HashMap<&str, &EntityKey> = keys.iter().map(|key| (key.as_str(), key)).collect();
    let mut pairs = Vec::with_capacity(found.len());
    for row in &found {
        // Return the key that the caller passed, so that only `EntityKey::of` ever makes keys.
        if let Some(key) = asked.get(row.try_get::<&str, _>("found_key")?) {
            pairs.push(((*key).clone(), rows::entity(row)?));
        }
    }
    Ok(pairs)
}

pub(super) async fn entities_by_hint(
    store: &SqliteStore,
    user: UserId,
    hints: &[String],
    limit: u32,
) -> Result<Vec<(String, Entity)>, Failure> {
    let found = sqlx::query(ENTITIES_BY_HINT)
        .bind(bytes(&user.0))
        .bind(json(hints, "hints")?)
        .bind(i64::from(limit))
        .fetch_all(store.readers.for_user(user))
        .await?;
    found.iter().map(|row| Ok((row.try_get("found_hint")?, rows::entity(row)?))).collect()
}

pub(super) async fn entities_by_id(store: &SqliteStore, user: UserId, ids: &[EntityId]) -> Result<Vec<Entity>, Failure> {
    let found = sqlx::query(
        "WITH asked AS (SELECT unhex(value) AS id FROM json_each(?2))
         SELECT * FROM entities WHERE user_id = ?1 AND id IN (
             SELECT id FROM asked
             UNION SELECT into_id FROM entity_merges WHERE user_id = ?1 AND gone_id IN (SELECT id FROM asked))",
    )
    .bind(bytes(&user.0))
    .bind(id_list(ids.iter().map(|id| &id.0)))
    .fetch_all(store.readers.for_user(user))
    .await?;
    found.iter().map(rows::entity).collect()
}

pub(super) async fn facts_by_key(store: &SqliteStore, user: UserId, keys: &[FactKey], most: u32) -> Result<Vec<Fact>, Failure> {
    let hex = |id: &EntityId| id.0.as_simple().to_string();
    let asked: Vec<_> = keys.iter().map(|k| (hex(&k.subject), &k.relation, k.object.as_ref().map(hex))).collect();
    // Names the index because SQLite, without statistics, assumes ten rows for any user and would read all their facts.
    let found = sqlx::query(
        "SELECT DISTINCT f.* FROM json_each(?2) k CROSS JOIN facts f INDEXED BY facts_statement ON f.user_id = ?1
             AND f.subject_id = unhex(k.value ->> 0) AND f.relation = (k.value ->> 1)
             AND ((k.value ->> 2) IS NULL OR f.object_id = unhex(k.value ->> 2))
         LIMIT ?3",
    )
    .bind(bytes(&user.0))
    .bind(json(&asked, "keys")?)
    .bind(i64::from(most))
    .fetch_all(store.readers.for_user(user))
    .await?;
    found.iter().map(rows::fact).collect()
}

pub(super) async fn facts_by_id(store: &SqliteStore, user: UserId, ids: &[FactId]) -> Result<Vec<Fact>, Failure> {
    let found = sqlx::query("SELECT * FROM facts WHERE user_id = ? AND id IN (SELECT unhex(value) FROM json_each(?))")
        .bind(bytes(&user.0))
        .bind(id_list(ids.iter().map(|id| &id.0)))
        .fetch_all(store.readers.for_user(user))
        .await?;
    found.iter().map(rows::fact).collect()
}

/// Lists facts about the entities, up to `limit` per side.
///
/// Each side uses its own index, named for the reason above. A fact between an entity and itself counts once.
pub(super) async fn facts_of_entities(store: &SqliteStore, user: UserId, entities: &[EntityId], limit: u32) -> Result<Vec<Fact>, Failure> {
    let found = sqlx::query(
        "WITH asked AS (SELECT DISTINCT unhex(value) AS entity FROM json_each(?2)),
         sides AS (
             SELECT a.entity, f.id, f.support FROM asked a CROSS JOIN facts f ON f.user_id = ?1 AND f.id IN (
                 SELECT id FROM facts INDEXED BY facts_of_subject WHERE user_id = ?1 AND subject_id = a.entity ORDER BY support DESC, id LIMIT ?3)
             UNION
             SELECT a.entity, f.id, f.support FROM asked a CROSS JOIN facts f ON f.user_id = ?1 AND f.id IN (
                 SELECT id FROM facts INDEXED BY facts_of_object WHERE user_id = ?1 AND object_id = a.entity ORDER BY support DESC, id LIMIT ?3)),
         ranked AS (SELECT id, row_number() OVER (PARTITION BY entity ORDER BY support DESC, id) AS place FROM sides)
         SELECT * FROM facts WHERE user_id = ?1 AND id IN (SELECT id FROM ranked WHERE place <= ?3) ORDER BY support DESC, id",
    )
    .bind(bytes(&user.0))
    .bind(id_list(entities.iter().map(|id| &id.0)))
    .bind(i64::from(limit))
    .fetch_all(store.readers.for_user(user))
    .await?;
    found.iter().map(rows::fact).collect()
}

/// Looks up each pair separately: a well-known entity costs no more than an unknown one.
pub(in super::super) const FACTS_BETWEEN: &str =
    "WITH some (id) AS (SELECT unhex(value) FROM json_each(?2)), others (id) AS (SELECT unhex(value) FROM json_each(?3)),
     pairs (subject, object) AS (SELECT a.id, b.id FROM some a CROSS JOIN others b UNION SELECT b.id, a.id FROM some a CROSS JOIN others b)
     SELECT f.* FROM pairs p CROSS JOIN facts f INDEXED BY facts_of_pair
         ON f.user_id = ?1 AND f.subject_id = p.subject AND f.object_id = p.object ORDER BY f.id";

pub(super) async fn facts_between(store: &SqliteStore, user: UserId, some: &[EntityId], others: &[EntityId]) -> Result<Vec<Fact>, Failure> {
    let found = sqlx::query(FACTS_BETWEEN)
        .bind(bytes(&user.0))
        .bind(id_list(some.iter().map(|id| &id.0)))
        .bind(id_list(others.iter().map(|id| &id.0)))
        .fetch_all(store.readers.for_user(user))
        .await?;
    found.iter().map(rows::fact).collect()
}
