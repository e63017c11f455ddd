//! REST endpoints: plain JSON over the same use cases, rules and error codes as GraphQL. GraphQL can do everything they can.

mod chat;
mod context;
mod entity;
mod view;

use std::sync::Arc;

use axum::{
    Extension, Router,
    routing::{get, post},
};

use super::{Auditor, error::ApiError, rate::CallerLimits};
use recall_domain::SessionId;
use recall_usecases::UseCases;

/// REST names of use case inputs, where they differ.
const REST_NAMES: [(&str, &str); 3] = [("query", "q"), ("text", "message"), ("sessionId", "session_id")];

/// Converts an error of a use case, with the REST names of its inputs.
fn with_rest_names(error: impl Into<ApiError>) -> ApiError {
    error.into().renamed(&REST_NAMES)
}

/// Parses the session id of a body.
fn read_session(id: &str) -> Result<SessionId, ApiError> {
    id.parse().map_err(|_| ApiError::invalid("INVALID_ID", "An id is a UUID, as this server returned it.", "session_id"))
}

/// Builds the REST routes.
pub(crate) fn routes(limits: Arc<CallerLimits>, auditor: Auditor) -> Router<UseCases> {
    Router::new()
        .route("/chat", post(chat::post).layer(Extension((limits, auditor))))
        .route("/context/{session_id}", get(context::get))
        .route("/entity/resolve", post(entity::resolve))
}
