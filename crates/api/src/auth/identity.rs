//! Who asks, what they may do, and until when.

use std::{fmt, net::IpAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::http::StatusCode;
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::error::ApiError;
use recall_domain::{Caller, ViewerRole};

/// Something that a token may allow: an OAuth scope of this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Reading what the caller owns, and following it.
    Read,
    /// Changing it.
    Write,
    /// What only administrators may do, if the caller is one.
    Admin,
}

impl Permission {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Admin];

    /// The scope as it stands in tokens.
    pub const fn scope(self) -> &'static str {
        match self {
            Self::Read => "recall.read",
            Self::Write => "recall.write",
            Self::Admin => "recall.admin",
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

    /// Those among `scopes` that mean something here.
    pub fn of_scopes<'s>(scopes: impl IntoIterator<Item = &'s str>) -> Self {
        scopes.into_iter().filter_map(|name| Permission::ALL.into_iter().find(|p| p.scope() == name)).collect()
    }

    /// Whether one is in the set.
    pub fn include(self, permission: Permission) -> bool {
        self.0 & permission.bit() != 0
    }
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<I: IntoIterator<Item = Permission>>(permissions: I) -> Self {
        Self(permissions.into_iter().fold(0, |set, p| set | p.bit()))
    }
}

/// How often a proof is asked about while a stream lasts. With what a proof may remember of the last answer, a stream ends
/// within ten seconds.
const ASKED_EVERY: Duration = Duration::from_secs(4);

/// What an identity was proven by, where it can be taken back.
#[async_trait]
pub trait Proof: Send + Sync {
    /// Whether it was. When nobody can tell, it was not: a store that fails for a moment ends no streams.
    async fn is_revoked(&self) -> bool;
}

/// A verified caller with what their proof allows.
#[derive(Clone)]
pub struct Identity {
    /// Who asks.
    pub caller: Caller,
    /// What they may do.
    pub permissions: Permissions,
    /// Whether they may make and revoke personal access tokens. Who has shown one may not: a stolen one would outlive itself.
    pub manages_tokens: bool,
    /// When the proof ends, and with it every stream that was opened with it.
    pub until: Option<Instant>,
    /// The proof, if it can end before.
    pub proof: Option<Arc<dyn Proof>>,
    /// What a request must show besides, because its proof is a cookie: browsers send it whoever asked them to.
    pub csrf: Option<Arc<str>>,
    /// Where the request came from, for the audit log.
    pub address: Option<IpAddr>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("caller", &self.caller).field("permissions", &self.permissions).finish_non_exhaustive()
    }
}

/// A caller who may do everything that their role allows, without end.
impl From<Caller> for Identity {
    fn from(caller: Caller) -> Self {
        Self { caller, permissions: Permissions::all(), manages_tokens: true, until: None, proof: None, csrf: None, address: None }
    }
}

impl Identity {
    /// Demands a permission.
    ///
    /// # Errors
    /// 403 `INSUFFICIENT_SCOPE`, or `FORBIDDEN` for those who are no administrators.
    pub fn require(&self, permission: Permission) -> Result<(), ApiError> {
        if !self.permissions.include(permission) {
            return Err(ApiError::insufficient_scope(permission));
        }
        if permission == Permission::Admin && self.caller.role() != ViewerRole::Admin {
            return Err(ApiError::refused(StatusCode::FORBIDDEN, "FORBIDDEN", "Only administrators may do this. Ask one of them."));
        }
        Ok(())
    }

    /// Whether the proof has ended.
    pub(crate) fn has_expired(&self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }

    /// Watches the proof from now on.
    pub(crate) fn lease(&self) -> Lease {
        let revoked = CancellationToken::new();
        let watch = self.proof.clone().map(|proof| {
            let revoked = revoked.clone();
            AbortOnDropHandle::new(tokio::spawn(async move {
                loop {
                    tokio::time::sleep(ASKED_EVERY).await;
                    if proof.is_revoked().await {
                        return revoked.cancel();
                    }
                }
            }))
        });
        Lease { until: self.until, revoked, _watch: watch }
    }
}

/// How long a stream may go on.
pub(crate) struct Lease {
    until: Option<Instant>,
    revoked: CancellationToken,
    /// A task of its own: who waits for the end often stops waiting, because there is something to deliver.
    _watch: Option<AbortOnDropHandle<()>>,
}

impl Lease {
    /// Waits until the proof has ended; for ever, when it has no end.
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
    fn scopes_are_read_and_nothing_else_counts() {
        let set = Permissions::of_scopes(["openid", "recall.read", "recall.writes", "RECALL.ADMIN", ""]);
        assert!(set.include(Permission::Read) && !set.include(Permission::Write) && !set.include(Permission::Admin));
        assert_eq!(Permissions::of_scopes([]), Permissions::default());
        assert!(Permission::ALL.iter().all(|p| Permissions::all().include(*p)));
    }

    #[test]
    fn the_scope_alone_makes_no_administrator() {
        let identity = |role| Identity::from(Caller::verified(UserId(uuid::Uuid::nil()), role));
        assert!(identity(ViewerRole::Admin).require(Permission::Admin).is_ok());
        assert_eq!(identity(ViewerRole::User).require(Permission::Admin).unwrap_err().code(), "FORBIDDEN");
        let narrow = Identity { permissions: Permissions::of_scopes(["recall.read"]), ..identity(ViewerRole::Admin) };
        assert_eq!(narrow.require(Permission::Admin).unwrap_err().code(), "INSUFFICIENT_SCOPE");
        assert_eq!(narrow.require(Permission::Write).unwrap_err().code(), "INSUFFICIENT_SCOPE");
        assert!(narrow.require(Permission::Read).is_ok());
    }
}
