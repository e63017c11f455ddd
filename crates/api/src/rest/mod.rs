//! REST endpoints: plain JSON over the same use cases, rules and error codes as GraphQL. GraphQL can do everything they can.

mod chat;
mod context;
mod document_view;
mod documents;
mod entity;
mod fields;
mod forget;
mod input;
mod knowledge;
mod list;
mod sessions;
mod view;
mod wait;

use axum::{
    Extension, Router,
    extract::DefaultBodyLimit,
    routing::{get, post},
};

use utoipa::OpenApi;

use crate::audit::Auditor;
use recall_usecases::UseCases;

pub(crate) use chat::ChatServices;
pub(crate) use documents::{MAX_UPLOAD, UploadServices};
pub(crate) use wait::MAX_WAIT;

/// Describes the REST routes. A test finds routes that are missing here.
#[derive(OpenApi)]
#[openapi(paths(
    chat::post,
    context::get,
    documents::add,
    documents::list,
    documents::get,
    documents::original,
    documents::chunks,
    documents::delete,
    documents::delete_original,
    entity::resolve,
    forget::post,
    sessions::list,
    sessions::messages,
    knowledge::facts,
    knowledge::entities
))]
pub(crate) struct Description;

/// Builds the REST routes.
pub(crate) fn routes(auditor: Auditor) -> Router<UseCases> {
    Router::new()
        .route("/context/{session_id}", get(context::get))
        .route("/entity/resolve", post(entity::resolve))
        .route("/forget", post(forget::post).layer(Extension(auditor)))
        .route("/sessions", get(sessions::list))
        .route("/sessions/{session_id}/messages", get(sessions::messages))
        .route("/facts", get(knowledge::facts))
        .route("/entities", get(knowledge::entities))
}

/// Builds the routes of documents. An upload may take up to [`MAX_UPLOAD`], and its body may be larger than others.
pub(crate) fn document_routes(services: UploadServices, usecases: UseCases) -> Router {
    let most = usecases.max_document_bytes().saturating_add(documents::FORM_BYTES);
    let upload = post(documents::add).layer(DefaultBodyLimit::max(usize::try_from(most).unwrap_or(usize::MAX)));
    Router::new()
        .route("/documents", upload.get(documents::list))
        .route("/documents/{document_id}", get(documents::get).delete(documents::delete))
        .route("/documents/{document_id}/original", get(documents::original).delete(documents::delete_original))
        .route("/documents/{document_id}/chunks", get(documents::chunks))
        .layer(Extension(services))
        .with_state(usecases)
}

/// Builds the route that may wait up to [`MAX_WAIT`] for an answer.
pub(crate) fn waiting_routes(services: ChatServices) -> Router<UseCases> {
    Router::new().route("/chat", post(chat::post).layer(Extension(services)))
}
