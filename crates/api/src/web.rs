//! The pages that live inside the binary: the demo at `/`, GraphiQL at `GET /graphql`, and their assets.

use std::{
    collections::HashMap,
    io::Write,
    sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError},
};

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use flate2::{Compression, write::GzEncoder};
use rust_embed::{EmbeddedFile, RustEmbed};

use super::error::ApiError;

#[derive(RustEmbed)]
#[folder = "../../web-demo/dist"]
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
    let message = "Operations are not run by a link. Send them by POST as JSON.";
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
        Some(_) => {
            ApiError::refused(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", "This page can only be read. Use GET.").into_response()
        }
        None => ApiError::not_found("page").into_response(),
    }
}

/// What is shorter is not worth it.
const WORTH_PACKING: usize = 256;

/// Files as they were packed when they were first asked for. Once and not each time: packing the largest takes longer than most
/// requests, and everybody may ask for it.
static PACKED: LazyLock<Mutex<HashMap<String, Packed>>> = LazyLock::new(Mutex::default);

/// One file; nothing if it could not be packed.
type Packed = Arc<OnceLock<Option<Bytes>>>;

/// The file packed by gzip, if it is of a kind that gets shorter. Only files that there are may be asked for.
fn packed(path: &str, file: &EmbeddedFile) -> Option<Bytes> {
    let kind = content_type(path);
    let is_text =
        ["text/", "application/json", "application/manifest", "image/svg", "application/wasm"].iter().any(|k| kind.starts_with(k));
    if !is_text || file.data.len() < WORTH_PACKING {
        return None;
    }
    let place = PACKED.lock().unwrap_or_else(PoisonError::into_inner).entry(path.to_owned()).or_default().clone();
    let pack = || {
        let mut packer = GzEncoder::new(Vec::new(), Compression::default());
        packer.write_all(&file.data).and_then(|()| packer.finish()).ok().map(Bytes::from)
    };
    place.get_or_init(pack).clone()
}

/// Whether the client reads gzip.
fn takes_gzip(request: &HeaderMap) -> bool {
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
    // A proxy may have made the tag weak, or we, as what is packed has other bytes.
    let fresh = known.is_some_and(|k| k.split(',').any(|t| t.trim().trim_start_matches("W/") == tag));
    let packed = packed(path, &file);
    let may_be_packed = packed.is_some();
    let packed = packed.filter(|_| takes_gzip(request));
    let tag = if packed.is_some() { format!("W/{tag}") } else { tag };
    let is_packed = packed.is_some() && !fresh;
    let mut response = match fresh {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Response::new(Body::from(packed.unwrap_or_else(|| bytes(file)))),
    };
    let headers = response.headers_mut();
    if may_be_packed {
        headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    }
    if is_packed {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_page_is_packed_once() {
        let file = || Dist::get("index.html").unwrap();
        let mut whole = Vec::new();
        let once = packed("index.html", &file()).unwrap();
        flate2::read::GzDecoder::new(&once[..]).read_to_end(&mut whole).unwrap();
        assert_eq!(whole, file().data.as_ref());
        assert_eq!(packed("index.html", &file()).unwrap().as_ptr(), once.as_ptr(), "it is the same the second time");
        assert!(packed("picture.png", &file()).is_none());
    }

    #[test]
    fn gzip_is_taken_by_who_says_so() {
        let takes = |line: &str| takes_gzip(&[(header::ACCEPT_ENCODING, line.parse().unwrap())].into_iter().collect());
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
