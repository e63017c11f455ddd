//! Refuses requests that foreign web pages cause.
//!
//! Every page in the user's browser can send requests to 127.0.0.1, and with DNS rebinding even appear to have the same origin.
//! The policy therefore checks `Host`, `Origin` and `Sec-Fetch-Site`. It must not look at bodies or identities.

use std::{net::IpAddr, str::FromStr, sync::Arc};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, StatusCode, Uri, header, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::cors;
use crate::error::ApiError;

/// Scheme, host and port of a page or server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    scheme: String,
    host: String,
    port: u16,
}

/// The text is not an `http` or `https` origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be an address such as https://recall.example.org, without a path")]
pub struct NotAnOrigin;

impl FromStr for Origin {
    type Err = NotAnOrigin;

    fn from_str(text: &str) -> Result<Self, NotAnOrigin> {
        let uri: Uri = text.trim_end_matches('/').parse().map_err(|_| NotAnOrigin)?;
        let scheme = uri.scheme_str().ok_or(NotAnOrigin)?.to_ascii_lowercase();
        let authority = uri.authority().ok_or(NotAnOrigin)?;
        if !matches!(scheme.as_str(), "http" | "https") || !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(NotAnOrigin);
        }
        Self::from_authority(&scheme, authority).ok_or(NotAnOrigin)
    }
}

impl Origin {
    fn from_authority(scheme: &str, authority: &Authority) -> Option<Self> {
        if authority.as_str().contains('@') || authority.host().is_empty() {
            return None;
        }
        let port = match authority.port() {
            Some(port) => port.as_str().parse().ok()?,
            None if authority.as_str().ends_with(':') => return None,
            None if scheme == "https" => 443,
            None => 80,
        };
        let host = authority.host().trim_end_matches('.').to_ascii_lowercase();
        Some(Self { scheme: scheme.to_owned(), host, port })
    }

    fn is_loopback(&self) -> bool {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        // Browsers resolve these names to loopback themselves, so no DNS server can rebind them.
        host == "localhost" || host.ends_with(".localhost") || IpAddr::from_str(host).is_ok_and(|ip| ip.to_canonical().is_loopback())
    }

    /// Whether the origin is HTTPS under a host name that is not loopback.
    pub(crate) fn demands_tls(&self) -> bool {
        self.scheme == "https" && !self.is_loopback()
    }

    /// Whether a `Host` header names this origin.
    pub(super) fn matches_host(&self, host: &str) -> bool {
        let given = Authority::from_str(host).ok().and_then(|authority| Self::from_authority(&self.scheme, &authority));
        given.is_some_and(|given| self.has_same_host(&given))
    }

    fn has_same_host(&self, other: &Self) -> bool {
        self.host == other.host && self.port == other.port
    }
}

/// Decides which hosts and origins may send requests.
#[derive(Clone, Debug)]
pub struct OriginPolicy {
    /// Port of the listener.
    pub port: u16,
    /// Whether the listener speaks TLS.
    pub is_tls: bool,
    /// Address under which users reach the server, if it is not a loopback address.
    pub public: Option<Origin>,
    /// Origins of other pages that may call the API.
    pub allowed: Vec<Origin>,
    /// Paths that programs with a token may use under any host name. One that ends with a slash stands for all paths below it.
    ///
    /// A scraper knows only the address of a pod. A page with DNS rebinding does not have the token, and browsers do not add it.
    pub by_token: Vec<&'static str>,
}

