//! Statements of lists by filter, which are built at run time.

use rusqlite::{params_from_iter, types::Value};
use uuid::Uuid;

use super::{codec::millis, connection::Db, failure::Failure, rows::Columns};
use recall_domain::Timestamp;
use recall_store::{Refusal, filter::ListSql};

/// A statement that lists or counts rows by a filter.
pub(super) struct ListStatement {
    sql: String,
    values: Vec<Value>,
}

impl ListStatement {
    pub(super) fn new(select: &'static str) -> Self {
        Self { sql: select.to_owned(), values: Vec::new() }
    }

    pub(super) fn rows<T>(
        self,
        db: &Db,
        table: &'static str,
        read: impl Fn(&Columns<'_, '_>) -> Result<T, Failure>,
    ) -> Result<Vec<T>, Failure> {
        db.rows(table, &self.sql, params_from_iter(self.values), read)
    }

    pub(super) fn count(self, db: &Db) -> Result<u64, Failure> {
        Ok(db.number(&self.sql, params_from_iter(self.values))?.unsigned_abs())
    }

    fn value(&mut self, value: Value) -> &mut Self {
        self.sql.push('?');
        self.values.push(value);
        self
    }
}

impl ListSql for ListStatement {
    const POSITION: &'static str = "instr";

    fn sql(&mut self, sql: &'static str) -> &mut Self {
        self.sql.push_str(sql);
        self
    }

    fn id(&mut self, id: Uuid) -> &mut Self {
        self.value(Value::Blob(id.as_bytes().to_vec()))
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.value(Value::Text(text.to_owned()))
    }

    fn integer(&mut self, n: i64) -> &mut Self {
        self.value(Value::Integer(n))
    }

    fn real(&mut self, n: f64) -> &mut Self {
        self.value(Value::Real(n))
    }

    fn time(&mut self, t: Timestamp) -> &mut Self {
        self.integer(millis(t))
    }

    fn key_time(&mut self, millis: i64) -> Result<&mut Self, Refusal> {
        Ok(self.integer(millis))
    }
}
