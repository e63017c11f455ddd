//! The pages that live inside the binary: the demo at `/`, GraphiQL at `GET /graphql`, and their assets.

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use rust_embed::{EmbeddedFile, RustEmbed};

use super::error::ApiError;

#[derive(RustEmbed)]
#[folder = "web-demo/dist"]
struct Dist;

/// `GET /graphql` from a browser: the page to try queries on.
pub(crate) fn graphiql(headers: &HeaderMap, uri: &Uri, html: bool) -> Response {
    // A query in the address is refused and not ignored: nobody shall believe that a link can run one.
    if uri.query().is_some_and(|q| q.split('&').any(|pair| pair.starts_with("query=") || pair.starts_with("mutation="))) {
        return post_only();
    }
    match Dist::get("graphiql/index.html") {
        Some(file) if html => serve("graphiql/index.html", file, headers),
        _ => post_only(),
    }
}

fn post_only() -> Response {
    let message = "Operations are sent by POST as JSON; a browser gets a page to try them on.";
    let mut response = ApiError::refused(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", message).into_response();
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
    response
}

/// Everything that no route serves: a file of the pages, or nothing.
pub(crate) async fn file(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    match Dist::get(path) {
        Some(file) if method == Method::GET || method == Method::HEAD => serve(path, file, &headers),
        Some(_) => ApiError::refused(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", "This can only be read.").into_response(),
        None => ApiError::not_found("page").into_response(),
    }
}

fn serve(path: &str, file: EmbeddedFile, request: &HeaderMap) -> Response {
    let hash = file.metadata.sha256_hash();
    let tag: String = hash[..12].iter().map(|byte| format!("{byte:02x}")).collect();
    let tag = format!("\"{tag}\"");
    let known = request.get(header::IF_NONE_MATCH).and_then(|v| v.to_str().ok());
    // A proxy or our own compression may have made the tag weak.
    let fresh = known.is_some_and(|k| k.split(',').any(|t| t.trim().trim_start_matches("W/") == tag));
    let mut response = if fresh { StatusCode::NOT_MODIFIED.into_response() } else { Response::new(Body::from(bytes(file))) };
    let headers = response.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    // Names in `assets` contain a hash of the content; all other names stay when the content changes.
    let cache = if path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type(path)));
    response
}

fn bytes(file: EmbeddedFile) -> Bytes {
    match file.data {
        std::borrow::Cow::Borrowed(data) => Bytes::from_static(data),
        std::borrow::Cow::Owned(data) => Bytes::from(data),
    }
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("webmanifest") => "application/manifest+json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("ttf") => "font/ttf",
        Some("wasm") => "application/wasm",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
