//! Protection against cross-site request forgery.
//!
//! A cookie alone authorizes no change. A request that changes something must also send a token that only pages of this server
//! can read.

use axum::http::{Method, StatusCode, header, request::Parts};
use subtle::ConstantTimeEq;

use super::identity::Identity;
use crate::error::ApiError;

/// The header with the CSRF token.
pub(crate) const CSRF_HEADER: &str = "x-csrf-token";
/// The field with the CSRF token in the first frame of a WebSocket.
pub(crate) const CSRF_FIELD: &str = "csrfToken";

pub(crate) fn csrf_required() -> ApiError {
    let message = "The header `x-csrf-token` is missing or wrong. Send the value that `GET /auth/session` returns.";
    ApiError::refused(StatusCode::FORBIDDEN, "CSRF_TOKEN_REQUIRED", message)
}

/// Whether `shown` is the CSRF token of an identity. An identity without a cookie needs none.
pub(crate) fn has_csrf_token(identity: &Identity, shown: &[u8]) -> bool {
    identity.csrf.as_ref().is_none_or(|token| bool::from(token.as_bytes().ct_eq(shown)))
}

/// Checks the CSRF token in the head of a request.
///
/// # Errors
/// 403 `CSRF_TOKEN_REQUIRED`.
pub(super) fn check(parts: &Parts, identity: &Identity) -> Result<(), ApiError> {
    if identity.csrf.is_none() {
        return Ok(());
    }
    let headers = &parts.headers;
    let good = match parts.method {
        // A WebSocket sends the token in its first frame. Browsers always send `Origin` here, and foreign origins were refused before.
        Method::GET if headers.contains_key(header::UPGRADE) => headers.contains_key(header::ORIGIN),
        // These methods change nothing, and foreign pages cannot read the response.
        Method::GET | Method::HEAD | Method::OPTIONS => true,
        _ => has_csrf_token(identity, headers.get(CSRF_HEADER).map(|v| v.as_bytes()).unwrap_or_default()),
    };
    if good { Ok(()) } else { Err(csrf_required()) }
}
