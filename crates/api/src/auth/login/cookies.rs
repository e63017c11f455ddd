//! Reads and writes the cookies.
//!
//! Their names begin with `__Host-`: browsers accept such cookies only from this host over TLS (or loopback), for all paths. So
//! another subdomain cannot set one.

use axum::http::{HeaderMap, HeaderValue, header};

/// Login cookie. Sent only with requests of pages of this server.
pub(in super::super) const LOGIN: &str = "__Host-recall";
/// Cookie of a login attempt. Also sent when the issuer redirects the browser back.
pub(in super::super) const ATTEMPT: &str = "__Host-recall-login";

/// Visit cookie. Sent only with requests of pages of this server.
pub(in super::super) const VISIT: &str = "__Host-recall-visit";

/// With which requests the browser sends a cookie.
#[derive(Clone, Copy)]
pub(in super::super) enum SentFor {
    /// Only with requests of pages of this server.
    OwnPages,
    /// Also when the user follows a link from another page.
    Links,
}

/// Reads the value of a cookie; `None` if there are two, because one of them is not from this server.
pub(in super::super) fn read<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|v| v.to_str().ok()).flat_map(|v| v.split(';'));
    let mut found = all.filter_map(|pair| pair.trim().split_once('=')).filter(|(n, _)| *n == name).map(|(_, value)| value);
    found.next().filter(|_| found.next().is_none())
}

/// Whether the request has such a cookie, valid or not.
pub(in super::super) fn is_present(headers: &HeaderMap, name: &str) -> bool {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|v| v.to_str().ok()).flat_map(|v| v.split(';'));
    all.filter_map(|pair| pair.trim().split_once('=')).any(|(n, _)| n == name)
}

/// Builds a `Set-Cookie` value; 0 seconds delete the cookie. `None` if the value is not a valid header value.
pub(in super::super) fn set(name: &str, value: &str, sent: SentFor, seconds: u64) -> Option<HeaderValue> {
    let same_site = match sent {
        SentFor::OwnPages => "Strict",
        SentFor::Links => "Lax",
    };
    let mut cookie =
        HeaderValue::from_str(&format!("{name}={value}; Max-Age={seconds}; Path=/; Secure; HttpOnly; SameSite={same_site}")).ok()?;
    cookie.set_sensitive(true);
    Some(cookie)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_cookies_are_ignored() {
        let read = |lines: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(header::COOKIE, HeaderValue::from_static(line));
            }
            super::read(&headers, LOGIN).map(str::to_owned)
        };
        assert_eq!(read(&["a=b; __Host-recall=x; c"]).as_deref(), Some("x"));
        assert_eq!(read(&["a=b", "__Host-recall=x=y"]).as_deref(), Some("x=y"), "HTTP/2 may split the header");
        for none in [&[][..], &["__host-recall=x"], &["a__Host-recall=x"], &["__Host-recall-login=x"], &["__Host-recall"]] {
            assert_eq!(read(none), None, "{none:?}");
        }
        assert_eq!(read(&["__Host-recall=x; __Host-recall=y"]), None);
        assert_eq!(read(&["__Host-recall=x", "__Host-recall=x"]), None);
    }
}
