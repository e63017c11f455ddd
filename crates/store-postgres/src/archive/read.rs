//! Reads an archive in one read transaction per user, page by page in the order of each table's key.

use async_trait::async_trait;
use chrono::DateTime;
use pgvector::Vector;
use sqlx::{
    AssertSqlSafe, PgConnection, Postgres, Row, Transaction,
    postgres::{PgArguments, PgRow},
    query::Query,
};
use uuid::Uuid;

use super::super::{PostgresStore, codec, failure::Failure, rows::Column};
use recall_domain::{Timestamp, UserId};
use recall_ports::{
    StoreError,
    archive::{
        Owner, Record, SHAPES, Shape, Snapshot, Value,
        shape::{Field, Holds},
    },
};
use recall_store::Refusal;

/// A snapshot of one user's data, read page by page.
pub(super) struct ArchiveReader {
    transaction: Transaction<'static, Postgres>,
    owner: Owner,
    /// Index of the current shape. `after` is the key of its last row that was read.
    shape_index: usize,
    after: Option<Vec<Value>>,
}

impl ArchiveReader {
    pub(super) async fn begin(store: &PostgresStore, user: UserId) -> Result<Self, Failure> {
        let mut transaction = store.pool.snapshot(user).await?;
        // The reader of the archive may be slow. The transaction holds nothing that others wait for.
        sqlx::query!("SET LOCAL idle_in_transaction_session_timeout = 0").execute(&mut *transaction).await?;
        let row = sqlx::query!("SELECT feed_head, knowledge_version, visitor FROM users WHERE id = $1", user.0);
        let row = row.fetch_optional(&mut *transaction).await?.ok_or(Refusal::NotFound)?;
        let of = |column| Column("users", column);
        let (feed_head, version) = (of("feed_head").count(row.feed_head)?, of("knowledge_version").count(row.knowledge_version)?);
        let owner = Owner { user, feed_head, knowledge_version: version, visitor: row.visitor };
        reject_hidden_sessions(&mut transaction, user.0).await?;
        Ok(Self { transaction, owner, shape_index: 0, after: None })
    }
}

/// Rejects users with a session under deletion.
///
/// The deletion steps remove the facts that rest only on that session. A copy in another store would keep them permanently.
pub(super) async fn reject_hidden_sessions(c: &mut PgConnection, user: Uuid) -> Result<(), Failure> {
    let hidden = sqlx::query_scalar!("SELECT id FROM sessions WHERE user_id = $1 AND deletion_at IS NOT NULL LIMIT 1", user);
    if hidden.fetch_optional(c).await?.is_some() { Err(Refusal::SessionBeingDeleted.into()) } else { Ok(()) }
}

/// Reads the next records of one shape, and moves `after` to the key of the last one.
pub(super) async fn read_page(
    c: &mut PgConnection,
    user: Uuid,
    shape: &'static Shape,
    after: &mut Option<Vec<Value>>,
    limit: u32,
) -> Result<Vec<Record>, Failure> {
    let mut query = sqlx::query(AssertSqlSafe(select_statement(shape, after.is_some()))).bind(user);
    for (value, field) in after.iter().flatten().zip(shape.order) {
        query = bind(query, field, value);
    }
    let found = query.bind(i64::from(limit)).fetch_all(c).await?;
    if let Some(last) = found.last() {
        *after = Some(shape.order.iter().map(|f| read_value(last, shape, f)).collect::<Result<_, _>>()?);
    }
    let record =
        |row: &PgRow| Ok(Record { shape, values: shape.fields.iter().map(|f| read_value(row, shape, f)).collect::<Result<_, Failure>>()? });
    found.iter().map(record).collect()
}

#[async_trait]
impl Snapshot for ArchiveReader {
    fn owner(&self) -> Owner {
        self.owner
    }

