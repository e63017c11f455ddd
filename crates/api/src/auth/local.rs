//! Authenticates the only user of a server without login.

use std::net::SocketAddr;

use async_trait::async_trait;
use axum::http::request::Parts;

use super::{
    authenticator::{AuthError, Authenticator},
    identity::Identity,
};
use recall_domain::{Caller, UserId, ViewerRole};

/// Headers that a proxy adds to forwarded requests.
const PROXY_HEADERS: [&str; 4] = ["forwarded", "x-forwarded-for", "x-real-ip", "via"];

/// Authenticator for the only user of a server without login.
///
/// It exists only with a loopback listener, which accepts connections of this machine only.
#[derive(Clone, Copy, Debug)]
pub struct LocalUser {
    caller: Caller,
}

/// The listener is reachable from other machines, and no login is configured.
#[derive(Debug, thiserror::Error)]
#[error("{0} can be reached from other machines, and no authentication is configured: listen on 127.0.0.1, or configure authentication")]
pub struct NotLoopback(pub SocketAddr);

impl LocalUser {
    /// Creates the authenticator for a listener.
    ///
    /// # Errors
    /// When the listener is not on a loopback address.
    pub fn behind(listener: SocketAddr, user: UserId) -> Result<Self, NotLoopback> {
        if listener.ip().to_canonical().is_loopback() {
            Ok(Self { caller: Caller::verified(user, ViewerRole::Admin) })
        } else {
            Err(NotLoopback(listener))
        }
    }

    /// Returns the caller for commands of the operator, who has the database anyway.
    pub fn caller(&self) -> Caller {
        self.caller
    }
}

#[async_trait]
impl Authenticator for LocalUser {
    async fn authenticate(&self, parts: &Parts) -> Result<Identity, AuthError> {
        // A proxy would give other machines access to the loopback listener. Its requests carry these headers.
        match PROXY_HEADERS.iter().any(|name| parts.headers.contains_key(*name)) {
            true => Err(AuthError::Missing),
            // Without a login, access tokens are not accepted. A token created now must not become valid later.
            false => Ok(Identity { manages_tokens: false, ..self.caller.into() }),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn local_user_requires_a_loopback_listener() {
        let user = UserId(uuid::Uuid::nil());
        for good in ["127.0.0.1:8080", "127.8.9.1:1", "[::1]:8080", "[::ffff:127.0.0.1]:80"] {
            assert!(LocalUser::behind(good.parse().unwrap(), user).is_ok(), "{good}");
        }
        for bad in ["0.0.0.0:8080", "192.168.1.5:8080", "[::]:8080", "[fe80::1]:8080", "8.8.8.8:80"] {
            assert!(LocalUser::behind(bad.parse().unwrap(), user).is_err(), "{bad}");
        }
    }
}
