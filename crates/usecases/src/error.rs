//! Errors of the use cases.
//!
//! An error has three audiences: a stable code for programs, a sentence for people, and a cause for the log. `api` maps the first two. The
//! cause is logged where the error becomes a response.

use std::{borrow::Cow, time::Duration};

use recall_facts::LearnError;
use recall_ports::{CommitError, EmbedError, StoreError};

/// A refusal or a failure.
#[derive(Debug, thiserror::Error)]
pub enum UseCaseError {
    /// The input is wrong; a retry with the same input cannot work.
    #[error("{message}")]
    Invalid {
        /// Stable, upper case.
        code: &'static str,
        /// A sentence for people.
        message: String,
        /// The input field, with dots between parts: "messages.2.text".
        path: Cow<'static, str>,
    },
    /// The request is refused at present, whatever the input.
    #[error("{message}")]
    Refused {
        /// Stable, upper case.
        code: &'static str,
        /// A sentence for people.
        message: &'static str,
    },
    /// The caller has no permission.
    #[error("{message}")]
    Forbidden {
        /// A sentence for people.
        message: &'static str,
    },
    /// The object does not exist or belongs to another user. The two cases must look the same.
    #[error("this {noun} does not exist")]
    NotFound {
        /// The kind of object.
        noun: &'static str,
    },
    /// May work later.
    #[error("the memory is not available right now")]
    Unavailable {
        /// When to try again.
        retry_after: Duration,
        /// For the log.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A defect.
    #[error("something went wrong on the server")]
    Internal {
        /// For the log.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl UseCaseError {
    /// Returns the stable code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Invalid { code, .. } | Self::Refused { code, .. } => code,
            Self::Forbidden { .. } => "FORBIDDEN",
            Self::NotFound { .. } => "NOT_FOUND",
            Self::Unavailable { .. } => "UNAVAILABLE",
            Self::Internal { .. } => "INTERNAL",
        }
    }

    /// Creates an input error.
    pub fn invalid(code: &'static str, path: &'static str, message: impl Into<String>) -> Self {
        Self::Invalid { code, message: message.into(), path: path.into() }
    }

    /// Puts the path of an input error inside of another field.
    pub(super) fn within(self, outer: &str) -> Self {
        match self {
            Self::Invalid { code, message, path } => Self::Invalid { code, message, path: format!("{outer}.{path}").into() },
            other => other,
        }
    }

    /// Converts a store error; `NotFound` refers to `noun`.
    pub fn of(e: StoreError, noun: &'static str) -> Self {
        match e {
            StoreError::NotFound => Self::NotFound { noun },
            StoreError::BadCursor => {
                Self::invalid("BAD_CURSOR", "after", "The cursor is not one of this list. Take one from `pageInfo` or `next`.")
            }
            StoreError::BeingErased => {
                Self::Refused { code: "DATA_BEING_DELETED", message: "Your data is being deleted. Try again when that is done." }
            }
            StoreError::BeingImported => Self::Refused {
                code: "DATA_BEING_IMPORTED",
                message: "An archive is being imported for you. Try again when the import is done, or ask the operator to finish it.",
            },
            StoreError::SessionBeingDeleted => {
                Self::Refused { code: "DATA_BEING_DELETED", message: "A session of yours is being deleted. Try again when that is done." }
            }
            StoreError::QuotaUsed => Self::Refused { code: "VISIT_FULL", message: "Visitor limit reached. Log in to continue." },
            e @ StoreError::Transient(_) => Self::Unavailable { retry_after: Duration::from_secs(1), cause: e.into() },
            e @ StoreError::Permanent(_) => Self::Internal { cause: e.into() },
        }
    }
}

impl From<StoreError> for UseCaseError {
    fn from(e: StoreError) -> Self {
        Self::of(e, "item")
    }
}

impl From<EmbedError> for UseCaseError {
    fn from(e: EmbedError) -> Self {
        match e {
            EmbedError::Transient(_) => Self::Unavailable { retry_after: Duration::from_secs(1), cause: e.into() },
            EmbedError::Permanent(_) => Self::Internal { cause: e.into() },
        }
    }
}

impl From<LearnError> for UseCaseError {
    fn from(e: LearnError) -> Self {
        match e {
            LearnError::Store(e) => e.into(),
            e => Self::Unavailable { retry_after: Duration::from_millis(200), cause: e.into() },
        }
    }
}

impl From<CommitError> for UseCaseError {
    fn from(e: CommitError) -> Self {
        match e {
            CommitError::Store(e) => e.into(),
            e => Self::Unavailable { retry_after: Duration::from_millis(200), cause: e.into() },
        }
    }
}
