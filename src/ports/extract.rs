//! A message to what it states.

use async_trait::async_trait;

use crate::domain::{Caller, Extraction, UserText};

/// What an extractor may look at.
#[derive(Clone, Debug)]
pub struct ExtractInput {
    /// The message.
    pub text: UserText,
    /// Who says it, when that is not the user.
    pub speaker: Option<String>,
    /// Up to two messages before it in the session, oldest first, for pronouns.
    pub previous: Vec<UserText>,
}

/// Finds kind, things and facts in one message.
#[async_trait]
pub trait Extractor: Send + Sync {
    /// Everything found, on behalf of the caller, whose budget it counts against. Text that states nothing gives an empty extraction, not an error.
    ///
    /// # Errors
    /// When the extractor cannot work at all; the caller retries and keeps the message.
    async fn extract(&self, caller: &Caller, input: &ExtractInput) -> Result<Extraction, ExtractError>;
}

/// Why nothing could be extracted.
#[derive(Debug, thiserror::Error)]
pub enum ExtractError {
    /// May work later.
    #[error("the extractor is not reachable: {0}")]
    Transient(String),
    /// Will not work for this input.
    #[error("the extractor failed: {0}")]
    Permanent(String),
}
