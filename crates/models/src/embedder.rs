//! Implements the embedder port with `/v1/embeddings`.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;

use super::{
    client::ModelClient,
    failure::{ModelError, RejectedField},
};
use recall_domain::UserText;
use recall_ports::{EmbedError, Embedder, Embedding};

/// Shortest text, in bytes, that is cut after a rejection; a shorter one was not rejected for its length.
const SHORTEST_CUT: usize = 256;

/// Settings of the embedder.
#[derive(Clone, Copy, Debug)]
pub struct ModelEmbedderOptions {
    /// Length of the vectors; read from the server's first reply if absent.
    pub dimension: Option<usize>,
    /// Texts in one request.
    pub batch: usize,
    /// Most bytes of a text that are sent. A vector of a longer text is less specific, and the keyword index has all words.
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
    /// Makes an embedder. Without a dimension in the options it asks the server.
    ///
    /// # Errors
    /// If the server has to be asked for the dimension and fails.
    pub async fn connect(client: Arc<ModelClient>, options: ModelEmbedderOptions) -> Result<Self, ModelError> {
        let dimension = match options.dimension {
            Some(n) => n,
            None => client.embed(&["dimension"], client.deadline()).await?.first().map_or(0, Vec::len),
        };
        if dimension == 0 {
            return Err(ModelError::Malformed("a vector without numbers"));
        }
        // Only vectors with the same name are compared: the same model with another dimension has another name.
        let name = format!("{}/{dimension}", client.model());
        Ok(Self { client, name, dimension, options })
    }

    /// Returns the client of the server.
    pub fn client(&self) -> &Arc<ModelClient> {
        &self.client
    }

    /// Embeds the texts of one request.
    ///
    /// A rejected batch is halved until the rejected text is alone. That text is cut until the model accepts it, because
    /// servers do not report their limit.
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
                        // The last part pushed is the next one embedded, which keeps the order.
                        open.push(tail.to_vec());
                        open.push(head.to_vec());
                    }
                },
            }
        }
        Ok(done)
    }

    /// Checks a vector and scales it to length 1.
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
        // A blank text has no meaning, and servers reject it together with its whole batch.
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
    matches!(e, ModelError::Rejected { status: 400 | 413 | 422, about: RejectedField::Other, .. })
}

/// Returns at most `max` bytes of the start of a text, cut between characters.
fn cut(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max)).unwrap_or(text)
}
