//! Searches messages, and chunks of documents, for a context.

use std::time::Instant;

use tracing::warn;

use super::{millis, wants};
use crate::{
    error::UseCaseError,
    passages::{ORDERED, Relevance},
    use_cases::UseCases,
};
use recall_domain::{
    Caller, MessageId,
    context::{ContextQuery, Method, Timings},
};
use recall_ports::{EmbedError, IndexQuery, IndexSources, IndexedDocuments, index::IndexResult};

/// How often a search is repeated because other vectors came into use.
const MODELS_TRIED: usize = 3;

/// A search of messages and chunks in the caller's memory, and in shared memory if there is a reader of it.
pub(super) struct MessageSearch<'q> {
    pub(super) usecases: &'q UseCases,
    pub(super) caller: &'q Caller,
    /// The reader of shared memory.
    pub(super) shared: Option<Caller>,
    pub(super) query: &'q ContextQuery,
    /// Messages that state what is asked for, with what is added to their scores.
    pub(super) boosts: Vec<(MessageId, f32)>,
}

impl MessageSearch<'_> {
    /// Searches without chunks of documents that have a newer version.
    ///
    /// Few documents have one. So they are excluded only if the search finds one of them, and then it is repeated.
    pub(super) async fn run(&self, sources: IndexSources, timings: &mut Timings) -> Result<(IndexResult, Relevance), UseCaseError> {
        let (found, relevance) = self.ordered(sources.clone(), timings).await?;
        let may_be_old = matches!(sources.documents, IndexedDocuments::AllBut(_));
        if !may_be_old || !found.hits.iter().any(|hit| hit.is_chunk) {
            return Ok((found, relevance));
        }
        let superseded = self.usecases.superseded(self.caller, self.shared.as_ref(), &found.hits).await?;
        if superseded.is_empty() {
            return Ok((found, relevance));
        }
        self.ordered(IndexSources { documents: IndexedDocuments::AllBut(superseded), ..sources }, timings).await
    }

    /// Searches, and orders the hits.
    async fn ordered(&self, sources: IndexSources, timings: &mut Timings) -> Result<(IndexResult, Relevance), UseCaseError> {
        let first = self.query.first;
        if self.usecases.parts.passages.is_none() || !wants(self.query, Method::Vector) {
            return Ok((self.hits(sources, first, timings).await?, Relevance::default()));
        }
        let clock = Instant::now();
        let encode = async { (self.usecases.encoded_question(&self.query.text).await, millis(clock)) };
        let (found, (question, encode_ms)) = tokio::join!(self.hits(sources, first.max(ORDERED), timings), encode);
        timings.embed_ms += encode_ms;
        let (mut found, clock) = (found?, Instant::now());
        let mut relevance = Relevance::default();
        if let Some(question) = question? {
            let usecases = self.usecases;
            (found.hits, relevance) =
                usecases.order_hits(self.caller, self.shared.as_ref(), question, found.hits, self.query.waits).await?;
        }
        found.hits.truncate(first as usize);
        found.vector_ms += millis(clock);
        Ok((found, relevance))
    }

    /// Searches, and returns the `first` best hits.
    ///
    /// The question's vector must be of the model in use for the user, which is known exactly only after the search. If another model came
    /// into use, the search is repeated.
    async fn hits(&self, sources: IndexSources, first: u32, timings: &mut Timings) -> Result<IndexResult, UseCaseError> {
        let Self { usecases, caller, query, .. } = *self;
        let index = &usecases.parts.index;
        let mut asked = IndexQuery {
            text: query.text.as_str().into(),
            embedding: None,
            model: index.model(caller),
            scope: query.scope,
            first: first as usize,
            methods: [Method::Vector, Method::Keyword].into_iter().filter(|m| wants(query, *m)).collect(),
            sources,
            until: query.as_of,
            exclude: query.exclude,
            second: self.shared,
            boosts: self.boosts.clone(),
        };
        for _ in 0..MODELS_TRIED {
            if wants(query, Method::Vector) {
                let clock = Instant::now();
                asked.embedding = match usecases.question_vector(&asked.model, &query.text).await {
                    Ok(vector) => vector,
                    // Words and facts find much without vectors, and `methods_used` reports that.
                    Err(EmbedError::Transient(cause)) if wants(query, Method::Keyword) || wants(query, Method::Graph) => {
                        warn!(cause, "a question is searched without its meaning");
                        None
                    }
                    Err(e) => return Err(e.into()),
                };
                timings.embed_ms += millis(clock);
            }
            let found = index.search(caller, &asked).await?;
            if !wants(query, Method::Vector) || found.model == asked.model {
                return Ok(found);
            }
            asked.model = found.model;
        }
        asked.embedding = None;
        Ok(index.search(caller, &asked).await?)
    }
}
