//! `GET /v1/models` and `GET /v1/models/{id}`: the models of the model server, and `recall`.

use axum::{
    Json,
    extract::{Path, State},
};
use serde_json::{Value, json};

use super::{Handlers, LOCAL_MODEL, errors::unknown_model, reply};
use crate::{auth::Reader, error::ApiError};
use recall_ports::ChatUpstream;

/// Lists the models.
pub(super) async fn list(State(handlers): State<Handlers>, _: Reader) -> Json<Value> {
    Json(json!({ "object": "list", "data": all(&handlers).await }))
}

/// Returns a model. Its id may contain slashes.
pub(super) async fn get(State(handlers): State<Handlers>, _: Reader, Path(id): Path<String>) -> Result<Json<Value>, ApiError> {
    if id == LOCAL_MODEL {
        return Ok(Json(model(LOCAL_MODEL)));
    }
    let found = all(&handlers).await.into_iter().find(|model| model["id"] == id.as_str());
    found.map(Json).ok_or_else(|| unknown_model(&id))
}

/// Returns all models.
async fn all(handlers: &Handlers) -> Vec<Value> {
    let mut models = match &handlers.openai.upstream {
        Some(upstream) => listed(upstream.as_ref()).await.unwrap_or_else(|| vec![model(upstream.model())]),
        None => Vec::new(),
    };
    models.retain(|model| model["id"] != LOCAL_MODEL);
    models.push(model(LOCAL_MODEL));
    models
}

/// Returns the list of the model server; `None` if it has none, or does not answer.
async fn listed(upstream: &dyn ChatUpstream) -> Option<Vec<Value>> {
    let mut reply = upstream.models().await.ok().filter(|reply| reply.status == 200)?;
    let body = reply::read(&mut reply).await.ok()?;
    let mut list: Value = serde_json::from_slice(&body).ok()?;
    match list["data"].take() {
        Value::Array(models) => Some(models),
        _ => None,
    }
}

fn model(id: &str) -> Value {
    json!({ "id": id, "object": "model", "created": 0, "owned_by": "recall" })
}
