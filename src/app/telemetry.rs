//! Logs and metrics of the process.

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::{EnvFilter, filter::filter_fn, layer::SubscriberExt, util::SubscriberInitExt};

use crate::config::{LogConfig, LogFormat};

/// Bounds of the latency histograms, in seconds.
const SECONDS: [f64; 14] = [0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// Starts logging to standard error, so that standard output stays for what a command prints.
///
/// # Errors
/// When the filter is malformed or logging was started before.
pub(super) fn logs(config: &LogConfig) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&config.filter)?;
    // The client library for model servers writes answers that it cannot read to the log, and they may quote what people
    // wrote. Whatever the filter says, it has no voice; what it would say is told by our own errors.
    let quiet = filter_fn(|event| !event.target().starts_with("async_openai"));
    let registry = tracing_subscriber::registry().with(filter).with(quiet);
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
    signaling::describe_metrics();
    Ok(handle)
}

/// Resident memory of this process, where the system tells it.
pub(super) fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

fn describe() {
    use metrics::{describe_counter as counter, describe_gauge as gauge, describe_histogram as histogram};
    gauge!("process_resident_memory_bytes", "Resident memory of this process in bytes");
    gauge!("recall_database_connections", "Connections to the database, by whether they are used");
    gauge!("recall_database_connections_max", "Most connections to the database");
    gauge!("recall_database_waiting", "Calls that wait for a connection to the database, or for their turn to write");
    gauge!("recall_jobs_oldest_seconds", "Age of the oldest job that is not done");
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
    gauge!("recall_graph_lag_seconds", "Age of the oldest change that the graph engine may not have been told");
    gauge!("recall_graph_behind_users", "Users whose graph is known to be missing or behind");
    counter!("recall_graph_changes_total", "Things told to the graph engine");
    histogram!("recall_graph_batch_seconds", "Time the graph engine took for one batch");
    counter!("recall_graph_queries_total", "Questions about connections, by who answered and why");
    counter!("recall_model_requests_total", "Requests to model servers, by operation and outcome");
    histogram!("recall_model_request_seconds", "Time one request to a model server took");
    histogram!("recall_model_first_token_seconds", "Time to the first token of a streamed answer");
    counter!("recall_model_tokens_total", "Tokens used, by operation and direction");
    counter!("recall_extractions_total", "Messages read, by who found their facts");
    counter!("recall_extraction_asked_total", "Messages that a model was asked about, by why");
    counter!("recall_extractions_together_total", "Messages asked about several at a time, by whether the result stood the check");
    counter!("recall_extraction_refused_total", "Parts of a model's extraction that did not stand the check, by problem");
    counter!("recall_answers_instead_total", "Answers made without the model, by why it did not answer");
    counter!("recall_answer_citations_dropped_total", "Citations of a model that point to nothing");
    counter!("recall_answers_uncited_total", "Answers of a model without any citation, which are not given out");
    counter!("recall_answers_cancelled_total", "Answers that were cancelled");
    counter!("recall_answers_cut_total", "Answers of a model that reached the limit of tokens");
    counter!("recall_audit_failed_total", "Entries of the audit log that could not be written");
    counter!("recall_audit_forgotten_total", "Entries of the audit log removed after their time");
    counter!("recall_sessions_expired_total", "Sessions deleted because nobody had used them for long enough");
    counter!("recall_reembedded_messages_total", "Vectors made for messages that had none of the configured embedding model");
    gauge!("recall_reembedding_users", "Users not all of whose vectors are of the configured embedding model, counted once a minute");
    gauge!("recall_reembedding_messages", "Their messages without such a vector, counted once a minute");
    counter!("recall_visits_expired_total", "Visits that were deleted because they were over");
    counter!("recall_session_limits_reached_total", "Entities and facts that were left out because their session has enough, by which");
    counter!("recall_events_pruned_total", "Events removed from the logs after their time");
    counter!("recall_visits_expired_total", "Visits without a login that have ended");
    counter!("recall_session_limits_reached_total", "Entities and facts not stored because their session has too many");
}
