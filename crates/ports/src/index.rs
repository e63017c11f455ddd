//! Finding messages by words and by meaning.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Embedding, StoreError};
use recall_domain::{
    Caller, MessageId, Timestamp,
    context::{Method, Scope},
};

/// What to look for.
#[derive(Clone, Debug)]
pub struct IndexQuery {
    /// The question as asked.
    pub text: Arc<str>,
    /// Its vector; without one there is no search by meaning.
    pub embedding: Option<Embedding>,
    /// The model of that vector. Where the user is searched by another's, there is no search by meaning.
    pub model: String,
    /// Where to look.
    pub scope: Scope,
    /// How many hits at most.
    pub first: usize,
    /// `Vector` and `Keyword` in any combination.
    pub methods: Vec<Method>,
    /// Only messages said up to this moment.
    pub until: Option<Timestamp>,
    /// A message that must not be found.
    pub exclude: Option<MessageId>,
    /// A second memory that is searched with the first, as if both were one; not where the scope is one session.
    pub beside: Option<Caller>,
    /// Messages that graph search found (with a score from 0 to 1), to be weighed in.
    pub boosts: Vec<(MessageId, f32)>,
}

/// One message found.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexHit {
    /// The message.
    pub message: MessageId,
    /// Fused score, 0 to 1, comparable within one result.
    pub score: f32,
    /// Ways that found it.
    pub methods: Vec<Method>,
    /// Whether it is of the memory beside.
    pub beside: bool,
}

/// Hits with the time each way took.
#[derive(Clone, Debug, Default)]
pub struct IndexResult {
    /// Best first.
    pub hits: Vec<IndexHit>,
    /// By whose vectors the user is searched.
    pub model: String,
    /// Milliseconds spent on meaning.
    pub vector_ms: f64,
    /// Milliseconds spent on words.
    pub keyword_ms: f64,
}

/// Searches the messages of one user, or of two at once. Sees every message whose `append` was acknowledged before the call.
#[async_trait]
pub trait MessageIndex: Send + Sync {
    /// The best messages, best first.
    ///
    /// # Errors
    /// When the stored rows cannot be read.
    async fn search(&self, caller: &Caller, query: &IndexQuery) -> Result<IndexResult, StoreError>;

    /// By whose vectors the user is searched, as far as is known without asking the store; the result of a search says for certain.
    fn model(&self, caller: &Caller) -> String;

    /// Drops what is held in memory for the caller, after a deletion.
    fn forget(&self, caller: &Caller);
}
