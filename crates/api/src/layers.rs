//! Middleware for all requests: request ids, tracing, metrics, security headers, timeouts and panics.

use std::{
    any::Any,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use tower_http::{
    CompressionLevel,
    compression::{CompressionLayer, predicate::SizeAbove},
};
use tracing::Instrument;

use super::{auth::origin::Origin, error::ApiError};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Maximum length of a request id that a client sends.
const MAX_REQUEST_ID_BYTES: usize = 64;

/// Least size of a response that is compressed.
const MIN_COMPRESSED_BYTES: u64 = 4096;

/// Forbids inline scripts, resources of other origins and framing.
///
/// The charts and the editor need inline styles. `'self'` covers WebSockets of the same host and port (CSP Level 3, section
/// 6.7.2.8). In older browsers, such as Safari 15.3, only the data channel works.
const CONTENT_SECURITY_POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; \
     connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Assigns request ids of the form `<process start>-<count>`, which are unique without random numbers.
#[derive(Clone)]
pub(crate) struct RequestIds {
    prefix: Arc<str>,
    count: Arc<AtomicU64>,
}

impl RequestIds {
    pub(crate) fn starting_at(now: recall_domain::Timestamp) -> Self {
        Self { prefix: format!("{:x}", now.timestamp_millis()).into(), count: Arc::default() }
    }

    /// Returns the client's request id if it is safe to log, or else a new one.
    fn id_of(&self, headers: &HeaderMap) -> String {
        let given = headers.get(&REQUEST_ID).and_then(|v| v.to_str().ok());
        let plain = |id: &&str| {
            (1..=MAX_REQUEST_ID_BYTES).contains(&id.len())
                && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        };
        match given.filter(plain) {
            Some(id) => id.to_owned(),
            None => format!("{}-{}", self.prefix, self.count.fetch_add(1, Ordering::Relaxed)),
        }
    }
}

/// Middleware: adds the request id, the tracing span and the metrics. It is the outermost layer.
pub(crate) async fn observe(State(ids): State<RequestIds>, mut request: Request, next: Next) -> Response {
    let id = ids.id_of(request.headers());
    let method = method_label(request.method());
    let route = request.extensions().get::<MatchedPath>().map_or_else(|| "page".to_owned(), |path| path.as_str().to_owned());
    // Log only the route. The URL contains questions and ids of users.
    let span = tracing::info_span!("request", id = %id, method, route);
    let id = HeaderValue::from_str(&id).unwrap_or_else(|_| HeaderValue::from_static("-"));
    request.headers_mut().insert(REQUEST_ID, id.clone());
    let started = Instant::now();
    let mut response = async {
        let response = next.run(request).await;
        let ms = started.elapsed().as_secs_f64() * 1e3;
        tracing::debug!(status = response.status().as_u16(), ms, "answered");
        response
    }
    .instrument(span)
    .await;
    let status = response.status().as_str().to_owned();
    metrics::counter!("recall_http_requests_total", "method" => method, "route" => route.clone(), "status" => status).increment(1);
    metrics::histogram!("recall_http_request_seconds", "method" => method, "route" => route).record(started.elapsed().as_secs_f64());
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

/// Middleware: turns the router's own refusals into problem details.
///
/// The router refuses unknown paths and methods, and queries that it cannot read.
pub(crate) async fn problem_details(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let plain = response.headers().get(header::CONTENT_TYPE).is_none_or(|t| t.as_bytes().starts_with(b"text/plain"));
    let status = response.status();
    let refused = |code, sentence| ApiError::refused(status, code, sentence);
    let error = match status {
        StatusCode::BAD_REQUEST => refused("BAD_REQUEST", "The path or the query cannot be read. Check their encoding."),
        StatusCode::NOT_FOUND => ApiError::nothing_here(),
        StatusCode::METHOD_NOT_ALLOWED => refused("METHOD_NOT_ALLOWED", "This URL does not support the method. See the `Allow` header."),
        StatusCode::PAYLOAD_TOO_LARGE => refused("BODY_TOO_LARGE", "The body is too large. Send less at a time."),
        _ => return response,
    };
    if !plain {
        return response;
    }
    let allowed = response.headers().get(header::ALLOW).cloned();
    let mut problem = error.into_response();
    if let Some(allowed) = allowed {
        problem.headers_mut().insert(header::ALLOW, allowed);
    }
    problem
}

/// Returns the method as a metrics label. Unusual methods share one label, so that clients cannot create labels without limit.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        Method::PUT => "PUT",
        _ => "OTHER",
    }
}

