//! Requests that a foreign page makes a browser send in somebody's name. The cookie of a login alone changes nothing: a request
//! that could also shows a token that only pages of this server can read.

use axum::http::{Method, StatusCode, header, request::Parts};
use subtle::ConstantTimeEq;

use super::{super::error::ApiError, Identity};

/// The header with the token.
pub(crate) const CSRF_HEADER: &str = "x-csrf-token";
/// The same in the first frame of a WebSocket.
pub(crate) const CSRF_FIELD: &str = "csrfToken";

pub(crate) fn csrf_required() -> ApiError {
    let message = "The header `x-csrf-token` is missing or wrong. Send the value that `GET /auth/session` tells.";
    ApiError::refused(StatusCode::FORBIDDEN, "CSRF_TOKEN_REQUIRED", message)
}

/// Whether what was shown is enough for an identity. For those that came without a cookie nothing is needed.
pub(crate) fn is_shown(identity: &Identity, shown: &[u8]) -> bool {
    identity.csrf.as_ref().is_none_or(|token| bool::from(token.as_bytes().ct_eq(shown)))
}

/// Checks the head of a request.
///
/// # Errors
/// 403 `CSRF_TOKEN_REQUIRED`.
pub(super) fn check(parts: &Parts, identity: &Identity) -> Result<(), ApiError> {
    if identity.csrf.is_none() {
        return Ok(());
    }
    let headers = &parts.headers;
    let good = match parts.method {
        // A WebSocket shows it in its first frame; pages always name their origin here, and foreign ones were refused.
        Method::GET if headers.contains_key(header::UPGRADE) => headers.contains_key(header::ORIGIN),
        // These change nothing, and nobody else can read the answer.
        Method::GET | Method::HEAD | Method::OPTIONS => true,
        _ => is_shown(identity, headers.get(CSRF_HEADER).map(|v| v.as_bytes()).unwrap_or_default()),
    };
    if good { Ok(()) } else { Err(csrf_required()) }
}
