//! Names and values of REST inputs.

use std::str::FromStr;

use crate::error::ApiError;
use recall_domain::{EntityType, SessionId, Word};

/// REST names of use case inputs, where they differ.
const REST_NAMES: [(&str, &str); 3] = [("query", "q"), ("text", "message"), ("sessionId", "session_id")];

/// Converts an error of a use case, with the REST names of its inputs.
pub(super) fn with_rest_names(error: impl Into<ApiError>) -> ApiError {
    error.into().renamed(&REST_NAMES)
}

/// Parses the session id of a body.
pub(super) fn read_session(id: &str) -> Result<SessionId, ApiError> {
    parse_id(id, "session_id")
}

/// Parses an optional id. `name` is the name of the parameter.
pub(super) fn read_id<T: FromStr>(id: Option<&str>, name: &str) -> Result<Option<T>, ApiError> {
    id.map(|id| parse_id(id, name)).transpose()
}

pub(super) fn parse_id<T: FromStr>(id: &str, name: &str) -> Result<T, ApiError> {
    id.parse().map_err(|_| ApiError::invalid("INVALID_ID", "An id is a UUID, as this server returned it.", name))
}

/// Parses an optional word, ignoring case.
pub(super) fn read_word<T: Word>(word: Option<&str>, unknown: impl FnOnce() -> ApiError) -> Result<Option<T>, ApiError> {
    word.map(|word| T::parse_word(&word.to_lowercase()).ok_or_else(unknown)).transpose()
}

/// Parses an optional type of entities.
pub(super) fn read_type(word: Option<&str>) -> Result<Option<EntityType>, ApiError> {
    read_word(word, || {
        let message = "There is no such type. Use person, organization, place, project, tool, concept, event or thing.";
        ApiError::invalid("UNKNOWN_TYPE", message, "type")
    })
}
