//! Lists entities and facts by filter. A row's key is its sort columns and its id, so pages neither overlap nor skip rows.
//!
//! These statements are built at run time: they contain only the filters in use. A statement with all filters would get a generic
//! plan without an index. A test prepares every form.

use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

use super::super::{
    PostgresStore,
    codec::{self, Word, millis, signed, time},
    failure::Failure,
    keys,
    rows::{ENTITY, EntityRow, FACT, FactRow},
};
use recall_domain::{Entity, Fact, FactStatus, Page, Slice, UserId, belief::PRIOR};
use recall_ports::{EntityFilter, FactFilter};

/// The searchable form of a text: Unicode lower case, independent of the database's locale.
///
/// `strpos` searches it, so the user's characters are never a pattern.
fn folded(text: &str) -> String {
    codec::text(&text.to_lowercase()).into_owned()
}

/// The user's sessions under deletion. The user is the first parameter.
const HIDDEN: &str = "SELECT id FROM sessions WHERE user_id = $1 AND deletion_at IS NOT NULL";

pub(super) async fn entities(store: &PostgresStore, user: UserId, filter: &EntityFilter, page: &Page) -> Result<Slice<Entity>, Failure> {
    let found = entity_page(user.0, filter, page)?.build_query_as::<EntityRow>().fetch_all(store.pool.reading(user)).await?;
    let items = found.into_iter().map(|row| {
        let entity = row.read()?;
        Ok((keys::number_and_id(signed(entity.mention_count), entity.id.0), entity))
    });
    Ok(keys::slice(items.collect::<Result<_, Failure>>()?, page))
}

fn entity_page(user: Uuid, filter: &EntityFilter, page: &Page) -> Result<QueryBuilder<Postgres>, Failure> {
    let mut sql = QueryBuilder::new(format!("SELECT {ENTITY} FROM entities e"));
    entity_conditions(&mut sql, user, filter);
    if let Some(key) = &page.after {
        let (mentions, id) = keys::parse_number_and_id(key)?;
        sql.push(" AND (e.mention_count < ").push_bind(mentions);
        sql.push(" OR e.mention_count = ").push_bind(mentions).push(" AND e.id < ").push_bind(id).push(")");
    }
    sql.push(" ORDER BY e.mention_count DESC, e.id DESC LIMIT ").push_bind(keys::limit(page));
    Ok(sql)
}

fn entity_count(user: Uuid, filter: &EntityFilter) -> QueryBuilder<Postgres> {
    let mut sql = QueryBuilder::new("SELECT COUNT(*) FROM entities e");
    entity_conditions(&mut sql, user, filter);
    sql
}

pub(super) async fn count_entities(store: &PostgresStore, user: UserId, filter: &EntityFilter) -> Result<u64, Failure> {
    let count: i64 = entity_count(user.0, filter).build_query_scalar().fetch_one(store.pool.reading(user)).await?;
    Ok(count.unsigned_abs())
}

fn entity_conditions(sql: &mut QueryBuilder<Postgres>, user: Uuid, filter: &EntityFilter) {
    sql.push(" WHERE e.user_id = ").push_bind(user);
    if let Some(entity_type) = filter.entity_type {
        sql.push(" AND e.entity_type = ").push_bind(entity_type.word());
    }
    if let Some(text) = &filter.text {
        sql.push(" AND strpos(e.search, ").push_bind(folded(text)).push(") > 0");
    }
    if let Some(session) = &filter.session {
        sql.push(" AND EXISTS (SELECT 1 FROM mentions m WHERE m.user_id = e.user_id AND m.session_id = ").push_bind(session.0);
        sql.push(" AND m.entity_id = e.id AND m.session_id <> ALL (ARRAY(").push(HIDDEN).push(")))");
    }
}

pub(super) async fn facts(store: &PostgresStore, user: UserId, filter: &FactFilter, page: &Page) -> Result<Slice<Fact>, Failure> {
    let found = fact_page(user.0, filter, page)?.build_query_as::<FactRow>().fetch_all(store.pool.reading(user)).await?;
    let items = found.into_iter().map(|row| {
        let fact = row.read()?;
        Ok((keys::number_and_id(millis(fact.updated_at), fact.id.0), fact))
    });
    Ok(keys::slice(items.collect::<Result<_, Failure>>()?, page))
}

fn fact_page(user: Uuid, filter: &FactFilter, page: &Page) -> Result<QueryBuilder<Postgres>, Failure> {
    let mut sql = QueryBuilder::new(format!("SELECT {FACT} FROM facts f"));
    fact_conditions(&mut sql, user, filter);
    if let Some(key) = &page.after {
        let (updated_at, id) = codec::parse_time_and_id(key)?;
        sql.push(" AND (f.updated_at, f.id) < (").push_bind(updated_at).push(", ").push_bind(id).push(")");
    }
    sql.push(" ORDER BY f.updated_at DESC, f.id DESC LIMIT ").push_bind(keys::limit(page));
    Ok(sql)
}

fn fact_count(user: Uuid, filter: &FactFilter) -> QueryBuilder<Postgres> {
    let mut sql = QueryBuilder::new("SELECT COUNT(*) FROM facts f");
    fact_conditions(&mut sql, user, filter);
    sql
}

pub(super) async fn count_facts(store: &PostgresStore, user: UserId, filter: &FactFilter) -> Result<u64, Failure> {
    let count: i64 = fact_count(user.0, filter).build_query_scalar().fetch_one(store.pool.reading(user)).await?;
    Ok(count.unsigned_abs())
}

