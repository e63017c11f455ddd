//! A login attempt: the state that the browser carries to the issuer and back.
//!
//! Everything is derived from one random secret in a cookie. No server stores it, so any server can complete the login. Pure,
//! except for the random secret.

use ring::{
    digest::{SHA256, digest},
    hmac,
    rand::{SecureRandom, SystemRandom},
};

use subtle::ConstantTimeEq;

use recall_domain::{Timestamp, TokenDigest};

/// Maximum time at the issuer.
pub(super) const MAX_AGE_SECONDS: i64 = 600;
/// Maximum length of the path to return to.
const MAX_PATH_BYTES: usize = 1_000;

/// 32 random bytes as hexadecimal digits: the secret of a login attempt, a login or a visit.
#[derive(Clone)]
pub(in super::super) struct Secret(String);

/// The system's random number generator failed.
#[derive(Debug, thiserror::Error)]
#[error("the system's random number generator failed")]
pub(in super::super) struct NoRandom;

impl Secret {
    pub(in super::super) fn fresh() -> Result<Self, NoRandom> {
        let mut bytes = [0; 32];
        SystemRandom::new().fill(&mut bytes).map_err(|_| NoRandom)?;
        Ok(Self(hex(&bytes)))
    }

    pub(in super::super) fn parse(text: &str) -> Option<Self> {
        let good = text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        good.then(|| Self(text.to_owned()))
    }

    pub(in super::super) fn text(&self) -> &str {
        &self.0
    }

    /// Digest that the store keeps instead of the secret.
    pub(in super::super) fn digest(&self) -> TokenDigest {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, self.0.as_bytes()).as_ref());
        TokenDigest(bytes)
    }

    /// Derives the CSRF token, which only pages of this server can send.
    pub(in super::super) fn csrf(&self) -> String {
        self.derive(&["csrf"])
    }

    /// Derives a secret for another purpose. The original cannot be computed from it.
    fn derive(&self, purpose: &[&str]) -> String {
        let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, self.0.as_bytes()));
        for part in purpose {
            // The length separates the parts, so that no two lists have the same input.
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part.as_bytes());
        }
        hex(context.sign().as_ref())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A login that was started and not yet completed.
pub(super) struct Attempt {
    secret: Secret,
    begun: i64,
    return_to: String,
}

impl Attempt {
    pub(super) fn new(now: Timestamp, return_to: &str) -> Result<Self, NoRandom> {
        Ok(Self { secret: Secret::fresh()?, begun: now.timestamp(), return_to: return_to.to_owned() })
    }

    /// Returns the value of the attempt cookie.
    pub(super) fn cookie(&self) -> String {
        let return_to: String = form_urlencoded::byte_serialize(self.return_to.as_bytes()).collect();
        format!("{}.{}.{return_to}", self.secret.text(), self.begun)
    }

    /// Reads the attempt cookie; `None` if it is malformed or too old.
    pub(super) fn parse(cookie: &str, now: Timestamp) -> Option<Self> {
        let mut parts = cookie.splitn(3, '.');
        let secret = Secret::parse(parts.next()?)?;
        let begun: i64 = parts.next()?.parse().ok()?;
        let encoded = parts.next()?;
        let age = now.timestamp().checked_sub(begun)?;
        let pair = format!("a={encoded}");
        let (_, return_to) = form_urlencoded::parse(pair.as_bytes()).next()?;
        let return_to = local_path(&return_to)?.to_owned();
        (0..MAX_AGE_SECONDS).contains(&age).then_some(Self { secret, begun, return_to })
    }

    /// Derives the `state` parameter.
    ///
    /// The issuer sends it back, so that no foreign page can complete a login that this browser has not started.
    pub(super) fn state(&self) -> String {
        // Covers all parts of the cookie, so that none of them can be changed.
        self.secret.derive(&["state", &self.begun.to_string(), &self.return_to])
    }

    pub(super) fn matches_state(&self, given: &str) -> bool {
        self.state().as_bytes().ct_eq(given.as_bytes()).into()
    }

