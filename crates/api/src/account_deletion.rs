//! While everything of a user is being deleted they are shown nothing: what is left would be taken for a whole.

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{auth::Authenticated, error::ApiError};
use recall_ports::StoreError;
use recall_usecases::UseCases;

/// Middleware: 409 `DATA_BEING_DELETED`. Fields of GraphQL are refused each for itself: one
/// deletes, and one says how far that has got.
pub(super) async fn refuse(State(usecases): State<UseCases>, request: Request, next: Next) -> Response {
    let caller = request.extensions().get::<Authenticated>().map(|Authenticated(identity)| identity.caller);
    match caller.is_some_and(|caller| usecases.is_being_erased(&caller)) {
        true => ApiError::from(StoreError::BeingErased).into_response(),
        false => next.run(request).await,
    }
}