fn fact_conditions(sql: &mut QueryBuilder<Postgres>, user: Uuid, filter: &FactFilter) {
    sql.push(" WHERE f.user_id = ").push_bind(user);
    // Excludes facts that rest only on a session under deletion.
    sql.push(" AND (NOT EXISTS (").push(HIDDEN).push(") OR EXISTS (SELECT 1 FROM evidence v WHERE v.user_id = f.user_id");
    sql.push(" AND v.fact_id = f.id AND v.session_id <> ALL (ARRAY(").push(HIDDEN).push("))))");
    if let Some(subject) = &filter.subject {
        sql.push(" AND f.subject_id = ").push_bind(subject.0);
    }
    if let Some(object) = &filter.object {
        sql.push(" AND f.object_id = ").push_bind(object.0);
    }
    if let Some(entity) = &filter.entity {
        sql.push(" AND (f.subject_id = ").push_bind(entity.0).push(" OR f.object_id = ").push_bind(entity.0).push(")");
    }
    if let Some(relation) = &filter.relation {
        sql.push(" AND f.relation = ").push_bind(codec::text(relation).into_owned());
    }
    if let Some(status) = filter.status {
        sql.push(" AND f.status = ").push_bind(status.word());
    }
    if let Some(session) = &filter.session {
        sql.push(" AND EXISTS (SELECT 1 FROM evidence v WHERE v.user_id = f.user_id AND v.session_id = ").push_bind(session.0);
        sql.push(" AND v.fact_id = f.id AND v.session_id <> ALL (ARRAY(").push(HIDDEN).push(")))");
    }
    if let Some(message) = &filter.message {
        sql.push(" AND EXISTS (SELECT 1 FROM evidence v WHERE v.user_id = f.user_id AND v.message_id = ").push_bind(message.0);
        sql.push(" AND v.fact_id = f.id AND v.session_id <> ALL (ARRAY(").push(HIDDEN).push(")))");
    }
    if let Some(belief) = filter.min_belief {
        sql.push(" AND (f.support + ").push_bind(PRIOR).push(") / (f.support + f.opposition + ").push_bind(2.0 * PRIOR);
        sql.push(") >= ").push_bind(belief);
    }
    if let Some(t) = filter.as_of {
        // `valid_from` is the time of the first supporting message, so it is also when the fact became known. A retracted fact
        // never held.
        sql.push(" AND f.valid_from <= ").push_bind(time(t));
        sql.push(" AND (f.valid_to IS NULL OR f.valid_to > ").push_bind(time(t));
        sql.push(") AND f.status <> ").push_bind(FactStatus::Retracted.word());
    }
    if let Some(text) = &filter.text {
        let text = folded(text);
        sql.push(" AND EXISTS (SELECT 1 FROM entities e WHERE e.user_id = f.user_id AND e.id IN (f.subject_id, f.object_id)");
        sql.push(" AND strpos(e.search, ").push_bind(text).push(") > 0)");
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::{super::super::tests::store, *};
    use recall_domain::{EntityId, EntityType, MessageId, SessionId, Timestamp};
    use recall_ports::Inspect;

    /// A filter whose fields are set by the bits of `form`.
    fn fact_filter(form: u32) -> FactFilter {
        fn given<T>(form: u32, bit: u32, value: T) -> Option<T> {
            (form >> bit & 1 == 1).then_some(value)
        }
        FactFilter {
            subject: given(form, 0, EntityId(Uuid::nil())),
            object: given(form, 1, EntityId(Uuid::nil())),
            entity: given(form, 2, EntityId(Uuid::nil())),
            relation: given(form, 3, "knows".to_owned()),
            status: given(form, 4, FactStatus::Active),
            session: given(form, 5, SessionId(Uuid::nil())),
            message: given(form, 6, MessageId(Uuid::nil())),
            min_belief: given(form, 7, 0.5),
            as_of: given(form, 8, Timestamp::UNIX_EPOCH),
            text: given(form, 9, "anna".to_owned()),
        }
    }

    #[tokio::test]
    async fn all_forms_of_list_statements_fit_the_schema() {
        let Some(store) = store().await else { return };
        let user = UserId(Uuid::nil());
        let pages = [None, Some(keys::number_and_id(1, Uuid::nil()))].map(|after| Page { first: 1, after });
        for form in 0..1 << 10 {
            let filter = fact_filter(form);
            for page in &pages {
                let found = facts(&store, user, &filter, page).await;
                assert!(found.is_ok(), "{filter:?}: {:?}", found.err());
            }
            let counted = count_facts(&store, user, &filter).await;
            assert!(counted.is_ok(), "{filter:?}: {:?}", counted.err());
        }
        for form in 0..1 << 3 {
            let filter = EntityFilter {
                entity_type: (form & 1 == 1).then_some(EntityType::Person),
                text: (form & 2 == 2).then(|| "anna".to_owned()),
                session: (form & 4 == 4).then_some(SessionId(Uuid::nil())),
            };
            for page in &pages {
                let found = entities(&store, user, &filter, page).await;
                assert!(found.is_ok(), "{filter:?}: {:?}", found.err());
            }
            let counted = count_entities(&store, user, &filter).await;
            assert!(counted.is_ok(), "{filter:?}: {:?}", counted.err());
        }
        store.close().await;
    }
}
