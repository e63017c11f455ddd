//! Reads entities.

use std::collections::HashMap;

use async_trait::async_trait;
use sqlx::PgExecutor;

use super::{
    super::{
        PostgresStore, codec,
        failure::Failure,
        keys,
        list::ListStatement,
        rows::{self, ENTITY, EntityRow},
    },
    merge,
};
use recall_domain::{Caller, Entity, EntityId, EntityKey, Page, Slice, UserId};
use recall_ports::{EntityFilter, EntityStore, MAX_BEARERS, MergeRecord, Merged, StoreError};
use recall_store::filter;

#[async_trait]
impl EntityStore for PostgresStore {
    async fn viewer_entity(&self, caller: &Caller) -> Result<Option<Entity>, StoreError> {
        Ok(viewer_entity(self.pool.reading(caller), caller.user()).await?)
    }

    async fn entities_by_key(&self, caller: &Caller, keys: &[EntityKey]) -> Result<Vec<(EntityKey, Entity)>, StoreError> {
        Ok(entities_by_key(self.pool.reading(caller), caller.user(), keys).await?)
    }

    async fn entities_by_hint(&self, caller: &Caller, hints: &[String], limit: u32) -> Result<Vec<(String, Entity)>, StoreError> {
        Ok(entities_by_hint(self.pool.reading(caller), caller.user(), hints, limit).await?)
    }

    async fn entities_by_id(&self, caller: &Caller, ids: &[EntityId]) -> Result<Vec<Entity>, StoreError> {
        Ok(entities_by_id(self.pool.reading(caller), caller.user(), ids).await?)
    }

    async fn list_entities(&self, caller: &Caller, filter: &EntityFilter, page: &Page) -> Result<Slice<Entity>, StoreError> {
        let mut sql = ListStatement::new(format!("SELECT {ENTITY} FROM entities e"));
        filter::entity_page(&mut sql, caller.user(), filter, page)?;
        let found = sql.rows::<EntityRow>(self.pool.reading(caller)).await?;
        Ok(keys::page(found.into_iter().map(EntityRow::read), page, keys::of_entity)?)
    }

    async fn count_entities(&self, caller: &Caller, filter: &EntityFilter) -> Result<u64, StoreError> {
        Ok(count_entities(self.pool.reading(caller), caller.user(), filter).await?)
    }

    async fn merge_record(&self, caller: &Caller, gone: EntityId) -> Result<Option<MergeRecord>, StoreError> {
        Ok(merge::load_record(self, caller.user(), gone).await?)
    }

    async fn merged_into(&self, caller: &Caller, entities: &[EntityId]) -> Result<Vec<(EntityId, Merged)>, StoreError> {
        Ok(merge::merged_into(self, caller.user(), entities).await?)
    }
}

pub(in super::super) async fn viewer_entity(db: impl PgExecutor<'_>, user: UserId) -> Result<Option<Entity>, Failure> {
    let row = rows::entities!("WHERE user_id = $1 AND is_viewer", user.0).fetch_optional(db).await?;
    row.map(EntityRow::read).transpose()
}

pub(in super::super) async fn entities_by_key(
    db: impl PgExecutor<'_>,
    user: UserId,
    keys: &[EntityKey],
) -> Result<Vec<(EntityKey, Entity)>, Failure> {
    let asked: HashMap<_, &EntityKey> = keys.iter().map(|key| (codec::key(key.as_str()), key)).collect();
    let keys: Vec<_> = asked.keys().cloned().collect();
    let found = rows::entities_with!(
        "k.key AS found_key",
        "FROM (SELECT k.key, e.id, row_number() OVER (PARTITION BY k.key ORDER BY e.mention_count DESC, e.id) AS place
               FROM entity_keys k JOIN entities e ON e.user_id = k.user_id AND e.id = k.entity_id
               WHERE k.user_id = $1 AND k.key = ANY($2) AND e.forgetting_id IS NULL) k
         JOIN entities e ON e.user_id = $1 AND e.id = k.id WHERE k.place <= $3 ORDER BY k.key, k.place",
        user.0,
        &keys[..],
        i64::from(MAX_BEARERS),
    );
    let found = found.fetch_all(db).await?;
    let mut pairs = Vec::with_capacity(found.len());
    for row in found {
        // Return the key that the caller passed, so that only `EntityKey::of` ever makes keys.
        if let Some(key) = asked.get(row.found_key.as_str()) {
            pairs.push(((*key).clone(), rows::entity_of!(row)?));
        }
    }
    Ok(pairs)
}

pub(in super::super) async fn entities_by_hint(
    db: impl PgExecutor<'_>,
    user: UserId,
    hints: &[String],
    limit: u32,
) -> Result<Vec<(String, Entity)>, Failure> {
    let asked: HashMap<_, &String> = hints.iter().map(|hint| (codec::key(hint), hint)).collect();
    let hints: Vec<_> = asked.keys().cloned().collect();
    let found = rows::entities_with!(
        "h.hint AS found_hint",
        "FROM entity_hints h JOIN entities e ON e.user_id = h.user_id AND e.id = h.entity_id
         WHERE h.user_id = $1 AND h.hint = ANY($2) AND e.forgetting_id IS NULL ORDER BY e.mention_count DESC, e.id, h.hint LIMIT $3",
        user.0,
        &hints[..],
        i64::from(limit),
    );
    let found = found.fetch_all(db).await?;
    let mut pairs = Vec::with_capacity(found.len());
    for row in found {
        // Return the hint that the caller passed: a very long one is stored only as a digest.
        if let Some(hint) = asked.get(row.found_hint.as_str()) {
            pairs.push(((*hint).clone(), rows::entity_of!(row)?));
        }
    }
    Ok(pairs)
}

pub(in super::super) async fn entities_by_id(db: impl PgExecutor<'_>, user: UserId, ids: &[EntityId]) -> Result<Vec<Entity>, Failure> {
    let found = rows::entities!(
        "WHERE user_id = $1 AND forgetting_id IS NULL AND id IN (
             SELECT unnest($2::uuid[])
             UNION SELECT into_id FROM entity_merges WHERE user_id = $1 AND gone_id = ANY($2))",
        user.0,
        &codec::column(ids, |id| id.0)[..],
    );
    found.fetch_all(db).await?.into_iter().map(EntityRow::read).collect()
}

pub(in super::super) async fn count_entities(db: impl PgExecutor<'_>, user: UserId, filter: &EntityFilter) -> Result<u64, Failure> {
    let mut sql = ListStatement::new("SELECT COUNT(*) FROM entities e");
    filter::entity_conditions(&mut sql, user, filter);
    sql.count(db).await
}