/// Middleware: adds security headers to the response.
pub(crate) async fn security_headers(State(transport): State<Transport>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
    set(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY);
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::X_FRAME_OPTIONS, "DENY");
    set(header::REFERRER_POLICY, "no-referrer");
    set(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    set(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    if transport == Transport::Encrypted {
        set(header::STRICT_TRANSPORT_SECURITY, "max-age=31536000");
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Whether browsers must use TLS (HTTP Strict Transport Security).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// Browsers may use any transport.
    Any,
    /// Browsers must use TLS from now on.
    Encrypted,
}

impl Transport {
    /// Requires TLS only for a public HTTPS host. Every program on the machine shares `localhost`.
    pub(crate) fn of(public: Option<&Origin>) -> Self {
        if public.is_some_and(Origin::demands_tls) { Self::Encrypted } else { Self::Any }
    }
}

/// Layer: compresses larger responses for clients that accept gzip. On a phone the transfer of a list takes longer than everything else.
pub(crate) fn compression() -> CompressionLayer<SizeAbove> {
    CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(SizeAbove::new(MIN_COMPRESSED_BYTES))
}

/// Middleware: ends a request with `TIMEOUT` if it is not done within the limit. Streams do not use it.
pub(crate) async fn enforce_timeout(State(limit): State<Duration>, request: Request, next: Next) -> Response {
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => ApiError::timeout().into_response(),
    }
}

/// Returns the response for a handler that panicked.
///
/// The panic message may contain user text, so it appears neither in the response nor in the log.
pub(crate) fn panic_response(_: Box<dyn Any + Send + 'static>) -> Response {
    metrics::counter!("recall_http_panics_total").increment(1);
    ApiError::internal(Arc::new(std::io::Error::other("a handler panicked")) as Arc<_>).into_response()
}

/// Describes the metrics of this crate. Call it after the recorder is installed.
pub fn describe_metrics() {
    metrics::describe_counter!("recall_http_requests_total", "Answered requests, by method, route and status");
    metrics::describe_histogram!("recall_http_request_seconds", "Time to the head of the response, by method and route");
    metrics::describe_counter!("recall_http_panics_total", "Handlers that panicked");
    metrics::describe_gauge!("recall_http_connections", "Open connections");
    metrics::describe_counter!("recall_http_connections_refused_total", "Connections refused because their address had too many");
    metrics::describe_counter!("recall_http_unknown_proxy_requests_total", "Requests through proxies that are not in http.trusted_proxies");
    metrics::describe_counter!("recall_http_answers_untaken_total", "HTTP/2 responses ended because the client read nothing of them");
    metrics::describe_counter!("recall_proxied_answers_not_stored_total", "Answers of proxied conversations that could not be stored");
    metrics::describe_counter!("recall_requests_limited_total", "Requests refused because a caller or an address sent too many");
    metrics::describe_counter!("recall_shared_limits_missed_total", "Times that a shared limit could not be read from the database");
    metrics::describe_counter!("recall_tokens_refused_total", "Tokens refused, by reason");
    metrics::describe_counter!("recall_introspections_total", "Introspection requests for opaque tokens, by result");
    metrics::describe_counter!("recall_issuer_reads_total", "Reads of an issuer's keys, by result");
    metrics::describe_counter!("recall_logins_total", "Browser logins, by result");
    metrics::describe_counter!("recall_login_renewals_total", "Login renewals at the issuer, by result");
    metrics::describe_counter!("recall_visits_total", "Started visits");
    metrics::describe_counter!("recall_tls_handshakes_failed_total", "Failed TLS handshakes");
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use axum::{Router, body::Body, middleware::from_fn_with_state, routing::get};
    use tower::ServiceExt;
    use tower_http::catch_panic::CatchPanicLayer;

    use super::*;

    async fn response_of(router: Router) -> (u16, String) {
        let response = router.oneshot(Request::new(Body::empty())).await.unwrap();
        let status = response.status().as_u16();
        let body = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    #[allow(clippy::panic)]
    async fn panic_response_contains_no_user_text() {
        async fn handler() {
            panic!("user text");
        }
        let (status, body) = response_of(Router::new().route("/", get(handler)).layer(CatchPanicLayer::custom(panic_response))).await;
        assert_eq!(status, 500);
        assert!(body.contains("INTERNAL") && !body.contains("user text"), "{body}");
    }

    #[tokio::test]
    async fn endless_request_times_out() {
        let never = Router::new().route("/", get(std::future::pending::<()>));
        let (status, body) = response_of(never.layer(from_fn_with_state(Duration::ZERO, enforce_timeout))).await;
        assert_eq!(status, 504);
        assert!(body.contains("TIMEOUT"), "{body}");
    }

    #[test]
    fn unsafe_client_request_id_is_replaced() {
        let ids = RequestIds::starting_at(chrono::DateTime::UNIX_EPOCH);
        let with = |value: &'static [u8]| {
            let mut headers = HeaderMap::new();
            headers.insert(REQUEST_ID, HeaderValue::from_bytes(value).unwrap());
            ids.id_of(&headers)
        };
        assert_eq!(with(b"abc-1.2_Z"), "abc-1.2_Z");
        assert_eq!(with(b"a b"), "0-0");
        assert_eq!(with(&[b'a'; 65]), "0-1");
        assert_eq!(with("ä".as_bytes()), "0-2");
        assert_eq!(ids.id_of(&HeaderMap::new()), "0-3");
    }
}
