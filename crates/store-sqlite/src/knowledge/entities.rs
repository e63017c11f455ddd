//! Reads entities.

use std::collections::HashMap;

use async_trait::async_trait;
use sqlx::Row;

use super::{
    super::{
        SqliteStore,
        codec::{bytes, id_list, json},
        failure::Failure,
        keys, rows,
    },
    list::ListStatement,
    merge,
};
use recall_domain::{Caller, Entity, EntityId, EntityKey, Page, Slice};
use recall_ports::{EntityFilter, EntityStore, MergeRecord, Merged, StoreError};
use recall_store::filter;

/// Finds people by part of a name. Runs for each message that names a person.
pub(in super::super) const ENTITIES_BY_HINT: &str =
    "SELECT h.hint AS found_hint, e.* FROM entity_hints h JOIN entities e ON e.user_id = h.user_id AND e.id = h.entity_id
     WHERE h.user_id = ? AND h.hint IN (SELECT value FROM json_each(?)) ORDER BY e.mention_count DESC, e.id, h.hint LIMIT ?";

#[async_trait]
impl EntityStore for SqliteStore {
    async fn viewer_entity(&self, caller: &Caller) -> Result<Option<Entity>, StoreError> {
        let row = sqlx::query("SELECT * FROM entities WHERE user_id = ? AND is_viewer = 1").bind(bytes(&caller.user().0));
        let row = row.fetch_optional(self.readers.for_user(caller)).await.map_err(Failure::from)?;
        Ok(row.as_ref().map(rows::entity).transpose()?)
    }

    async fn entities_by_key(&self, caller: &Caller, keys: &[EntityKey]) -> Result<Vec<(EntityKey, Entity)>, StoreError> {
        let texts: Vec<&str> = keys.iter().map(EntityKey::as_str).collect();
        let found = sqlx::query(
            "SELECT k.key AS found_key, e.* FROM entity_keys k JOIN entities e ON e.user_id = k.user_id AND e.id = k.entity_id
             WHERE k.user_id = ? AND k.key IN (SELECT value FROM json_each(?)) ORDER BY k.key, e.mention_count DESC, e.id",
        );
        let found = found.bind(bytes(&caller.user().0)).bind(json(&texts, "keys")?);
        let found = found.fetch_all(self.readers.for_user(caller)).await.map_err(Failure::from)?;
        let asked: HashMap<&str, &EntityKey> = keys.iter().map(|key| (key.as_str(), key)).collect();
        let mut pairs = Vec::with_capacity(found.len());
        for row in &found {
            // Return the key that the caller passed, so that only `EntityKey::of` ever makes keys.
            if let Some(key) = asked.get(row.try_get::<&str, _>("found_key").map_err(Failure::from)?) {
                pairs.push(((*key).clone(), rows::entity(row)?));
            }
        }
        Ok(pairs)
    }

    async fn entities_by_hint(&self, caller: &Caller, hints: &[String], limit: u32) -> Result<Vec<(String, Entity)>, StoreError> {
        let found = sqlx::query(ENTITIES_BY_HINT).bind(bytes(&caller.user().0)).bind(json(hints, "hints")?).bind(i64::from(limit));
        let found = found.fetch_all(self.readers.for_user(caller)).await.map_err(Failure::from)?;
        let pairs = found.iter().map(|row| Ok::<_, Failure>((row.try_get("found_hint")?, rows::entity(row)?)));
        Ok(pairs.collect::<Result<_, _>>()?)
    }

    async fn entities_by_id(&self, caller: &Caller, ids: &[EntityId]) -> Result<Vec<Entity>, StoreError> {
        let found = sqlx::query(
            "WITH asked AS (SELECT unhex(value) AS id FROM json_each(?2))
             SELECT * FROM entities WHERE user_id = ?1 AND id IN (
                 SELECT id FROM asked
                 UNION SELECT into_id FROM entity_merges WHERE user_id = ?1 AND gone_id IN (SELECT id FROM asked))",
        );
        let found = found.bind(bytes(&caller.user().0)).bind(id_list(ids.iter().map(|id| &id.0)));
        let found = found.fetch_all(self.readers.for_user(caller)).await.map_err(Failure::from)?;
        Ok(found.iter().map(rows::entity).collect::<Result<_, _>>()?)
    }

    async fn list_entities(&self, caller: &Caller, filter: &EntityFilter, page: &Page) -> Result<Slice<Entity>, StoreError> {
        let mut sql = ListStatement::new("SELECT e.* FROM entities e");
        filter::entity_page(&mut sql, caller.user(), filter, page)?;
        let found = sql.rows(self, caller).await?;
        Ok(keys::page(found.iter().map(rows::entity), page, keys::of_entity)?)
    }

    async fn count_entities(&self, caller: &Caller, filter: &EntityFilter) -> Result<u64, StoreError> {
        let mut sql = ListStatement::new("SELECT COUNT(*) FROM entities e");
        filter::entity_conditions(&mut sql, caller.user(), filter);
        Ok(sql.count(self, caller).await?)
    }

    async fn merge_record(&self, caller: &Caller, gone: EntityId) -> Result<Option<MergeRecord>, StoreError> {
        Ok(merge::load_record(self, caller.user(), gone).await?)
    }

    async fn merged_into(&self, caller: &Caller, entities: &[EntityId]) -> Result<Vec<(EntityId, Merged)>, StoreError> {
        Ok(merge::merged_into(self, caller.user(), entities).await?)
    }
}
