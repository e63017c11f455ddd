//! Deletes data in the background: resumes interrupted deletions, deletes expired visits, and applies the retention times.

use std::{sync::Arc, time::Duration};

use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::config::RetentionConfig;
use recall_api::Auditor;
use recall_domain::{AuditAction, Day, Timestamp};
use recall_ports::{Clock, Store};
use recall_usecases::{UseCaseError, UseCases};

/// How often to look for unfinished deletions.
const RESUME_INTERVAL: Duration = Duration::from_secs(5);
/// A deletion without progress for this long has no worker.
const ABANDONED_AFTER: chrono::TimeDelta = chrono::TimeDelta::seconds(15);
/// How often to look for data beyond its retention time.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(600);
/// Maximum number of entries in the audit log. Without it, a client could fill the disk.
const MAX_AUDIT_ENTRIES: u64 = 1_000_000;
/// Audit entries deleted in one transaction.
const AUDIT_BATCH: u32 = 5_000;
/// Receipts of deletions that are deleted in one transaction.
const RECEIPT_BATCH: u32 = 500;
/// Sessions, visits or adoptions per query.
const PAGE: u32 = 100;
/// Pause between two deletions, so that others can write.
const PAUSE: Duration = Duration::from_millis(20);

/// The background task that deletes data.
pub(super) struct Retention {
    pub(super) usecases: UseCases,
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) auditor: Auditor,
    pub(super) config: RetentionConfig,
}

impl Retention {
    /// Runs the task until `stop`. The next start resumes what is unfinished then.
    pub(super) async fn run(self, stop: CancellationToken) {
        let mut resume = tokio::time::interval(RESUME_INTERVAL);
        let mut expiry = tokio::time::interval(EXPIRY_INTERVAL);
        let mut watch = tokio::time::interval(RESUME_INTERVAL);
        for interval in [&mut resume, &mut expiry, &mut watch] {
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        }
        let work = async {
            loop {
                tokio::select! {
                    _ = resume.tick() => {
                        self.resume_account_deletions().await;
                        self.resume_session_deletions().await;
                        self.delete_expired_visits().await;
                        self.resume_adoptions().await;
                        self.purge_forgotten().await;
                        self.delete_due_files().await;
                    }
                    _ = expiry.tick() => self.delete_expired_data().await,
                }
            }
        };
        // A separate loop, because the work above may take long: this server must notice deletions of other servers within seconds.
        let watching = async {
            loop {
                watch.tick().await;
                if let Err(e) = self.usecases.look_for_erasures().await {
                    warn!(error = %e, "deletions by other servers could not be looked up");
                }
            }
        };
        tokio::select! {
            () = watching => {}
            () = stop.cancelled() => {}
            () = work => {}
        }
    }

    /// Resumes account deletions that no process works on.
    async fn resume_account_deletions(&self) {
        let unfinished = match self.store.unfinished_erasures(self.clock.now() - ABANDONED_AFTER).await {
            Ok(unfinished) => unfinished,
            Err(e) => return warn!(error = %e, "unfinished deletions could not be looked up"),
        };
        for caller in unfinished {
            info!(user = %caller.user(), "resuming the deletion of a user's data");
            if let Err(e) = self.usecases.resume_account_deletion(&caller).await {
                warn!(error = %e, user = %caller.user(), "the deletion of a user's data was interrupted and will be resumed");
            }
        }
    }

    /// Resumes session deletions that no process works on.
    async fn resume_session_deletions(&self) {
        let hidden = match self.store.hidden_sessions(self.clock.now() - ABANDONED_AFTER).await {
            Ok(hidden) => hidden,
            Err(e) => return warn!(error = %e, "unfinished session deletions could not be looked up"),
        };
        for (caller, session) in hidden {
            info!(user = %caller.user(), %session, "resuming the deletion of a session");
            // This includes sessions of shared memory, whose deletion an administrator began.
            if let Err(e) = self.usecases.resume_session_deletion(&caller, session).await {
                warn!(error = %e, user = %caller.user(), %session, "the deletion of a session was interrupted and will be resumed");
            }
        }
    }

    /// Resumes adoptions, which merge the knowledge of a visit into that of an account.
    async fn resume_adoptions(&self) {
        let unsettled = match self.store.unsettled_adoptions(PAGE).await {
            Ok(unsettled) => unsettled,
            Err(e) => return warn!(error = %e, "unfinished adoptions could not be looked up"),
        };
        for caller in unsettled {
            if let Err(e) = self.usecases.settle_adoptions(&caller).await {
                warn!(error = %e, user = %caller.user(), "an adoption was interrupted and will be resumed");
            }
        }
    }

