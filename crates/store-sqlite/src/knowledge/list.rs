//! Lists entities and facts by filter. A row's key is its sort columns and its id, so pages neither overlap nor skip rows.

use sqlx::{QueryBuilder, Sqlite};
use uuid::Uuid;

use super::super::{
    SqliteStore,
    codec::{Word, bytes, millis, signed},
    failure::Failure,
    keys, rows, session_deletion,
};
use recall_domain::{Entity, Fact, FactStatus, Page, Slice, UserId, belief::PRIOR};
use recall_ports::{EntityFilter, FactFilter};

/// The searchable form of a text: Unicode lower case, which SQLite's LIKE does not support.
///
/// `instr` searches it, so the user's characters are never a pattern.
fn folded(text: &str) -> String {
    text.to_lowercase()
}

pub(super) async fn entities(store: &SqliteStore, user: UserId, filter: &EntityFilter, page: &Page) -> Result<Slice<Entity>, Failure> {
    let mut sql = QueryBuilder::new("SELECT e.* FROM entities e");
    entity_conditions(&mut sql, user.0, filter);
    if let Some(key) = &page.after {
        let (mentions, id) = keys::parse_number_and_id(key)?;
        sql.push(" AND (e.mention_count < ").push_bind(mentions);
        sql.push(" OR e.mention_count = ").push_bind(mentions).push(" AND e.id < ").push_bind(bytes(&id)).push(")");
    }
    sql.push(" ORDER BY e.mention_count DESC, e.id DESC LIMIT ").push_bind(keys::limit(page));
    let found = sql.build().fetch_all(store.readers.for_user(user)).await?;
    let items = found.iter().map(|row| {
        let entity = rows::entity(row)?;
        Ok((keys::number_and_id(signed(entity.mention_count), entity.id.0), entity))
    });
    Ok(keys::slice(items.collect::<Result<_, Failure>>()?, page))
}

pub(super) async fn count_entities(store: &SqliteStore, user: UserId, filter: &EntityFilter) -> Result<u64, Failure> {
    let mut sql = QueryBuilder::new("SELECT COUNT(*) FROM entities e");
    entity_conditions(&mut sql, user.0, filter);
    let count: i64 = sql.build_query_scalar().fetch_one(store.readers.for_user(user)).await?;
    Ok(count.unsigned_abs())
}

fn entity_conditions(sql: &mut QueryBuilder<Sqlite>, user: Uuid, filter: &EntityFilter) {
    sql.push(" WHERE e.user_id = ").push_bind(bytes(&user));
    if let Some(entity_type) = filter.entity_type {
        sql.push(" AND e.entity_type = ").push_bind(entity_type.word());
    }
    if let Some(text) = &filter.text {
        sql.push(" AND instr(e.search, ").push_bind(folded(text)).push(") > 0");
    }
    if let Some(session) = &filter.session {
        sql.push(" AND EXISTS (SELECT 1 FROM mentions m WHERE m.user_id = e.user_id AND m.session_id = ").push_bind(bytes(&session.0));
        sql.push(" AND m.entity_id = e.id");
        session_deletion::push_visible(sql, "m.session_id", user);
        sql.push(")");
    }
}

pub(super) async fn facts(store: &SqliteStore, user: UserId, filter: &FactFilter, page: &Page) -> Result<Slice<Fact>, Failure> {
    let mut sql = QueryBuilder::new("SELECT f.* FROM facts f");
    fact_conditions(&mut sql, user.0, filter);
    if let Some(key) = &page.after {
        let (updated_at, id) = keys::parse_number_and_id(key)?;
        sql.push(" AND (f.updated_at, f.id) < (").push_bind(updated_at).push(", ").push_bind(bytes(&id)).push(")");
    }
    sql.push(" ORDER BY f.updated_at DESC, f.id DESC LIMIT ").push_bind(keys::limit(page));
    let found = sql.build().fetch_all(store.readers.for_user(user)).await?;
    let items = found.iter().map(|row| {
        let fact = rows::fact(row)?;
        Ok((keys::number_and_id(millis(fact.updated_at), fact.id.0), fact))
    });
    Ok(keys::slice(items.collect::<Result<_, Failure>>()?, page))
}

