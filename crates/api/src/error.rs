//! Errors of the API.
//!
//! An error has three audiences: a stable code for programs, a sentence for people, and a cause for the log. This module maps all
//! errors of the lower layers to these. The cause never leaves the server.

use std::{error::Error, sync::Arc, time::Duration};

use async_graphql::ErrorExtensionValues;
use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use tokio::time::Instant;
use utoipa::ToSchema;

use crate::sampler::Sampler;
use recall_ports::StoreError;
use recall_usecases::UseCaseError;

/// The code for an object that does not exist or belongs to another user.
pub(crate) const NOT_FOUND: &str = "NOT_FOUND";
/// The code for a temporary failure.
pub(crate) const UNAVAILABLE: &str = "UNAVAILABLE";

/// An error that is sent to a client.
#[derive(Clone, Debug)]
pub struct ApiError {
    status: StatusCode,
    code: &'static str,
    message: String,
    path: Vec<String>,
    retry_after: Option<Duration>,
    /// The header `WWW-Authenticate`.
    challenge: Option<&'static str>,
    cause: Option<Arc<dyn Error + Send + Sync>>,
}

impl ApiError {
    /// Creates an error that the client can correct. `status` is a 4xx status.
    pub fn refused(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), path: Vec::new(), retry_after: None, challenge: None, cause: None }
    }

    /// Creates an error about an argument. `path` names it with dots: `input.text`.
    pub fn invalid(code: &'static str, message: impl Into<String>, path: &str) -> Self {
        Self { path: split_path(path), ..Self::refused(StatusCode::BAD_REQUEST, code, message) }
    }

    /// Creates a 401 error. `invalid` tells whether the request had credentials.
    pub fn unauthenticated(message: &str, invalid: bool) -> Self {
        let challenge = if invalid { "Bearer error=\"invalid_token\"" } else { "Bearer" };
        Self::refused(StatusCode::UNAUTHORIZED, "UNAUTHENTICATED", message).with_challenge(challenge)
    }

    /// Creates a 429 error for a caller who exceeds a rate limit.
    pub fn rate_limited(retry_after: Duration) -> Self {
        let message = "Too many requests. Wait for the time given, then try again.";
        Self { retry_after: Some(retry_after), ..Self::refused(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED", message) }
    }

    /// Creates a 429 error for a caller with too many open streams.
    pub fn too_many_streams(retry_after: Duration) -> Self {
        let message = "Too many event streams are open. Close one, then try again.";
        Self { retry_after: Some(retry_after), ..Self::refused(StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_STREAMS", message) }
    }

    /// Creates a 404 error. An object of another user looks the same as one that does not exist.
    pub fn not_found(noun: &str) -> Self {
        Self::refused(StatusCode::NOT_FOUND, NOT_FOUND, format!("There is no such {noun}. Check its id."))
    }

    /// Creates a 404 error for a URL without a route.
    pub(crate) fn nothing_here() -> Self {
        Self::refused(StatusCode::NOT_FOUND, NOT_FOUND, "There is nothing at this URL. Check the path.")
    }

    /// Creates a 503 error for a request that may succeed later.
    pub fn unavailable(retry_after: Duration, cause: impl Into<Arc<dyn Error + Send + Sync>>) -> Self {
        Self {
            retry_after: Some(retry_after),
            cause: Some(cause.into()),
            ..Self::refused(StatusCode::SERVICE_UNAVAILABLE, UNAVAILABLE, "The server cannot do this right now. Try again later.")
        }
    }

    /// Creates a 504 error for an operation that exceeded its time limit.
    pub fn timeout() -> Self {
        Self::refused(
            StatusCode::GATEWAY_TIMEOUT,
            "TIMEOUT",
            "The operation took too long and was stopped. Check whether its change was made before you repeat it.",
        )
    }

    /// Creates a 500 error for a defect of the server.
    pub fn internal(cause: impl Into<Arc<dyn Error + Send + Sync>>) -> Self {
        Self {
            cause: Some(cause.into()),
            ..Self::refused(
                StatusCode::INTERNAL_SERVER_ERROR,
                "INTERNAL",
                "Something went wrong in the server. Its operator finds the cause in the log.",
            )
        }
    }

    /// Returns the stable code.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// Returns the sentence for people.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the HTTP status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns the path of the wrong argument, from the outside in; empty if no single argument is wrong.
    pub fn path(&self) -> &[String] {
        &self.path
    }

    /// Returns whether the client can correct the error. A mutation reports such an error in its payload.
    pub fn is_expected(&self) -> bool {
        self.status.is_client_error()
    }

    /// Sets the path of the wrong argument, unless the error has one.
    pub fn at(mut self, path: &str) -> Self {
        if self.path.is_empty() {
            self.path = split_path(path);
        }
        self
    }

    /// Sets the path to one name that may contain dots.
    pub(crate) fn at_name(self, name: String) -> Self {
        Self { path: vec![name], ..self }
    }

    /// Sets the challenge for the header `WWW-Authenticate` (RFC 6750, section 3).
    pub fn with_challenge(self, challenge: &'static str) -> Self {
        Self { challenge: Some(challenge), ..self }
    }

    /// Puts the path inside of another argument, such as `input` of a mutation.
    pub fn within(mut self, outer: &str) -> Self {
        if self.path.first().is_some_and(|first| first != outer) {
            self.path.insert(0, outer.to_owned());
        }
        self
    }

    /// Replaces argument names of the use case by those of this interface. Pairs are (use case, interface).
    pub fn renamed(mut self, names: &[(&str, &str)]) -> Self {
        for part in &mut self.path {
            if let Some((_, name)) = names.iter().find(|(from, _)| from == part) {
                *part = (*name).to_owned();
            }
        }
        self
    }
}

/// Limits log lines about failed requests. Any client can cause them at any rate.
static LOG_SAMPLER: Sampler = Sampler::new();

/// Logs the cause of a failed request. Errors that the client can correct are not logged.
///
/// Only the first error of a response is logged: the others mostly have the same cause, and one small request can cause thousands.
pub(crate) fn report_all<'e>(errors: impl Iterator<Item = &'e ApiError>) {
    let mut unexpected = errors.filter(|error| !error.is_expected());
    let Some(first) = unexpected.next() else { return };
    let Some(left_out) = LOG_SAMPLER.line(Instant::now()) else { return };
    let causes = first.cause.as_deref().map(|cause| error_chain(cause));
    let further = unexpected.count();
    tracing::error!(code = first.code, cause = causes.as_deref(), further, left_out, "a request failed");
}

fn split_path(path: &str) -> Vec<String> {
    path.split('.').filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Returns the text of an error with all its sources, for the log.
fn error_chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        // Many errors repeat their source in their own text.
        let part = source.to_string();
        if !text.ends_with(&part) {
            text.push_str(": ");
            text.push_str(&part);
        }
        next = source.source();
    }
    text
}

impl From<UseCaseError> for ApiError {
    fn from(error: UseCaseError) -> Self {
        let code = error.code();
        match error {
            UseCaseError::Invalid { message, path, .. } => Self::invalid(code, message, &path),
            UseCaseError::Refused { message, .. } => Self::refused(StatusCode::CONFLICT, code, message),
            UseCaseError::Forbidden { message } => Self::refused(StatusCode::FORBIDDEN, code, message),
            UseCaseError::NotFound { noun } => Self { code, ..Self::not_found(noun) },
            UseCaseError::Unavailable { retry_after, .. } => Self { code, ..Self::unavailable(retry_after, Arc::new(error) as Arc<_>) },
            UseCaseError::Internal { .. } => Self { code, ..Self::internal(Arc::new(error) as Arc<_>) },
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound => Self::not_found("object"),
            StoreError::BadCursor => {
                Self::invalid("BAD_CURSOR", "The cursor is not one of this list. Take one from `pageInfo` or `next`.", "after")
            }
            StoreError::BeingErased | StoreError::BeingImported | StoreError::SessionBeingDeleted | StoreError::QuotaUsed => {
                UseCaseError::from(error).into()
            }
            StoreError::Transient(_) => Self::unavailable(Duration::from_secs(1), Arc::new(error) as Arc<_>),
            StoreError::Permanent(_) => Self::internal(Arc::new(error) as Arc<_>),
        }
    }
}

impl From<signaling::SourceError> for ApiError {
    fn from(error: signaling::SourceError) -> Self {
        match error {
            signaling::SourceError::NotFound => Self::not_found("session"),
            signaling::SourceError::Unavailable(_) => Self::unavailable(Duration::from_secs(1), Arc::new(error) as Arc<_>),
        }
    }
}

/// Converts to an entry of `errors` in a GraphQL response. The original error stays its source, for the log.
impl From<ApiError> for async_graphql::Error {
    fn from(error: ApiError) -> Self {
        let mut values = ErrorExtensionValues::default();
        values.set("code", error.code);
        if !error.path.is_empty() {
            values.set("path", error.path.clone());
        }
        if let Some(after) = error.retry_after {
            values.set("retryAfterMs", u64::try_from(after.as_millis()).unwrap_or(u64::MAX));
        }
        let message = error.message.clone();
        async_graphql::Error { message, source: Some(Arc::new(error)), extensions: Some(values) }
    }
}

/// Body of `application/problem+json` (RFC 9457).
#[derive(Serialize, ToSchema)]
pub(crate) struct Problem<'a> {
    r#type: &'static str,
    title: &'a str,
    status: u16,
    /// A sentence for people.
    detail: &'a str,
    /// A stable code for programs.
    code: &'a str,
    /// The names that lead to the wrong value. Absent if no argument is wrong.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    #[schema(value_type = Vec<String>, required = false)]
    path: &'a [String],
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        report_all(std::iter::once(&self));
        let problem = Problem {
            r#type: "about:blank",
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            detail: &self.message,
            code: self.code,
            path: &self.path,
        };
        let mut response = Response::new(Body::from(serde_json::to_vec(&problem).unwrap_or_default()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(after) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(after.as_secs_f64().ceil().max(1.0) as u64));
        }
        if let Some(challenge) = self.challenge.map(HeaderValue::from_static) {
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        // For middleware that writes errors in another shape.
        response.extensions_mut().insert(self);
        response
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn cause_never_reaches_the_client() {
        let error = ApiError::internal(Arc::new(std::io::Error::other("secret detail")) as Arc<_>);
        assert!(!error.is_expected());
        let graphql = async_graphql::Error::from(error.clone());
        assert!(!format!("{graphql:?}").contains("secret"));
        let response = error.into_response();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(response.headers()["content-type"], "application/problem+json");
    }

    #[test]
    fn path_is_split_and_not_overwritten() {
        let error = ApiError::invalid("TEXT_EMPTY", "Say something.", "input.text").at("input");
        assert_eq!(error.path(), ["input", "text"]);
        assert_eq!(ApiError::not_found("fact").at("input.id").path(), ["input", "id"]);
    }

    #[test]
    fn path_uses_the_names_of_the_interface() {
        let error = || ApiError::invalid("TEXT_EMPTY", "Say something.", "text");
        assert_eq!(error().within("input").within("input").path(), ["input", "text"]);
        assert_eq!(error().renamed(&[("query", "q"), ("text", "message")]).path(), ["message"]);
        assert!(ApiError::not_found("fact").within("input").path().is_empty(), "no argument in particular");
        let graphql = async_graphql::Error::from(error().within("input"));
        assert_eq!(graphql.extensions.unwrap().get("path"), Some(&async_graphql::value!(["input", "text"])));
    }
}
