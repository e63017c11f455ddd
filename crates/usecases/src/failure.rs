//! Why a job of the fact processor failed, and whether to try again.

use super::error::UseCaseError;
use recall_facts::{LearnError, Outcome};
use recall_ports::{AnswerError, CommitError, EmbedError, ExtractError, StoreError};

/// Why a job failed.
pub(super) enum Failure {
    NotOurs,
    Transient(&'static str, String),
    Permanent(&'static str, String),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotOurs => f.write_str("the data is being deleted"),
            Self::Transient(code, cause) | Self::Permanent(code, cause) => write!(f, "{code}: {cause}"),
        }
    }
}

impl Failure {
    /// Returns what becomes of the job.
    pub(super) fn outcome(self) -> Outcome {
        match self {
            Self::NotOurs => Outcome::NotOurs,
            Self::Transient(code, cause) => Outcome::Retry { code, cause },
            Self::Permanent(code, cause) => Outcome::GiveUp { code, cause },
        }
    }
}

impl From<StoreError> for Failure {
    fn from(e: StoreError) -> Self {
        match e {
            // The job is deleted with the user's data.
            StoreError::BeingErased => Self::NotOurs,
            // A permanent failure of the store may be repaired before the next attempt, and attempts are limited.
            e => Self::Transient("STORE", e.to_string()),
        }
    }
}

impl From<LearnError> for Failure {
    fn from(e: LearnError) -> Self {
        match e {
            LearnError::NotOurs => Self::NotOurs,
            LearnError::Store(e) => e.into(),
        }
    }
}

impl From<CommitError> for Failure {
    fn from(e: CommitError) -> Self {
        match e {
            CommitError::NotOurs => Self::NotOurs,
            CommitError::Stale => Self::Transient("CONTENDED", e.to_string()),
            CommitError::Store(e) => e.into(),
        }
    }
}

impl From<ExtractError> for Failure {
    fn from(e: ExtractError) -> Self {
        match e {
            ExtractError::Transient(c) => Self::Transient("EXTRACTOR", c),
            ExtractError::Permanent(c) => Self::Permanent("EXTRACTOR", c),
        }
    }
}

impl From<AnswerError> for Failure {
    fn from(e: AnswerError) -> Self {
        match e {
            AnswerError::Transient(c) => Self::Transient("ANSWERER", c),
            AnswerError::Permanent(c) => Self::Permanent("ANSWERER", c),
        }
    }
}

impl From<EmbedError> for Failure {
    fn from(e: EmbedError) -> Self {
        match e {
            EmbedError::Transient(c) => Self::Transient("EMBEDDER", c),
            EmbedError::Permanent(c) => Self::Permanent("EMBEDDER", c),
        }
    }
}

impl From<UseCaseError> for Failure {
    fn from(e: UseCaseError) -> Self {
        match e {
            UseCaseError::Unavailable { cause, .. } | UseCaseError::Internal { cause } => Self::Transient("CONTEXT", cause.to_string()),
            e => Self::Permanent("CONTEXT", e.code().to_owned()),
        }
    }
}
