//! Searches messages by words and by meaning.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Embedding, StoreError};
use recall_domain::{
    Caller, DocumentId, MessageId, Timestamp,
    context::{Method, Scope},
};

/// A search.
#[derive(Clone, Debug)]
pub struct IndexQuery {
    /// The question as asked.
    pub text: Arc<str>,
    /// Its vector; without it, there is no search by meaning.
    pub embedding: Option<Embedding>,
    /// The model of that vector. If the user's vectors are of another model, there is no search by meaning.
    pub model: String,
    /// The scope.
    pub scope: Scope,
    /// Most hits.
    pub first: usize,
    /// `Vector` and `Keyword` in any combination.
    pub methods: Vec<Method>,
    /// Which messages and chunks to search.
    pub sources: IndexSources,
    /// Only messages said up to this moment.
    pub until: Option<Timestamp>,
    /// A message to exclude.
    pub exclude: Option<MessageId>,
    /// A second memory, searched together with the first as if both were one. Ignored if the scope is one session.
    pub second: Option<Caller>,
    /// Messages that graph search found, with a score from 0 to 1, which raise the score of a hit.
    pub boosts: Vec<(MessageId, f32)>,
}

/// Which messages and chunks a search looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSources {
    /// Whether it looks at messages of conversations.
    pub messages: bool,
    /// Which documents it looks at.
    pub documents: IndexedDocuments,
}

/// Which documents a search looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexedDocuments {
    /// None.
    None,
    /// All but these.
    AllBut(Vec<DocumentId>),
    /// These.
    Only(Vec<DocumentId>),
}

impl Default for IndexSources {
    fn default() -> Self {
        Self { messages: true, documents: IndexedDocuments::AllBut(Vec::new()) }
    }
}

impl IndexSources {
    /// Whether it looks at everything.
    pub fn are_all(&self) -> bool {
        *self == Self::default()
    }
}

/// One message found.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexHit {
    /// The message.
    pub message: MessageId,
    /// Fused score, 0 to 1, comparable within one result.
    pub score: f32,
    /// Search methods that found it.
    pub methods: Vec<Method>,
    /// Whether it is a chunk of a document.
    pub is_chunk: bool,
    /// Whether it belongs to the second memory.
    pub is_second: bool,
}

/// Hits, with the time that each method took.
#[derive(Clone, Debug, Default)]
pub struct IndexResult {
    /// Best first.
    pub hits: Vec<IndexHit>,
    /// The model of the vectors in use for the user.
    pub model: String,
    /// Milliseconds of search by meaning.
    pub vector_ms: f64,
    /// Milliseconds of search by words.
    pub keyword_ms: f64,
}

/// Searches the messages of one user, or of two at once. It sees every message whose `append` was acknowledged before the call.
#[async_trait]
pub trait MessageIndex: Send + Sync {
    /// Returns the best messages, best first.
    ///
    /// # Errors
    /// Fails if the stored rows cannot be read.
    async fn search(&self, caller: &Caller, query: &IndexQuery) -> Result<IndexResult, StoreError>;

    /// Returns the model in use for the user, as far as known without asking the store. The result of a search gives the exact model.
    fn model(&self, caller: &Caller) -> String;

    /// Drops the caller's index from memory, after a deletion.
    fn forget(&self, caller: &Caller);
}
