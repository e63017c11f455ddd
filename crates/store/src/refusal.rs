//! Why a store operation was refused, on any engine.

use std::error::Error;

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

/// Returns the engine's failure that was given to a planner as a [`StoreError`] and came back.
///
/// # Errors
/// The error itself, if it does not come from an engine with the failures `F`.
pub fn original_failure<F: Error + From<Refusal> + 'static>(e: StoreError) -> Result<F, StoreError> {
    let unpack = |cause: Box<dyn Error + Send + Sync>| match cause.downcast::<F>() {
        Ok(failure) => Ok(*failure),
        // Some refusals are in the box themselves.
        Err(cause) => cause.downcast::<Refusal>().map(|refusal| (*refusal).into()),
    };
    match e {
        StoreError::NotFound => Ok(Refusal::NotFound.into()),
        StoreError::BadCursor => Ok(Refusal::BadCursor.into()),
        StoreError::BeingErased => Ok(Refusal::BeingErased.into()),
        StoreError::BeingImported => Ok(Refusal::BeingImported.into()),
        StoreError::SessionBeingDeleted => Ok(Refusal::SessionBeingDeleted.into()),
        StoreError::QuotaUsed => Ok(Refusal::QuotaUsed.into()),
        StoreError::Transient(cause) => unpack(cause).map_err(StoreError::Transient),
        StoreError::Permanent(cause) => unpack(cause).map_err(StoreError::Permanent),
    }
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
