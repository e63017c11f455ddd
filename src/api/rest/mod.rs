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

use super::{Auditor, rate::CallerLimits};
use crate::conversation::Conversation;

/// The routes.
pub(crate) fn routes(limits: Arc<CallerLimits>, auditor: Auditor) -> Router<Conversation> {
    Router::new()
        .route("/chat", post(chat::post).layer(Extension((limits, auditor))))
        .route("/context/{session_id}", get(context::get))
        .route("/entity/resolve", post(entity::resolve))
}
