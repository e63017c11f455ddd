//! Reads an archive in one read transaction per user, page by page in the order of each table's key.

use async_trait::async_trait;
use sqlx::{AssertSqlSafe, Row, Sqlite, Transaction, query::Query, sqlite::SqliteArguments, sqlite::SqliteRow};
use uuid::Uuid;

use super::super::{
    SqliteStore,
    codec::{self, bytes},
    failure::Failure,
    rows::Columns,
    transaction,
};
use recall_domain::UserId;
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
    transaction: Transaction<'static, Sqlite>,
    reader: ArchiveReader,
}

impl ArchiveSnapshot {
    pub(super) async fn begin(store: &SqliteStore, user: UserId) -> Result<Self, Failure> {
        let mut transaction = store.readers.for_server().begin().await?;
        // The first statement takes the snapshot.
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
        let found =
            sqlx::query("SELECT feed_head, knowledge_version, visitor, erasing, importing, embedding_model FROM users WHERE id = ?");
        let found = found.bind(bytes(&user.0)).fetch_optional(&mut *self.0).await?;
        let state = found.map(|row| {
            let c = Columns::of(&row, "users");
            let (feed_head, knowledge_version) = (c.count("feed_head")?, c.count("knowledge_version")?);
            let owner = Owner { user, feed_head, knowledge_version, visitor: c.flag("visitor")? };
            let (erasing, importing) = (c.flag("erasing")?, c.flag("importing")?);
            Ok(UserState { owner, erasing, importing, embedding_model: c.opt_text("embedding_model")? })
        });
        state.transpose()
    }

    async fn has_hidden_session(&mut self, user: UserId) -> Result<bool, Failure> {
        let hidden = sqlx::query("SELECT 1 FROM hidden_sessions WHERE user_id = ? LIMIT 1");
        Ok(hidden.bind(bytes(&user.0)).fetch_optional(&mut *self.0).await?.is_some())
    }

    async fn page(&mut self, user: UserId, shape: &'static Shape, after: Option<&[Value]>, limit: u32) -> Result<RecordPage, Failure> {
        let sql = select_statement('?', shape, after.is_some());
        let mut query = sqlx::query(AssertSqlSafe(sql)).bind(bytes(&user.0));
        for value in after.into_iter().flatten() {
            query = bind(query, value);
        }
        let found = query.bind(i64::from(limit)).fetch_all(&mut *self.0).await?;
        RecordPage::read(shape, &found, |row, field| read_value(row, shape, field))
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

fn read_value(row: &SqliteRow, shape: &Shape, field: &Field) -> Result<Option<Value>, Failure> {
    let damaged = || Refusal::Damaged { table: shape.table, column: field.name };
    Ok(match field.holds {
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
    })
}
