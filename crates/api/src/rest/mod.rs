//! The REST endpoints: plain JSON over the same use cases as GraphQL, with the same rules and codes. Nothing can be done
//! here that cannot be done there.

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

/// What this interface calls the inputs of use cases where it has other names.
const NAMES: [(&str, &str); 3] = [("query", "q"), ("text", "message"), ("sessionId", "session_id")];

/// An error of a use case with the names of this interface.
fn renamed(error: impl Into<ApiError>) -> ApiError {
    error.into().renamed(&NAMES)
}

/// Reads the session that a body names.
fn read_session(id: &str) -> Result<SessionId, ApiError> {
    id.parse().map_err(|_| ApiError::invalid("INVALID_ID", "An id is a UUID, as this server returned it.", "session_id"))
}

/// The routes.
pub(crate) fn routes(limits: Arc<CallerLimits>, auditor: Auditor) -> Router<UseCases> {
    Router::new()
        .route("/chat", post(chat::post).layer(Extension((limits, auditor))))
        .route("/context/{session_id}", get(context::get))
        .route("/entity/resolve", post(entity::resolve))
}