impl OriginPolicy {
    /// Checks the head of a request.
    ///
    /// # Errors
    /// 403 when the request names another host or comes from a foreign page.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), ApiError> {
        let host = match self.host(uri, headers) {
            Err(_) if self.has_required_token(uri, headers) => return Ok(()),
            host => host?,
        };
        if self.allows(headers) {
            return Ok(());
        }
        self.check_origin(&host, headers)?;
        // A request without `Origin` may still come from a page, for an image, a script or a frame. Links are allowed.
        let site = headers.get("sec-fetch-site").map(|v| v.as_bytes());
        let navigates = headers.get("sec-fetch-mode").is_some_and(|v| v == "navigate");
        match site {
            None | Some(b"same-origin" | b"none") => Ok(()),
            Some(_) if navigates => Ok(()),
            Some(_) => Err(foreign_origin()),
        }
    }

    /// Whether a program sends a token to one of the paths in `by_token`.
    ///
    /// A request with one of the other headers comes from a browser and does not count.
    fn has_required_token(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let is_bearer =
            |value: &header::HeaderValue| value.as_bytes().get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"bearer "));
        let is_listed = |listed: &&str| uri.path() == *listed || (listed.ends_with('/') && uri.path().starts_with(*listed));
        self.by_token.iter().any(is_listed)
            && headers.get(header::AUTHORIZATION).is_some_and(is_bearer)
            && !["origin", "sec-fetch-site", "cookie"].iter().any(|name| headers.contains_key(*name))
    }

    /// Returns the host that the request names, if it is this server.
    fn host(&self, uri: &Uri, headers: &HeaderMap) -> Result<Origin, ApiError> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let authority = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().ok().and_then(|h| Authority::from_str(h).ok()),
            (None, _) => uri.authority().cloned(),
            (Some(_), Some(_)) => None,
        };
        let scheme = self.public.as_ref().map_or("http", |p| p.scheme.as_str());
        let authority = authority.ok_or_else(foreign_host)?;
        if let (Some(public), Some(host)) = (&self.public, Origin::from_authority(scheme, &authority))
            && public.has_same_host(&host)
        {
            return Ok(host);
        }
        match Origin::from_authority(if self.is_tls { "https" } else { "http" }, &authority) {
            Some(host) if host.is_loopback() && host.port == self.port => Ok(host),
            _ => Err(foreign_host()),
        }
    }

    /// Whether the request comes from an allowed origin.
    fn allows(&self, headers: &HeaderMap) -> bool {
        let mut given = headers.get_all(header::ORIGIN).iter();
        match (given.next(), given.next()) {
            (Some(one), None) => one.to_str().ok().and_then(|o| o.parse().ok()).is_some_and(|origin| self.allowed.contains(&origin)),
            _ => false,
        }
    }

    fn check_origin(&self, host: &Origin, headers: &HeaderMap) -> Result<(), ApiError> {
        let mut origins = headers.get_all(header::ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (None, _) => Ok(()),
            (Some(origin), None) => {
                let origin = origin.to_str().ok().and_then(|o| Origin::from_str(o).ok()).ok_or_else(foreign_origin)?;
                let same = origin == *host || self.public.as_ref() == Some(&origin);
                if same { Ok(()) } else { Err(foreign_origin()) }
            }
            (Some(_), Some(_)) => Err(foreign_origin()),
        }
    }
}

fn foreign_host() -> ApiError {
    ApiError::refused(
        StatusCode::FORBIDDEN,
        "FOREIGN_HOST",
        "This server does not answer under that host name. Use a loopback address with its port, or configure its public URL.",
    )
}

fn foreign_origin() -> ApiError {
    ApiError::refused(
        StatusCode::FORBIDDEN,
        "FOREIGN_ORIGIN",
        "Requests from other web pages are refused. Allow their origin in `http.cors_origins`.",
    )
}

/// Extension that marks a request from a page of another, allowed origin.
#[derive(Clone, Copy)]
pub(crate) struct ForeignPage;

