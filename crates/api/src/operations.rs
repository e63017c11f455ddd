//! Endpoints for operators: health, readiness and metrics.

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
use utoipa::ToSchema;

use recall_ports::Inspect;

/// Maximum time of one check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);
/// How long results are cached. The endpoint needs no login, and every check sends a request to a service.
const CACHE_TIME: Duration = Duration::from_secs(1);
/// Name that excludes all services that the server can work without.
const OPTIONAL: &str = "optional";

/// Checks a service that this server uses.
#[async_trait]
pub trait Check: Send + Sync {
    /// Name of the service, for operators.
    fn name(&self) -> &str;
    /// Whether the server cannot work without the service.
    fn is_needed(&self) -> bool {
        true
    }
    /// Checks that the service can be used now.
    ///
    /// # Errors
    /// When it cannot be used; the text is for operators.
    async fn check(&self) -> Result<(), Box<dyn std::error::Error + Send + Sync>>;
}

/// Why a reachable service cannot be used, for operators. The text must not contain configuration values.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Problem(pub &'static str);

/// Checks the store.
pub(crate) struct StoreCheck(pub(crate) Arc<dyn Inspect>);

#[async_trait]
impl Check for StoreCheck {
    fn name(&self) -> &str {
        self.0.engine()
    }

    async fn check(&self) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Ok(self.0.ping().await?)
    }
}

/// The state of the process.
#[derive(Serialize, ToSchema)]
pub(crate) struct Health {
    status: &'static str,
    version: &'static str,
}

/// Reports that the process runs.
///
/// It ignores dependencies, because a restart would not bring a lost database back.
#[utoipa::path(
    get, path = "/healthz", operation_id = "checkHealth", tag = "operations", security(()),
    responses((status = 200, description = "The process runs.", body = Health))
)]
pub(crate) async fn healthz() -> Response {
    Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION") }).into_response()
}

/// The state of the configured services.
#[derive(Serialize, ToSchema)]
pub(crate) struct Readiness<'c> {
    /// `ready`, `degraded` or `not_ready`.
    status: &'static str,
    #[schema(value_type = Vec<CheckResult>)]
    checks: &'c [CheckResult],
}

/// The state of one service.
#[derive(Serialize, ToSchema)]
pub(crate) struct CheckResult {
    name: String,
    ready: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'static str>,
    #[serde(skip)]
    is_needed: bool,
}

/// The configured checks and their last results.
pub(crate) struct Checks {
    all: Vec<Arc<dyn Check>>,
    cached: Mutex<Option<(Instant, Arc<[CheckResult]>)>>,
}

impl Checks {
    pub(crate) fn new(all: Vec<Arc<dyn Check>>) -> Arc<Self> {
        Arc::new(Self { all, cached: Mutex::default() })
    }

    /// Runs all checks concurrently. Requests that arrive meanwhile wait for the same results.
    async fn results(&self) -> Arc<[CheckResult]> {
        let mut cached = self.cached.lock().await;
        if let Some((at, results)) = &*cached
            && at.elapsed() < CACHE_TIME
        {
            return results.clone();
        }
        let results: Arc<[CheckResult]> = join_all(self.all.iter().map(|check| run_check(check.as_ref()))).await.into();
        *cached = Some((Instant::now(), results.clone()));
        results
    }
}

async fn run_check(check: &dyn Check) -> CheckResult {
    let problem = match tokio::time::timeout(CHECK_TIMEOUT, check.check()).await {
        Ok(Ok(())) => None,
        Ok(Err(error)) => {
            tracing::warn!(service = check.name(), %error, "not ready");
            Some(error.downcast_ref::<Problem>().map_or("failed", |problem| problem.0))
        }
        Err(_) => Some("did not answer in time"),
    };
    CheckResult { name: check.name().to_owned(), ready: problem.is_none(), problem, is_needed: check.is_needed() }
}

/// Reports whether all configured services can be reached, and which cannot.
///
/// `?exclude=neo4j,model` ignores these services in the status, as in Kubernetes. `?exclude=optional` ignores all that the
/// server can work without. A load balancer should use it: all servers share these services, so otherwise none would be ready.
#[utoipa::path(
    get, path = "/readyz", operation_id = "checkReadiness", tag = "operations", security(()),
    params(("exclude" = Option<String>, Query, description = "Names of services to leave out, separated by commas; `optional` for all that the server can work without.")),
    responses(
        (status = 200, description = "All services can be reached, except for those that are left out.", body = Readiness),
        (status = 503, description = "A service cannot be reached.", body = Readiness),
    )
)]
pub(crate) async fn readyz(State(checks): State<Arc<Checks>>, Query(parameters): Query<Vec<(String, String)>>) -> Response {
    let excluded: Vec<&str> = parameters.iter().filter(|(k, _)| k == "exclude").flat_map(|(_, v)| v.split(',')).map(str::trim).collect();
    let checks = checks.results().await;
    let is_excluded = |c: &CheckResult| excluded.iter().any(|e| *e == c.name || (*e == OPTIONAL && !c.is_needed));
    let (status, word) = match (checks.iter().all(|c| c.ready), checks.iter().all(|c| c.ready || is_excluded(c))) {
        (true, _) => (StatusCode::OK, "ready"),
        (false, true) => (StatusCode::OK, "degraded"),
        (false, false) => (StatusCode::SERVICE_UNAVAILABLE, "not_ready"),
    };
    (status, Json(Readiness { status: word, checks: &checks })).into_response()
}

/// Returns the metrics as Prometheus text. Only administrators may read them if a login is configured.
#[utoipa::path(
    get, path = "/metrics", operation_id = "readMetrics", tag = "operations", security((), ("token" = ["recall.admin"])),
    responses((status = 200, description = "The metrics.", body = String, content_type = "text/plain"))
)]
pub(crate) async fn metrics(State(handle): State<PrometheusHandle>) -> Response {
    let mut response = handle.render().into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8"));
    response
}
