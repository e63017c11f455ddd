//! A message to what it states.

use async_trait::async_trait;

use recall_domain::{Caller, Extraction, MessageId, UserText};

/// What an extractor may look at.
#[derive(Clone, Debug)]
pub struct ExtractInput {
    /// Which message it is, when it is a stored one.
    pub message: Option<MessageId>,
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

    /// How many of the messages behind one in its session are worth showing to [`Extractor::extract_ahead`].
    fn looks_ahead(&self) -> u32 {
        0
    }

    /// [`Extractor::extract`], told what waits behind the message in its session, in order. An extractor to which a question is
    /// dear may read some of that with it, and keep what it finds until they are asked for.
    ///
    /// # Errors
    /// As [`Extractor::extract`].
    async fn extract_ahead(&self, caller: &Caller, input: &ExtractInput, next: &[ExtractInput]) -> Result<Extraction, ExtractError> {
        let _ = next;
        self.extract(caller, input).await
    }
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
