//! Serves the static files embedded in the binary: the demo at `/`, GraphiQL at `GET /graphql`, and their assets.

use std::{
    collections::HashMap,
    io::Write,
    sync::{Arc, LazyLock, OnceLock},
};

use parking_lot::Mutex;

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header},
    response::{IntoResponse, Redirect, Response},
};
use flate2::{Compression, write::GzEncoder};
use rust_embed::{EmbeddedFile, RustEmbed};

use super::error::ApiError;

#[derive(RustEmbed)]
#[folder = "../../web-demo/dist"]
struct StaticFiles;

/// `GET /graphql` from a browser: serves GraphiQL.
pub(crate) fn graphiql(headers: &HeaderMap, uri: &Uri, html: bool) -> Response {
    // A query in the URL is refused to a browser instead of ignored, so that nobody expects a link to run one.
    if uri.query().is_some_and(|q| q.split('&').any(|pair| pair.starts_with("query=") || pair.starts_with("mutation="))) {
        return method_not_allowed();
    }
    match StaticFiles::get("graphiql/index.html") {
        Some(file) if html => serve("graphiql/index.html", file, headers),
        _ => method_not_allowed(),
    }
}

fn method_not_allowed() -> Response {
    let message =
        "GET runs only queries, from the parameter `query` or `documentId`, and none in a browser. Send other operations by POST as JSON.";
    let mut response = ApiError::refused(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", message).into_response();
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
    response
}

/// Serves a static file for every path without a route, or 404.
pub(crate) async fn static_file(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    let is_read = method == Method::GET || method == Method::HEAD;
    if path == "favicon.ico"
        && is_read
        && let Some(icon) = icon_path()
    {
        return Redirect::temporary(&icon).into_response();
    }
    let path = if path.is_empty() { "index.html" } else { path };
    match StaticFiles::get(path) {
        Some(file) if is_read => serve(path, file, &headers),
        Some(_) => {
            ApiError::refused(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", "This page can only be read. Use GET.").into_response()
        }
        None => ApiError::nothing_here().into_response(),
    }
}

/// Path of the demo's icon. Browsers ask for `/favicon.ico` on each page that names no icon, such as `/healthz`.
fn icon_path() -> Option<String> {
    StaticFiles::iter().find(|name| name.starts_with("assets/mark-") && name.ends_with(".svg")).map(|name| format!("/{name}"))
}

/// Minimum size of a file that is compressed.
const MIN_GZIP_BYTES: usize = 256;

/// Compressed files, cached at their first request.
///
/// Compressing the largest file takes longer than most requests, and any client may request it.
static GZIPPED: LazyLock<Mutex<HashMap<String, GzippedFile>>> = LazyLock::new(Mutex::default);

/// One compressed file; `None` if compression failed.
type GzippedFile = Arc<OnceLock<Option<Bytes>>>;

/// Returns the file compressed with gzip, if its type compresses well. Only for existing files, which bounds the cache.
fn gzipped(path: &str, file: &EmbeddedFile) -> Option<Bytes> {
    let kind = content_type(path);
    let is_text =
        ["text/", "application/json", "application/manifest", "image/svg", "application/wasm"].iter().any(|k| kind.starts_with(k));
    if !is_text || file.data.len() < MIN_GZIP_BYTES {
        return None;
    }
    let cell = GZIPPED.lock().entry(path.to_owned()).or_default().clone();
    let compress = || {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&file.data).and_then(|()| encoder.finish()).ok().map(Bytes::from)
    };
    cell.get_or_init(compress).clone()
}

/// Whether the client accepts gzip.
fn accepts_gzip(request: &HeaderMap) -> bool {
    let lines = request.get_all(header::ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|one| {
        let (name, parameters) = one.split_once(';').unwrap_or((one, ""));
        name.trim().eq_ignore_ascii_case("gzip") && !matches!(parameters.trim().trim_start_matches("q="), "0" | "0.0" | "0.00" | "0.000")
    })
}

fn serve(path: &str, file: EmbeddedFile, request: &HeaderMap) -> Response {
    let hash = file.metadata.sha256_hash();
    let tag: String = hash[..12].iter().map(|byte| format!("{byte:02x}")).collect();
    let tag = format!("\"{tag}\"");
    let known = request.get(header::IF_NONE_MATCH).and_then(|v| v.to_str().ok());
    // The tag may be weak: a proxy can weaken it, and compressed files have weak tags because their bytes differ.
    let is_unchanged = known.is_some_and(|k| k.split(',').any(|t| t.trim().trim_start_matches("W/") == tag));
    let gzipped = gzipped(path, &file);
    let can_gzip = gzipped.is_some();
    let gzipped = gzipped.filter(|_| accepts_gzip(request));
    let tag = if gzipped.is_some() { format!("W/{tag}") } else { tag };
    let is_gzipped = gzipped.is_some() && !is_unchanged;
    let mut response = match is_unchanged {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Response::new(Body::from(gzipped.unwrap_or_else(|| file_bytes(file)))),
    };
    let headers = response.headers_mut();
    if can_gzip {
        headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    }
    if is_gzipped {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    // File names in `assets` contain a hash of the content. Other names stay the same when the content changes.
    let cache = if path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type(path)));
    response
}

fn file_bytes(file: EmbeddedFile) -> Bytes {
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn file_is_compressed_once() {
        let file = || StaticFiles::get("index.html").unwrap();
        let mut whole = Vec::new();
        let once = gzipped("index.html", &file()).unwrap();
        flate2::read::GzDecoder::new(&once[..]).read_to_end(&mut whole).unwrap();
        assert_eq!(whole, file().data.as_ref());
        assert_eq!(gzipped("index.html", &file()).unwrap().as_ptr(), once.as_ptr(), "the second request gets the cached bytes");
        assert!(gzipped("picture.png", &file()).is_none());
    }

    #[test]
    fn gzip_is_sent_only_to_clients_that_accept_it() {
        let takes = |line: &str| accepts_gzip(&[(header::ACCEPT_ENCODING, line.parse().unwrap())].into_iter().collect());
        for (line, expected) in [
            ("gzip", true),
            ("br, GZIP;q=0.5", true),
            ("gzip;q=0", false),
            ("gzip; q=0.0, br", false),
            ("x-gzip", false),
            ("", false),
            ("*", false),
        ] {
            assert_eq!(takes(line), expected, "{line}");
        }
    }
}