pub(super) async fn count_facts(store: &SqliteStore, user: UserId, filter: &FactFilter) -> Result<u64, Failure> {
    let mut sql = QueryBuilder::new("SELECT COUNT(*) FROM facts f");
    fact_conditions(&mut sql, user.0, filter);
    let count: i64 = sql.build_query_scalar().fetch_one(store.readers.for_user(user)).await?;
    Ok(count.unsigned_abs())
}

fn fact_conditions(sql: &mut QueryBuilder<Sqlite>, user: Uuid, filter: &FactFilter) {
    sql.push(" WHERE f.user_id = ").push_bind(bytes(&user));
    // Excludes facts that rest only on a session under deletion.
    sql.push(" AND (NOT EXISTS (SELECT 1 FROM sessions WHERE user_id = ").push_bind(bytes(&user)).push(" AND deletion_at IS NOT NULL)");
    sql.push(" OR EXISTS (SELECT 1 FROM evidence v WHERE v.user_id = f.user_id AND v.fact_id = f.id");
    session_deletion::push_visible(sql, "v.session_id", user);
    sql.push("))");
    if let Some(subject) = &filter.subject {
        sql.push(" AND f.subject_id = ").push_bind(bytes(&subject.0));
    }
    if let Some(object) = &filter.object {
        sql.push(" AND f.object_id = ").push_bind(bytes(&object.0));
    }
    if let Some(entity) = &filter.entity {
        sql.push(" AND (f.subject_id = ").push_bind(bytes(&entity.0)).push(" OR f.object_id = ").push_bind(bytes(&entity.0)).push(")");
    }
    if let Some(relation) = &filter.relation {
        sql.push(" AND f.relation = ").push_bind(relation.as_str());
    }
    if let Some(status) = filter.status {
        sql.push(" AND f.status = ").push_bind(status.word());
    }
    if let Some(session) = &filter.session {
        sql.push(" AND EXISTS (SELECT 1 FROM evidence v WHERE v.user_id = f.user_id AND v.session_id = ").push_bind(bytes(&session.0));
        sql.push(" AND v.fact_id = f.id");
        session_deletion::push_visible(sql, "v.session_id", user);
        sql.push(")");
    }
    if let Some(message) = &filter.message {
        sql.push(" AND EXISTS (SELECT 1 FROM evidence v WHERE v.user_id = f.user_id AND v.message_id = ").push_bind(bytes(&message.0));
        sql.push(" AND v.fact_id = f.id");
        session_deletion::push_visible(sql, "v.session_id", user);
        sql.push(")");
    }
    if let Some(belief) = filter.min_belief {
        sql.push(" AND (f.support + ").push_bind(PRIOR).push(") / (f.support + f.opposition + ").push_bind(2.0 * PRIOR);
        sql.push(") >= ").push_bind(belief);
    }
    if let Some(t) = filter.as_of {
        // `valid_from` is the time of the first supporting message, so it is also when the fact became known. A retracted fact
        // never held.
        sql.push(" AND f.valid_from <= ").push_bind(millis(t));
        sql.push(" AND (f.valid_to IS NULL OR f.valid_to > ").push_bind(millis(t));
        sql.push(") AND f.status <> ").push_bind(FactStatus::Retracted.word());
    }
    if let Some(text) = &filter.text {
        let text = folded(text);
        sql.push(" AND EXISTS (SELECT 1 FROM entities e WHERE e.user_id = f.user_id AND e.id IN (f.subject_id, f.object_id)");
        sql.push(" AND instr(e.search, ").push_bind(text).push(") > 0)");
    }
}
