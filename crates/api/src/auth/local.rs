//! The one user of a server without login.

use std::net::SocketAddr;

use async_trait::async_trait;
use axum::http::request::Parts;

use super::{AuthError, Authenticator, Identity};
use recall_domain::{Caller, UserId, ViewerRole};

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
    async fn authenticate(&self, parts: &Parts) -> Result<Identity, AuthError> {
        // A proxy in front brings strangers to a loopback listener, and its requests say so.
        match PROXIED.iter().any(|name| parts.headers.contains_key(*name)) {
            true => Err(AuthError::Missing),
            // Without a login a token opens nothing, and one made now must not open anything later.
            false => Ok(Identity { manages_tokens: false, ..self.caller.into() }),
        }
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