    async fn next(&mut self, limit: u32) -> Result<Vec<Record>, StoreError> {
        while let Some(shape) = SHAPES.get(self.shape_index) {
            let page = read_page(&mut self.transaction, self.owner.user.0, shape, &mut self.after, limit).await?;
            if !page.is_empty() {
                return Ok(page);
            }
            self.shape_index += 1;
            self.after = None;
        }
        Ok(Vec::new())
    }
}

pub(super) fn select_statement(shape: &Shape, after: bool) -> String {
    let column = |f: &Field| match f.holds {
        Holds::Json(_) => format!("{0}::text AS {0}", f.name),
        _ => f.name.to_owned(),
    };
    let hidden = shape.order.iter().filter(|f| shape.field(f.name).is_none());
    let columns: Vec<_> = shape.fields.iter().chain(hidden).map(column).collect();
    let order: Vec<_> = shape.order.iter().map(|f| f.name).collect();
    let places: Vec<_> = (0..shape.order.len()).map(|n| format!("${}", n + 2)).collect();
    let (columns, order) = (columns.join(", "), order.join(", "));
    let condition = if after { format!(" AND ({order}) > ({})", places.join(", ")) } else { String::new() };
    let limit = if after { shape.order.len() + 2 } else { 2 };
    format!(
        "SELECT {columns} FROM {} WHERE user_id = $1{condition}{} ORDER BY {order} LIMIT ${limit}",
        shape.table,
        visible_condition(shape)
    )
}

/// The condition that excludes rows of sessions under deletion.
fn visible_condition(shape: &Shape) -> &'static str {
    if shape.table == "sessions" {
        " AND deletion_at IS NULL"
    } else if shape.field("session_id").is_some() {
        " AND session_id <> ALL (ARRAY(SELECT id FROM sessions WHERE user_id = $1 AND deletion_at IS NOT NULL))"
    } else if shape.field("message_id").is_some() {
        " AND message_id NOT IN (SELECT id FROM messages WHERE user_id = $1 AND session_id = ANY(ARRAY(
              SELECT id FROM sessions WHERE user_id = $1 AND deletion_at IS NOT NULL)))"
    } else {
        ""
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
            (Holds::Text, Value::Text(t)) => Self::Text(Some(codec::text(t).into_owned())),
            (Holds::Key, Value::Text(t)) => Self::Text(Some(codec::moved_key(t).into_owned())),
            (Holds::Word(_), Value::Text(t)) | (Holds::Json(_), Value::Json(t)) => Self::Text(Some(t.clone())),
            (Holds::Text | Holds::Key | Holds::Word(_) | Holds::Json(_), _) => Self::Text(None),
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
    }
}

fn read_value(row: &PgRow, shape: &Shape, field: &Field) -> Result<Value, Failure> {
    let damaged = || Refusal::Damaged { table: shape.table, column: field.name };
    let found = match field.holds {
        Holds::Id => row.try_get::<Option<Uuid>, _>(field.name)?.map(Value::Id),
        Holds::Count | Holds::Small => row.try_get::<Option<i64>, _>(field.name)?.map(Value::Count),
        Holds::Time => row.try_get::<Option<Timestamp>, _>(field.name)?.map(|t| Value::Count(codec::millis(t))),
        Holds::Weight | Holds::Share => row.try_get::<Option<f64>, _>(field.name)?.map(Value::Real),
        Holds::Text | Holds::Key => match row.try_get::<Option<String>, _>(field.name)? {
            Some(text) => Some(Value::Text(codec::parse_text(text).ok_or_else(damaged)?)),
            None => None,
        },
        Holds::Word(_) => row.try_get::<Option<String>, _>(field.name)?.map(Value::Text),
        Holds::Flag => row.try_get::<Option<bool>, _>(field.name)?.map(Value::Flag),
        Holds::Json(_) => row.try_get::<Option<String>, _>(field.name)?.map(Value::Json),
        Holds::Vector => Some(Value::Vector(row.try_get::<Option<Vector>, _>(field.name)?.map(Vec::from).unwrap_or_default())),
    };
    match found {
        None if !field.optional => Err(damaged().into()),
        found => Ok(found.unwrap_or(Value::Missing)),
    }
}
