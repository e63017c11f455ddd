//! The filters of lists of entities and facts, in SQL that all engines understand.
//!
//! A statement contains only the conditions in use. With all of them, it would get a generic plan without an index.

use uuid::Uuid;

use super::{Refusal, keys};
use recall_domain::{FactStatus, Page, Timestamp, UserId, Word, belief::PRIOR, context::SearchSource, fold};
use recall_ports::{EntityFilter, FactFilter, FactOrder, RelationFilter, SessionFilter, TextWord, TimeSpan};

/// A statement that is built at run time: SQL, and values in the form that their columns store.
pub trait ListSql {
    /// The function that finds a text in another one. In contrast to LIKE, it takes no character for a pattern.
    const POSITION: &'static str;

    /// Adds SQL, which contains no value.
    fn sql(&mut self, sql: &'static str) -> &mut Self;
    /// Adds an id.
    fn id(&mut self, id: Uuid) -> &mut Self;
    /// Adds a text.
    fn text(&mut self, text: &str) -> &mut Self;
    /// Adds an integer.
    fn integer(&mut self, n: i64) -> &mut Self;
    /// Adds a real number.
    fn real(&mut self, n: f64) -> &mut Self;
    /// Adds a time.
    fn time(&mut self, t: Timestamp) -> &mut Self;
    /// Adds the time of a pagination key, in milliseconds.
    ///
    /// # Errors
    /// `BadCursor` if no such time can be stored.
    fn key_time(&mut self, millis: i64) -> Result<&mut Self, Refusal>;
}

/// Adds the conditions, the order and the limit of one page of sessions `s`, latest change first.
///
/// # Errors
/// `BadCursor` if the page does not start at a key of this list.
pub fn session_page<S: ListSql>(sql: &mut S, user: UserId, filter: &SessionFilter, page: &Page) -> Result<(), Refusal> {
    session_conditions(sql, user, filter);
    if let Some(key) = &page.after {
        let (updated_at, id) = keys::parse_number_and_id(key)?;
        sql.sql(" AND (s.updated_at, s.id) < (").key_time(updated_at)?.sql(", ").id(id).sql(")");
    }
    sql.sql(" ORDER BY s.updated_at DESC, s.id DESC LIMIT ").integer(keys::limit(page));
    Ok(())
}

/// Adds the conditions on sessions `s`, which store no documents.
pub fn session_conditions<S: ListSql>(sql: &mut S, user: UserId, filter: &SessionFilter) {
    sql.sql(" WHERE s.user_id = ").id(user.0).sql(" AND s.document IS NULL");
    for (wanted, set, unset) in [
        (filter.pinned, " AND s.pinned IS NOT NULL", " AND s.pinned IS NULL"),
        (filter.archived, " AND s.archived IS NOT NULL", " AND s.archived IS NULL"),
        (filter.paused, " AND s.paused IS NOT NULL", " AND s.paused IS NULL"),
    ] {
        if let Some(wanted) = wanted {
            sql.sql(if wanted { set } else { unset });
        }
    }
    if let Some(text) = &filter.text {
        sql.sql(" AND ").sql(S::POSITION).sql("(COALESCE(s.search, ''), ").text(&fold(text)).sql(") > 0");
    }
}

/// Adds the conditions, the order and the limit of one page of entities `e`, most mentioned first.
///
/// # Errors
/// `BadCursor` if the page does not start at a key of this list.
pub fn entity_page<S: ListSql>(sql: &mut S, user: UserId, filter: &EntityFilter, page: &Page) -> Result<(), Refusal> {
    entity_conditions(sql, user, filter);
    if let Some(key) = &page.after {
        let (mentions, id) = keys::parse_number_and_id(key)?;
        sql.sql(" AND (e.mention_count < ").integer(mentions);
        sql.sql(" OR e.mention_count = ").integer(mentions).sql(" AND e.id < ").id(id).sql(")");
    }
    sql.sql(" ORDER BY e.mention_count DESC, e.id DESC LIMIT ").integer(keys::limit(page));
    Ok(())
}

/// Adds the conditions on entities `e`.
pub fn entity_conditions<S: ListSql>(sql: &mut S, user: UserId, filter: &EntityFilter) {
    sql.sql(" WHERE e.user_id = ").id(user.0).sql(" AND e.forgetting_id IS NULL");
    if let Some(entity_type) = filter.entity_type {
        sql.sql(" AND e.entity_type = ").text(entity_type.word());
    }
    if let Some(text) = &filter.text {
        sql.sql(" AND ").sql(S::POSITION).sql("(e.search, ").text(&fold(text)).sql(") > 0");
    }
    if let Some(session) = &filter.session {
        sql.sql(" AND EXISTS (SELECT 1 FROM visible_mentions m WHERE m.user_id = e.user_id AND m.entity_id = e.id AND m.session_id = ");
        sql.id(session.0).sql(")");
    }
}

/// Adds the conditions, the order and the limit of one page of facts `f`, in the order of the filter.
///
/// # Errors
/// `BadCursor` if the page does not start at a key of this list.
pub fn fact_page<S: ListSql>(sql: &mut S, user: UserId, filter: &FactFilter, page: &Page) -> Result<(), Refusal> {
    fact_conditions(sql, user, filter);
    let (column, ascends) = match filter.order {
        FactOrder::LatestChange => ("f.updated_at", false),
        FactOrder::LatestLearned => ("f.created_at", false),
        FactOrder::MostBelieved => (BELIEF, false),
        FactOrder::LeastBelieved => (BELIEF, true),
    };
    let (compares, direction) = if ascends { (" > (", " ASC") } else { (" < (", " DESC") };
    if let Some(key) = &page.after {
        let (number, id) = keys::parse_fact_key(filter.order, key)?;
        sql.sql(" AND (").sql(column).sql(", f.id)").sql(compares);
        match filter.order {
            FactOrder::LatestChange | FactOrder::LatestLearned => sql.key_time(number)?,
            FactOrder::MostBelieved | FactOrder::LeastBelieved => sql.real(keys::parse_belief(number)?),
        };
        sql.sql(", ").id(id).sql(")");
    }
    sql.sql(" ORDER BY ").sql(column).sql(direction).sql(", f.id").sql(direction).sql(" LIMIT ").integer(keys::limit(page));
    Ok(())
}

/// [`Fact::belief`](recall_domain::Fact::belief) as of the last change. [`keys::of_fact`] computes it with the same operations.
const BELIEF: &str = "((f.support + 1.0) / (f.support + f.opposition + 2.0))";
const _: () = assert!(PRIOR == 1.0);

/// Adds the conditions on facts `f`.
pub fn fact_conditions<S: ListSql>(sql: &mut S, user: UserId, filter: &FactFilter) {
    /// The beginning of a condition that the fact has such evidence.
    const HAS_EVIDENCE: &str = "EXISTS (SELECT 1 FROM visible_evidence v WHERE v.user_id = f.user_id AND v.fact_id = f.id";
    sql.sql(" WHERE f.user_id = ").id(user.0);
    // Excludes facts that rest only on a session under deletion.
    sql.sql(" AND (NOT EXISTS (SELECT 1 FROM hidden_sessions WHERE user_id = ").id(user.0).sql(") OR ").sql(HAS_EVIDENCE).sql("))");
    if let Some(subject) = &filter.subject {
        sql.sql(" AND f.subject_id = ").id(subject.0);
    }
    if let Some(object) = &filter.object {
        sql.sql(" AND f.value IS NULL AND f.object_id = ").id(object.0);
    }
    if let Some(entity) = &filter.entity {
        sql.sql(" AND (f.subject_id = ").id(entity.0).sql(" OR f.object_id = ").id(entity.0).sql(")");
    }
    if let Some(relation) = &filter.relation {
        sql.sql(" AND f.relation = ").text(relation);
    }
    if let Some(status) = filter.status {
        sql.sql(" AND f.status = ").text(status.word());
    }
    if let Some(session) = &filter.session {
        sql.sql(" AND ").sql(HAS_EVIDENCE).sql(" AND v.session_id = ").id(session.0).sql(")");
    }
    if let Some(message) = &filter.message {
        sql.sql(" AND ").sql(HAS_EVIDENCE).sql(" AND v.message_id = ").id(message.0).sql(")");
    }
    if let Some(belief) = filter.min_belief {
        sql.sql(" AND ").sql(BELIEF).sql(" >= ").real(belief);
    }
    if let Some(entity_type) = filter.entity_type {
        sql.sql(" AND EXISTS (SELECT 1 FROM entities e WHERE e.user_id = f.user_id AND e.id IN (f.subject_id, f.object_id) AND ");
        sql.sql("e.entity_type = ").text(entity_type.word()).sql(")");
    }
    if let Some(source) = filter.source {
        sql.sql(" AND ").sql(HAS_EVIDENCE).sql(" AND EXISTS (SELECT 1 FROM visible_sessions s WHERE s.user_id = v.user_id AND ");
        sql.sql("s.id = v.session_id AND s.document ").sql(match source {
            SearchSource::Messages => "IS NULL))",
            SearchSource::Documents => "IS NOT NULL))",
        });
    }
    if let Some(t) = filter.changed_since {
        sql.sql(" AND f.updated_at >= ").time(t);
    }
    if let Some(t) = filter.changed_before {
        sql.sql(" AND f.updated_at < ").time(t);
    }
    if let Some(t) = filter.as_of {
        // `valid_from` is the time of the first supporting message, so it is also when the fact became known. A retracted fact
        // never held.
        sql.sql(" AND f.valid_from <= ").time(t).sql(" AND (f.valid_to IS NULL OR f.valid_to > ").time(t);
        sql.sql(") AND f.status <> ").text(FactStatus::Retracted.word());
    }
    if let Some(span) = filter.differs {
        difference_conditions(sql, span);
    }
    for TextWord { word, relations, is_viewer } in &filter.text {
        sql.sql(" AND (EXISTS (SELECT 1 FROM entities e WHERE e.user_id = f.user_id AND e.id IN (f.subject_id, f.object_id) AND (");
        sql.sql(S::POSITION).sql("(e.search, ").text(&fold(word)).sql(") > 0 OR ");
        sql.sql(S::POSITION).sql("(lower(COALESCE(e.description, '')), ").text(&word.to_lowercase()).sql(") > 0");
        sql.sql(if *is_viewer { " OR e.is_viewer))" } else { "))" });
        sql.sql(" OR ").sql(S::POSITION).sql("(COALESCE(f.value ->> 'search', ''), ").text(&word.to_lowercase()).sql(") > 0");
        sql.sql(" OR f.relation IN (''");
        for relation in relations {
            sql.sql(", ").text(relation);
        }
        sql.sql("))");
    }
    let (listed, relations) = match &filter.relations {
        RelationFilter::Any => return,
        RelationFilter::Except(relations) => (" AND f.relation NOT IN (''", relations),
        RelationFilter::Only(relations) => (" AND f.relation IN (''", relations),
    };
    sql.sql(listed);
    for relation in relations {
        sql.sql(", ").text(relation);
    }
    sql.sql(")");
}

/// Adds the condition that a fact held at one of two moments and not at the other.
///
/// The end of a retracted fact is its retraction. It was believed until then, so it differs if this was between the moments.
fn difference_conditions<S: ListSql>(sql: &mut S, TimeSpan { from, until }: TimeSpan) {
    let held = |sql: &mut S, t| {
        sql.sql("(f.valid_from <= ").time(t).sql(" AND (f.valid_to IS NULL OR f.valid_to > ").time(t).sql("))");
    };
    sql.sql(" AND ");
    held(sql, from);
    sql.sql(" <> ");
    match until {
        Some(until) => {
            held(sql, until);
            sql.sql(" AND NOT (f.status = ").text(FactStatus::Retracted.word()).sql(" AND ");
            held(sql, until);
            sql.sql(")");
        }
        None => {
            sql.sql("(f.status = ").text(FactStatus::Active.word()).sql(")");
        }
    }
}
