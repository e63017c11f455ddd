//! Reads an archive in one read transaction per user, page by page in the order of each table's key.

use async_trait::async_trait;
use sqlx::{AssertSqlSafe, Row, Sqlite, SqliteConnection, Transaction, query::Query, sqlite::SqliteArguments, sqlite::SqliteRow};
use uuid::Uuid;

use super::super::{SqliteStore, codec, failure::Failure, rows::Columns, session_deletion::hidden_session_ids};
use recall_domain::UserId;
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
    transaction: Transaction<'static, Sqlite>,
    owner: Owner,
    /// Index of the current shape. `after` is the key of its last row that was read.
    shape_index: usize,
    after: Option<Vec<Value>>,
}

impl ArchiveReader {
    pub(super) async fn begin(store: &SqliteStore, user: UserId) -> Result<Self, Failure> {
        let mut transaction = store.readers.for_server().begin().await?;
        // The first statement takes the snapshot.
        let row = sqlx::query("SELECT feed_head, knowledge_version, visitor FROM users WHERE id = ?")
            .bind(super::owner(&user.0))
            .fetch_optional(&mut *transaction)
            .await?
            .ok_or(Refusal::NotFound)?;
        let c = Columns::of(&row, "users");
        let (feed_head, knowledge_version) = (c.count("feed_head")?, c.count("knowledge_version")?);
        let owner = Owner { user, feed_head, knowledge_version, visitor: c.flag("visitor")? };
        reject_hidden_sessions(&mut transaction, user.0).await?;
        Ok(Self { transaction, owner, shape_index: 0, after: None })
    }
}

/// Rejects users with a session under deletion.
///
/// The deletion steps remove the facts that rest only on that session. A copy in another store would keep them permanently.
pub(super) async fn reject_hidden_sessions(c: &mut SqliteConnection, user: Uuid) -> Result<(), Failure> {
    let hidden = sqlx::query("SELECT 1 FROM sessions WHERE user_id = ? AND deletion_at IS NOT NULL LIMIT 1").bind(super::owner(&user));
    if hidden.fetch_optional(c).await?.is_some() { Err(Refusal::SessionBeingDeleted.into()) } else { Ok(()) }
}

/// Reads the next records of one shape, and moves `after` to the key of the last one.
pub(super) async fn read_page(
    c: &mut SqliteConnection,
    user: Uuid,
    shape: &'static Shape,
    after: &mut Option<Vec<Value>>,
    limit: u32,
) -> Result<Vec<Record>, Failure> {
    let sql = select_statement(shape, after.is_some());
    let mut query = sqlx::query(AssertSqlSafe(sql)).bind(super::owner(&user));
    for value in after.iter().flatten() {
        query = bind(query, value);
    }
    let found = query.bind(i64::from(limit)).fetch_all(c).await?;
    if let Some(last) = found.last() {
        *after = Some(shape.order.iter().map(|f| read_value(last, shape, f)).collect::<Result<_, _>>()?);
    }
    let record = |row: &SqliteRow| {
        Ok(Record { shape, values: shape.fields.iter().map(|f| read_value(row, shape, f)).collect::<Result<_, Failure>>()? })
    };
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

fn select_statement(shape: &Shape, after: bool) -> String {
    let hidden = shape.order.iter().filter(|f| shape.field(f.name).is_none());
    let columns: Vec<_> = shape.fields.iter().chain(hidden).map(|f| f.name).collect();
    let order: Vec<_> = shape.order.iter().map(|f| f.name).collect();
    let (columns, order) = (columns.join(", "), order.join(", "));
    let places: Vec<_> = (0..shape.order.len()).map(|n| format!("?{}", n + 2)).collect();
    let limit = if after { shape.order.len() + 2 } else { 2 };
    let after = if after { format!(" AND ({order}) > ({})", places.join(", ")) } else { String::new() };
    format!("SELECT {columns} FROM {} WHERE user_id = ?1{after}{} ORDER BY {order} LIMIT ?{limit}", shape.table, visible_condition(shape))
}

/// The condition that excludes rows of sessions under deletion.
fn visible_condition(shape: &Shape) -> &'static str {
    if shape.table == "sessions" {
        " AND deletion_at IS NULL"
    } else if shape.field("session_id").is_some() {
        concat!(" AND session_id NOT IN ", hidden_session_ids!())
    } else if shape.field("message_id").is_some() {
        concat!(" AND message_id NOT IN (SELECT id FROM messages WHERE user_id = ?1 AND session_id IN ", hidden_session_ids!(), ")")
    } else {
        ""
    }
}

/// Binds a value in the form that its column stores.
pub(super) fn bind<'q>(query: Query<'q, Sqlite, SqliteArguments>, value: &Value) -> Query<'q, Sqlite, SqliteArguments> {
    match value {
        Value::Missing => query.bind(None::<i64>),
        Value::Id(id) => query.bind(codec::bytes(id).to_vec()),
        Value::Count(n) => query.bind(*n),
        Value::Real(n) => query.bind(*n),
        Value::Text(text) | Value::Json(text) => query.bind(text.clone()),
        Value::Flag(flag) => query.bind(*flag),
        Value::Vector(vector) => query.bind(codec::vector(vector)),
    }
}

fn read_value(row: &SqliteRow, shape: &Shape, field: &Field) -> Result<Value, Failure> {
    let damaged = || Refusal::Damaged { table: shape.table, column: field.name };
    let found = match field.holds {
        Holds::Id => match row.try_get::<Option<&[u8]>, _>(field.name)? {
            Some(id) => Some(Value::Id(Uuid::from_slice(id).map_err(|_| damaged())?)),
            None => None,
        },
        Holds::Count | Holds::Small | Holds::Time => row.try_get::<Option<i64>, _>(field.name)?.map(Value::Count),
        Holds::Weight | Holds::Share => row.try_get::<Option<f64>, _>(field.name)?.map(Value::Real),
        Holds::Text | Holds::Key | Holds::Word(_) => row.try_get::<Option<String>, _>(field.name)?.map(Value::Text),
        Holds::Flag => row.try_get::<Option<i64>, _>(field.name)?.map(|n| Value::Flag(n != 0)),
        Holds::Json(_) => row.try_get::<Option<String>, _>(field.name)?.map(Value::Json),
        Holds::Vector => match row.try_get::<Option<&[u8]>, _>(field.name)? {
            Some(vector) => Some(Value::Vector(codec::parse_vector(vector).ok_or_else(damaged)?)),
            None => None,
        },
    };
    match found {
        None if !field.optional => Err(damaged().into()),
        found => Ok(found.unwrap_or(Value::Missing)),
    }
}
