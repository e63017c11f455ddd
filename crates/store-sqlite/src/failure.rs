//! The failures of this adapter, and their mapping to the port's errors. No failure carries user text.

use std::sync::Arc;

use recall_ports::{CommitError, StoreError};
use recall_store::{Refusal, original_failure};

/// Every failure of this adapter.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// Refused for a reason that does not come from the engine.
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
    /// The transaction with this write and others could not be committed.
    #[error("the transaction was not committed: {0}")]
    NotCommitted(#[source] Arc<Failure>),
    #[error("the writer did not take the write within {0:?}")]
    WriterBusy(std::time::Duration),
    #[error("the write was not confirmed within {0:?}")]
    NotConfirmed(std::time::Duration),
    #[error("the store is closed")]
    Closed,
    #[error("a read or write panicked")]
    Panicked,
    #[error("no connection for reading was free within {0:?}")]
    ReadersBusy(std::time::Duration),
    /// An algorithm waited inside a transaction, which none may.
    #[error("an algorithm of the store was suspended")]
    Suspended,
    #[error("migration {0} was changed after it was applied to this database")]
    ChangedMigration(i64),
    #[error("migration {0} failed in an earlier version of this program: restore the database from a backup")]
    UnfinishedMigration(i64),
    /// A read of a plan failed for a reason that does not come from this adapter.
    #[error("a plan could not be made: {0}")]
    Planning(#[source] StoreError),
    #[error("the database file cannot be created: {0}")]
    File(#[source] std::io::Error),
}

impl Failure {
    /// Whether the same call may succeed later.
    fn is_transient(&self) -> bool {
        match self {
            Self::Sql(e) => is_transient_sql(e),
            Self::NotCommitted(e) => e.is_transient(),
            Self::Planning(e) => matches!(e, StoreError::Transient(_)),
            Self::WriterBusy(_) | Self::ReadersBusy(_) | Self::NotConfirmed(_) | Self::Closed => true,
            Self::File(e) => !matches!(e.kind(), std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::NotADirectory),
            _ => false,
        }
    }

    /// Whether the database rejected the data of a statement, and not its execution at this moment.
    pub(super) fn violates_constraint(&self) -> bool {
        let Self::Sql(e) = self else { return false };
        e.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation)
    }
}

fn is_transient_sql(e: &rusqlite::Error) -> bool {
    e.sqlite_error().is_some_and(|e| is_transient_code(e.extended_code))
}

/// Whether an SQLite result code (<https://sqlite.org/rescode.html>) is caused by the current state and not by the statement.
fn is_transient_code(extended: i32) -> bool {
    use rusqlite::ffi as c;
    matches!(
        extended & 0xff,
        c::SQLITE_BUSY
            | c::SQLITE_LOCKED
            | c::SQLITE_NOMEM
            | c::SQLITE_INTERRUPT
            | c::SQLITE_IOERR
            | c::SQLITE_FULL
            | c::SQLITE_CANTOPEN
            | c::SQLITE_PROTOCOL
    )
}

/// A failed read of a plan comes back with the failure that this adapter gave.
impl From<StoreError> for Failure {
    fn from(e: StoreError) -> Self {
        original_failure(e).unwrap_or_else(Self::Planning)
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refusal) => refusal.into(),
            Failure::Planning(e) => e,
            f if f.is_transient() => Self::Transient(Box::new(f)),
            f => Self::Permanent(Box::new(f)),
        }
    }
}

impl From<Failure> for CommitError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refusal) => refusal.into(),
            f => Self::Store(f.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_codes_of_temporary_states_are_transient() {
        // Extended codes keep the primary code in the low byte: SQLITE_BUSY_SNAPSHOT, SQLITE_IOERR_FSYNC.
        for transient in [5, 6, 13, 10, 517, 1034] {
            assert!(is_transient_code(transient), "{transient}");
        }
        for permanent in [1, 11, 19, 26, 787, 2067] {
            assert!(!is_transient_code(permanent), "{permanent}");
        }
    }
}
