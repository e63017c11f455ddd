//! Authentication and authorization of requests.
//!
//! This is the only module of the API that creates a `Caller`. Its middleware calls the [`Authenticator`] and puts the identity
//! into the request. A handler without an identity cannot run.

mod cors;
mod csrf;
mod identity;
mod local;
pub mod login;
mod metadata;
pub mod origin;
pub(crate) mod personal;
pub mod token;
pub mod visit;

use std::sync::Arc;

use async_trait::async_trait;
use axum::{
    extract::{FromRequestParts, Request, State},
    http::{HeaderValue, StatusCode, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};

pub(crate) use csrf::{CSRF_FIELD, CSRF_HEADER, csrf_required, has_csrf_token};
pub(crate) use identity::Lease;
pub use identity::{Identity, Permission, Permissions, Proof};
pub use local::{LocalUser, NotLoopback};
pub use metadata::ProtectedResource;
pub(crate) use metadata::{METADATA_PATH, metadata};

use super::{address::ClientAddress, error::ApiError};

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
            AuthError::Unavailable(_) => Self::unavailable(std::time::Duration::from_secs(1), Arc::new(error) as Arc<_>),
        }
    }
}

/// Extractor: the verified identity of a request.
#[derive(Clone, Debug)]
pub(crate) struct Authenticated(pub(crate) Identity);

impl<S: Send + Sync> FromRequestParts<S> for Authenticated {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| AuthError::Missing.into())
    }
}

macro_rules! extractors {
    ($($(#[$doc:meta])+ $name:ident: $permission:ident),+ $(,)?) => {$(
        $(#[$doc])+
        #[derive(Clone, Debug)]
        pub(crate) struct $name(pub(crate) Identity);

        impl<S: Send + Sync> FromRequestParts<S> for $name {
            type Rejection = ApiError;

            async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
                let Authenticated(identity) = Authenticated::from_request_parts(parts, state).await?;
                identity.require(Permission::$permission)?;
                Ok(Self(identity))
            }
        }
    )+};
}

extractors! {
    /// Extractor: a caller who may read.
    Reader: Read,
    /// Extractor: a caller who may write.
    Writer: Write,
}

/// Extractor: requires that the caller is an administrator.
pub(crate) struct Administrator;

impl<S: Send + Sync> FromRequestParts<S> for Administrator {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Authenticated(identity) = Authenticated::from_request_parts(parts, state).await?;
        identity.require(Permission::Admin)?;
        Ok(Self)
    }
}

/// Middleware: authenticates the request or refuses it.
pub(crate) async fn authenticate(State(authenticator): State<Arc<dyn Authenticator>>, request: Request, next: Next) -> Response {
    authenticate_request(&*authenticator, request, next, false).await
}

/// Middleware: like [`authenticate`], but lets requests without credentials pass if they may authenticate later.
///
/// A browser that loads GraphiQL has no token, and a WebSocket may send one in its first frame. Invalid credentials are refused.
pub(crate) async fn authenticate_optionally(State(authenticator): State<Arc<dyn Authenticator>>, request: Request, next: Next) -> Response {
    authenticate_request(&*authenticator, request, next, authenticator.reads_credentials()).await
}

async fn authenticate_request(authenticator: &dyn Authenticator, request: Request, next: Next, is_optional: bool) -> Response {
    let (mut parts, body) = request.into_parts();
    match authenticator.authenticate(&parts).await {
        Ok(mut identity) => {
            if let Err(error) = csrf::check(&parts, &identity) {
                return error.into_response();
            }
            identity.address = parts.extensions.get::<ClientAddress>().map(|client| client.0);
            parts.extensions.insert(Authenticated(identity));
        }
        Err(AuthError::Missing) if is_optional => {}
        Err(error) => return ApiError::from(error).into_response(),
    }
    next.run(Request::from_parts(parts, body)).await
}

/// Middleware: adds the URL of the metadata to refusals that need a token (RFC 9728, section 5.1).
pub(crate) async fn add_metadata_link(State(resource): State<Arc<ProtectedResource>>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let refused = matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    if let Some(challenge) = response.headers().get(header::WWW_AUTHENTICATE).and_then(|v| v.to_str().ok()).filter(|_| refused) {
        let separator = if challenge.contains('=') { "," } else { "" };
        let full = format!("{challenge}{separator} resource_metadata=\"{}\"", resource.metadata_url());
        if let Ok(full) = HeaderValue::from_str(&full) {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, full);
        }
    }
    response
}
