//! Reads all records of one user, page by page in the order of each table's key.

use async_trait::async_trait;

use crate::Refusal;
use recall_domain::UserId;
use recall_ports::archive::{Owner, Record, SHAPES, Shape, Value, shape::Field};

/// The counters of a user, the locks, and the model of the vectors.
#[derive(Clone, Debug)]
pub struct UserState {
    /// The user and its counters.
    pub owner: Owner,
    /// All data is being deleted.
    pub erasing: bool,
    /// An archive is being imported.
    pub importing: bool,
    /// The model whose vectors are searched; `None` before the first message.
    pub embedding_model: Option<String>,
}

/// Some records of one shape.
#[derive(Debug)]
pub struct RecordPage {
    records: Vec<Record>,
    /// The key of the last row, if there is one.
    last: Option<Vec<Value>>,
}

impl RecordPage {
    /// Reads the rows of [`select_statement`](super::select_statement). `value` reads one column; `None` is NULL.
    ///
    /// # Errors
    /// `Damaged` if a column that is not optional is NULL; what `value` returns.
    pub fn read<R, E: From<Refusal>>(
        shape: &'static Shape,
        rows: &[R],
        value: impl Fn(&R, &Field) -> Result<Option<Value>, E>,
    ) -> Result<Self, E> {
        let read = |row, fields: &[Field]| {
            let values = fields.iter().map(|field| match value(row, field)? {
                None if !field.optional => Err(Refusal::Damaged { table: shape.table, column: field.name }.into()),
                found => Ok(found.unwrap_or(Value::Missing)),
            });
            values.collect::<Result<Vec<_>, E>>()
        };
        let records = rows.iter().map(|row| Ok(Record { shape, values: read(row, shape.fields)? }));
        let records = records.collect::<Result<_, E>>()?;
        Ok(Self { records, last: rows.last().map(|row| read(row, shape.order)).transpose()? })
    }
}

/// The statements that read an archive, in one snapshot or in a write transaction.
#[async_trait]
pub trait ArchiveReads: Send {
    /// The engine's failures.
    type Error: From<Refusal> + Send;

    /// Returns the state of a user; `None` if the user is unknown.
    async fn user_state(&mut self, user: UserId) -> Result<Option<UserState>, Self::Error>;
    /// Whether a session of the user is being deleted.
    async fn has_hidden_session(&mut self, user: UserId) -> Result<bool, Self::Error>;
    /// Returns the first records of a shape after the row with this key, at most `limit`.
    async fn page(&mut self, user: UserId, shape: &'static Shape, after: Option<&[Value]>, limit: u32) -> Result<RecordPage, Self::Error>;
}

/// Reads the records of one user in the order of [`SHAPES`].
#[derive(Debug)]
pub struct ArchiveReader {
    state: UserState,
    /// Index of the current shape. `after` is the key of its last row that was read.
    shape_index: usize,
    after: Option<Vec<Value>>,
}

impl ArchiveReader {
    /// Reads the state of the user. In a snapshot, these are its first statements.
    ///
    /// # Errors
    /// `NotFound` if the user is unknown. `SessionBeingDeleted` if a session of the user is: the deletion steps remove the facts that
    /// rest only on that session, and a copy in another store would keep them permanently.
    pub async fn begin<R: ArchiveReads + ?Sized>(reads: &mut R, user: UserId) -> Result<Self, R::Error> {
        let state = reads.user_state(user).await?.ok_or(Refusal::NotFound)?;
        if reads.has_hidden_session(user).await? {
            return Err(Refusal::SessionBeingDeleted.into());
        }
        Ok(Self { state, shape_index: 0, after: None })
    }

    /// The state of the user.
    pub fn state(&self) -> &UserState {
        &self.state
    }

    /// Returns the next records, all of one shape, at most `limit`; none at the end.
    ///
    /// # Errors
    /// If a statement fails or a row is damaged.
    pub async fn next<R: ArchiveReads + ?Sized>(&mut self, reads: &mut R, limit: u32) -> Result<Vec<Record>, R::Error> {
        while let Some(shape) = SHAPES.get(self.shape_index) {
            let RecordPage { records, last } = reads.page(self.state.owner.user, shape, self.after.as_deref(), limit).await?;
            self.after = last;
            if records.len() < limit as usize || records.is_empty() {
                self.shape_index += 1;
                self.after = None;
            }
            if !records.is_empty() {
                return Ok(records);
            }
        }
        Ok(Vec::new())
    }
}
