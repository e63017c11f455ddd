//! What the HTTP layer decides for this crate: identity, permissions, rate limits and the sentences of errors.

use async_trait::async_trait;
use http::request::Parts;

use recall_domain::{AuditAction, Caller};
use recall_ports::StoreError;
use recall_usecases::UseCaseError;

/// What a call does with the caller's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It only reads.
    Read,
    /// It changes something.
    Write,
}

/// An error that a client gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Stable, upper case.
    pub code: &'static str,
    /// A sentence for people and models.
    pub message: String,
    /// The argument, if one is wrong.
    pub path: Option<String>,
    /// Whether the server failed, and not the caller.
    pub is_failure: bool,
}

impl Refusal {
    /// Creates an error about an argument.
    pub(crate) fn invalid(code: &'static str, path: &str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), path: Some(path.to_owned()), is_failure: false }
    }
}

/// Why a call failed inside.
#[derive(Debug)]
pub enum Failure {
    /// A use case refused or failed.
    UseCase(UseCaseError),
    /// The call took longer than the time limit of an operation.
    TimedOut,
    /// The call panicked.
    Panicked,
}

impl From<UseCaseError> for Failure {
    fn from(error: UseCaseError) -> Self {
        Self::UseCase(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::UseCase(error.into())
    }
}

/// Why a call ended without a result.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The error as the client gets it.
    Refused(Refusal),
    /// A failure that [`Gate::refuse`] converts.
    Failed(Failure),
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl<F: Into<Failure>> From<F> for Fault {
    fn from(failure: F) -> Self {
        Self::Failed(failure.into())
    }
}

/// The rules of the HTTP layer, which also hold for tools.
#[async_trait]
pub trait Gate: Send + Sync + 'static {
    /// Returns the caller of a request whose credential permits the access.
    ///
    /// # Errors
    /// Refuses requests without an identity, and credentials without the permission.
    fn admit(&self, request: &Parts, access: Access) -> Result<Caller, Refusal>;

    /// Charges the caller for work, in the units of a GraphQL operation's cost.
    ///
    /// # Errors
    /// Refuses callers who exceed their rate limit.
    async fn charge(&self, caller: Caller, cost: usize) -> Result<(), Refusal>;

    /// Counts a message that is to be stored.
    ///
    /// # Errors
    /// Refuses callers who exceed their limit of messages.
    async fn count_message(&self, caller: Caller) -> Result<(), Refusal>;

    /// Writes an entry of the audit log for the caller of a request. `target` is an id or a text that the server made, never user text.
    async fn audit(&self, request: &Parts, action: AuditAction, target: String);

    /// Converts a failure to what the client gets, and logs causes that only the operator may see.
    fn refuse(&self, failure: Failure) -> Refusal;

    /// Returns the tracing span of a request, so that log lines of a call carry its id.
    fn span(&self, request: &Parts) -> tracing::Span;
}
