//! REST endpoints: plain JSON over the same use cases, rules and error codes as GraphQL. GraphQL can do everything they can.

mod chat;
mod context;
mod entity;
mod forget;
mod input;
mod view;

use std::sync::Arc;

use axum::{
    Extension, Router,
    routing::{get, post},
};

use crate::{audit::Auditor, rate::CallerLimits};
use recall_usecases::UseCases;

/// Builds the REST routes.
pub(crate) fn routes(limits: Arc<CallerLimits>, auditor: Auditor) -> Router<UseCases> {
    Router::new()
        .route("/chat", post(chat::post).layer(Extension((limits, auditor.clone()))))
        .route("/context/{session_id}", get(context::get))
        .route("/entity/resolve", post(entity::resolve))
        .route("/forget", post(forget::post).layer(Extension(auditor)))
}
