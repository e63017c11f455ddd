//! Reads an archive in one read transaction per user, page by page in the order of each table's key.

use std::collections::BTreeMap;

use async_trait::async_trait;
use rusqlite::{params_from_iter, types::Value as SqlValue};

use super::super::{
    SqliteStore, codec,
    failure::Failure,
    readers,
    rows::Columns,
    transaction::{ReadTransaction, run},
};
use recall_domain::UserId;
use recall_ports::{
    StoreError,
    archive::{
        Owner, Record, Shape, Snapshot, Value,
        shape::{Field, Holds},
    },
};
use recall_store::archive::{ArchiveReader, ArchiveReads, RecordPage, UserState, select_statement};

/// A snapshot of one user's data, read page by page.
pub(super) struct ArchiveSnapshot {
    snapshot: readers::Snapshot,
    owner: Owner,
    /// `None` while a page is read, and after a read whose caller stopped waiting.
    reader: Option<ArchiveReader>,
}

impl ArchiveSnapshot {
    pub(super) async fn begin(store: &SqliteStore, user: UserId) -> Result<Self, Failure> {
        let mut snapshot = store.readers.snapshot().await?;
        // The first statement takes the snapshot.
        let reader = snapshot.read(move |db| run(ArchiveReader::begin(&mut ReadTransaction(db), user))).await?;
        Ok(Self { snapshot, owner: reader.state().owner, reader: Some(reader) })
    }
}

#[async_trait]
impl Snapshot for ArchiveSnapshot {
    fn owner(&self) -> Owner {
        self.owner
    }

    async fn next(&mut self, limit: u32) -> Result<Vec<Record>, StoreError> {
        let mut reader = self.reader.take().ok_or(Failure::Closed)?;
        let read = self.snapshot.read(move |db| {
            let records = run(reader.next(&mut ReadTransaction(db), limit));
            Ok((records, reader))
        });
        let (records, reader) = read.await?;
        self.reader = Some(reader);
        Ok(records?)
    }
}

#[async_trait]
impl ArchiveReads for ReadTransaction<'_> {
    type Error = Failure;

    async fn user_state(&mut self, user: UserId) -> Result<Option<UserState>, Failure> {
        let sql = "SELECT feed_head, knowledge_version, visitor, erasing, importing, embedding_model FROM users WHERE id = ?";
        self.0.row("users", sql, (user.0,), |c| {
            let (feed_head, knowledge_version) = (c.count("feed_head")?, c.count("knowledge_version")?);
            let owner = Owner { user, feed_head, knowledge_version, visitor: c.flag("visitor")? };
            let (erasing, importing) = (c.flag("erasing")?, c.flag("importing")?);
            Ok(UserState { owner, erasing, importing, embedding_model: c.opt_text("embedding_model")? })
        })
    }

    async fn has_hidden_session(&mut self, user: UserId) -> Result<bool, Failure> {
        self.0.exists("SELECT 1 FROM hidden_sessions WHERE user_id = ? LIMIT 1", (user.0,))
    }

    async fn page(&mut self, user: UserId, shape: &'static Shape, after: Option<&[Value]>, limit: u32) -> Result<RecordPage, Failure> {
        let sql = select_statement('?', shape, after.is_some());
        let mut values = sql_values(user, after.unwrap_or_default());
        values.push(SqlValue::Integer(i64::from(limit)));
        let found = self.0.rows(shape.table, &sql, params_from_iter(values), |c| {
            // The key may have fields that no record has.
            let fields = shape.fields.iter().chain(shape.order.iter().filter(|f| shape.field(f.name).is_none()));
            fields.map(|field| Ok((field.name, read_value(c, field)?))).collect::<Result<BTreeMap<_, _>, Failure>>()
        })?;
        RecordPage::read(shape, &found, |row, field| Ok(row.get(field.name).cloned().flatten()))
    }
}

/// The user and these values, in the form that their columns store.
pub(super) fn sql_values(user: UserId, values: &[Value]) -> Vec<SqlValue> {
    std::iter::once(SqlValue::from(user.0)).chain(values.iter().map(sql_value)).collect()
}

fn sql_value(value: &Value) -> SqlValue {
    match value {
        Value::Missing => SqlValue::Null,
        Value::Id(id) => (*id).into(),
        Value::Count(n) => SqlValue::Integer(*n),
        Value::Real(n) => SqlValue::Real(*n),
        Value::Text(text) | Value::Json(text) => SqlValue::Text(text.clone()),
        Value::Flag(flag) => (*flag).into(),
        Value::Vector(vector) => SqlValue::Blob(codec::vector(vector)),
        Value::Bytes(bytes) => SqlValue::Blob(bytes.clone()),
    }
}

/// Reads the column of a field; `None` if it is NULL.
fn read_value(c: &Columns<'_, '_>, field: &Field) -> Result<Option<Value>, Failure> {
    Ok(match field.holds {
        Holds::Id => c.opt_id(field.name)?.map(Value::Id),
        Holds::Count | Holds::Small | Holds::Time => c.get::<Option<i64>>(field.name)?.map(Value::Count),
        Holds::Weight | Holds::Share => c.get::<Option<f64>>(field.name)?.map(Value::Real),
        Holds::Text | Holds::Key | Holds::Interval | Holds::Word(_) => c.opt_text(field.name)?.map(Value::Text),
        Holds::Flag => c.get::<Option<i64>>(field.name)?.map(|n| Value::Flag(n != 0)),
        Holds::Json(_) => c.opt_text(field.name)?.map(Value::Json),
        Holds::Vector => c.opt_vector(field.name)?.map(Value::Vector),
        Holds::Bytes => c.get::<Option<Vec<u8>>>(field.name)?.map(Value::Bytes),
    })
}
