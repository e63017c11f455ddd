//! The identity of a caller: user, permissions and expiry.

use std::{fmt, net::IpAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::http::StatusCode;
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::error::ApiError;
use recall_domain::{Caller, FrontEndKind, ViewerRole};

/// A permission that a token may grant: an OAuth scope of this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Read the caller's data and follow its events.
    Read,
    /// Change the caller's data.
    Write,
    /// Use administrator functions, if the caller is an administrator.
    Admin,
}

impl Permission {
    /// All permissions.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Admin];

    /// The OAuth scope of this permission.
    pub const fn scope(self) -> &'static str {
        match self {
            Self::Read => "recall.read",
            Self::Write => "recall.write",
            Self::Admin => "recall.admin",
        }
    }

    /// The challenge for a token without this permission (RFC 6750, section 3).
    const fn challenge(self) -> &'static str {
        match self {
            Self::Read => "Bearer error=\"insufficient_scope\", scope=\"recall.read\"",
            Self::Write => "Bearer error=\"insufficient_scope\", scope=\"recall.write\"",
            Self::Admin => "Bearer error=\"insufficient_scope\", scope=\"recall.admin\"",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A set of permissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permissions(u8);

impl Permissions {
    /// Every permission.
    pub fn all() -> Self {
        Permission::ALL.into_iter().collect()
    }

    /// Reads the permissions from `scopes` and ignores unknown scopes.
    pub fn of_scopes<'s>(scopes: impl IntoIterator<Item = &'s str>) -> Self {
        scopes.into_iter().filter_map(|name| Permission::ALL.into_iter().find(|p| p.scope() == name)).collect()
    }

    /// Whether the set contains a permission.
    pub fn include(self, permission: Permission) -> bool {
        self.0 & permission.bit() != 0
    }
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<I: IntoIterator<Item = Permission>>(permissions: I) -> Self {
        Self(permissions.into_iter().fold(0, |set, p| set | p.bit()))
    }
}

/// Interval of revocation checks during a stream.
///
/// Proofs may cache the result for a few seconds, so a stream ends within ten seconds of the revocation.
const REVOCATION_CHECK_INTERVAL: Duration = Duration::from_secs(4);

/// A credential that can be revoked.
#[async_trait]
pub trait Proof: Send + Sync {
    /// Whether the credential was revoked. `false` if this cannot be checked, so that a brief store failure ends no streams.
    async fn is_revoked(&self) -> bool;
}

/// A verified caller with the permissions of the credential.
#[derive(Clone)]
pub struct Identity {
    /// The verified caller.
    pub caller: Caller,
    /// What the credential permits.
    pub permissions: Permissions,
    /// Whether the caller may create and revoke personal access tokens.
    ///
    /// A personal access token does not permit this: a thief could use it to create a lasting one.
    pub manages_tokens: bool,
    /// When the credential expires, and with it every stream opened with it.
    pub until: Option<Instant>,
    /// The credential, if it can be revoked before it expires.
    pub proof: Option<Arc<dyn Proof>>,
    /// The CSRF token, if the credential is a cookie. Browsers send cookies with requests of foreign pages too.
    pub csrf: Option<Arc<str>>,
    /// The client's address, for the audit log.
    pub address: Option<IpAddr>,
    /// The program that sends the requests; `None` for visitors, who have no list of front ends.
    pub program: Option<Program>,
}

/// What a credential says of the program that sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// How it shows whose data it may use.
    pub kind: FrontEndKind,
    /// Its name, if the credential has one. Otherwise the header `User-Agent` names it.
    pub name: Option<String>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("caller", &self.caller).field("permissions", &self.permissions).finish_non_exhaustive()
    }
}

/// Grants all permissions of the caller's role, without expiry.
impl From<Caller> for Identity {
    fn from(caller: Caller) -> Self {
        Self {
            caller,
            permissions: Permissions::all(),
            manages_tokens: true,
            until: None,
            proof: None,
            csrf: None,
            address: None,
            program: Some(Program { kind: FrontEndKind::Open, name: None }),
        }
    }
}

impl Identity {
    /// Requires a permission.
    ///
    /// # Errors
    /// 403 `INSUFFICIENT_SCOPE`, or `FORBIDDEN` if an administrator is required and the caller is none.
    pub fn require(&self, permission: Permission) -> Result<(), ApiError> {
        if !self.permissions.include(permission) {
            let message = format!("The token does not have the scope `{}`.", permission.scope());
            let error = ApiError::refused(StatusCode::FORBIDDEN, "INSUFFICIENT_SCOPE", message);
            return Err(error.with_challenge(permission.challenge()));
        }
        if permission == Permission::Admin && self.caller.role() != ViewerRole::Admin {
            return Err(ApiError::refused(StatusCode::FORBIDDEN, "FORBIDDEN", "Only administrators may do this. Ask one of them."));
        }
        Ok(())
    }

    /// Whether the credential has expired.
    pub(crate) fn has_expired(&self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }

    /// Starts to watch the credential for expiry and revocation.
    pub(crate) fn lease(&self) -> Lease {
        let revoked = CancellationToken::new();
        let watch = self.proof.clone().map(|proof| {
            let revoked = revoked.clone();
            AbortOnDropHandle::new(tokio::spawn(async move {
                loop {
                    tokio::time::sleep(REVOCATION_CHECK_INTERVAL).await;
                    if proof.is_revoked().await {
                        return revoked.cancel();
                    }
                }
            }))
        });
        Lease { until: self.until, revoked, _watch: watch }
    }
}

/// How long a stream may continue.
pub(crate) struct Lease {
    until: Option<Instant>,
    revoked: CancellationToken,
    /// Checks for revocation in its own task, because callers of `ended` often cancel the wait to deliver an event.
    _watch: Option<AbortOnDropHandle<()>>,
}

impl Lease {
    /// Waits until the credential has expired or was revoked.
    pub(crate) async fn ended(&self) {
        let expired = async {
            match self.until {
                Some(until) => tokio::time::sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = expired => {}
            () = self.revoked.cancelled() => {}
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use recall_domain::UserId;

    #[test]
    fn only_known_scopes_become_permissions() {
        let set = Permissions::of_scopes(["openid", "recall.read", "recall.writes", "RECALL.ADMIN", ""]);
        assert!(set.include(Permission::Read) && !set.include(Permission::Write) && !set.include(Permission::Admin));
        assert_eq!(Permissions::of_scopes([]), Permissions::default());
        assert!(Permission::ALL.iter().all(|p| Permissions::all().include(*p)));
    }

    #[test]
    fn admin_scope_without_admin_role_is_refused() {
        let identity = |role| Identity::from(Caller::verified(UserId(uuid::Uuid::nil()), role));
        assert!(identity(ViewerRole::Admin).require(Permission::Admin).is_ok());
        assert_eq!(identity(ViewerRole::User).require(Permission::Admin).unwrap_err().code(), "FORBIDDEN");
        let narrow = Identity { permissions: Permissions::of_scopes(["recall.read"]), ..identity(ViewerRole::Admin) };
        assert_eq!(narrow.require(Permission::Admin).unwrap_err().code(), "INSUFFICIENT_SCOPE");
        assert_eq!(narrow.require(Permission::Write).unwrap_err().code(), "INSUFFICIENT_SCOPE");
        assert!(narrow.require(Permission::Read).is_ok());
    }
}
