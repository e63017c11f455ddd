//! Extracts kind, mentions and candidate facts from a message.

use async_trait::async_trait;

use recall_domain::{Caller, Extraction, MessageId, UserText};

/// The input of an extractor.
#[derive(Clone, Debug)]
pub struct ExtractInput {
    /// Id of the message, if it is stored.
    pub message: Option<MessageId>,
    /// The message.
    pub text: UserText,
    /// The speaker, if not the user.
    pub speaker: Option<String>,
    /// Up to two earlier messages of the session, oldest first, for pronouns.
    pub previous: Vec<UserText>,
}

/// Finds kind, entities and facts in one message.
#[async_trait]
pub trait Extractor: Send + Sync {
    /// Extracts a message; the cost counts against the caller's budget. A text that states nothing gives an empty extraction.
    ///
    /// # Errors
    /// Fails if the extractor cannot work at all; the caller retries and keeps the message.
    async fn extract(&self, caller: &Caller, input: &ExtractInput) -> Result<Extraction, ExtractError>;

    /// Returns how many waiting messages of a session are worth extracting before the first is committed.
    ///
    /// More than one only if an extraction takes no more than a few milliseconds. A transaction may commit fewer of them; the others are
    /// extracted again.
    fn together(&self) -> u32 {
        1
    }

    /// Returns how many later messages [`Extractor::extract_ahead`] can use.
    fn looks_ahead(&self) -> u32 {
        0
    }

    /// Extracts a message, with access to the next waiting messages of its session, in order.
    ///
    /// An extractor with expensive requests may process some of them in the same request and cache the results.
    ///
    /// # Errors
    /// See [`Extractor::extract`].
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
