//! Notes who did what. An entry that cannot be written is counted and logged, and stops nobody.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use tokio::time::Instant;

use super::{
    auth::{Authenticated, Identity},
    graphql::Memory,
};
use recall_domain::{AuditAction, AuditDraft, Timestamp, UserId, ViewerRole};
use recall_ports::AuditLog;
use recall_usecases::UseCases;

/// Writes entries in the name of this process.
#[derive(Clone)]
pub struct Auditor {
    log: Arc<dyn AuditLog>,
    instance: Arc<str>,
}

impl Auditor {
    /// Into `log`; `instance` tells this process from others.
    pub fn new(log: Arc<dyn AuditLog>, instance: &str) -> Self {
        Self { log, instance: instance.into() }
    }

    /// Notes what somebody did, or with no `actor` an operator or the server itself. `target` is an id or a name of the server's own,
    /// never a text of a user's.
    pub async fn note(&self, at: Timestamp, actor: Option<UserId>, address: Option<IpAddr>, action: AuditAction, target: Option<String>) {
        let instance = self.instance.to_string();
        let entry = AuditDraft { at, actor, action: action.as_str().to_owned(), target, address, instance };
        if let Err(error) = self.log.audit(&entry).await {
            metrics::counter!("recall_audit_failed_total").increment(1);
            tracing::error!(%error, action = action.as_str(), "an entry of the audit log could not be written");
        }
    }

    /// Notes what the caller of a request did if it was shared memory that was changed.
    pub(crate) async fn of_shared(&self, at: Timestamp, identity: &Identity, memory: &Memory, action: AuditAction, target: impl ToString) {
        if memory.is_shared() {
            self.of_request(at, identity, action, Some(target.to_string())).await;
        }
    }

    /// Notes what the caller of a request did.
    pub(crate) async fn of_request(&self, at: Timestamp, identity: &Identity, action: AuditAction, target: Option<String>) {
        self.note(at, Some(identity.caller.user()), identity.address, action, target).await;
    }
}

/// Users whose role is remembered here.
const REMEMBERED: usize = 10_000;
/// A change is noted once in this time: two logins of one person with different roles would take turns.
const AT_MOST_EVERY: Duration = Duration::from_secs(60);

/// With which role users came last. What is not remembered here is read from the log itself.
pub(crate) struct Roles {
    auditor: Auditor,
    usecases: UseCases,
    seen: Mutex<HashMap<UserId, (ViewerRole, Instant)>>,
}

impl Roles {
    pub(crate) fn new(auditor: Auditor, usecases: UseCases) -> Arc<Self> {
        Arc::new(Self { auditor, usecases, seen: Mutex::default() })
    }

    /// Notes when somebody comes with another role than last time. Personal access tokens have none of their own.
    pub(crate) async fn see(&self, identity: &Identity) {
        if !identity.manages_tokens {
            return;
        }
        let caller = &identity.caller;
        let known = self.seen.lock().unwrap_or_else(PoisonError::into_inner).get(&caller.user()).copied();
        if known.is_some_and(|(role, since)| role == caller.role() || since.elapsed() < AT_MOST_EVERY) {
            return;
        }
        let actions = [AuditAction::BecameAdmin, AuditAction::BecameUser];
        let before = match known {
            Some((role, _)) => role == ViewerRole::Admin,
            // When nobody can tell it is asked again with the next request.
            None => match self.usecases.store().last_of(caller, &actions).await {
                Ok(last) => last.as_deref() == Some(AuditAction::BecameAdmin.as_str()),
                Err(_) => return,
            },
        };
        let now = caller.role() == ViewerRole::Admin;
        {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            if seen.len() >= REMEMBERED {
                seen.clear();
            }
            seen.insert(caller.user(), (caller.role(), Instant::now()));
        }
        if before != now {
            let [admin, user] = actions;
            self.auditor.of_request(self.usecases.now(), identity, if now { admin } else { user }, None).await;
        }
    }
}

/// Middleware: looks at the roles of those who come. Over a WebSocket they may show their token later.
pub(crate) async fn watch_roles(State(roles): State<Arc<Roles>>, request: Request, next: Next) -> Response {
    let identity = request.extensions().get::<Authenticated>().map(|a| a.0.clone());
    if let Some(identity) = identity {
        roles.see(&identity).await;
    }
    next.run(request).await
}
