//! Who asks. The only place in the API that makes a `Caller`: the middleware here asks the [`Authenticator`] and puts
//! its answer into the request; a handler that finds none cannot run.

pub mod origin;

use std::{net::SocketAddr, sync::Arc};

use async_trait::async_trait;
use axum::{
    extract::{FromRequestParts, Request, State},
    http::{StatusCode, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::error::ApiError;
use crate::domain::{Caller, UserId, ViewerRole};

/// Verifies the identity behind a request.
#[async_trait]
pub trait Authenticator: Send + Sync {
    /// Who asks, from the request's head alone.
    ///
    /// # Errors
    /// When nobody can be named, or the one who could tell is not reachable.
    async fn authenticate(&self, parts: &Parts) -> Result<Caller, AuthError>;
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
    /// It cannot be checked now.
    #[error("authentication is not available")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<AuthError> for ApiError {
    fn from(error: AuthError) -> Self {
        match error {
            AuthError::Missing => Self::refused(StatusCode::UNAUTHORIZED, "UNAUTHENTICATED", "Sign in first."),
            AuthError::Invalid => {
                Self::refused(StatusCode::UNAUTHORIZED, "UNAUTHENTICATED", "The credentials are not valid. Sign in again.")
            }
            AuthError::Unavailable(_) => Self::unavailable(std::time::Duration::from_secs(1), Arc::new(error) as Arc<_>),
        }
    }
}

/// Headers by which a proxy names whom it speaks for.
const PROXIED: [&str; 4] = ["forwarded", "x-forwarded-for", "x-real-ip", "via"];

/// The one user of a server without login. Exists only behind a loopback listener, where whoever can connect is already
/// on this machine.
#[derive(Clone, Copy, Debug)]
pub struct LocalUser {
    caller: Caller,
}

/// A listener that strangers can reach, without login.
#[derive(Debug, thiserror::Error)]
#[error("{0} can be reached from other machines, and no authentication is configured: listen on 127.0.0.1, or configure authentication")]
pub struct NotLoopback(pub SocketAddr);

impl LocalUser {
    /// The local user of a listener.
    ///
    /// # Errors
    /// When the listener is not a loopback one.
    pub fn behind(listener: SocketAddr, user: UserId) -> Result<Self, NotLoopback> {
        if listener.ip().to_canonical().is_loopback() {
            Ok(Self { caller: Caller::verified(user, ViewerRole::Admin) })
        } else {
            Err(NotLoopback(listener))
        }
    }
}

#[async_trait]
impl Authenticator for LocalUser {
    async fn authenticate(&self, parts: &Parts) -> Result<Caller, AuthError> {
        // A proxy in front brings strangers to a loopback listener, and its requests say so.
        match PROXIED.iter().any(|name| parts.headers.contains_key(*name)) {
            true => Err(AuthError::Missing),
            false => Ok(self.caller),
        }
    }
}

/// The verified caller of a request, for handlers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Authenticated(pub(crate) Caller);

impl<S: Send + Sync> FromRequestParts<S> for Authenticated {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        parts.extensions.get::<Self>().copied().ok_or_else(|| AuthError::Missing.into())
    }
}

/// Middleware: names the caller, or refuses.
pub(crate) async fn authenticate(State(authenticator): State<Arc<dyn Authenticator>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    match authenticator.authenticate(&parts).await {
        Ok(caller) => {
            parts.extensions.insert(Authenticated(caller));
            next.run(Request::from_parts(parts, body)).await
        }
        Err(error) => ApiError::from(error).into_response(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_local_user_exists_on_loopback_only() {
        let user = UserId(uuid::Uuid::nil());
        for good in ["127.0.0.1:8080", "127.8.9.1:1", "[::1]:8080", "[::ffff:127.0.0.1]:80"] {
            assert!(LocalUser::behind(good.parse().unwrap(), user).is_ok(), "{good}");
        }
        for bad in ["0.0.0.0:8080", "192.168.1.5:8080", "[::]:8080", "[fe80::1]:8080", "8.8.8.8:80"] {
            assert!(LocalUser::behind(bad.parse().unwrap(), user).is_err(), "{bad}");
        }
    }
}
