//! Logs and metrics of the process.

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::{EnvFilter, layer::SubscriberExt, util::SubscriberInitExt};

use crate::config::{LogConfig, LogFormat};

/// Bounds of the latency histograms, in seconds.
const SECONDS: [f64; 14] = [0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// Starts logging to standard error, so that standard output stays for what a command prints.
///
/// # Errors
/// When the filter is malformed or logging was started before.
pub(super) fn logs(config: &LogConfig) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&config.filter)?;
    let registry = tracing_subscriber::registry().with(filter);
    match config.format {
        LogFormat::Text => registry.with(tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false)).try_init()?,
        LogFormat::Json => {
            registry.with(tracing_subscriber::fmt::layer().json().flatten_event(true).with_writer(std::io::stderr)).try_init()?;
        }
    }
    Ok(())
}

/// Starts collecting metrics.
///
/// # Errors
/// When another recorder was installed before.
pub(super) fn metrics() -> anyhow::Result<PrometheusHandle> {
    let builder = PrometheusBuilder::new().set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)?;
    let handle = builder.install_recorder()?;
    describe();
    Ok(handle)
}

fn describe() {
    use metrics::{describe_counter as counter, describe_gauge as gauge, describe_histogram as histogram};
    counter!("recall_messages_total", "Messages stored");
    counter!("recall_answers_total", "Questions answered, by whether something known supports the answer");
    counter!("recall_jobs_total", "Jobs ended, by outcome");
    gauge!("recall_jobs_waiting", "Jobs waiting or running");
    gauge!("recall_jobs_dead", "Jobs given up");
    gauge!("recall_jobs_running", "Jobs running in this process");
    histogram!("recall_job_seconds", "Time one attempt at a job took");
    histogram!("recall_processing_latency_seconds", "Time from storing a message to the commit of its facts");
    counter!("recall_stale_plans_total", "Plans made anew because the knowledge had changed meanwhile");
    histogram!("recall_context_seconds", "Time to find the context of a question");
    histogram!("recall_context_part_seconds", "Time spent on one way of finding");
    gauge!("recall_graph_up", "Whether the graph engine is followed: 1 or 0");
    counter!("recall_graph_changes_total", "Things told to the graph engine");
    histogram!("recall_graph_batch_seconds", "Time the graph engine took for one batch");
    counter!("recall_graph_queries_total", "Questions about connections, by who answered and why");
    counter!("recall_events_pruned_total", "Events removed from the logs after their time");
}
