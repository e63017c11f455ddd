//! Periodic maintenance: prunes event logs, deletes revoked tokens and ended logins, and updates gauges.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::telemetry;
use crate::config::StreamConfig;
use recall_ports::{Clock, Store};
use recall_projection::GraphStatus;

const MEASURE_EVERY: Duration = Duration::from_secs(5);
const PRUNE_EVERY: Duration = Duration::from_secs(600);

/// Runs the maintenance until `stop`.
pub(super) async fn run(
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    config: StreamConfig,
    graph: Option<Arc<GraphStatus>>,
    stop: CancellationToken,
) {
    let mut measure = tokio::time::interval(MEASURE_EVERY);
    let mut prune = tokio::time::interval(PRUNE_EVERY);
    for interval in [&mut measure, &mut prune] {
        interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    }
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = measure.tick() => update_gauges(store.as_ref(), clock.as_ref(), graph.as_deref()).await,
            _ = prune.tick() => {
                if let Err(e) = store.forget_revoked(clock.now()).await {
                    warn!(error = %e, "revoked tokens could not be deleted");
                }
                if let Err(e) = store.forget_logins(clock.now()).await {
                    warn!(error = %e, "ended logins could not be deleted");
                }
                let before = clock.now() - chrono::Duration::hours(i64::from(config.events_kept_hours));
                // Each call is bounded, so a long backlog never blocks other writers for long.
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

/// Updates the gauges that no other code updates.
async fn update_gauges(store: &dyn Store, clock: &dyn Clock, graph: Option<&GraphStatus>) {
    if let Some(graph) = graph {
        metrics::gauge!("recall_graph_lag_seconds").set(graph.lag().as_secs_f64());
        metrics::gauge!("recall_graph_behind_users").set(graph.behind() as f64);
    }
    if let Some(bytes) = telemetry::resident_bytes() {
        metrics::gauge!("process_resident_memory_bytes").set(bytes as f64);
    }
    let connections = store.connections();
    for (state, count) in [("idle", connections.idle), ("used", connections.open.saturating_sub(connections.idle))] {
        metrics::gauge!("recall_database_connections", "state" => state).set(f64::from(count));
    }
    metrics::gauge!("recall_database_connections_max").set(f64::from(connections.most));
    metrics::gauge!("recall_database_waiting").set(f64::from(connections.waiting));
    match store.depth().await {
        Ok((waiting, dead)) => {
            metrics::gauge!("recall_jobs_waiting").set(waiting as f64);
            metrics::gauge!("recall_jobs_dead").set(dead as f64);
        }
        Err(e) => warn!(error = %e, "the queue could not be measured"),
    }
    match store.oldest(clock.now()).await {
        Ok(age) => metrics::gauge!("recall_jobs_oldest_seconds").set(age.unwrap_or_default().as_secs_f64()),
        Err(e) => warn!(error = %e, "the oldest job could not be found"),
    }
}
