//! Reads entities.

use std::collections::HashMap;

use async_trait::async_trait;

use super::{
    super::{
        SqliteStore,
        codec::{id_list, json},
        connection::Db,
        failure::Failure,
        keys,
        list::ListStatement,
        rows,
    },
    merge,
};
use recall_domain::{Caller, Entity, EntityId, EntityKey, Page, Slice, UserId};
use recall_ports::{EntityFilter, EntityStore, MAX_BEARERS, MergeRecord, Merged, StoreError};
use recall_store::filter;

/// Finds people by part of a name. Runs for each message that names a person.
pub(in super::super) const ENTITIES_BY_HINT: &str =
    "SELECT h.hint AS found_hint, e.* FROM entity_hints h JOIN entities e ON e.user_id = h.user_id AND e.id = h.entity_id
     WHERE h.user_id = ? AND h.hint IN (SELECT value FROM json_each(?)) AND e.forgetting_id IS NULL ORDER BY e.mention_count DESC, e.id, h.hint LIMIT ?";

#[async_trait]
impl EntityStore for SqliteStore {
    async fn viewer_entity(&self, caller: &Caller) -> Result<Option<Entity>, StoreError> {
        let user = caller.user();
        Ok(self.read(caller, move |db| viewer_entity(db, user)).await?)
    }

    async fn entities_by_key(&self, caller: &Caller, keys: &[EntityKey]) -> Result<Vec<(EntityKey, Entity)>, StoreError> {
        let (user, keys) = (caller.user(), keys.to_vec());
        Ok(self.read(caller, move |db| entities_by_key(db, user, &keys)).await?)
    }

    async fn entities_by_hint(&self, caller: &Caller, hints: &[String], limit: u32) -> Result<Vec<(String, Entity)>, StoreError> {
        let (user, hints) = (caller.user(), hints.to_vec());
        Ok(self.read(caller, move |db| entities_by_hint(db, user, &hints, limit)).await?)
    }

    async fn entities_by_id(&self, caller: &Caller, ids: &[EntityId]) -> Result<Vec<Entity>, StoreError> {
        let (user, ids) = (caller.user(), ids.to_vec());
        Ok(self.read(caller, move |db| entities_by_id(db, user, &ids)).await?)
    }

    async fn list_entities(&self, caller: &Caller, filter: &EntityFilter, page: &Page) -> Result<Slice<Entity>, StoreError> {
        let mut sql = ListStatement::new("SELECT e.* FROM entities e");
        filter::entity_page(&mut sql, caller.user(), filter, page)?;
        let found = self.read(caller, move |db| sql.rows(db, "entities", rows::entity)).await?;
        keys::page(found.into_iter().map(Ok), page, keys::of_entity)
    }

    async fn count_entities(&self, caller: &Caller, filter: &EntityFilter) -> Result<u64, StoreError> {
        let (user, filter) = (caller.user(), filter.clone());
        Ok(self.read(caller, move |db| count_entities(db, user, &filter)).await?)
    }

    async fn merge_record(&self, caller: &Caller, gone: EntityId) -> Result<Option<MergeRecord>, StoreError> {
        let user = caller.user();
        // One snapshot, so that no commit changes the record between two reads.
        Ok(self.read(caller, move |db| db.snapshot(|db| merge::load_record(db, user, gone))).await?)
    }

    async fn merged_into(&self, caller: &Caller, entities: &[EntityId]) -> Result<Vec<(EntityId, Merged)>, StoreError> {
        let (user, entities) = (caller.user(), entities.to_vec());
        Ok(self.read(caller, move |db| merge::merged_into(db, user, &entities)).await?)
    }
}

/// The user's own entity.
pub(in super::super) fn viewer_entity(db: &Db, user: UserId) -> Result<Option<Entity>, Failure> {
    db.row("entities", "SELECT * FROM entities WHERE user_id = ? AND is_viewer = 1", (user.0,), rows::entity)
}

/// The most mentioned entities that the keys find, each with its key. The others are not read whole.
const ENTITIES_BY_KEY: &str = "WITH found AS (
         SELECT k.key, e.id, row_number() OVER (PARTITION BY k.key ORDER BY e.mention_count DESC, e.id) AS place
         FROM entity_keys k JOIN entities e ON e.user_id = k.user_id AND e.id = k.entity_id
         WHERE k.user_id = ?1 AND k.key IN (SELECT value FROM json_each(?2)) AND e.forgetting_id IS NULL)
     SELECT f.key AS found_key, e.* FROM found f CROSS JOIN entities e ON e.user_id = ?1 AND e.id = f.id WHERE f.place <= ?3 ORDER BY f.key, f.place";

/// The entities that the keys find, each with its key, most mentioned first, at most [`MAX_BEARERS`] for each.
pub(in super::super) fn entities_by_key(db: &Db, user: UserId, keys: &[EntityKey]) -> Result<Vec<(EntityKey, Entity)>, Failure> {
    let texts: Vec<&str> = keys.iter().map(EntityKey::as_str).collect();
    let values = (user.0, json(&texts, "keys")?, MAX_BEARERS);
    let found = db.rows("entities", ENTITIES_BY_KEY, values, |c| Ok((c.text("found_key")?, rows::entity(c)?)))?;
    let asked: HashMap<&str, &EntityKey> = keys.iter().map(|key| (key.as_str(), key)).collect();
    // Return the key that the caller passed, so that only `EntityKey::of` ever makes keys.
    let pairs = found.into_iter().filter_map(|(text, entity)| asked.get(text.as_str()).map(|key| ((*key).clone(), entity)));
    Ok(pairs.collect())
}

/// The entities that the hints find, each with its hint, most mentioned first, at most `limit`.
pub(in super::super) fn entities_by_hint(db: &Db, user: UserId, hints: &[String], limit: u32) -> Result<Vec<(String, Entity)>, Failure> {
    let values = (user.0, json(hints, "hints")?, limit);
    db.rows("entities", ENTITIES_BY_HINT, values, |c| Ok((c.text("found_hint")?, rows::entity(c)?)))
}

/// The entities with these ids that are not forgotten; for a merged id, the surviving entity.
pub(in super::super) fn entities_by_id(db: &Db, user: UserId, ids: &[EntityId]) -> Result<Vec<Entity>, Failure> {
    let sql = "WITH asked AS (SELECT unhex(value) AS id FROM json_each(?2))
             SELECT * FROM entities WHERE user_id = ?1 AND forgetting_id IS NULL AND id IN (
                 SELECT id FROM asked
                 UNION SELECT into_id FROM entity_merges WHERE user_id = ?1 AND gone_id IN (SELECT id FROM asked))";
    db.rows("entities", sql, (user.0, id_list(ids.iter().map(|id| &id.0))), rows::entity)
}

/// The number of matching entities.
pub(in super::super) fn count_entities(db: &Db, user: UserId, filter: &EntityFilter) -> Result<u64, Failure> {
    let mut sql = ListStatement::new("SELECT COUNT(*) FROM entities e");
    filter::entity_conditions(&mut sql, user, filter);
    sql.count(db)
}
