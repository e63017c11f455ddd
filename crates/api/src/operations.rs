//! What operators ask: alive, ready, metrics.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::{
    Json,
    extract::{Query, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::future::join_all;
use metrics_exporter_prometheus::PrometheusHandle;
use serde::Serialize;
use tokio::{sync::Mutex, time::Instant};

use recall_ports::Store;

/// Longest time a check may take.
const CHECK_WITHIN: Duration = Duration::from_secs(2);
/// How long what was found is told to others who ask: nobody needs to show who he is here, and services are asked on his behalf.
const CHECKED_FOR: Duration = Duration::from_secs(1);
/// Excludes all that the server can do without.
const OPTIONAL: &str = "optional";

/// A service that this server uses.
#[async_trait]
pub trait Check: Send + Sync {
    /// Names it for operators.
    fn name(&self) -> &str;
    /// Whether the server cannot work without it.
    fn is_needed(&self) -> bool {
        true
    }
    /// Whether it can be used now.
    ///
    /// # Errors
    /// When it cannot; the text is for operators.
    async fn check(&self) -> Result<(), Box<dyn std::error::Error + Send + Sync>>;
}

/// Why a service that answers cannot be used, in words for operators that hold nothing of the configuration.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Problem(pub &'static str);

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
    checks: Arc<[CheckResult]>,
}

#[derive(Serialize)]
struct CheckResult {
    name: String,
    ready: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'static str>,
    #[serde(skip)]
    is_needed: bool,
}

/// All that is configured, and what was last found of it.
pub(crate) struct Checks {
    all: Vec<Arc<dyn Check>>,
    found: Mutex<Option<(Instant, Arc<[CheckResult]>)>>,
}

impl Checks {
    pub(crate) fn new(all: Vec<Arc<dyn Check>>) -> Arc<Self> {
        Arc::new(Self { all, found: Mutex::default() })
    }

    /// Asks all of them at once; those who come meanwhile wait for the same answers.
    async fn results(&self) -> Arc<[CheckResult]> {
        let mut found = self.found.lock().await;
        if let Some((at, results)) = &*found
            && at.elapsed() < CHECKED_FOR
        {
            return results.clone();
        }
        let results: Arc<[CheckResult]> = join_all(self.all.iter().map(|check| asked(check.as_ref()))).await.into();
        *found = Some((Instant::now(), results.clone()));
        results
    }
}

async fn asked(check: &dyn Check) -> CheckResult {
    let problem = match tokio::time::timeout(CHECK_WITHIN, check.check()).await {
        Ok(Ok(())) => None,
        Ok(Err(error)) => {
            tracing::warn!(service = check.name(), %error, "not ready");
            Some(error.downcast_ref::<Problem>().map_or("failed", |problem| problem.0))
        }
        Err(_) => Some("did not answer in time"),
    };
    CheckResult { name: check.name().to_owned(), ready: problem.is_none(), problem, is_needed: check.is_needed() }
}

/// `GET /readyz`: whether everything that is configured can be reached; names what cannot. `?exclude=neo4j,model` leaves services
/// out of the verdict, as in Kubernetes, and `?exclude=optional` all that the server can do without: a load balancer should ask
/// so, because all servers use the same ones, and none would be left.
pub(crate) async fn readyz(State(checks): State<Arc<Checks>>, Query(asked): Query<Vec<(String, String)>>) -> Response {
    let excluded: Vec<&str> = asked.iter().filter(|(k, _)| k == "exclude").flat_map(|(_, v)| v.split(',')).map(str::trim).collect();
    let checks = checks.results().await;
    let is_excluded = |c: &CheckResult| excluded.iter().any(|e| *e == c.name || (*e == OPTIONAL && !c.is_needed));
    let (status, word) = match (checks.iter().all(|c| c.ready), checks.iter().all(|c| c.ready || is_excluded(c))) {
        (true, _) => (StatusCode::OK, "ready"),
        (false, true) => (StatusCode::OK, "degraded"),
        (false, false) => (StatusCode::SERVICE_UNAVAILABLE, "not_ready"),
    };
    (status, Json(Readiness { status: word, checks })).into_response()
}

/// `GET /metrics`: Prometheus text.
pub(crate) async fn metrics(State(handle): State<PrometheusHandle>) -> Response {
    let mut response = handle.render().into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8"));
    response
}