    /// Deletes for good what can no longer be restored. Several servers may do this at the same time.
    async fn purge_forgotten(&self) {
        let expired = match self.store.expired_forgettings(self.clock.now(), PAGE).await {
            Ok(expired) => expired,
            Err(e) => return warn!(error = %e, "expired forgettings could not be looked up"),
        };
        for (caller, id) in expired {
            if let Err(e) = self.usecases.purge_forgotten(&caller, id).await {
                warn!(error = %e, user = %caller.user(), "forgotten data could not be deleted and will be deleted later");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Deletes files outside the store that no document has any more. Several servers may do this at the same time.
    async fn delete_due_files(&self) {
        if let Err(e) = self.usecases.delete_due_files().await {
            warn!(error = %e, "files of deleted documents could not be looked up and will be deleted later");
        }
    }

    /// Deletes all data of visitors whose visit expired. Several servers may do this at the same time.
    async fn delete_expired_visits(&self) {
        let mut expired = 0u64;
        loop {
            let ended = match self.store.ended_visits(self.clock.now(), PAGE).await {
                Ok(ended) => ended,
                Err(e) => {
                    warn!(error = %e, "expired visits could not be looked up");
                    break;
                }
            };
            let (found, before) = (ended.len() as u64, expired);
            for visitor in ended {
                match self.usecases.erase_everything(&visitor).await {
                    Ok(_) => expired += 1,
                    Err(e) => warn!(error = %e, "an expired visit could not be deleted"),
                }
                tokio::time::sleep(PAUSE).await;
            }
            // Stop after a failure: the next query would return the failed visits again.
            if found < u64::from(PAGE) || expired - before < found {
                break;
            }
        }
        if expired > 0 {
            metrics::counter!("recall_visits_expired_total").increment(expired);
            self.auditor.note(self.clock.now(), None, None, AuditAction::VisitsExpired, Some(expired.to_string())).await;
        }
    }

    /// Deletes receipts, sessions and audit entries beyond their retention time.
    async fn delete_expired_data(&self) {
        let now = self.clock.now();
        self.delete_old_receipts(Day::of(now)).await;
        let before = now - chrono::TimeDelta::days(i64::from(self.config.audit_days));
        if self.config.session_days > 0 {
            self.delete_unused_sessions(now - chrono::TimeDelta::days(i64::from(self.config.session_days))).await;
        }
        loop {
            match self.store.forget_audited(before, MAX_AUDIT_ENTRIES, AUDIT_BATCH).await {
                Ok(0) => break,
                Ok(n) => metrics::counter!("recall_audit_forgotten_total").increment(n),
                Err(e) => {
                    warn!(error = %e, "old entries of the audit log could not be deleted");
                    break;
                }
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Deletes the receipts of deletions from before `today`, in batches.
    async fn delete_old_receipts(&self, today: Day) {
        loop {
            match self.store.forget_erasures(today, RECEIPT_BATCH).await {
                Ok(0) => return,
                Ok(_) => tokio::time::sleep(PAUSE).await,
                Err(e) => return warn!(error = %e, "old receipts of deletions could not be deleted"),
            }
        }
    }

    /// Deletes sessions without a message since `since`.
    ///
    /// Several servers may do this at the same time. Only the one that deletes a session counts it.
    async fn delete_unused_sessions(&self, since: Timestamp) {
        let (mut after, mut expired) = (None, 0u64);
        loop {
            let unused = match self.store.unused_sessions(since, after, PAGE).await {
                Ok(unused) => unused,
                Err(e) => {
                    warn!(error = %e, "unused sessions could not be looked up");
                    break;
                }
            };
            let Some((last, session)) = unused.last() else { break };
            after = Some((last.user(), *session));
            // Sessions of shared memory stay: they are read often and written rarely, and administrators delete them by hand.
            for (caller, session) in unused.into_iter().filter(|(caller, _)| !caller.is_shared()) {
                match self.usecases.delete_session_unused_since(&caller, session, Some(since)).await {
                    Ok(_) => {
                        expired += 1;
                        metrics::counter!("recall_sessions_expired_total").increment(1);
                    }
                    Err(UseCaseError::NotFound { .. }) => {}
                    Err(e) => warn!(error = %e, "an unused session could not be deleted"),
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
        if expired > 0 {
            self.auditor.note(self.clock.now(), None, None, AuditAction::SessionsExpired, Some(expired.to_string())).await;
        }
    }
}
