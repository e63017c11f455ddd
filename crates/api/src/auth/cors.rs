//! What a browser is told when a page of another origin, which an operator has allowed, calls the API (CORS). There are no
//! cookies here, so none are ever let through: such a page shows a token as every other client does.

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderName, HeaderValue, Method, StatusCode, header},
    response::Response,
};

/// How long a browser may remember a permission, in seconds.
const REMEMBERED: &str = "600";
const METHODS: &str = "GET, POST, PATCH, DELETE, OPTIONS";
/// What clients of this API send.
const SENT: &str = "authorization, content-type, if-match, last-event-id, x-request-id";
/// What scripts may read of an answer.
const SHOWN: &str = "etag, link, location, retry-after, www-authenticate, x-request-id";

/// Whether a browser asks before it sends a request.
pub(super) fn asks(request: &Request) -> bool {
    request.method() == Method::OPTIONS && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// The answer to that. It is the same in every place, and so says nothing of what there is.
pub(super) fn permission() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let mut set = |name: HeaderName, value| response.headers_mut().insert(name, HeaderValue::from_static(value));
    set(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    set(header::ACCESS_CONTROL_ALLOW_HEADERS, SENT);
    set(header::ACCESS_CONTROL_MAX_AGE, REMEMBERED);
    response
}

/// Lets scripts of `origin` read the answer. Caches are told that it differs for others.
pub(super) fn open(origin: Option<HeaderValue>, response: &mut Response) {
    let headers = response.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(SHOWN));
    }
}
