//! What has to be done now and then: pruning event logs, forgetting revoked tokens and logins that have ended, measuring the queue.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::config::StreamConfig;
use crate::ports::{Clock, Store};

const MEASURE_EVERY: Duration = Duration::from_secs(5);
const PRUNE_EVERY: Duration = Duration::from_secs(600);

/// Runs until `stop`.
pub(super) async fn run(store: Arc<dyn Store>, clock: Arc<dyn Clock>, config: StreamConfig, stop: CancellationToken) {
    let mut measure = tokio::time::interval(MEASURE_EVERY);
    let mut prune = tokio::time::interval(PRUNE_EVERY);
    for interval in [&mut measure, &mut prune] {
        interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    }
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = measure.tick() => match store.depth().await {
                Ok((waiting, dead)) => {
                    metrics::gauge!("recall_jobs_waiting").set(waiting as f64);
                    metrics::gauge!("recall_jobs_dead").set(dead as f64);
                }
                Err(e) => warn!(error = %e, "the queue could not be measured"),
            },
            _ = prune.tick() => {
                if let Err(e) = store.forget_revoked(clock.now()).await {
                    warn!(error = %e, "revoked tokens could not be forgotten");
                }
                if let Err(e) = store.forget_logins(clock.now()).await {
                    warn!(error = %e, "logins that have ended could not be forgotten");
                }
                let before = clock.now() - chrono::Duration::hours(i64::from(config.events_kept_hours));
                // Bounded per call, so that a long backlog never holds the writer for long.
                loop {
                    match store.prune_events(before, config.events_kept).await {
                        Ok(0) => break,
                        Ok(n) => metrics::counter!("recall_events_pruned_total").increment(n),
                        Err(e) => {
                            warn!(error = %e, "event logs could not be pruned");
                            break;
                        }
                    }
                    if stop.is_cancelled() {
                        return;
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }
}
