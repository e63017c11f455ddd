//! Statements of lists by filter, which are built at run time. A test prepares every form.

use sqlx::{FromRow, PgExecutor, Postgres, QueryBuilder, postgres::PgRow};
use uuid::Uuid;

use super::{
    codec::{self, parse_millis},
    failure::Failure,
};
use recall_domain::Timestamp;
use recall_store::{Refusal, filter::ListSql};

/// A statement that lists or counts rows by a filter.
pub(super) struct ListStatement(QueryBuilder<Postgres>);

impl ListStatement {
    pub(super) fn new(select: impl Into<String>) -> Self {
        Self(QueryBuilder::new(select))
    }

    pub(super) async fn rows<R>(mut self, db: impl PgExecutor<'_>) -> Result<Vec<R>, Failure>
    where
        R: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        Ok(self.0.build_query_as().fetch_all(db).await?)
    }

    pub(super) async fn count(mut self, db: impl PgExecutor<'_>) -> Result<u64, Failure> {
        let count: i64 = self.0.build_query_scalar().fetch_one(db).await?;
        Ok(count.unsigned_abs())
    }
}

impl ListSql for ListStatement {
    const POSITION: &'static str = "strpos";

    fn sql(&mut self, sql: &'static str) -> &mut Self {
        self.0.push(sql);
        self
    }

    fn id(&mut self, id: Uuid) -> &mut Self {
        self.0.push_bind(id);
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.0.push_bind(codec::text(text));
        self
    }

    fn integer(&mut self, n: i64) -> &mut Self {
        self.0.push_bind(n);
        self
    }

    fn real(&mut self, n: f64) -> &mut Self {
        self.0.push_bind(n);
        self
    }

    fn time(&mut self, t: Timestamp) -> &mut Self {
        self.0.push_bind(codec::time(t));
        self
    }

    fn key_time(&mut self, millis: i64) -> Result<&mut Self, Refusal> {
        Ok(self.time(parse_millis(millis).ok_or(Refusal::BadCursor)?))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::super::tests::store;
    use recall_domain::{
        Caller, EntityId, EntityType, FactStatus, MessageId, Page, SessionId, Timestamp, UserId, ViewerRole, context::SearchSource,
    };
    use recall_ports::{
        EntityFilter, EntityStore, FactFilter, FactOrder, FactStore, Inspect, RelationFilter, SessionFilter, SessionStore, TextWord,
        TimeSpan,
    };
    use recall_store::keys;
    use uuid::Uuid;

    /// The number of fields of a filter of facts.
    const FACT_FIELDS: u32 = 17;

    /// A filter whose fields are set by the bits of `form`.
    fn fact_filter(form: u32) -> FactFilter {
        fn given<T>(form: u32, bit: u32, value: T) -> Option<T> {
            (form >> bit & 1 == 1).then_some(value)
        }
        let word = |word: &str, is_viewer| TextWord { word: word.to_owned(), relations: vec!["KNOWS".to_owned()], is_viewer };
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
            text: given(form, 9, vec![word("anna", false), word("you", true)]).unwrap_or_default(),
            relations: given(form, 10, RelationFilter::Except(vec!["NOTE".to_owned()])).unwrap_or_default(),
            entity_type: given(form, 11, EntityType::Person),
            source: given(form, 12, SearchSource::Documents),
            changed_since: given(form, 13, Timestamp::UNIX_EPOCH),
            changed_before: given(form, 14, Timestamp::UNIX_EPOCH),
            order: given(form, 15, FactOrder::LeastBelieved).unwrap_or_default(),
            differs: given(form, 16, TimeSpan { from: Timestamp::UNIX_EPOCH, until: Some(Timestamp::UNIX_EPOCH) }),
        }
    }

    #[tokio::test]
    async fn all_forms_of_list_statements_fit_the_schema() {
        let Some(store) = store().await else { return };
        let caller = Caller::verified(UserId(Uuid::nil()), ViewerRole::User);
        let pages_after = |key: String| [None, Some(key)].map(|after| Page { first: 1, after });
        let pages = pages_after(keys::number_and_id(1, Uuid::nil()));
        // Each pair of fields, and all fields but a pair.
        let pairs = (0..FACT_FIELDS).flat_map(|a| (a..FACT_FIELDS).map(move |b| 1_u32 << a | 1 << b));
        for form in pairs.flat_map(|form| [form, !form]).chain([0, !0]) {
            let filter = fact_filter(form);
            for page in &pages_after(keys::fact_key(filter.order, 1, Uuid::nil())) {
                let found = store.list_facts(&caller, &filter, page).await;
                assert!(found.is_ok(), "{filter:?}: {:?}", found.err());
            }
            let counted = store.count_facts(&caller, &filter).await;
            assert!(counted.is_ok(), "{filter:?}: {:?}", counted.err());
        }
        for form in 0..1 << 4 {
            let filter = SessionFilter {
                text: (form & 1 == 1).then(|| "anna".to_owned()),
                pinned: (form & 2 == 2).then_some(true),
                archived: (form & 4 == 4).then_some(false),
                paused: (form & 8 == 8).then_some(true),
            };
            for page in &pages {
                let found = store.list_sessions(&caller, &filter, page).await;
                assert!(found.is_ok(), "{filter:?}: {:?}", found.err());
            }
            let counted = store.count_sessions(&caller, &filter).await;
            assert!(counted.is_ok(), "{filter:?}: {:?}", counted.err());
        }
        for form in 0..1 << 3 {
            let filter = EntityFilter {
                entity_type: (form & 1 == 1).then_some(EntityType::Person),
                text: (form & 2 == 2).then(|| "anna".to_owned()),
                session: (form & 4 == 4).then_some(SessionId(Uuid::nil())),
            };
            for page in &pages {
                let found = store.list_entities(&caller, &filter, page).await;
                assert!(found.is_ok(), "{filter:?}: {:?}", found.err());
            }
            let counted = store.count_entities(&caller, &filter).await;
            assert!(counted.is_ok(), "{filter:?}: {:?}", counted.err());
        }
        store.close().await;
    }
}