    /// Derives the nonce. The issuer puts it into the ID token, so that the token of another login is refused.
    pub(super) fn nonce(&self) -> String {
        self.secret.derive(&["nonce"])
    }

    /// Derives the PKCE code verifier (RFC 7636).
    pub(super) fn verifier(&self) -> String {
        self.secret.derive(&["verifier"])
    }

    /// The path to which the browser returns.
    pub(super) fn return_to(&self) -> &str {
        &self.return_to
    }
}

/// Checks that the text is a path on this server. `None` if a browser might resolve it to another host.
pub(super) fn local_path(text: &str) -> Option<&str> {
    let plain = text.len() <= MAX_PATH_BYTES && text.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
    (plain && text.starts_with('/') && !text.starts_with("//")).then_some(text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(seconds, 0).unwrap()
    }

    #[test]
    fn only_local_paths_are_accepted() {
        for good in ["/", "/#/s/1", "/graphql?x=%2F%2Fevil", "/a//b", "/@evil.example", "/.evil"] {
            assert_eq!(local_path(good), Some(good));
        }
        let long = format!("/{}", "a".repeat(MAX_PATH_BYTES));
        for bad in [
            "",
            "a",
            "//evil.example",
            "///evil",
            "/\\evil.example",
            "\\/evil",
            "/\t/evil.example",
            "\t//evil",
            "https://evil.example",
            "javascript:alert(1)",
            "/ x",
            "/\r\nset-cookie: a=b",
            "/ä",
            " /",
            &long,
        ] {
            assert_eq!(local_path(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn attempt_cookie_expires_and_rejects_changes() {
        let begun = Attempt::new(at(1_000), "/#/s/1?a=b&c.d").unwrap();
        let cookie = begun.cookie();
        let read = Attempt::parse(&cookie, at(1_000 + MAX_AGE_SECONDS - 1)).unwrap();
        assert_eq!((read.state(), read.nonce(), read.verifier()), (begun.state(), begun.nonce(), begun.verifier()));
        assert_eq!(read.return_to(), "/#/s/1?a=b&c.d");
        assert!(read.matches_state(&begun.state()) && !read.matches_state("") && !read.matches_state(&begun.nonce()));
        for late in [999, 1_000 + MAX_AGE_SECONDS, i64::from(i32::MAX)] {
            assert!(Attempt::parse(&cookie, at(late)).is_none(), "{late}");
        }
        for bad in ["", "a.b.c", &cookie[1..], &cookie.replace(".1000.", ".x."), &cookie.replace("%2F", "%2F%2F")] {
            assert!(Attempt::parse(bad, at(1_000)).is_none(), "{bad}");
        }
        let moved = Attempt::parse(&cookie.replace(".1000.", ".1001."), at(1_001)).unwrap();
        assert!(!moved.matches_state(&begun.state()), "the state covers the start time");
        assert_ne!(Attempt::new(at(0), "/").unwrap().state(), Attempt::new(at(0), "/").unwrap().state());
    }

    #[test]
    fn csrf_token_differs_from_the_secret() {
        let secret = Secret::fresh().unwrap();
        assert_ne!(secret.csrf(), secret.text());
        assert_eq!(Secret::parse(secret.text()).unwrap().csrf(), secret.csrf());
        for bad in ["", "0", &secret.text()[1..], &secret.text().to_uppercase().replace('0', "O"), &format!("{}0", secret.text())] {
            assert!(Secret::parse(bad).is_none(), "{bad}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_cookie_leads_to_another_host(cookie in ".{0,80}", path in ".{0,40}") {
            if let Some(attempt) = Attempt::parse(&cookie, at(0)) {
                proptest::prop_assert!(local_path(attempt.return_to()).is_some());
            }
            if let Some(path) = local_path(&path) {
                let page = "https://here.example/some/page".parse::<oauth2::url::Url>().unwrap();
                let reached = page.join(path).unwrap();
                proptest::prop_assert_eq!(reached.host_str(), Some("here.example"));
            }
        }
    }
}
