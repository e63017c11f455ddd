//! Why a store operation was refused, on any engine.

use recall_ports::{CommitError, StoreError};

/// A failure that does not come from the engine. It carries no user text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The row does not exist or belongs to another user.
    #[error("not found")]
    NotFound,
    /// The pagination key does not come from this store.
    #[error("the cursor is not valid")]
    BadCursor,
    /// All data of the user is being deleted.
    #[error("the data is being deleted")]
    BeingErased,
    /// An archive is being imported for the user.
    #[error("the data is being imported")]
    BeingImported,
    /// A session of the user is being deleted in steps.
    #[error("a session is being deleted")]
    SessionBeingDeleted,
    /// The visitor may store no more.
    #[error("the visit's storage limit is reached")]
    QuotaUsed,
    /// The knowledge changed since it was read.
    #[error("the plan is stale")]
    Stale,
    /// The claim on the job was lost.
    #[error("the claim on the job is no longer valid")]
    NotOurs,
    /// A column holds a value that this version never writes.
    #[error("column {column} of {table} is damaged")]
    Damaged {
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
    },
    /// A value that would not read back unchanged.
    #[error("{0} cannot be stored")]
    Unstorable(&'static str),
    /// Each of so many attempts met a concurrent commit.
    #[error("knowledge changed during each of {0} attempts; try again later")]
    AttemptsExhausted(u32),
    /// The database has a migration that this program does not know.
    #[error(
        "migration {0} of this database is unknown: it was written by a newer version of this program; upgrade recall or restore the older database"
    )]
    NewerDatabase(i64),
    /// The database lacks a migration, and this program may not apply it.
    #[error("the database schema is older than this program: run `recall migrate` first")]
    OlderDatabase,
}

impl From<Refusal> for StoreError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotFound => Self::NotFound,
            Refusal::BadCursor => Self::BadCursor,
            Refusal::BeingErased => Self::BeingErased,
            Refusal::BeingImported => Self::BeingImported,
            Refusal::SessionBeingDeleted => Self::SessionBeingDeleted,
            Refusal::QuotaUsed => Self::QuotaUsed,
            Refusal::AttemptsExhausted(_) => Self::Transient(Box::new(refusal)),
            refusal => Self::Permanent(Box::new(refusal)),
        }
    }
}

impl From<Refusal> for CommitError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Stale => Self::Stale,
            Refusal::NotOurs => Self::NotOurs,
            refusal => Self::Store(refusal.into()),
        }
    }
}
