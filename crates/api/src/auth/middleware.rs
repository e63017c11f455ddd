//! Middleware that authenticates requests.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{
    authenticator::{AuthError, Authenticator},
    csrf,
    extract::Authenticated,
    metadata::ProtectedResource,
};
use crate::{address::ClientAddress, error::ApiError};

/// Middleware: authenticates the request or refuses it.
pub(crate) async fn authenticate(State(authenticator): State<Arc<dyn Authenticator>>, request: Request, next: Next) -> Response {
    authenticate_request(&*authenticator, request, next, false).await
}

/// Middleware: like [`authenticate`], but lets requests without credentials pass if they may authenticate later.
///
/// A browser that loads GraphiQL has no token, and a WebSocket may send one in its first frame. Invalid credentials are refused.
pub(crate) async fn authenticate_optionally(State(authenticator): State<Arc<dyn Authenticator>>, request: Request, next: Next) -> Response {
    authenticate_request(&*authenticator, request, next, authenticator.reads_credentials()).await
}

async fn authenticate_request(authenticator: &dyn Authenticator, request: Request, next: Next, is_optional: bool) -> Response {
    let (mut parts, body) = request.into_parts();
    match authenticator.authenticate(&parts).await {
        Ok(mut identity) => {
            if let Err(error) = csrf::check(&parts, &identity) {
                return error.into_response();
            }
            identity.address = parts.extensions.get::<ClientAddress>().map(|client| client.0);
            parts.extensions.insert(Authenticated(identity));
        }
        Err(AuthError::Missing) if is_optional => {}
        Err(error) => return ApiError::from(error).into_response(),
    }
    next.run(Request::from_parts(parts, body)).await
}

/// Middleware: adds the URL of the metadata to refusals that need a token (RFC 9728, section 5.1).
pub(crate) async fn add_metadata_link(State(resource): State<Arc<ProtectedResource>>, request: Request, next: Next) -> Response {
    let metadata_url = resource.metadata_url(request.uri().path());
    let mut response = next.run(request).await;
    let refused = matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    if let Some(challenge) = response.headers().get(header::WWW_AUTHENTICATE).and_then(|v| v.to_str().ok()).filter(|_| refused) {
        let separator = if challenge.contains('=') { "," } else { "" };
        let full = format!("{challenge}{separator} resource_metadata=\"{metadata_url}\"");
        if let Ok(full) = HeaderValue::from_str(&full) {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, full);
        }
    }
    response
}
