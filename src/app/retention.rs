//! What is deleted without anybody asking right now: erasures that a process before did not end, visits that are over, and what is
//! older than it may be.

use std::{sync::Arc, time::Duration};

use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::config::RetentionConfig;
use recall_api::Auditor;
use recall_domain::{AuditAction, Day, Timestamp};
use recall_ports::{Clock, Store};
use recall_usecases::{UseCaseError, UseCases};

/// How often unfinished erasures are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// An erasure without a step for so long is not being worked on.
const SILENT: chrono::TimeDelta = chrono::TimeDelta::seconds(15);
/// How often it is looked for what is too old.
const CLEAN_EVERY: Duration = Duration::from_secs(600);
/// Most entries of the audit log, whatever their age: nobody shall be able to fill the disk.
const AUDIT_KEPT: u64 = 1_000_000;
/// Entries forgotten at once.
const AUDIT_STEP: u32 = 5_000;
/// Receipts of deletions forgotten at once.
const RECEIPTS: u32 = 500;
/// Sessions looked for at once, and how long others may write between two that are deleted.
const SESSIONS: u32 = 100;
const BREATH: Duration = Duration::from_millis(20);

/// What works on it.
pub(super) struct Retention {
    pub(super) usecases: UseCases,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) auditor: Auditor,
    pub(super) config: RetentionConfig,
}

impl Retention {
    /// Runs until `stop`.
    pub(super) async fn run(self, stop: CancellationToken) {
        let mut look = tokio::time::interval(LOOK_EVERY);
        let mut clean = tokio::time::interval(CLEAN_EVERY);
        let mut watch = tokio::time::interval(LOOK_EVERY);
        for interval in [&mut look, &mut clean, &mut watch] {
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        }
        let work = async {
            loop {
                tokio::select! {
                    _ = look.tick() => {
                        self.erasures().await;
                        self.deletions().await;
                        self.visits().await;
                        self.adoptions().await;
                    }
                    _ = clean.tick() => self.clean().await,
                }
            }
        };
        // Beside the rest, which may take long: other servers' deletions are to be known here within seconds.
        let watching = async {
            loop {
                watch.tick().await;
                if let Err(e) = self.usecases.look_for_erasures().await {
                    warn!(error = %e, "deletions of others could not be looked for");
                }
            }
        };
        // What was begun goes on after the next start.
        tokio::select! {
            () = watching => {}
            () = stop.cancelled() => {}
            () = work => {}
        }
    }

    fn store(&self) -> &Arc<dyn Store> {
        self.usecases.store()
    }

    /// Goes on with what a process before began.
    async fn erasures(&self) {
        let unfinished = match self.store().unfinished_erasures(self.clock.now() - SILENT).await {
            Ok(unfinished) => unfinished,
            Err(e) => return warn!(error = %e, "unfinished deletions could not be looked for"),
        };
        for caller in unfinished {
            info!(user = %caller.user(), "the deletion of a user's data goes on");
            if let Err(e) = self.usecases.resume_account_deletion(&caller).await {
                warn!(error = %e, user = %caller.user(), "the deletion of a user's data was interrupted and will be gone on with");
            }
        }
    }

    /// Goes on with hidden sessions that nobody is deleting.
    async fn deletions(&self) {
        let hidden = match self.store().hidden_sessions(self.clock.now() - SILENT).await {
            Ok(hidden) => hidden,
            Err(e) => return warn!(error = %e, "unfinished deletions of sessions could not be looked for"),
        };
        for (caller, session) in hidden {
            info!(user = %caller.user(), %session, "the deletion of a session goes on");
            // Shared memory too: it was an administrator who began.
            if let Err(e) = self.usecases.resume_session_deletion(&caller, session).await {
                warn!(error = %e, user = %caller.user(), %session, "the deletion of a session was interrupted and will be gone on with");
            }
        }
    }

