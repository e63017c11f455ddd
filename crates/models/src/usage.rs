//! Tokens of requests: estimates and metrics.

use tokio::time::Instant;

use super::wire::Usage;

/// Estimated bytes of English text per token, for servers that do not report usage.
pub(super) const BYTES_PER_TOKEN: usize = 4;

/// Estimates the tokens from the bytes sent and received.
pub(super) fn estimate(sent: usize, got: usize) -> Usage {
    Usage { prompt_tokens: sent.div_ceil(BYTES_PER_TOKEN) as u64, completion_tokens: got.div_ceil(BYTES_PER_TOKEN) as u64 }
}

/// Records metrics of one request.
pub(super) fn record_request(operation: &'static str, outcome: &'static str, usage: Usage, started: Instant) {
    metrics::counter!("recall_model_requests_total", "operation" => operation, "outcome" => outcome).increment(1);
    metrics::histogram!("recall_model_request_seconds", "operation" => operation).record(started.elapsed().as_secs_f64());
    for (direction, n) in [("input", usage.prompt_tokens), ("output", usage.completion_tokens)] {
        metrics::counter!("recall_model_tokens_total", "operation" => operation, "direction" => direction).increment(n);
    }
}
