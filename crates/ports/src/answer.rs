//! A question and its context to an answer with citations.

use async_trait::async_trait;

use recall_domain::{Caller, Citation, MessageId, Timestamp, UserText, context::Context};

/// A question, and when it was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Which message asks, when it is a stored one.
    pub message: Option<MessageId>,
    /// The message that asks.
    pub text: UserText,
    /// The moment from which "yesterday" counts.
    pub at: Timestamp,
}

/// Answers from the context it is given and from nothing else.
#[async_trait]
pub trait Answerer: Send + Sync {
    /// Names the answerer: `extractive`, or a model's name.
    fn name(&self) -> &str;
    /// The question put so that more can be found: a thing called by its name that was called by what it is to another
    /// ("my sister"), when the context tells who that is, or by the words in which an answer would be told. `None` when
    /// it cannot be put better.
    fn rephrase(&self, _asked: &Asked, _context: &Context) -> Option<UserText> {
        None
    }
    /// An answer on behalf of the caller, whose budget it counts against. When the context does not support one, it says so and `grounded` is false.
    ///
    /// # Errors
    /// When the answerer cannot work; the caller decides whether to try again.
    async fn answer(&self, caller: &Caller, asked: &Asked, context: &Context, sink: &dyn AnswerSink) -> Result<AnswerDraft, AnswerError>;
}

/// Takes the text of an answer while it is being made.
pub trait AnswerSink: Send + Sync {
    /// The next piece of text. May be dropped on the way to a slow reader.
    fn delta(&self, text: &str);
}

/// A finished answer.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerDraft {
    /// Text with marks like `[1]`.
    pub text: UserText,
    /// What the marks point to.
    pub citations: Vec<Citation>,
    /// Whether something in the context supports it.
    pub grounded: bool,
    /// Who made it, when that is not the answerer that was asked.
    pub answerer: Option<String>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// May work later.
    #[error("the answerer is not reachable: {0}")]
    Transient(String),
    /// Will not work for this question.
    #[error("the answerer failed: {0}")]
    Permanent(String),
}
