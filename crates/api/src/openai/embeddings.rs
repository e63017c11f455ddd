//! `POST /v1/embeddings`: vectors of the configured embedder.

use axum::{
    Json,
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    http::HeaderMap,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Handlers;
use crate::{auth::Reader, body, error::ApiError};
use recall_domain::UserText;
use recall_ports::Embedding;

/// Most texts in one request.
const MAX_INPUTS: usize = 500;
/// Texts that count as one more request of the caller.
const INPUTS_PER_REQUEST: usize = 50;
/// Estimated bytes of English text per token.
const BYTES_PER_TOKEN: usize = 4;

#[derive(Deserialize)]
pub(super) struct EmbeddingRequest {
    input: Input,
    #[serde(default)]
    encoding_format: Option<String>,
    #[serde(default)]
    dimensions: Option<usize>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Input {
    One(String),
    Several(Vec<String>),
    Other(serde::de::IgnoredAny),
}

impl Input {
    fn texts(self) -> Result<Vec<UserText>, ApiError> {
        let texts = match self {
            Self::One(text) => vec![text],
            Self::Several(texts) => texts,
            Self::Other(_) => {
                let message = "The input is neither a text nor a list of texts. Lists of tokens are not supported.";
                return Err(ApiError::invalid("INVALID_INPUT", message, "input"));
            }
        };
        if texts.is_empty() || texts.len() > MAX_INPUTS {
            let message = format!("The number of texts is out of range. Send 1 to {MAX_INPUTS}.");
            return Err(ApiError::invalid("INVALID_INPUT", message, "input"));
        }
        if texts.iter().any(|text| text.trim().is_empty()) {
            return Err(ApiError::invalid("INVALID_INPUT", "A text is empty. Leave it out.", "input"));
        }
        Ok(texts.into_iter().map(UserText::from).collect())
    }
}

/// Embeds texts. The model is the server's own, whatever the request names.
pub(super) async fn create(
    State(handlers): State<Handlers>,
    Reader(identity): Reader,
    headers: HeaderMap,
    bytes: Result<Bytes, BytesRejection>,
) -> Result<Json<Value>, ApiError> {
    let request: EmbeddingRequest = body::json(&headers, bytes)?;
    let encode: fn(&Embedding) -> Value = match request.encoding_format.as_deref() {
        None | Some("float") => |vector| json!(vector.0),
        Some("base64") => |vector| STANDARD.encode(vector.0.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>()).into(),
        Some(_) => {
            let message = "There is no such format. Use `float` or `base64`.";
            return Err(ApiError::invalid("INVALID_ENCODING_FORMAT", message, "encoding_format"));
        }
    };
    let texts = request.input.texts()?;
    let more = u32::try_from(texts.len() / INPUTS_PER_REQUEST).unwrap_or(u32::MAX);
    handlers.limits.charge_extra(identity.caller, more).await?;
    let (model, vectors) = handlers.usecases.embed(&texts).await?;
    let dimension = vectors.first().map_or(0, |vector| vector.0.len());
    if request.dimensions.is_some_and(|wanted| wanted != dimension) {
        let message = format!("The vectors of this server have {dimension} dimensions. Leave `dimensions` out.");
        return Err(ApiError::invalid("INVALID_DIMENSIONS", message, "dimensions"));
    }
    let data =
        vectors.iter().enumerate().map(|(index, vector)| json!({ "object": "embedding", "index": index, "embedding": encode(vector) }));
    let tokens: usize = texts.iter().map(|text| text.as_str().len().div_ceil(BYTES_PER_TOKEN)).sum();
    Ok(Json(json!({
        "object": "list", "model": model, "data": data.collect::<Vec<_>>(),
        "usage": { "prompt_tokens": tokens, "total_tokens": tokens },
    })))
}
