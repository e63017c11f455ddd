//! The embedder port over `/v1/embeddings`.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;

use super::{
    client::ModelClient,
    failure::{About, ModelError},
};
use recall_domain::UserText;
use recall_ports::{EmbedError, Embedder, Embedding};

/// A text that is refused at this length is not refused for its length.
const SHORTEST_CUT: usize = 256;

/// Settings of the embedder.
#[derive(Clone, Copy, Debug)]
pub struct ModelEmbedderOptions {
    /// Length of the vectors; asked of the server when absent.
    pub dimension: Option<usize>,
    /// Texts in one request.
    pub batch: usize,
    /// Bytes of a text that are sent. A mean over more says less, and words are found by the keyword index anyway.
    pub max_bytes: usize,
}

impl Default for ModelEmbedderOptions {
    fn default() -> Self {
        Self { dimension: None, batch: 64, max_bytes: 8 * 1024 }
    }
}

/// [`Embedder`] on a model server.
pub struct ModelEmbedder {
    client: Arc<ModelClient>,
    name: String,
    dimension: usize,
    options: ModelEmbedderOptions,
}

impl ModelEmbedder {
    /// An embedder whose dimension is known, by the options or by the server's first answer.
    ///
    /// # Errors
    /// When the server has to be asked for the dimension and cannot be.
    pub async fn connect(client: Arc<ModelClient>, options: ModelEmbedderOptions) -> Result<Self, ModelError> {
        let dimension = match options.dimension {
            Some(n) => n,
            None => client.embed(&["dimension"], client.deadline()).await?.first().map_or(0, Vec::len),
        };
        if dimension == 0 {
            return Err(ModelError::Malformed("a vector without numbers"));
        }
        // Vectors are compared by this name: the same model cut to another length is another one.
        let name = format!("{}/{dimension}", client.model());
        Ok(Self { client, name, dimension, options })
    }

    /// The server that makes the vectors.
    pub fn client(&self) -> &Arc<ModelClient> {
        &self.client
    }

    /// Vectors of texts that go into one request. What is too long for the model is cut until it fits, since no server says
    /// beforehand how much it takes; a batch that is refused is halved until the text that is to blame stands alone.
    async fn batch(&self, texts: &[&str], deadline: Instant) -> Result<Vec<Vec<f32>>, ModelError> {
        let mut done = Vec::with_capacity(texts.len());
        let mut open = vec![texts.to_vec()];
        while let Some(part) = open.pop() {
            match self.client.embed(&part, deadline).await {
                Ok(vectors) => done.extend(vectors),
                Err(e) if !is_about_input(&e) => return Err(e),
                Err(e) => match part.as_slice() {
                    [one] if one.len() / 2 < SHORTEST_CUT => return Err(e),
                    [one] => open.push(vec![cut(one, one.len() / 2)]),
                    many => {
                        let (head, tail) = many.split_at(many.len() / 2);
                        // The last one pushed is the next one done, which keeps the order.
                        open.push(tail.to_vec());
                        open.push(head.to_vec());
                    }
                },
            }
        }
        Ok(done)
    }

    fn unit(&self, vector: Vec<f32>) -> Result<Embedding, ModelError> {
        if vector.len() != self.dimension {
            return Err(ModelError::Malformed("a vector of another length than those before"));
        }
        let norm = vector.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        if !norm.is_finite() {
            return Err(ModelError::Malformed("a vector with numbers that are none"));
        }
        let scale = if norm > 0.0 { 1.0 / norm } else { 0.0 };
        Ok(Embedding(vector.into_iter().map(|x| (f64::from(x) * scale) as f32).collect()))
    }
}

#[async_trait]
impl Embedder for ModelEmbedder {
    fn model(&self) -> &str {
        &self.name
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    async fn embed(&self, texts: &[UserText]) -> Result<Vec<Embedding>, EmbedError> {
        let deadline = self.client.deadline();
        let mut found: Vec<Embedding> = vec![Embedding(vec![0.0; self.dimension]); texts.len()];
        // A blank text has no meaning, and servers refuse it together with its whole batch.
        let wanted: Vec<(usize, &str)> = texts
            .iter()
            .enumerate()
            .map(|(i, t)| (i, cut(t.as_str().trim(), self.options.max_bytes)))
            .filter(|(_, t)| t.chars().any(|c| !c.is_control() && !c.is_whitespace()))
            .collect();
        for part in wanted.chunks(self.options.batch.max(1)) {
            let texts: Vec<&str> = part.iter().map(|(_, t)| *t).collect();
            for ((i, _), vector) in part.iter().zip(self.batch(&texts, deadline).await.map_err(refusal)?) {
                if let Some(place) = found.get_mut(*i) {
                    *place = self.unit(vector).map_err(refusal)?;
                }
            }
        }
        Ok(found)
    }
}

fn refusal(e: ModelError) -> EmbedError {
    if e.may_pass() { EmbedError::Transient(e.to_string()) } else { EmbedError::Permanent(e.to_string()) }
}

/// Whether another input may be accepted.
fn is_about_input(e: &ModelError) -> bool {
    matches!(e, ModelError::Rejected { status: 400 | 413 | 422, about: About::Other, .. })
}

/// The start of a text, at most so many bytes, cut between characters.
fn cut(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max)).unwrap_or(text)
}
