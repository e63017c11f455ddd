//! The authenticator: who sends a request, or why nobody is known.

use std::sync::Arc;

use async_trait::async_trait;
use axum::http::{StatusCode, request::Parts};

use super::identity::Identity;
use crate::error::ApiError;

/// Verifies the identity behind a request.
#[async_trait]
pub trait Authenticator: Send + Sync {
    /// Derives the identity from the head of a request.
    ///
    /// # Errors
    /// When the request has no valid credentials, or they cannot be checked now.
    async fn authenticate(&self, parts: &Parts) -> Result<Identity, AuthError>;

    /// Derives the identity from credentials in the first frame of a WebSocket.
    ///
    /// They have the form of an `Authorization` header, which browsers cannot set there. `None` when this is not supported.
    async fn authorize(&self, _credentials: &str) -> Option<Result<Identity, AuthError>> {
        None
    }

    /// Whether [`Self::authorize`] is supported, so that a WebSocket may be opened before it is authenticated.
    fn reads_credentials(&self) -> bool {
        false
    }
}

/// Why authentication failed.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// The request has no credentials.
    #[error("authentication is required")]
    Missing,
    /// The credentials are invalid or have expired.
    #[error("the credentials are not valid")]
    Invalid,
    /// The token is bound to a key, and this server cannot verify the possession of keys.
    #[error("the token is bound to a key")]
    Bound,
    /// The key of a front end comes without a person.
    #[error("the front end names no user")]
    FrontendUser,
    /// The credentials cannot be checked now.
    #[error("authentication is not available")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<AuthError> for ApiError {
    fn from(error: AuthError) -> Self {
        match error {
            AuthError::Missing => Self::unauthenticated("Authentication is required. Log in, or send an access token.", false),
            AuthError::Invalid => Self::unauthenticated("The credentials are not valid. Log in again.", true),
            AuthError::Bound => Self::unauthenticated(
                "The token is bound to a key (claim `cnf`), and this server checks neither DPoP nor client certificates. Use a plain bearer token.",
                true,
            ),
            AuthError::FrontendUser => Self::refused(
                StatusCode::UNAUTHORIZED,
                "FRONTEND_USER_REQUIRED",
                "The key of the front end needs a user. Send a signed user in the header that `frontend.user_header` names.",
            )
            .with_challenge("Bearer error=\"invalid_request\""),
            AuthError::Unavailable(_) => Self::unavailable(std::time::Duration::from_secs(1), Arc::new(error) as Arc<_>),
        }
    }
}

/// Counts a refused token by reason. The client learns only that the token is invalid.
pub(super) fn refused(reason: &'static str) -> AuthError {
    metrics::counter!("recall_tokens_refused_total", "reason" => reason).increment(1);
    tracing::debug!(reason, "token refused");
    AuthError::Invalid
}
