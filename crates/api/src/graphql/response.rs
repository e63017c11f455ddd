//! Completes responses: gives every error a code, limits errors in number and length, and logs failures.

use async_graphql::{ErrorExtensionValues, Response, ServerError};

use super::cost::MAX_ERRORS;
use crate::error::{self, ApiError};

/// Maximum length of an error message, in bytes. Messages of the library can repeat text of the client.
const MAX_MESSAGE_BYTES: usize = 500;

/// Returns a response with a single error, for an operation that was not run.
pub(super) fn error_response(error: ApiError) -> Response {
    finish(Response::from_errors(vec![async_graphql::Error::from(error).into_server_error(Default::default())]))
}

/// Completes the response of an operation.
pub(super) fn finish(mut response: Response) -> Response {
    error::report_all(response.errors.iter().filter_map(|error| error.source::<ApiError>()));
    let count = response.errors.len();
    if count > MAX_ERRORS {
        response.errors.truncate(MAX_ERRORS);
        let message = format!("There are more errors; only the first {MAX_ERRORS} are shown.");
        response.errors.push(with_code(ServerError::new(message, None), "MORE_ERRORS"));
    }
    for error in &mut response.errors {
        if error.message.len() > MAX_MESSAGE_BYTES {
            let end = (0..=MAX_MESSAGE_BYTES).rev().find(|end| error.message.is_char_boundary(*end)).unwrap_or(0);
            error.message.truncate(end);
            error.message.push('…');
        }
        if error.extensions.as_ref().is_none_or(|e| e.get("code").is_none()) {
            // Without a path it is a validation error, such as an argument of the wrong type. Resolvers set the codes of all other
            // errors.
            remove_type_names(&mut error.message);
            let code = if error.path.is_empty() { "GRAPHQL_VALIDATION_FAILED" } else { "INVALID_ARGUMENT" };
            error.extensions.get_or_insert_with(ErrorExtensionValues::default).set("code", code);
        }
    }
    response
}

/// Removes what the library adds to a wrong argument: the types of this server in which it was found.
fn remove_type_names(message: &mut String) {
    if let Some(at) = message.find(" (occurred while parsing \"") {
        message.truncate(at);
        if !message.ends_with('.') {
            message.push('.');
        }
    }
}

fn with_code(mut error: ServerError, code: &str) -> ServerError {
    error.extensions.get_or_insert_with(ErrorExtensionValues::default).set("code", code);
    error
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn code(error: &ServerError) -> String {
        error.extensions.as_ref().and_then(|e| e.get("code")).map(ToString::to_string).unwrap_or_default()
    }

    #[test]
    fn errors_are_limited_in_number_and_length() {
        let errors = vec![ServerError::new("ö".repeat(100_000), None); 10_000];
        let response = finish(Response::from_errors(errors));
        assert_eq!(response.errors.len(), MAX_ERRORS + 1);
        assert_eq!(code(response.errors.last().unwrap()), "\"MORE_ERRORS\"");
        assert!(response.errors.iter().all(|e| e.message.len() <= MAX_MESSAGE_BYTES + 3));
        assert_eq!(code(&response.errors[0]), "\"GRAPHQL_VALIDATION_FAILED\"");
    }

    #[test]
    fn names_of_input_types_are_removed() {
        let message = r#"Failed to parse "Int": out of range (occurred while parsing "FactFilter") (occurred while parsing "A")"#;
        let response = finish(Response::from_errors(vec![ServerError::new(message, None)]));
        assert_eq!(response.errors[0].message, r#"Failed to parse "Int": out of range."#);
    }

    #[test]
    fn code_of_a_resolver_is_kept() {
        let response = error_response(ApiError::not_found("fact"));
        assert_eq!(code(&response.errors[0]), "\"NOT_FOUND\"");
    }
}
