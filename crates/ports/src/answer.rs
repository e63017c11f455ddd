//! Answers a question from its context, with citations.

use async_trait::async_trait;

use recall_domain::{Caller, Citation, MessageId, Timestamp, UserText, context::Context};

/// A question and the time when it was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Id of the message, if it is stored.
    pub message: Option<MessageId>,
    /// The text of the question, rephrased if that finds more.
    pub text: UserText,
    /// The words of the user, if the text was rephrased.
    pub original: Option<UserText>,
    /// The time to which "yesterday" refers.
    pub at: Timestamp,
}

/// Answers only from the given context.
#[async_trait]
pub trait Answerer: Send + Sync {
    /// Returns the name of the answerer: `extractive`, or a model's name.
    fn name(&self) -> &str;
    /// Whether answers only repeat what they cite.
    fn only_quotes(&self) -> bool {
        false
    }
    /// Returns how many messages the answerer wants to choose from.
    fn messages_wanted(&self) -> u32 {
        10
    }
    /// Rephrases the question so that a search finds more.
    ///
    /// It may replace a description ("my sister") by a name from the context, or use the words of a likely answer. Returns `None` if the
    /// question cannot be improved.
    fn rephrase(&self, _asked: &Asked, _context: &Context) -> Option<UserText> {
        None
    }
    /// Answers the question; the cost counts against the caller's budget. If the context supports no answer, the text says so and
    /// `grounded` is false.
    ///
    /// # Errors
    /// Fails if the answerer cannot work; the caller decides whether to retry.
    async fn answer(&self, caller: &Caller, asked: &Asked, context: &Context, sink: &dyn AnswerSink) -> Result<AnswerDraft, AnswerError>;
}

/// Reads a question together with texts that may answer it.
#[async_trait]
pub trait AnswerVerifier: Send + Sync {
    /// Returns for each text the probability that it answers the question, in order. Long texts are read in part.
    ///
    /// # Errors
    /// Fails if the verifier cannot work.
    async fn verify(&self, question: &UserText, texts: &[UserText]) -> Result<Vec<f32>, AnswerError>;
}

/// Receives the text of an answer while it is written.
pub trait AnswerSink: Send + Sync {
    /// Receives the next piece of text. It may be dropped before it reaches a slow reader.
    fn delta(&self, text: &str);
}

/// A finished answer.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerDraft {
    /// Text with marks like `[1]`.
    pub text: UserText,
    /// The sources of the marks.
    pub citations: Vec<Citation>,
    /// What comes nearest to an answer, if the context supports none. The text quotes it without a mark.
    pub nearest: Vec<Citation>,
    /// Whether the context supports the answer.
    pub grounded: bool,
    /// The actual answerer, if it is not the one that was called.
    pub answerer: Option<String>,
}

impl AnswerDraft {
    /// Creates an answer that rests on nothing.
    pub fn ungrounded(text: impl Into<UserText>) -> Self {
        Self { text: text.into(), citations: Vec::new(), nearest: Vec::new(), grounded: false, answerer: None }
    }

    /// Returns everything that the answer quotes.
    pub fn quoted_mut(&mut self) -> impl Iterator<Item = &mut Citation> {
        self.citations.iter_mut().chain(&mut self.nearest)
    }
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
