//! Refuses requests of a user whose data is being deleted.
//!
//! A partial result would look complete.

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{auth::Authenticated, error::ApiError};
use recall_ports::StoreError;
use recall_usecases::UseCases;

/// Middleware: answers 409 `DATA_BEING_DELETED` while the caller's data is being deleted.
///
/// GraphQL does not use it: there each field is refused separately, because one field deletes and one reports the progress.
pub(super) async fn refuse_during_deletion(State(usecases): State<UseCases>, request: Request, next: Next) -> Response {
    let caller = request.extensions().get::<Authenticated>().map(|Authenticated(identity)| identity.caller);
    match caller.is_some_and(|caller| usecases.is_being_erased(&caller)) {
        true => ApiError::from(StoreError::BeingErased).into_response(),
        false => next.run(request).await,
    }
}
