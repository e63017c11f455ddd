//! The REST endpoints: plain JSON over the same use cases as GraphQL, with the same rules and codes. Nothing can be done
//! here that cannot be done there.

mod chat;
mod context;
mod entity;
mod view;

use axum::{
    Router,
    routing::{get, post},
};

use crate::conversation::Conversation;

/// The routes.
pub(crate) fn routes() -> Router<Conversation> {
    Router::new()
        .route("/chat", post(chat::post))
        .route("/context/{session_id}", get(context::get))
        .route("/entity/resolve", post(entity::resolve))
}
