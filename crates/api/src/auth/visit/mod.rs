//! Visits: people who go on without a login. The browser gets a cookie with a random secret, as it does at a login, and the store
//! knows what it stands for. Nobody becomes a visitor by merely asking for something: a visit is begun by the page, when the person
//! wants one, so programs without credentials are refused as ever.

pub(crate) mod routes;

use std::{fmt, net::IpAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::http::{HeaderMap, header, request::Parts};
use chrono::TimeDelta;

use super::{
    AuthError, Authenticator, Identity, Permission, Proof,
    login::{attempt::Secret, cookies},
    origin::ForeignPage,
};
use recall_domain::{Caller, Timestamp, TokenDigest, UserId, ViewerRole, Visit, VisitLimits};
use recall_ports::{Clock, Ids, StoreError, VisitStore};

/// How often a use is noted.
const NOTED_EVERY: TimeDelta = TimeDelta::minutes(1);
/// Longest time that a visit lasts unused on which nothing was said.
const EMPTY_LASTS: TimeDelta = TimeDelta::hours(1);

/// What visitors may.
#[derive(Clone, Debug)]
pub struct VisitConfig {
    /// How long a visit lasts unused.
    pub lasts: Duration,
    /// Most visits at a time.
    pub most: u64,
    /// Most of them from one address.
    pub most_of_origin: u64,
    /// Messages of one visit in all.
    pub messages: u32,
    /// Sessions of one visit in all.
    pub sessions: u32,
}

/// Knows who is on a visit. Whoever shows anything else is left to another authenticator.
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

/// A visit that a request has shown.
pub(super) struct Held {
    pub(super) secret: Secret,
    pub(super) caller: Caller,
    pub(super) visit: Visit,
}

impl Visits {
    /// Visits beside those whom `others` knows.
    pub fn new(
        config: VisitConfig,
        others: Arc<dyn Authenticator>,
        store: Arc<dyn VisitStore>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
    ) -> Self {
        Self(Arc::new(Inner { config, others, store, clock, ids }))
    }

    /// The visit whose cookie a request has, if it was sent by a page of this server or by nobody's page.
    pub(super) async fn held(&self, headers: &HeaderMap, foreign: bool) -> Result<Option<Held>, AuthError> {
        let Some(secret) = secret(headers, foreign) else { return Ok(None) };
        let found = self.0.store.visit(secret.digest(), self.0.clock.now()).await.map_err(unavailable)?;
        Ok(found.map(|(caller, visit)| Held { secret, caller, visit }))
    }

    /// Whether a request comes from somebody who has logged in.
    ///
    /// # Errors
    /// When nobody can tell now: then the login is not to be forgotten for a visit.
    async fn is_logged_in(&self, parts: &Parts) -> Result<bool, AuthError> {
        if !says_login(&parts.headers) {
            return Ok(false);
        }
        match self.0.others.authenticate(parts).await {
            Ok(_) => Ok(true),
            Err(e @ AuthError::Unavailable(_)) => Err(e),
            Err(_) => Ok(false),
        }
    }

    /// Begins a visit of a new user, from an address if that is known; `None` when there are too many.
    async fn begin(&self, origin: Option<IpAddr>) -> Result<Option<Held>, StoreError> {
        let inner = &self.0;
        let secret = Secret::fresh().map_err(|e| StoreError::Permanent(Box::new(e)))?;
        let caller = Caller::verified(UserId(inner.ids.fresh()), ViewerRole::Anonymous);
        let now = inner.clock.now();
        let Ends { ends_at, empty_until } = inner.ends(now);
        let visit = Visit {
            digest: secret.digest(),
            messages_left: inner.config.messages,
            sessions_left: inner.config.sessions,
            created_at: now,
            ends_at,
            empty_until: Some(empty_until),
        };
        let room = VisitLimits { most: inner.config.most, origin, most_of_origin: inner.config.most_of_origin };
        let begun = inner.store.begin_visit(&caller, &visit, &room).await?;
        Ok(begun.then_some(Held { secret, caller, visit }))
    }
}

/// When a visit ends that is used now, and when if nothing was said on it.
struct Ends {
    ends_at: Timestamp,
    empty_until: Timestamp,
}

impl Inner {
    fn ends(&self, now: Timestamp) -> Ends {
        let lasts = TimeDelta::from_std(self.config.lasts).unwrap_or(TimeDelta::days(1));
        Ends { ends_at: now + lasts, empty_until: now + EMPTY_LASTS.min(lasts / 10) }
    }
}

fn unavailable(error: StoreError) -> AuthError {
    AuthError::Unavailable(Box::new(error))
}

/// The secret in the cookie of a visit.
fn secret(headers: &HeaderMap, foreign: bool) -> Option<Secret> {
    if foreign { None } else { cookies::read(headers, cookies::VISIT).and_then(Secret::parse) }
}

/// Whether a browser says that somebody has logged in with it, be it that the login has ended. Then it is not a visitor's: who
/// writes on when their login has ended must not write into another memory than before.
fn says_login(headers: &HeaderMap) -> bool {
    headers.contains_key(header::AUTHORIZATION) || cookies::is_there(headers, cookies::LOGIN)
}

#[async_trait]
impl Authenticator for Visits {
    async fn authenticate(&self, parts: &Parts) -> Result<Identity, AuthError> {
        let inner = &self.0;
        if says_login(&parts.headers) {
            return inner.others.authenticate(parts).await;
        }
        let foreign = parts.extensions.get::<ForeignPage>().is_some();
        let Some(Held { secret, caller, visit }) = self.held(&parts.headers, foreign).await? else {
            return inner.others.authenticate(parts).await;
        };
        let now = inner.clock.now();
        let Ends { ends_at, empty_until } = inner.ends(now);
        if ends_at - visit.ends_at >= NOTED_EVERY {
            inner.store.use_visit(visit.digest, now, ends_at, empty_until).await.map_err(unavailable)?;
        }
        Ok(Identity {
            caller,
            permissions: [Permission::Read, Permission::Write].into_iter().collect(),
            manages_tokens: false,
            until: None,
            proof: Some(Arc::new(Shown { inner: inner.clone(), digest: visit.digest })),
            csrf: Some(secret.csrf().into()),
            address: None,
        })
    }

    async fn authorize(&self, credentials: &str) -> Option<Result<Identity, AuthError>> {
        self.0.others.authorize(credentials).await
    }

    fn reads_credentials(&self) -> bool {
        self.0.others.reads_credentials()
    }
}

/// A visit, for streams that go on with it. They are no use of it: a page that is only open does not keep it from ending.
struct Shown {
    inner: Arc<Inner>,
    digest: TokenDigest,
}

#[async_trait]
impl Proof for Shown {
    async fn is_revoked(&self) -> bool {
        matches!(self.inner.store.visit(self.digest, self.inner.clock.now()).await, Ok(None))
    }
}
