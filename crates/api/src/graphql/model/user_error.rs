//! Expected errors of mutations, returned in their payloads.

use async_graphql::SimpleObject;

use crate::error::ApiError;

/// An error in a request that the client can correct.
#[derive(SimpleObject, Clone, Debug)]
pub(crate) struct UserError {
    /// A stable code for programs, such as `TEXT_TOO_LONG`.
    code: String,
    /// A sentence for people.
    message: String,
    /// The path of the wrong argument, such as `["input", "text"]`; empty if no single argument is wrong.
    path: Vec<String>,
}

impl From<&ApiError> for UserError {
    fn from(error: &ApiError) -> Self {
        // A use case names its own argument; in GraphQL that argument is part of `input`.
        let error = error.clone().within("input");
        Self { code: error.code().to_owned(), message: error.message().to_owned(), path: error.path().to_vec() }
    }
}

/// Splits a result into the value and the user errors of a payload.
///
/// # Errors
/// Returns every error that the client cannot correct. It fails the whole field.
pub(crate) fn split_user_errors<T>(outcome: Result<T, ApiError>) -> async_graphql::Result<(Option<T>, Vec<UserError>)> {
    match outcome {
        Ok(value) => Ok((Some(value), Vec::new())),
        Err(error) if error.is_expected() => Ok((None, vec![UserError::from(&error)])),
        Err(error) => Err(error.into()),
    }
}
