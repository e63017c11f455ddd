//! The failures of this adapter, and their mapping to the port's errors. No failure carries user text.

use recall_ports::{CommitError, StoreError};
use recall_store::{Refusal, original_failure};

/// Every failure of this adapter.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// Refused for a reason that does not come from the engine.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The server rejected a statement; see <https://www.postgresql.org/docs/current/errcodes-appendix.html>.
    #[error("the server returned {code}: {message}")]
    Rejected { code: String, message: String },
    /// Any other failure of the driver or the connection.
    #[error(transparent)]
    Sql(sqlx::Error),
    /// The connection was lost during COMMIT, so the write may have happened.
    ///
    /// A repetition with the same ids and keys finds out.
    #[error("the commit was not confirmed: {0}")]
    NotConfirmed(#[source] sqlx::Error),
    #[error(
        "storage.require_row_security is set, but row-level security does not apply, because {0}: see \"PostgreSQL\" in docs/deployment.md"
    )]
    NoRowSecurity(&'static str),
    #[error("the migrations failed: {0}")]
    Migration(#[source] sqlx::migrate::MigrateError),
    #[error("the server is PostgreSQL {0}, and 15 or newer is needed")]
    OldServer(i32),
    #[error("the server did not answer within {0:?}")]
    NoAnswer(std::time::Duration),
    #[error("the database URL cannot be used: {0}")]
    Url(&'static str),
    /// A read of a plan failed for a reason that does not come from this adapter.
    #[error("a plan could not be made: {0}")]
    Planning(#[source] StoreError),
    #[error("the server takes no writes: it is a standby or is set to read-only")]
    ReadOnly,
    /// Why no server can be used, with the address of each.
    #[error("{0}")]
    NoServer(String),
}

impl From<sqlx::Error> for Failure {
    fn from(e: sqlx::Error) -> Self {
        let sqlx::Error::Database(database) = &e else { return Self::Sql(e) };
        let code = database.code().unwrap_or_default().into_owned();
        let message = match code.as_str() {
            // The statement was prepared in one session and run in another.
            "26000" | "42P05" => {
                "prepared statements are lost between server and pooler: PgBouncer in transaction mode needs version 1.21 or newer \
                 with max_prepared_statements above 0"
                    .to_owned()
            }
            // "Invalid input syntax", "value out of range" and the like quote the value, which may be a user's.
            code if code.starts_with("22") => "the server rejected a value".to_owned(),
            // The message quotes the name of the constraint. The values are in the detail, which is dropped.
            _ => database.message().to_owned(),
        };
        Self::Rejected { code, message }
    }
}

impl Failure {
    /// Whether the same call may succeed later.
    fn is_transient(&self) -> bool {
        match self {
            Self::Rejected { code, .. } => is_transient_code(code),
            Self::Sql(e) => is_connection_lost(e) || matches!(e, sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed),
            Self::NotConfirmed(_) | Self::NoAnswer(_) | Self::ReadOnly | Self::NoServer(_) => true,
            Self::Planning(e) => matches!(e, StoreError::Transient(_)),
            Self::Migration(sqlx::migrate::MigrateError::Execute(e) | sqlx::migrate::MigrateError::ExecuteMigration(e, _)) => {
                let code = e.as_database_error().and_then(sqlx::error::DatabaseError::code);
                is_connection_lost(e) || code.is_some_and(|c| is_transient_code(&c))
            }
            _ => false,
        }
    }

    /// Calls [`is_wrong_server`] on the driver's error.
    pub(super) fn is_wrong_server(&self) -> bool {
        match self {
            Self::Sql(e) | Self::NotConfirmed(e) => is_wrong_server(e),
            Self::Rejected { code, .. } => matches!(code.as_str(), "25006" | "57P01" | "57P02" | "57P03"),
            Self::NoAnswer(_) => true,
            _ => false,
        }
    }

    /// Whether a transaction that failed before its COMMIT is worth an immediate retry.
    ///
    /// Such a transaction left nothing behind: it lost against another one, or it lost its connection.
    pub(super) fn is_retryable(&self) -> bool {
        match self {
            Self::Rejected { code, .. } => {
                matches!(code.as_str(), "40001" | "40P01" | "57P01" | "57P02" | "25P03") || code.starts_with("08")
            }
            Self::Sql(e) => is_connection_lost(e),
            _ => false,
        }
    }

    /// Whether the server rejected the data of a statement, and not its execution at this moment.
    pub(super) fn violates_constraint(&self) -> bool {
        // SQLSTATE classes: 22 values, 23 constraints, 54 limits such as a vector's length.
        match self {
            Self::Rejected { code, .. } => ["22", "23", "54"].iter().any(|class| code.starts_with(class)),
            Self::Refused(Refusal::NotFound) => true,
            _ => false,
        }
    }
}

/// Whether the server is unreachable or takes no writes, so that another server may be the right one.
pub(super) fn is_wrong_server(e: &sqlx::Error) -> bool {
    let code = e.as_database_error().and_then(sqlx::error::DatabaseError::code);
    // 25006 read only, 57P01..03 shutdown and startup.
    is_connection_lost(e)
        || matches!(e, sqlx::Error::PoolTimedOut)
        || code.is_some_and(|c| matches!(&*c, "25006" | "57P01" | "57P02" | "57P03"))
}

/// Whether the connection ended during a statement.
pub(super) fn is_connection_lost(e: &sqlx::Error) -> bool {
    matches!(e, sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed | sqlx::Error::Tls(_))
}

/// Whether a PostgreSQL error code is caused by the current state and not by the statement.
fn is_transient_code(code: &str) -> bool {
    // 08 connection, 40 rollback (deadlock, serialization), 53 resources (disk full, too many connections), 57P01..03 shutdown and
    // startup, 57014 statement_timeout, 55P03 lock_timeout, 25P03 idle in transaction, 25006 read only (a standby that is about to
    // take over), 58030 I/O error.
    ["08", "40", "53"].iter().any(|class| code.starts_with(class))
        || matches!(code, "57P01" | "57P02" | "57P03" | "57P05" | "57014" | "55P03" | "25P03" | "25006" | "58030")
}

/// A failed read of a plan comes back as the failure that it was, so that its transaction is retried like others.
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
        for transient in ["08006", "40001", "40P01", "53300", "53100", "57P01", "57P03", "57014", "55P03", "25006"] {
            assert!(is_transient_code(transient), "{transient}");
        }
        for permanent in ["23505", "23503", "22P05", "42P01", "28P01", "3D000", "42501", "XX000"] {
            assert!(!is_transient_code(permanent), "{permanent}");
        }
    }

    #[test]
    fn unconfirmed_commit_is_transient_but_not_retried() {
        let lost = || sqlx::Error::Io(std::io::ErrorKind::ConnectionReset.into());
        assert!(Failure::from(lost()).is_retryable());
        assert!(!Failure::NotConfirmed(lost()).is_retryable());
        assert!(Failure::NotConfirmed(lost()).is_transient());
    }

    #[test]
    fn failed_read_of_a_plan_comes_back_unchanged() {
        let rejected = |code: &str| Failure::Rejected { code: code.to_owned(), message: "m".to_owned() };
        let back = |failure: Failure| Failure::from(StoreError::from(failure));
        // A deadlock is transient and a missing table is not; only the first is retried.
        assert!(back(rejected("40P01")).is_retryable());
        assert!(matches!(back(rejected("42P01")), Failure::Rejected { code, .. } if code == "42P01"));
        for refusal in [
            Refusal::NotFound,
            Refusal::BadCursor,
            Refusal::BeingErased,
            Refusal::BeingImported,
            Refusal::SessionBeingDeleted,
            Refusal::QuotaUsed,
            Refusal::Damaged { table: "facts", column: "status" },
            Refusal::AttemptsExhausted(3),
        ] {
            assert!(matches!(back(refusal.into()), Failure::Refused(r) if r == refusal), "{refusal:?}");
        }
    }

    #[test]
    fn foreign_failure_of_a_plan_stays_what_it_was() {
        let transient = Failure::from(StoreError::Transient("busy".into()));
        assert!(transient.is_transient() && !transient.is_retryable());
        assert!(matches!(StoreError::from(transient), StoreError::Transient(e) if e.to_string() == "busy"));
        let permanent = Failure::from(StoreError::Permanent("broken".into()));
        assert!(!permanent.is_transient());
        assert!(matches!(StoreError::from(permanent), StoreError::Permanent(e) if e.to_string() == "broken"));
    }
}
