//! What is deleted without anybody asking right now: erasures that a process before did not end, and what is older than it may be.

use std::{sync::Arc, time::Duration};

use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::config::RetentionConfig;
use crate::conversation::Conversation;
use crate::domain::Day;
use crate::ports::{Clock, Store};

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

/// What works on it.
pub(super) struct Retention {
    pub(super) conversation: Conversation,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) config: RetentionConfig,
}

impl Retention {
    /// Runs until `stop`.
    pub(super) async fn run(self, stop: CancellationToken) {
        let mut look = tokio::time::interval(LOOK_EVERY);
        let mut clean = tokio::time::interval(CLEAN_EVERY);
        for interval in [&mut look, &mut clean] {
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        }
        let work = async {
            loop {
                tokio::select! {
                    _ = look.tick() => self.erasures().await,
                    _ = clean.tick() => self.clean().await,
                }
            }
        };
        // What was begun goes on after the next start.
        tokio::select! {
            () = stop.cancelled() => {}
            () = work => {}
        }
    }

    fn store(&self) -> &Arc<dyn Store> {
        self.conversation.store()
    }

    /// Goes on with what a process before began.
    async fn erasures(&self) {
        let unfinished = match self.store().unfinished_erasures(self.clock.now() - SILENT).await {
            Ok(unfinished) => unfinished,
            Err(e) => return warn!(error = %e, "unfinished deletions could not be looked for"),
        };
        for caller in unfinished {
            info!(user = %caller.user(), "the deletion of a user's data goes on");
            if let Err(e) = self.conversation.go_on_erasing(&caller).await {
                warn!(error = %e, user = %caller.user(), "the deletion of a user's data was interrupted and will be gone on with");
            }
        }
    }

    async fn clean(&self) {
        let now = self.clock.now();
        if let Err(e) = self.store().forget_erasures(Day::of(now)).await {
            warn!(error = %e, "old receipts of deletions could not be removed");
        }
        let before = now - chrono::TimeDelta::days(i64::from(self.config.audit_days));
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
}
