//! Statements of lists by filter, which are built at run time.

use sqlx::{QueryBuilder, Sqlite, sqlite::SqliteRow};
use uuid::Uuid;

use super::super::{
    SqliteStore,
    codec::{bytes, millis},
    failure::Failure,
};
use recall_domain::{Caller, Timestamp};
use recall_store::{Refusal, filter::ListSql};

/// A statement that lists or counts rows by a filter.
pub(super) struct ListStatement(QueryBuilder<Sqlite>);

impl ListStatement {
    pub(super) fn new(select: &'static str) -> Self {
        Self(QueryBuilder::new(select))
    }

    pub(super) async fn rows(mut self, store: &SqliteStore, caller: &Caller) -> Result<Vec<SqliteRow>, Failure> {
        Ok(self.0.build().fetch_all(store.readers.for_user(caller)).await?)
    }

    pub(super) async fn count(mut self, store: &SqliteStore, caller: &Caller) -> Result<u64, Failure> {
        let count: i64 = self.0.build_query_scalar().fetch_one(store.readers.for_user(caller)).await?;
        Ok(count.unsigned_abs())
    }
}

impl ListSql for ListStatement {
    const POSITION: &'static str = "instr";

    fn sql(&mut self, sql: &'static str) -> &mut Self {
        self.0.push(sql);
        self
    }

    fn id(&mut self, id: Uuid) -> &mut Self {
        self.0.push_bind(bytes(&id));
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.0.push_bind(text);
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
        self.0.push_bind(millis(t));
        self
    }

    fn key_time(&mut self, millis: i64) -> Result<&mut Self, Refusal> {
        Ok(self.integer(millis))
    }
}
