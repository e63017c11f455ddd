//! CORS headers for pages of other origins that the operator has allowed.
//!
//! Credentials mode is never allowed, so such a page cannot use cookies and sends a token like any other client.

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderName, HeaderValue, Method, StatusCode, header},
    response::Response,
};

/// How long a browser may cache a preflight response, in seconds.
const MAX_AGE: &str = "600";
const METHODS: &str = "GET, POST, PATCH, DELETE, OPTIONS";
/// Headers that clients of this API send.
///
/// Those with `stainless` come from the official clients of the OpenAI protocol.
const REQUEST_HEADERS: &str = "authorization, content-type, if-match, last-event-id, x-request-id, x-recall-citations, x-openwebui-chat-id, \
    x-openwebui-task, x-stainless-arch, x-stainless-helper-method, x-stainless-lang, x-stainless-os, x-stainless-package-version, \
    x-stainless-retry-count, x-stainless-runtime, x-stainless-runtime-version, x-stainless-timeout";
/// Response headers that scripts may read.
const EXPOSED_HEADERS: &str = "etag, link, location, retry-after, www-authenticate, x-request-id";

/// Whether the request is a CORS preflight.
pub(super) fn is_preflight(request: &Request) -> bool {
    request.method() == Method::OPTIONS && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Returns the preflight response. It is the same for every path, so it does not reveal which routes exist.
pub(super) fn preflight_response() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let mut set = |name: HeaderName, value| response.headers_mut().insert(name, HeaderValue::from_static(value));
    set(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    set(header::ACCESS_CONTROL_ALLOW_HEADERS, REQUEST_HEADERS);
    set(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    response
}

/// Lets scripts of `origin` read the response. `Vary` tells caches that it depends on the origin.
pub(super) fn allow_origin(origin: Option<HeaderValue>, response: &mut Response) {
    let headers = response.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED_HEADERS));
    }
}
