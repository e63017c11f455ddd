//! Writes the audit log. If an entry cannot be written, the failure is counted and logged, and the request continues.

use std::{collections::HashMap, net::IpAddr, sync::Arc, time::Duration};

use parking_lot::Mutex;

use tokio::time::Instant;

use crate::auth::Identity;
use recall_domain::{AuditAction, AuditDraft, AuditEntry, Caller, Page, Slice, Timestamp, UserId, ViewerRole};
use recall_ports::{AuditLog, StoreError};
use recall_usecases::UseCases;

/// Writes audit entries for this process.
#[derive(Clone)]
pub struct Auditor {
    log: Arc<dyn AuditLog>,
    instance: Arc<str>,
}

impl Auditor {
    /// Creates an auditor that writes to `log`; `instance` identifies this process.
    pub fn new(log: Arc<dyn AuditLog>, instance: &str) -> Self {
        Self { log, instance: instance.into() }
    }

    /// Writes an entry. `actor` is `None` for an operator or the server itself.
    ///
    /// `target` is an id or a name that the server chose, never user text.
    pub async fn note(&self, at: Timestamp, actor: Option<UserId>, address: Option<IpAddr>, action: AuditAction, target: Option<String>) {
        let instance = self.instance.to_string();
        let entry = AuditDraft { at, actor, action: action.as_str().to_owned(), target, address, instance };
        if let Err(error) = self.log.audit(&entry).await {
            metrics::counter!("recall_audit_failed_total").increment(1);
            tracing::error!(%error, action = action.as_str(), "cannot write an entry of the audit log");
        }
    }

    /// Returns a page of the log, latest first: the entries of `actor`, or of all users.
    ///
    /// # Errors
    /// Fails if the store fails, or refuses the caller.
    pub(crate) async fn entries(&self, caller: &Caller, actor: Option<UserId>, page: &Page) -> Result<Slice<AuditEntry>, StoreError> {
        self.log.audited(caller, actor, page).await
    }

    /// Writes an entry if the change was made in shared memory, which is then the user of `caller`. The actor is the caller of the request.
    pub(crate) async fn note_shared_change(
        &self,
        at: Timestamp,
        identity: &Identity,
        caller: &Caller,
        action: AuditAction,
        target: impl ToString,
    ) {
        if caller.is_shared() {
            self.note_request(at, identity, action, Some(target.to_string())).await;
        }
    }

    /// Writes an entry for the caller of a request.
    pub(crate) async fn note_request(&self, at: Timestamp, identity: &Identity, action: AuditAction, target: Option<String>) {
        self.note(at, Some(identity.caller.user()), identity.address, action, target).await;
    }
}

/// Number of users whose role is cached.
const MAX_REMEMBERED: usize = 10_000;
/// Minimum time between two entries for one user. Two logins of one user with different roles would alternate.
const MIN_INTERVAL: Duration = Duration::from_secs(60);

/// The last known roles of users. A role that is not cached is read from the audit log.
pub(crate) struct Roles {
    auditor: Auditor,
    usecases: UseCases,
    seen: Mutex<HashMap<UserId, (ViewerRole, Instant)>>,
}

impl Roles {
    pub(crate) fn new(auditor: Auditor, usecases: UseCases) -> Self {
        Self { auditor, usecases, seen: Mutex::default() }
    }

    /// Writes an entry if the role of a user has changed. Personal access tokens have no role of their own and are ignored.
    pub(crate) async fn note_role_change(&self, identity: &Identity) {
        if !identity.manages_tokens {
            return;
        }
        let caller = &identity.caller;
        let known = self.seen.lock().get(&caller.user()).copied();
        if known.is_some_and(|(role, since)| role == caller.role() || since.elapsed() < MIN_INTERVAL) {
            return;
        }
        let actions = [AuditAction::BecameAdmin, AuditAction::BecameUser];
        let before = match known {
            Some((role, _)) => role == ViewerRole::Admin,
            // If the store fails, the next request tries again.
            None => match self.auditor.log.last_of(caller, &actions).await {
                Ok(last) => last.as_deref() == Some(AuditAction::BecameAdmin.as_str()),
                Err(_) => return,
            },
        };
        let now = caller.role() == ViewerRole::Admin;
        {
            let mut seen = self.seen.lock();
            if seen.len() >= MAX_REMEMBERED {
                seen.clear();
            }
            seen.insert(caller.user(), (caller.role(), Instant::now()));
        }
        if before != now {
            let [admin, user] = actions;
            self.auditor.note_request(self.usecases.now(), identity, if now { admin } else { user }, None).await;
        }
    }
}
