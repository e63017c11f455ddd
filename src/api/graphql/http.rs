//! `POST /graphql`. JSON only, one operation a request; `GET` never runs anything, so that no link can change data.

use async_graphql::{Executor, Request};
use axum::{
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use super::engine::Engine;
use crate::api::{auth::Authenticated, body, error::ApiError};

const RESPONSE_JSON: &str = "application/graphql-response+json";

/// Runs a query or a mutation.
pub(crate) async fn post(
    State(engine): State<Engine>,
    Authenticated(caller): Authenticated,
    headers: HeaderMap,
    bytes: Result<Bytes, axum::extract::rejection::BytesRejection>,
) -> Response {
    let request: Request = match body::json(&headers, bytes) {
        Ok(request) => request,
        Err(error) => return error.into_response(),
    };
    let response = engine.on_behalf_of(caller, 1).execute(request).await;
    // GraphQL over HTTP: with its own media type a refused request has a status of its own; `application/json` is always 200.
    let own_type = headers.get(header::ACCEPT).and_then(|v| v.to_str().ok()).is_some_and(|v| v.contains(RESPONSE_JSON));
    let refused =
        own_type && response.is_err() && response.data == async_graphql::Value::Null && response.errors.iter().all(|e| e.path.is_empty());
    let Ok(json) = serde_json::to_vec(&response) else {
        return ApiError::internal(std::sync::Arc::new(std::io::Error::other("a response cannot be written as JSON")) as std::sync::Arc<_>)
            .into_response();
    };
    let mut answer = Response::new(Body::from(json));
    if refused {
        *answer.status_mut() = StatusCode::BAD_REQUEST;
    }
    let media = HeaderValue::from_static(if own_type { RESPONSE_JSON } else { "application/json" });
    answer.headers_mut().insert(header::CONTENT_TYPE, media);
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}
