//! Forgets facts and messages, and undoes that for a while.

use super::{error::UseCaseError, use_cases::UseCases};
use recall_domain::{Caller, Fact, FactId, Message, MessageId, Session, SessionId};

/// What to forget. The parts add up.
#[derive(Clone, Debug, Default)]
pub struct ForgetRequest {
    /// Words that name it, such as "everything about Oakwood".
    pub query: Option<String>,
    /// Facts to forget.
    pub facts: Vec<FactId>,
    /// Messages to forget, whatever they state.
    pub messages: Vec<MessageId>,
    /// Whether to change nothing and only return what would be forgotten.
    pub dry_run: bool,
}

/// What was forgotten, would be forgotten, or was restored.
#[derive(Clone, Debug, Default)]
pub struct Forgotten {
    /// The facts.
    pub facts: Vec<Fact>,
    /// The messages.
    pub messages: Vec<Message>,
    /// Undoes it until it expires; absent if nothing was changed.
    pub token: Option<String>,
}

const MISSING: UseCaseError = UseCaseError::Refused { code: "NOT_AVAILABLE", message: "This is not available yet." };

impl UseCases {
    /// Forgets facts and messages, or returns what would be forgotten.
    ///
    /// # Errors
    /// `Invalid` for bad input, `NotFound` for a fact or message that is not the caller's.
    pub async fn forget(&self, _: &Caller, _: ForgetRequest) -> Result<Forgotten, UseCaseError> {
        Err(MISSING)
    }

    /// Restores what was forgotten with this token.
    ///
    /// # Errors
    /// `NotFound` if the token is unknown or expired.
    pub async fn undo_forget(&self, _: &Caller, _token: &str) -> Result<Forgotten, UseCaseError> {
        Err(MISSING)
    }

    /// Deletes a message. Its facts are re-weighed, or deleted if no other message states them.
    ///
    /// # Errors
    /// `NotFound` if it is not the caller's.
    pub async fn delete_message(&self, _: &Caller, _: MessageId) -> Result<(), UseCaseError> {
        Err(MISSING)
    }

    /// Changes the title of a session.
    ///
    /// # Errors
    /// `Invalid` for a title that is empty or too long, `NotFound` if the session is not the caller's.
    pub async fn rename_session(&self, _: &Caller, _: SessionId, _title: String) -> Result<Session, UseCaseError> {
        Err(MISSING)
    }
}