    /// Goes on with bringing together what accounts and visits know.
    async fn adoptions(&self) {
        let unsettled = match self.store().unsettled_adoptions(SESSIONS).await {
            Ok(unsettled) => unsettled,
            Err(e) => return warn!(error = %e, "unfinished adoptions could not be looked for"),
        };
        for caller in unsettled {
            if let Err(e) = self.usecases.settle_adoptions(&caller).await {
                warn!(error = %e, user = %caller.user(), "an adoption was interrupted and will be gone on with");
            }
        }
    }

    /// Deletes the visitors whose time is over, with everything of theirs. Two servers at it delete everything once.
    async fn visits(&self) {
        let mut expired = 0u64;
        loop {
            let ended = match self.store().ended_visits(self.clock.now(), SESSIONS).await {
                Ok(ended) => ended,
                Err(e) => {
                    warn!(error = %e, "visits that are over could not be looked for");
                    break;
                }
            };
            let (found, before) = (ended.len() as u64, expired);
            for visitor in ended {
                match self.usecases.erase_everything(&visitor).await {
                    Ok(_) => expired += 1,
                    Err(e) => warn!(error = %e, "a visit that is over could not be deleted"),
                }
                tokio::time::sleep(BREATH).await;
            }
            // Those that could not be deleted would be found again at once.
            if found < u64::from(SESSIONS) || expired - before < found {
                break;
            }
        }
        if expired > 0 {
            metrics::counter!("recall_visits_expired_total").increment(expired);
            self.auditor.note(self.clock.now(), None, None, AuditAction::VisitsExpired, Some(expired.to_string())).await;
        }
    }

    async fn clean(&self) {
        let now = self.clock.now();
        self.receipts(Day::of(now)).await;
        let before = now - chrono::TimeDelta::days(i64::from(self.config.audit_days));
        if self.config.session_days > 0 {
            self.sessions(now - chrono::TimeDelta::days(i64::from(self.config.session_days))).await;
        }
        loop {
            match self.store().forget_audited(before, AUDIT_KEPT, AUDIT_STEP).await {
                Ok(0) => break,
                Ok(n) => metrics::counter!("recall_audit_forgotten_total").increment(n),
                Err(e) => {
                    warn!(error = %e, "old entries of the audit log could not be removed");
                    break;
                }
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Forgets receipts of deletions of the days before, however many visits ended then.
    async fn receipts(&self, today: Day) {
        loop {
            match self.store().forget_erasures(today, RECEIPTS).await {
                Ok(0) => return,
                Ok(_) => tokio::time::sleep(BREATH).await,
                Err(e) => return warn!(error = %e, "old receipts of deletions could not be removed"),
            }
        }
    }

    /// Deletes sessions in which nobody wrote since a moment. Other servers may be at it, too: of two that delete one session one
    /// finds it gone, and counts nothing.
    async fn sessions(&self, since: Timestamp) {
        let (mut after, mut expired) = (None, 0u64);
        loop {
            let unused = match self.store().unused_sessions(since, after, SESSIONS).await {
                Ok(unused) => unused,
                Err(e) => {
                    warn!(error = %e, "unused sessions could not be looked for");
                    break;
                }
            };
            let Some((last, session)) = unused.last() else { break };
            after = Some((last.user(), *session));
            // Shared memory is read much and written seldom: administrators delete what is no longer wanted there.
            for (caller, session) in unused.into_iter().filter(|(caller, _)| !caller.is_shared()) {
                match self.usecases.delete_session_unused_since(&caller, session, Some(since)).await {
                    Ok(_) => {
                        expired += 1;
                        metrics::counter!("recall_sessions_expired_total").increment(1);
                    }
                    Err(UseCaseError::NotFound { .. }) => {}
                    Err(e) => warn!(error = %e, "an unused session could not be deleted"),
                }
                tokio::time::sleep(BREATH).await;
            }
        }
        if expired > 0 {
            self.auditor.note(self.clock.now(), None, None, AuditAction::SessionsExpired, Some(expired.to_string())).await;
        }
    }
}
