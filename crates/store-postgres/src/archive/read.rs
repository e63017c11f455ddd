//! Reads an archive in one read transaction per user, page by page in the order of each table's key.

use async_trait::async_trait;
use chrono::DateTime;
use pgvector::Vector;
use sqlx::{
    AssertSqlSafe, Postgres, Row, Transaction,
    postgres::{PgArguments, PgRow},
    query::Query,
};
use uuid::Uuid;

use super::super::{PostgresStore, codec, failure::Failure, rows::Column, transaction};
use recall_domain::{Timestamp, UserId};
use recall_ports::{
    StoreError,
    archive::{
        Owner, Record, Shape, Snapshot, Value,
        shape::{Field, Holds},
    },
};
use recall_store::{
    Refusal,
    archive::{ArchiveReader, ArchiveReads, RecordPage, UserState, select_statement},
};

/// A snapshot of one user's data, read page by page.
pub(super) struct ArchiveSnapshot {
    transaction: Transaction<'static, Postgres>,
    reader: ArchiveReader,
}

impl ArchiveSnapshot {
    pub(super) async fn begin(store: &PostgresStore, user: UserId) -> Result<Self, Failure> {
        let mut transaction = store.pool.snapshot(user).await?;
        // The reader of the archive may be slow. The transaction holds nothing that others wait for.
        sqlx::query!("SET LOCAL idle_in_transaction_session_timeout = 0").execute(&mut *transaction).await?;
        let reader = ArchiveReader::begin(&mut transaction::Snapshot(&mut transaction), user).await?;
        Ok(Self { transaction, reader })
    }
}

#[async_trait]
impl Snapshot for ArchiveSnapshot {
    fn owner(&self) -> Owner {
        self.reader.state().owner
    }

    async fn next(&mut self, limit: u32) -> Result<Vec<Record>, StoreError> {
        Ok(self.reader.next(&mut transaction::Snapshot(&mut self.transaction), limit).await?)
    }
}

#[async_trait]
impl ArchiveReads for transaction::Snapshot<'_> {
    type Error = Failure;

    async fn user_state(&mut self, user: UserId) -> Result<Option<UserState>, Failure> {
        let row = sqlx::query!(
            "SELECT feed_head, knowledge_version, visitor, erasing, importing, embedding_model FROM users WHERE id = $1",
            user.0
        );
        let Some(row) = row.fetch_optional(&mut *self.0).await? else { return Ok(None) };
        let of = |column| Column("users", column);
        let feed_head = of("feed_head").count(row.feed_head)?;
        let knowledge_version = of("knowledge_version").count(row.knowledge_version)?;
        let owner = Owner { user, feed_head, knowledge_version, visitor: row.visitor };
        Ok(Some(UserState { owner, erasing: row.erasing, importing: row.importing, embedding_model: row.embedding_model }))
    }

    async fn has_hidden_session(&mut self, user: UserId) -> Result<bool, Failure> {
        let hidden = sqlx::query_scalar!("SELECT id FROM hidden_sessions WHERE user_id = $1 LIMIT 1", user.0);
        Ok(hidden.fetch_optional(&mut *self.0).await?.is_some())
    }

    async fn page(&mut self, user: UserId, shape: &'static Shape, after: Option<&[Value]>, limit: u32) -> Result<RecordPage, Failure> {
        let sql = select_statement('$', shape, after.is_some());
        let mut query = sqlx::query(AssertSqlSafe(sql)).bind(user.0);
        for (value, field) in after.into_iter().flatten().zip(shape.order) {
            query = bind(query, field, value);
        }
        let found = query.bind(i64::from(limit)).fetch_all(&mut *self.0).await?;
        RecordPage::read(shape, &found, |row, field| read_value(row, shape, field))
    }
}

/// A value in the form that its column stores, ready to be bound.
pub(super) enum Bound {
    Id(Option<Uuid>),
    Count(Option<i64>),
    Real(Option<f64>),
    Text(Option<String>),
    Flag(Option<bool>),
    Time(Option<Timestamp>),
    Vector(Option<Vector>),
    Bytes(Option<Vec<u8>>),
}

