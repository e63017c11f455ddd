//! Sets up logs and metrics.

use std::io::IsTerminal;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::{EnvFilter, filter::filter_fn, layer::SubscriberExt, util::SubscriberInitExt};

use crate::config::{LogConfig, LogFormat};

/// Buckets of the latency histograms in seconds.
const SECONDS: [f64; 14] = [0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// Starts logging to standard error. Standard output is for the output of commands.
///
/// # Errors
/// If the filter is malformed or logging was already started.
pub(super) fn logs(config: &LogConfig) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&config.filter)?;
    // The client library for model servers logs responses that it cannot parse, and the library for MCP logs the requests of agents. Both
    // quote user text, so their events are dropped whatever the filter says. Our own errors report the same failures.
    let quiet = filter_fn(|event| !["async_openai", "rmcp"].iter().any(|library| event.target().starts_with(library)));
    let registry = tracing_subscriber::registry().with(filter).with(quiet);
    match config.format {
        LogFormat::Text => {
            let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false).with_ansi(has_colours());
            registry.with(layer).try_init()?;
        }
        LogFormat::Json => {
            registry.with(tracing_subscriber::fmt::layer().json().flatten_event(true).with_writer(std::io::stderr)).try_init()?;
        }
    }
    Ok(())
}

/// Whether lines of the log have colours: on a terminal, unless `NO_COLOR` is set (<https://no-color.org>).
fn has_colours() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Starts the collection of metrics.
///
/// # Errors
/// If another recorder is already installed.
pub(super) fn metrics() -> anyhow::Result<PrometheusHandle> {
    let builder = PrometheusBuilder::new().set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)?;
    let handle = builder.install_recorder()?;
    describe();
    signaling::describe_metrics();
    Ok(handle)
}

/// Reads the resident memory of this process in bytes; Linux only.
pub(super) fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

fn describe() {
    use metrics::{describe_counter as counter, describe_gauge as gauge, describe_histogram as histogram};
    gauge!("process_resident_memory_bytes", "Resident memory of this process in bytes");
    gauge!("recall_database_connections", "Connections to the database, by state");
    gauge!("recall_database_connections_max", "Maximum number of connections to the database");
    gauge!("recall_database_waiting", "Calls that wait for a database connection or for the write lock");
    gauge!("recall_jobs_oldest_seconds", "Age of the oldest unfinished job");
    counter!("recall_messages_total", "Messages stored");
    counter!("recall_masked_texts_total", "Texts in which something that is never stored was replaced by a mark");
    counter!("recall_documents_total", "Documents added");
    counter!("recall_comparisons_total", "Comparisons of documents requested");
    counter!("recall_comparisons_instead_total", "Steps of comparisons made without the model, by reason");
    counter!("recall_comparison_points_refused_total", "Points of a model that cite too little");
    histogram!("recall_document_parse_seconds", "Time to read and split a document");
    counter!("recall_answers_total", "Questions answered, by whether stored data supports the answer");
    counter!("recall_jobs_total", "Finished jobs, by outcome");
    gauge!("recall_jobs_waiting", "Jobs waiting or running");
    gauge!("recall_jobs_dead", "Jobs that failed permanently");
    gauge!("recall_jobs_running", "Jobs running in this process");
    gauge!("recall_unencoded_texts", "Messages and chunks that wait until this process is idle and encodes them");
    histogram!("recall_job_seconds", "Duration of one attempt at a job");
    histogram!("recall_processing_latency_seconds", "Time from storing a message to the commit of its facts");
    histogram!("recall_context_seconds", "Time to find the context of a question");
    histogram!("recall_context_part_seconds", "Time spent on one retrieval method");
    gauge!("recall_graph_up", "Whether the projection to the graph engine works: 1 or 0");
    gauge!("recall_graph_lag_seconds", "Age of the oldest change that the graph engine may lack");
    gauge!("recall_graph_behind_users", "Users whose graph is missing or behind");
    counter!("recall_graph_changes_total", "Changes sent to the graph engine");
    histogram!("recall_graph_batch_seconds", "Duration of one batch in the graph engine");
    counter!("recall_graph_queries_total", "Graph queries, by what answered them and why");
    counter!("recall_model_requests_total", "Requests to model servers, by operation and outcome");
    histogram!("recall_model_request_seconds", "Duration of one request to a model server");
    histogram!("recall_model_first_token_seconds", "Time to the first token of a streamed answer");
    counter!("recall_model_tokens_total", "Tokens used, by operation and direction");
    counter!("recall_extractions_total", "Messages processed, by what extracted their facts");
    counter!(
        "recall_extractions_together_total",
        "Messages sent to a model in one request with others, by whether the result passed validation"
    );
    counter!("recall_extraction_refused_total", "Parts of a model's extraction that failed validation, by problem");
    counter!("recall_answers_instead_total", "Answers made without the model, by reason");
    counter!("recall_answer_citations_dropped_total", "Citations of a model that refer to nothing");
    counter!("recall_answers_uncited_total", "Answers of a model without any citation, which are discarded");
    counter!("recall_conversations_without_memory_total", "Proxied requests that were forwarded without memory because the search failed");
    counter!("recall_answers_cancelled_total", "Answers that were cancelled");
    counter!("recall_answers_cut_total", "Answers of a model that reached the token limit");
    counter!("recall_audit_failed_total", "Entries of the audit log that could not be written");
    counter!("recall_audit_forgotten_total", "Entries of the audit log deleted after their retention time");
    counter!("recall_sessions_expired_total", "Sessions deleted because they were unused for the retention time");
    counter!("recall_reembedded_messages_total", "Messages re-embedded with the configured embedding model");
    gauge!("recall_reembedding_users", "Users with vectors of another embedding model than the configured one, counted once a minute");
    gauge!(
        "recall_reembedding_messages",
        "Messages of these users without a vector of the configured embedding model, counted once a minute"
    );
    counter!("recall_visits_expired_total", "Visits deleted after they expired");
    counter!("recall_session_limits_reached_total", "Entities and facts not stored because their session reached its limit, by kind");
    counter!("recall_events_pruned_total", "Events deleted from the logs after their retention time");
}
