//! Names and ids of REST inputs.

use crate::error::ApiError;
use recall_domain::SessionId;

/// REST names of use case inputs, where they differ.
const REST_NAMES: [(&str, &str); 3] = [("query", "q"), ("text", "message"), ("sessionId", "session_id")];

/// Converts an error of a use case, with the REST names of its inputs.
pub(super) fn with_rest_names(error: impl Into<ApiError>) -> ApiError {
    error.into().renamed(&REST_NAMES)
}

/// Parses the session id of a body.
pub(super) fn read_session(id: &str) -> Result<SessionId, ApiError> {
    id.parse().map_err(|_| ApiError::invalid("INVALID_ID", "An id is a UUID, as this server returned it.", "session_id"))
}
