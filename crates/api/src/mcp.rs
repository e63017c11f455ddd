//! `/mcp`: tools for agents (Model Context Protocol). `recall-mcp` implements the protocol; this module applies the rules of the API.

use std::sync::Arc;

use async_trait::async_trait;
use axum::{
    Router,
    body::Body,
    extract::Request,
    http::{HeaderValue, StatusCode, header, request::Parts},
    middleware::{Next, from_fn},
    response::{IntoResponse, Response},
    routing::any_service,
};
use serde_json::json;
use tracing::Span;

use crate::{
    audit::Auditor,
    auth::{AuthError, Authenticated, Permission},
    error::{ApiError, report_all},
    graphql::extra_requests,
    limits::Limits,
    rate::CallerLimits,
};
use recall_domain::{AuditAction, Caller};
use recall_mcp::{Access, Failure, Gate, McpLimits, Refusal};
use recall_ports::GraphQueries;
use recall_usecases::UseCases;

/// Path of the MCP endpoint, which is also the path of the protected resource of its clients.
pub(crate) const PATH: &str = "/mcp";
/// Maximum bytes of a refusal of the protocol library, all of which are a sentence.
const MAX_REFUSAL_BYTES: usize = 4 * 1024;

/// Builds the route.
pub(crate) fn routes(
    usecases: UseCases,
    graph: Arc<dyn GraphQueries>,
    (limiter, auditor): (Arc<CallerLimits>, Auditor),
    limits: &Limits,
) -> Router {
    let limits = McpLimits { body_bytes: limits.body_bytes, timeout: limits.operation_timeout };
    let gate = CallerGate { usecases: usecases.clone(), limiter, auditor };
    let service = recall_mcp::service(usecases, graph, Arc::new(gate), limits);
    Router::new().route("/mcp", any_service(service)).layer(from_fn(refusals_as_json_rpc)).layer(from_fn(keep_span))
}

/// Applies permissions and rate limits to calls, and writes the audit log.
struct CallerGate {
    usecases: UseCases,
    limiter: Arc<CallerLimits>,
    auditor: Auditor,
}

/// The tracing span of a request. A call runs in a task of its own, which would not know it.
#[derive(Clone)]
struct RequestSpan(Span);

#[async_trait]
impl Gate for CallerGate {
    fn admit(&self, request: &Parts, access: Access) -> Result<Caller, Refusal> {
        let authenticated = request.extensions.get::<Authenticated>().ok_or(AuthError::Missing);
        let Authenticated(identity) = authenticated.map_err(|e| refusal(&e.into()))?;
        let permission = match access {
            Access::Read => Permission::Read,
            Access::Write => Permission::Write,
        };
        identity.require(permission).map_err(|e| refusal(&e))?;
        Ok(identity.caller)
    }

    async fn charge(&self, caller: Caller, cost: usize) -> Result<(), Refusal> {
        self.limiter.charge_extra(caller, extra_requests(cost)).await.map_err(|e| refusal(&e))
    }

    async fn count_message(&self, caller: Caller) -> Result<(), Refusal> {
        self.limiter.messages(caller, 1).await.map_err(|e| refusal(&e))
    }

    async fn audit(&self, request: &Parts, action: AuditAction, target: String) {
        if let Some(Authenticated(identity)) = request.extensions.get() {
            self.auditor.note_request(self.usecases.now(), identity, action, Some(target)).await;
        }
    }

    fn refuse(&self, failure: Failure) -> Refusal {
        let error = match failure {
            Failure::UseCase(error) => error.into(),
            Failure::TimedOut => ApiError::timeout(),
            Failure::Panicked => {
                metrics::counter!("recall_http_panics_total").increment(1);
                ApiError::internal(Arc::new(std::io::Error::other("a tool panicked")) as Arc<_>)
            }
        };
        report_all(std::iter::once(&error));
        refusal(&error)
    }

    fn span(&self, request: &Parts) -> Span {
        request.extensions.get::<RequestSpan>().map_or_else(Span::none, |span| span.0.clone())
    }
}

fn refusal(error: &ApiError) -> Refusal {
    let path = (!error.path().is_empty()).then(|| error.path().join("."));
    Refusal { code: error.code(), message: error.message().to_owned(), path, is_failure: !error.is_expected() }
}

/// Middleware: keeps the tracing span of the request for the calls that it carries.
async fn keep_span(mut request: Request, next: Next) -> Response {
    request.extensions_mut().insert(RequestSpan(Span::current()));
    next.run(request).await
}

/// Middleware: turns refusals of the protocol library into errors of JSON-RPC. As plain text, they would get the sentence of another refusal.
async fn refusals_as_json_rpc(request: Request, next: Next) -> Response {
    const TURNED: [StatusCode; 3] = [StatusCode::BAD_REQUEST, StatusCode::NOT_ACCEPTABLE, StatusCode::UNSUPPORTED_MEDIA_TYPE];
    let response = next.run(request).await;
    let status = response.status();
    if status == StatusCode::INTERNAL_SERVER_ERROR {
        return ApiError::internal(Arc::new(std::io::Error::other("the MCP service failed")) as Arc<_>).into_response();
    }
    if !TURNED.contains(&status) || response.headers().contains_key(header::CONTENT_TYPE) {
        return response;
    }
    let text = axum::body::to_bytes(response.into_body(), MAX_REFUSAL_BYTES).await.unwrap_or_default();
    let message = String::from_utf8_lossy(&text);
    let code = if status == StatusCode::UNSUPPORTED_MEDIA_TYPE && message.starts_with("fail to deserialize") { -32700 } else { -32600 };
    let error = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": message } });
    let mut refused = Response::new(Body::from(error.to_string()));
    *refused.status_mut() = if code == -32700 { StatusCode::BAD_REQUEST } else { status };
    refused.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    refused
}
