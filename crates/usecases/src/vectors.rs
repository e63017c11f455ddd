//! Vectors for messages and questions, also while one embedding model takes the place of another.

use tracing::warn;

use super::UseCases;
use recall_domain::UserText;
use recall_ports::{EmbedError, Embedding, IndexEntry, embed::by_model};
use recall_text::index_terms;

impl UseCases {
    /// What the index needs of new messages. Vectors of other models come along where they are to be had: the store keeps one while
    /// the user is still searched by its model.
    pub(super) async fn prepare(&self, texts: &[UserText]) -> Result<Vec<IndexEntry>, EmbedError> {
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
                // They are found by their words until the vectors of the new model are whole.
                Err(e) => warn!(model = other.model(), cause = %e, "messages are kept without a further vector"),
            }
        }
        Ok(all)
    }

    /// The vector of a question by `model`; none when nobody here makes vectors of that model any more.
    pub(super) async fn question_vector(&self, model: &str, text: &UserText) -> Result<Option<Embedding>, EmbedError> {
        let Some(embedder) = by_model(self.parts.embedder.as_ref(), model) else { return Ok(None) };
        Ok(embedder.embed(std::slice::from_ref(text)).await?.into_iter().next())
    }
}
