//! Errors for documents that exceed a limit or cannot be parsed.

use axum::http::StatusCode;

use crate::error::ApiError;

/// Returns a 400 error about the document.
pub(super) fn bad(code: &'static str, message: impl Into<String>) -> ApiError {
    ApiError::refused(StatusCode::BAD_REQUEST, code, message)
}

/// Returns `QUERY_TOO_LARGE` if a count exceeds its limit. `what` names the count, such as "operations".
pub(super) fn within(count: usize, limit: usize, what: &str) -> Result<(), ApiError> {
    if count <= limit {
        return Ok(());
    }
    Err(bad("QUERY_TOO_LARGE", format!("The query has {count} {what}; the limit is {limit}. Split it, or use variables.")))
}