/// Middleware: refuses requests for other hosts and from foreign pages.
///
/// Pages of this server, programs and pages of allowed origins may pass. CORS headers let the last read the response.
pub(crate) async fn guard(State(policy): State<Arc<OriginPolicy>>, mut request: Request, next: Next) -> Response {
    let origin = request.headers().get(header::ORIGIN).cloned().filter(|_| policy.allows(request.headers()));
    if origin.is_some() {
        request.extensions_mut().insert(ForeignPage);
    }
    let mut response = match policy.check(request.uri(), request.headers()) {
        Ok(()) if origin.is_some() && cors::is_preflight(&request) => cors::preflight_response(),
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    };
    if !policy.allowed.is_empty() {
        cors::allow_origin(origin, &mut response);
    }
    response
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    fn check(public: Option<&str>, headers: &[(&str, &str)]) -> bool {
        check_at("/graphql", public, headers)
    }

    fn check_at(path: &'static str, public: Option<&str>, headers: &[(&str, &str)]) -> bool {
        let policy = OriginPolicy {
            port: 8080,
            public: public.map(|p| p.parse().unwrap()),
            is_tls: false,
            allowed: vec!["https://app.example.org".parse().unwrap()],
            by_token: vec!["/metrics", "/v1/models/"],
        };
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::from_str(name).unwrap(), value.parse().unwrap());
        }
        policy.check(&Uri::from_static(path), &map).is_ok()
    }

    #[test]
    fn only_loopback_hosts_with_the_port_are_accepted() {
        for good in ["127.0.0.1:8080", "localhost:8080", "LOCALHOST:8080", "[::1]:8080", "recall.localhost:8080", "127.1.2.3:8080"] {
            assert!(check(None, &[("host", good)]), "{good}");
        }
        for bad in
            ["evil.example:8080", "localhost", "127.0.0.1:8081", "localhost.evil.example:8080", "192.168.0.1:8080", "a@localhost:8080", ""]
        {
            assert!(!check(None, &[("host", bad)]), "{bad}");
        }
        assert!(!check(None, &[]), "no host at all");
        assert!(!check(None, &[("host", "localhost:8080"), ("host", "evil.example:8080")]), "two hosts");
    }

    #[test]
    fn foreign_page_is_refused() {
        let host = ("host", "127.0.0.1:8080");
        assert!(check(None, &[host, ("origin", "http://127.0.0.1:8080")]));
        for bad in ["http://evil.example", "http://127.0.0.1:3000", "https://127.0.0.1:8080", "null", "http://localhost:8080", "file://"] {
            assert!(!check(None, &[host, ("origin", bad)]), "{bad}");
        }
        assert!(!check(None, &[host, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")]));
        assert!(!check(None, &[host, ("sec-fetch-site", "same-site"), ("sec-fetch-mode", "cors")]));
        assert!(check(None, &[host, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")]), "a link to the page");
        assert!(check(None, &[host, ("sec-fetch-site", "same-origin")]));
    }

    #[test]
    fn public_address_is_accepted_as_well_as_loopback() {
        let public = Some("https://recall.example.org");
        assert!(check(public, &[("host", "recall.example.org"), ("origin", "https://recall.example.org")]));
        assert!(check(public, &[("host", "recall.example.org:443")]));
        assert!(!check(public, &[("host", "recall.example.org"), ("origin", "http://recall.example.org")]));
        assert!(!check(public, &[("host", "recall.example.org:8080")]));
        assert!(check(public, &[("host", "127.0.0.1:8080")]));
        for bad in ["recall.example.org", "ftp://x", "https://x/path", "https://u@x"] {
            assert!(Origin::from_str(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn scraper_with_token_is_accepted_under_any_host() {
        let (pod, token) = (("host", "10.42.0.7:8080"), ("authorization", "Bearer secret"));
        let public = Some("https://recall.example.org");
        assert!(check_at("/metrics", public, &[pod, token]));
        assert!(!check_at("/metrics", public, &[pod]), "a page with DNS rebinding has no token");
        assert!(!check_at("/metrics", public, &[pod, ("authorization", "Basic eDp5")]));
        assert!(check_at("/v1/models/recall", public, &[pod, token]), "a path below a listed one");
        assert!(!check_at("/metrics/x", public, &[pod, token]) && !check_at("/graphql", public, &[pod, token]), "only paths in `by_token`");
        for of_a_page in [("origin", "http://10.42.0.7:8080"), ("sec-fetch-site", "same-origin"), ("cookie", "a=b")] {
            assert!(!check_at("/metrics", public, &[pod, token, of_a_page]), "{of_a_page:?}");
        }
    }

    #[test]
    fn allowed_origin_is_accepted_but_similar_ones_are_not() {
        let host = ("host", "127.0.0.1:8080");
        let cross = ("sec-fetch-site", "cross-site");
        assert!(check(None, &[host, cross, ("origin", "https://app.example.org")]));
        assert!(check(None, &[host, cross, ("origin", "https://APP.example.org:443")]));
        for bad in
            ["http://app.example.org", "https://app.example.org.evil.example", "https://x.app.example.org", "https://app.example.org:8443"]
        {
            assert!(!check(None, &[host, cross, ("origin", bad)]), "{bad}");
        }
        assert!(!check(None, &[host, cross]), "a missing origin is not an allowed one");
        assert!(!check(None, &[host, ("origin", "https://app.example.org"), ("origin", "https://app.example.org")]), "two origins");
        assert!(!check(None, &[("host", "evil.example:8080"), ("origin", "https://app.example.org")]), "and another host");
    }
}
