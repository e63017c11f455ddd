//! Makes vectors for messages and questions, also during a change of the embedding model.

use tracing::warn;

use super::{error::UseCaseError, use_cases::UseCases};
use recall_domain::UserText;
use recall_ports::{EmbedError, Embedding, IndexEntry, embed::by_model};
use recall_text::index_terms;

impl UseCases {
    /// Computes the index data of new messages.
    ///
    /// It adds vectors of other available models: the store keeps one while its model is still in use for the user.
    pub(super) async fn prepare(&self, texts: &[UserText]) -> Result<Vec<IndexEntry>, EmbedError> {
        // A message without a text, such as an image, gets no vector. Some servers refuse empty texts.
        let written: Vec<UserText> = match texts.iter().any(|text| text.as_str().is_empty()) {
            false => return self.prepare_written(texts).await,
            true => texts.iter().filter(|text| !text.as_str().is_empty()).cloned().collect(),
        };
        let mut prepared = if written.is_empty() { Vec::new() } else { self.prepare_written(&written).await? }.into_iter();
        let empty = || IndexEntry {
            terms: Vec::new(),
            model: self.parts.embedder.model().to_owned(),
            embedding: Embedding(Vec::new()),
            further: Vec::new(),
        };
        Ok(texts.iter().map(|text| if text.as_str().is_empty() { None } else { prepared.next() }.unwrap_or_else(empty)).collect())
    }

    /// Computes the index data of texts that are not empty.
    async fn prepare_written(&self, texts: &[UserText]) -> Result<Vec<IndexEntry>, EmbedError> {
        let embedder = &self.parts.embedder;
        let vectors = embedder.embed(texts).await?;
        if vectors.len() != texts.len() {
            return Err(EmbedError::Permanent("not one vector for each text".into()));
        }
        let prepared = |(text, embedding): (&UserText, Embedding)| IndexEntry {
            terms: index_terms(text.as_str()),
            model: embedder.model().to_owned(),
            embedding,
            further: Vec::new(),
        };
        let mut all: Vec<IndexEntry> = texts.iter().zip(vectors).map(prepared).collect();
        for other in embedder.others() {
            match other.embed(texts).await {
                Ok(vectors) => {
                    all.iter_mut().zip(vectors).for_each(|(p, v)| p.further.push((other.model().to_owned(), v)));
                }
                // The messages are found by words until all vectors of the new model exist.
                Err(e) => warn!(model = other.model(), cause = %e, "messages are kept without a further vector"),
            }
        }
        Ok(all)
    }

    /// Embeds texts with the configured embedder. Returns the name of its model too.
    ///
    /// # Errors
    /// Fails if the embedder is unreachable or rejects the input.
    pub async fn embed(&self, texts: &[UserText]) -> Result<(&str, Vec<Embedding>), UseCaseError> {
        let embedder = &self.parts.embedder;
        Ok((embedder.model(), embedder.embed(texts).await?))
    }

    /// Returns the vector of a question by `model`; `None` if no embedder for that model is available.
    pub(super) async fn question_vector(&self, model: &str, text: &UserText) -> Result<Option<Embedding>, EmbedError> {
        let Some(embedder) = by_model(self.parts.embedder.as_ref(), model) else { return Ok(None) };
        Ok(embedder.embed(std::slice::from_ref(text)).await?.into_iter().next())
    }
}
