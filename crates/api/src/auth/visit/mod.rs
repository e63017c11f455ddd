//! Visits: users who continue without a login.
//!
//! The browser gets a cookie with a random secret, as with a login, and the store maps its digest to a visit. Only the page starts
//! a visit, when the user chooses to. Programs without credentials are still refused.

pub(crate) mod routes;

use std::{fmt, net::IpAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::http::{HeaderMap, header, request::Parts};
use chrono::TimeDelta;

use super::{
    authenticator::{AuthError, Authenticator},
    identity::{Identity, Permission, Proof},
    login::{attempt::Secret, cookies},
    origin::ForeignPage,
};
use recall_domain::{Caller, Timestamp, TokenDigest, UserId, ViewerRole, Visit, VisitLimits};
use recall_ports::{Clock, Ids, StoreError, VisitStore};

/// Minimum time between two updates of the last use.
const MIN_USE_INTERVAL: TimeDelta = TimeDelta::minutes(1);
/// Maximum idle time of a visit without messages.
const EMPTY_VISIT_LIFETIME: TimeDelta = TimeDelta::hours(1);

/// Limits of visits.
#[derive(Clone, Debug)]
pub struct VisitConfig {
    /// How long an unused visit lasts.
    pub lasts: Duration,
    /// Maximum number of open visits.
    pub most: u64,
    /// Maximum number of open visits from one address.
    pub most_of_origin: u64,
    /// Maximum number of messages of one visit.
    pub messages: u32,
    /// Maximum number of sessions of one visit.
    pub sessions: u32,
}

/// Authenticates visitors and passes all other requests to another authenticator.
#[derive(Clone)]
pub struct Visits(Arc<Inner>);

struct Inner {
    config: VisitConfig,
    others: Arc<dyn Authenticator>,
    store: Arc<dyn VisitStore>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
}

impl fmt::Debug for Visits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Visits").field("config", &self.0.config).finish_non_exhaustive()
    }
}

/// The visit of a request.
pub(super) struct ActiveVisit {
    pub(super) secret: Secret,
    pub(super) caller: Caller,
    pub(super) visit: Visit,
}

impl Visits {
    /// Creates the authenticator. `others` handles requests that are not part of a visit.
    pub fn new(
        config: VisitConfig,
        others: Arc<dyn Authenticator>,
        store: Arc<dyn VisitStore>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
    ) -> Self {
        Self(Arc::new(Inner { config, others, store, clock, ids }))
    }

    /// Finds the visit of the request's cookie; `None` if the request comes from a foreign page.
    pub(super) async fn find(&self, headers: &HeaderMap, is_foreign: bool) -> Result<Option<ActiveVisit>, AuthError> {
        let Some(secret) = read_visit_secret(headers, is_foreign) else { return Ok(None) };
        let found = self.0.store.visit(secret.digest(), self.0.clock.now()).await.map_err(unavailable)?;
        Ok(found.map(|(caller, visit)| ActiveVisit { secret, caller, visit }))
    }

    /// Whether the request belongs to a logged-in user.
    ///
    /// # Errors
    /// When this cannot be checked now: a visit must not replace a login that may still be valid.
    async fn is_logged_in(&self, parts: &Parts) -> Result<bool, AuthError> {
        if !has_login_credentials(&parts.headers) {
            return Ok(false);
        }
        match self.0.others.authenticate(parts).await {
            Ok(_) => Ok(true),
            Err(e @ AuthError::Unavailable(_)) => Err(e),
            Err(_) => Ok(false),
        }
    }

    /// Starts a visit for a new user; `None` when the limit is reached. `origin` is the client's address, if known.
    async fn begin(&self, origin: Option<IpAddr>) -> Result<Option<ActiveVisit>, StoreError> {
        let inner = &self.0;
        let secret = Secret::fresh().map_err(|e| StoreError::Permanent(Box::new(e)))?;
        let caller = Caller::verified(UserId(inner.ids.fresh()), ViewerRole::Anonymous);
        let now = inner.clock.now();
        let VisitExpiry { ends_at, empty_until } = inner.expiry_of(now);
        let visit = Visit {
            digest: secret.digest(),
            messages_left: inner.config.messages,
            sessions_left: inner.config.sessions,
            created_at: now,
            ends_at,
            empty_until: Some(empty_until),
        };
        let limits = VisitLimits { most: inner.config.most, origin, most_of_origin: inner.config.most_of_origin };
        let is_started = inner.store.begin_visit(&caller, &visit, &limits).await?;
        Ok(is_started.then_some(ActiveVisit { secret, caller, visit }))
    }
}

/// When a visit expires that is used now, with messages (`ends_at`) or without (`empty_until`).
struct VisitExpiry {
    ends_at: Timestamp,
    empty_until: Timestamp,
}

impl Inner {
    fn expiry_of(&self, now: Timestamp) -> VisitExpiry {
        let lasts = TimeDelta::from_std(self.config.lasts).unwrap_or(TimeDelta::days(1));
        VisitExpiry { ends_at: now + lasts, empty_until: now + EMPTY_VISIT_LIFETIME.min(lasts / 10) }
    }
}

fn unavailable(error: StoreError) -> AuthError {
    AuthError::Unavailable(Box::new(error))
}

/// Reads the secret from the visit cookie.
fn read_visit_secret(headers: &HeaderMap, is_foreign: bool) -> Option<Secret> {
    if is_foreign { None } else { cookies::read(headers, cookies::VISIT).and_then(Secret::parse) }
}

/// Whether the request has login credentials, valid or not.
///
/// Such a request never counts as a visit. After their login has expired, users must not write into another memory by accident.
fn has_login_credentials(headers: &HeaderMap) -> bool {
    headers.contains_key(header::AUTHORIZATION) || cookies::is_present(headers, cookies::LOGIN)
}

#[async_trait]
impl Authenticator for Visits {
    async fn authenticate(&self, parts: &Parts) -> Result<Identity, AuthError> {
        let inner = &self.0;
        if has_login_credentials(&parts.headers) {
            return inner.others.authenticate(parts).await;
        }
        let is_foreign = parts.extensions.get::<ForeignPage>().is_some();
        let Some(ActiveVisit { secret, caller, visit }) = self.find(&parts.headers, is_foreign).await? else {
            return inner.others.authenticate(parts).await;
        };
        let now = inner.clock.now();
        let VisitExpiry { ends_at, empty_until } = inner.expiry_of(now);
        if ends_at - visit.ends_at >= MIN_USE_INTERVAL {
            inner.store.use_visit(visit.digest, now, ends_at, empty_until).await.map_err(unavailable)?;
        }
        Ok(Identity {
            caller,
            permissions: [Permission::Read, Permission::Write].into_iter().collect(),
            manages_tokens: false,
            until: None,
            proof: Some(Arc::new(VisitProof { inner: inner.clone(), digest: visit.digest })),
            csrf: Some(secret.csrf().into()),
            address: None,
            program: None,
        })
    }

    async fn authorize(&self, credentials: &str) -> Option<Result<Identity, AuthError>> {
        self.0.others.authorize(credentials).await
    }

    fn reads_credentials(&self) -> bool {
        self.0.others.reads_credentials()
    }
}

/// A visit as the proof of a stream. A stream does not count as use, so an open page does not prolong the visit.
struct VisitProof {
    inner: Arc<Inner>,
    digest: TokenDigest,
}

#[async_trait]
impl Proof for VisitProof {
    async fn is_revoked(&self) -> bool {
        matches!(self.inner.store.visit(self.digest, self.inner.clock.now()).await, Ok(None))
    }
}
