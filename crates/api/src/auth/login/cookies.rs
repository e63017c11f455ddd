//! The cookies, as they are read and written. Their names begin with `__Host-`: browsers then take them only from this very
//! host over TLS (or loopback), for all of its paths, so no neighbour can plant one.

use axum::http::{HeaderMap, HeaderValue, header};

/// Of a login. Sent for requests of pages of this server only.
pub(in super::super) const LOGIN: &str = "__Host-recall";
/// Of a login that has begun. Also sent when the issuer sends the browser back.
pub(in super::super) const ATTEMPT: &str = "__Host-recall-login";

/// Of a visit. Sent for requests of pages of this server only.
pub(in super::super) const VISIT: &str = "__Host-recall-visit";

/// Who gets a cookie from the browser.
#[derive(Clone, Copy)]
pub(in super::super) enum SentFor {
    /// Only what pages of this server ask for.
    OwnPages,
    /// Links of others as well.
    Links,
}

/// The value of a cookie; `None` also when there are two, of which one is not ours.
pub(in super::super) fn read<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|v| v.to_str().ok()).flat_map(|v| v.split(';'));
    let mut found = all.filter_map(|pair| pair.trim().split_once('=')).filter(|(n, _)| *n == name).map(|(_, value)| value);
    found.next().filter(|_| found.next().is_none())
}

/// Whether there is such a cookie at all, whatever it says.
pub(in super::super) fn is_there(headers: &HeaderMap, name: &str) -> bool {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|v| v.to_str().ok()).flat_map(|v| v.split(';'));
    all.filter_map(|pair| pair.trim().split_once('=')).any(|(n, _)| n == name)
}

/// A `Set-Cookie` that lasts for so many seconds; none takes the cookie away. `None` if the value cannot stand there.
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
    fn a_cookie_is_found_among_others_and_two_are_none() {
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
