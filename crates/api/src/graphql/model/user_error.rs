//! Expected failures of mutations, typed in their payloads.

use async_graphql::SimpleObject;

use crate::error::ApiError;

/// Something about a request that its sender can put right.
#[derive(SimpleObject, Clone, Debug)]
pub(crate) struct UserError {
    /// A stable code for programs, such as `TEXT_TOO_LONG`.
    code: String,
    /// A sentence for people.
    message: String,
    /// The argument that is wrong, from the outside in, such as `["input", "text"]`; empty when it is none in particular.
    path: Vec<String>,
}

impl From<&ApiError> for UserError {
    fn from(error: &ApiError) -> Self {
        // Use cases name their own argument; here it lies in the one argument `input`.
        let error = error.clone().within("input");
        Self { code: error.code().to_owned(), message: error.message().to_owned(), path: error.path().to_vec() }
    }
}

/// Splits an outcome into what a payload holds; what the sender cannot put right fails the whole field.
pub(crate) fn settle<T>(outcome: Result<T, ApiError>) -> async_graphql::Result<(Option<T>, Vec<UserError>)> {
    match outcome {
        Ok(value) => Ok((Some(value), Vec::new())),
        Err(error) if error.is_expected() => Ok((None, vec![UserError::from(&error)])),
        Err(error) => Err(error.into()),
    }
}