impl Bound {
    /// Converts by the field and not only by the value, because a missing value has a type too.
    pub(super) fn of(field: &Field, value: &Value) -> Self {
        match (field.holds, value) {
            (Holds::Id, Value::Id(id)) => Self::Id(Some(*id)),
            (Holds::Id, _) => Self::Id(None),
            (Holds::Count | Holds::Small, Value::Count(n)) => Self::Count(Some(*n)),
            (Holds::Count | Holds::Small, _) => Self::Count(None),
            (Holds::Weight | Holds::Share, Value::Real(n)) => Self::Real(Some(*n)),
            (Holds::Weight | Holds::Share, _) => Self::Real(None),
            (Holds::Flag, Value::Flag(f)) => Self::Flag(Some(*f)),
            (Holds::Flag, _) => Self::Flag(None),
            (Holds::Time, Value::Count(ms)) => Self::Time(DateTime::from_timestamp_millis(*ms).map(codec::time)),
            (Holds::Time, _) => Self::Time(None),
            (Holds::Vector, Value::Vector(v)) => Self::Vector(Some(v).filter(|v| !v.is_empty()).cloned().map(Vector::from)),
            (Holds::Vector, _) => Self::Vector(None),
            (Holds::Bytes, Value::Bytes(b)) => Self::Bytes(Some(b.clone())),
            (Holds::Bytes, _) => Self::Bytes(None),
            (Holds::Text | Holds::Interval, Value::Text(t)) => Self::Text(Some(codec::text(t).into_owned())),
            (Holds::Key, Value::Text(t)) => Self::Text(Some(codec::moved_key(t).into_owned())),
            (Holds::Word(_), Value::Text(t)) | (Holds::Json(_), Value::Json(t)) => Self::Text(Some(t.clone())),
            (Holds::Text | Holds::Key | Holds::Interval | Holds::Word(_) | Holds::Json(_), _) => Self::Text(None),
        }
    }
}

/// Binds a value in the form that its column stores.
pub(super) fn bind<'q>(query: Query<'q, Postgres, PgArguments>, field: &Field, value: &Value) -> Query<'q, Postgres, PgArguments> {
    match Bound::of(field, value) {
        Bound::Id(v) => query.bind(v),
        Bound::Count(v) => query.bind(v),
        Bound::Real(v) => query.bind(v),
        Bound::Text(v) => query.bind(v),
        Bound::Flag(v) => query.bind(v),
        Bound::Time(v) => query.bind(v),
        Bound::Vector(v) => query.bind(v),
        Bound::Bytes(v) => query.bind(v),
    }
}

fn read_value(row: &PgRow, shape: &Shape, field: &Field) -> Result<Option<Value>, Failure> {
    let damaged = || Refusal::Damaged { table: shape.table, column: field.name };
    Ok(match field.holds {
        Holds::Id => row.try_get::<Option<Uuid>, _>(field.name)?.map(Value::Id),
        Holds::Count | Holds::Small => row.try_get::<Option<i64>, _>(field.name)?.map(Value::Count),
        Holds::Time => row.try_get::<Option<Timestamp>, _>(field.name)?.map(|t| Value::Count(codec::millis(t))),
        Holds::Weight | Holds::Share => row.try_get::<Option<f64>, _>(field.name)?.map(Value::Real),
        Holds::Text | Holds::Key | Holds::Interval => match row.try_get::<Option<String>, _>(field.name)? {
            Some(text) => Some(Value::Text(codec::parse_text(text).ok_or_else(damaged)?)),
            None => None,
        },
        Holds::Word(_) => row.try_get::<Option<String>, _>(field.name)?.map(Value::Text),
        Holds::Flag => row.try_get::<Option<bool>, _>(field.name)?.map(Value::Flag),
        Holds::Json(_) => row.try_get::<Option<String>, _>(field.name)?.map(Value::Json),
        Holds::Bytes => row.try_get::<Option<Vec<u8>>, _>(field.name)?.map(Value::Bytes),
        Holds::Vector => Some(Value::Vector(row.try_get::<Option<Vector>, _>(field.name)?.map(Vec::from).unwrap_or_default())),
    })
}
