//! What operators ask: alive, ready, metrics.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::{
    Json,
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use metrics_exporter_prometheus::PrometheusHandle;
use serde::Serialize;

use crate::ports::Store;

/// Longest time a check may take.
const CHECK_WITHIN: Duration = Duration::from_secs(2);

/// A service that this server uses.
#[async_trait]
pub trait Check: Send + Sync {
    /// Names it for operators.
    fn name(&self) -> &str;
    /// Whether the server cannot work without it. What it can do without is named when it is not there, but is no reason to send
    /// requests elsewhere: all servers use the same one, and none would be left.
    fn is_needed(&self) -> bool {
        true
    }
    /// Whether it can be used now.
    ///
    /// # Errors
    /// When it cannot; the text is for operators.
    async fn check(&self) -> Result<(), Box<dyn std::error::Error + Send + Sync>>;
}

/// Checks the store.
pub(crate) struct StoreCheck(pub(crate) Arc<dyn Store>);

#[async_trait]
impl Check for StoreCheck {
    fn name(&self) -> &str {
        self.0.engine()
    }

    async fn check(&self) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Ok(self.0.ping().await?)
    }
}

#[derive(Serialize)]
struct Health {
    status: &'static str,
    version: &'static str,
}

/// `GET /healthz`: the process runs. Says nothing about what it depends on, or a lost database would restart it in vain.
pub(crate) async fn healthz() -> Response {
    Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION") }).into_response()
}

#[derive(Serialize)]
struct Readiness {
    status: &'static str,
    checks: Vec<CheckResult>,
}

#[derive(Serialize)]
struct CheckResult {
    name: String,
    ready: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'static str>,
}

/// `GET /readyz`: everything that it cannot work without can be reached; names what cannot, needed or not.
pub(crate) async fn readyz(State(checks): State<Arc<[Arc<dyn Check>]>>) -> Response {
    let one = |check: &Arc<dyn Check>| {
        let check = check.clone();
        async move {
            let problem = match tokio::time::timeout(CHECK_WITHIN, check.check()).await {
                Ok(Ok(())) => None,
                Ok(Err(error)) => {
                    tracing::warn!(service = check.name(), %error, "not ready");
                    Some("failed")
                }
                Err(_) => Some("did not answer in time"),
            };
            CheckResult { name: check.name().to_owned(), ready: problem.is_none(), problem }
        }
    };
    let results = futures_util::future::join_all(checks.iter().map(one)).await;
    let (status, word) = match (results.iter().all(|c| c.ready), checks.iter().zip(&results).all(|(c, r)| r.ready || !c.is_needed())) {
        (true, _) => (StatusCode::OK, "ready"),
        (false, true) => (StatusCode::OK, "degraded"),
        (false, false) => (StatusCode::SERVICE_UNAVAILABLE, "not_ready"),
    };
    (status, Json(Readiness { status: word, checks: results })).into_response()
}

/// `GET /metrics`: Prometheus text.
pub(crate) async fn metrics(State(handle): State<PrometheusHandle>) -> Response {
    let mut response = handle.render().into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8"));
    response
}
