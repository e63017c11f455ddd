//! Who asks. The only place in the API that makes a `Caller`: the middleware here asks the [`Authenticator`] and puts
//! its answer into the request; a handler that finds none cannot run.

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

pub(crate) use csrf::{CSRF_FIELD, CSRF_HEADER, csrf_required, is_shown};
pub(crate) use identity::Lease;
pub use identity::{Identity, Permission, Permissions, Proof};
pub use local::{LocalUser, NotLoopback};
pub use metadata::ProtectedResource;
pub(crate) use metadata::{METADATA_PATH, metadata};

use super::{address::ClientAddress, error::ApiError};

/// Verifies the identity behind a request.
#[async_trait]
pub trait Authenticator: Send + Sync {
    /// Who asks, from the request's head alone.
    ///
    /// # Errors
    /// When nobody can be named, or the one who could tell is not reachable.
    async fn authenticate(&self, parts: &Parts) -> Result<Identity, AuthError>;

    /// Who asks, from the value of an `Authorization` header that came another way: in the first frame of a WebSocket,
    /// since browsers cannot set headers there. `None` when this server knows no such values.
    async fn authorize(&self, _credentials: &str) -> Option<Result<Identity, AuthError>> {
        None
    }

    /// Whether [`Self::authorize`] is of use, so that a WebSocket may be opened before anybody is named.
    fn reads_credentials(&self) -> bool {
        false
    }
}

/// Why nobody could be named.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// The request carries no proof, and one is needed.
    #[error("authentication is required")]
    Missing,
    /// The proof is not valid (any more).
    #[error("the credentials are not valid")]
    Invalid,
    /// The token is good only together with a key, which this server cannot ask for.
    #[error("the token is bound to a key")]
    Bound,
    /// It cannot be checked now.
    #[error("authentication is not available")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<AuthError> for ApiError {
    fn from(error: AuthError) -> Self {
        match error {
            AuthError::Missing => Self::unauthenticated("Nobody is named. Log in, or send an access token.", false),
            AuthError::Invalid => Self::unauthenticated("The credentials are not valid. Log in again.", true),
            AuthError::Bound => Self::unauthenticated(
                "The token is bound to a key (claim `cnf`), and this server checks neither DPoP nor client certificates. Use a plain bearer token.",
                true,
            ),
            AuthError::Unavailable(_) => Self::unavailable(std::time::Duration::from_secs(1), Arc::new(error) as Arc<_>),
        }
    }
}

/// The verified identity of a request, for handlers.
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
    /// A caller who may read.
    Reader: Read,
    /// A caller who may change.
    Writer: Write,
}

/// The mark of a request by an administrator.
pub(crate) struct Administrator;

impl<S: Send + Sync> FromRequestParts<S> for Administrator {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Authenticated(identity) = Authenticated::from_request_parts(parts, state).await?;
        identity.require(Permission::Admin)?;
        Ok(Self)
    }
}

/// Middleware: names the caller, or refuses.
pub(crate) async fn authenticate(State(authenticator): State<Arc<dyn Authenticator>>, request: Request, next: Next) -> Response {
    named(&*authenticator, request, next, false).await
}

/// As [`authenticate`], for places where nothing is done for nobody: behind a login, a browser that asks for a page has no
/// token, and a WebSocket may show one in its first frame. A token that is shown must be good.
pub(crate) async fn authenticate_or_later(State(authenticator): State<Arc<dyn Authenticator>>, request: Request, next: Next) -> Response {
    named(&*authenticator, request, next, authenticator.reads_credentials()).await
}

async fn named(authenticator: &dyn Authenticator, request: Request, next: Next, later: bool) -> Response {
    let (mut parts, body) = request.into_parts();
    match authenticator.authenticate(&parts).await {
        Ok(mut identity) => {
            if let Err(error) = csrf::check(&parts, &identity) {
                return error.into_response();
            }
            identity.address = parts.extensions.get::<ClientAddress>().map(|client| client.0);
            parts.extensions.insert(Authenticated(identity));
        }
        Err(AuthError::Missing) if later => {}
        Err(error) => return ApiError::from(error).into_response(),
    }
    next.run(Request::from_parts(parts, body)).await
}

/// Middleware: a refusal for want of a token says where to learn how to get one (RFC 9728, section 5.1).
pub(crate) async fn point_to_login(State(resource): State<Arc<ProtectedResource>>, request: Request, next: Next) -> Response {
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
