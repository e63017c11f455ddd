//! A login that has begun: what the browser takes with it to the issuer and back. Everything is computed from one random
//! secret in a cookie, so no server has to keep it, and any of them can go on. Pure, but for the random secret.

use ring::{
    digest::{SHA256, digest},
    hmac,
    rand::{SecureRandom, SystemRandom},
};

use subtle::ConstantTimeEq;

use recall_domain::{Timestamp, TokenDigest};

/// How long a person may take at the issuer.
pub(super) const SECONDS: i64 = 600;
/// Longest address to come back to.
const MAX_PATH: usize = 1_000;

/// 32 random bytes, written as hexadecimal digits: of a login that has begun, and of one that has succeeded.
#[derive(Clone)]
pub(in super::super) struct Secret(String);

/// The machine gives no random numbers.
#[derive(Debug, thiserror::Error)]
#[error("the machine gives no random numbers")]
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

    /// By which the store knows it.
    pub(in super::super) fn digest(&self) -> TokenDigest {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, self.0.as_bytes()).as_ref());
        TokenDigest(bytes)
    }

    /// What pages of this server show besides the cookie, which browsers also send for others.
    pub(in super::super) fn csrf(&self) -> String {
        self.derived(&["csrf"])
    }

    /// Another secret for another purpose, from which this one cannot be computed.
    fn derived(&self, purpose: &[&str]) -> String {
        let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, self.0.as_bytes()));
        for part in purpose {
            // With the length, so that no two lists are one.
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part.as_bytes());
        }
        hex(context.sign().as_ref())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A login that has begun.
pub(super) struct Attempt {
    secret: Secret,
    begun: i64,
    return_to: String,
}

impl Attempt {
    pub(super) fn new(now: Timestamp, return_to: &str) -> Result<Self, NoRandom> {
        Ok(Self { secret: Secret::fresh()?, begun: now.timestamp(), return_to: return_to.to_owned() })
    }

    /// The value of its cookie.
    pub(super) fn cookie(&self) -> String {
        let return_to: String = form_urlencoded::byte_serialize(self.return_to.as_bytes()).collect();
        format!("{}.{}.{return_to}", self.secret.text(), self.begun)
    }

    /// Reads the cookie; `None` when it is none of this server, or too old.
    pub(super) fn parse(cookie: &str, now: Timestamp) -> Option<Self> {
        let mut parts = cookie.splitn(3, '.');
        let secret = Secret::parse(parts.next()?)?;
        let begun: i64 = parts.next()?.parse().ok()?;
        let encoded = parts.next()?;
        let age = now.timestamp().checked_sub(begun)?;
        let pair = format!("a={encoded}");
        let (_, return_to) = form_urlencoded::parse(pair.as_bytes()).next()?;
        let return_to = local_path(&return_to)?.to_owned();
        (0..SECONDS).contains(&age).then_some(Self { secret, begun, return_to })
    }

    /// What the issuer sends back, so that nobody can make a browser end a login that it has not begun.
    pub(super) fn state(&self) -> String {
        // Of all that the cookie says, so that no part of it can be changed.
        self.secret.derived(&["state", &self.begun.to_string(), &self.return_to])
    }

    pub(super) fn is_state(&self, given: &str) -> bool {
        self.state().as_bytes().ct_eq(given.as_bytes()).into()
    }

    /// What the issuer puts into the ID token, so that none of another login is taken.
    pub(super) fn nonce(&self) -> String {
        self.secret.derived(&["nonce"])
    }

    /// What only who began the login can show when the code is exchanged (RFC 7636).
    pub(super) fn verifier(&self) -> String {
        self.secret.derived(&["verifier"])
    }

    /// Where the browser goes afterwards.
    pub(super) fn return_to(&self) -> &str {
        &self.return_to
    }
}

/// A place on this server. What browsers could take for another server, whatever they make of odd characters, is none.
pub(super) fn local_path(text: &str) -> Option<&str> {
    let plain = text.len() <= MAX_PATH && text.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
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
    fn only_places_on_this_server_are_returned_to() {
        for good in ["/", "/#/s/1", "/graphql?x=%2F%2Fevil", "/a//b", "/@evil.example", "/.evil"] {
            assert_eq!(local_path(good), Some(good));
        }
        let long = format!("/{}", "a".repeat(MAX_PATH));
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
    fn a_cookie_serves_for_ten_minutes_and_as_it_is() {
        let begun = Attempt::new(at(1_000), "/#/s/1?a=b&c.d").unwrap();
        let cookie = begun.cookie();
        let read = Attempt::parse(&cookie, at(1_000 + SECONDS - 1)).unwrap();
        assert_eq!((read.state(), read.nonce(), read.verifier()), (begun.state(), begun.nonce(), begun.verifier()));
        assert_eq!(read.return_to(), "/#/s/1?a=b&c.d");
        assert!(read.is_state(&begun.state()) && !read.is_state("") && !read.is_state(&begun.nonce()));
        for late in [999, 1_000 + SECONDS, i64::from(i32::MAX)] {
            assert!(Attempt::parse(&cookie, at(late)).is_none(), "{late}");
        }
        for bad in ["", "a.b.c", &cookie[1..], &cookie.replace(".1000.", ".x."), &cookie.replace("%2F", "%2F%2F")] {
            assert!(Attempt::parse(bad, at(1_000)).is_none(), "{bad}");
        }
        let moved = Attempt::parse(&cookie.replace(".1000.", ".1001."), at(1_001)).unwrap();
        assert!(!moved.is_state(&begun.state()), "its state says what else it said");
        assert_ne!(Attempt::new(at(0), "/").unwrap().state(), Attempt::new(at(0), "/").unwrap().state());
    }

    #[test]
    fn what_is_shown_tells_nothing_of_the_secret() {
        let secret = Secret::fresh().unwrap();
        assert_ne!(secret.csrf(), secret.text());
        assert_eq!(Secret::parse(secret.text()).unwrap().csrf(), secret.csrf());
        for bad in ["", "0", &secret.text()[1..], &secret.text().to_uppercase().replace('0', "O"), &format!("{}0", secret.text())] {
            assert!(Secret::parse(bad).is_none(), "{bad}");
        }
    }

    proptest::proptest! {
        #[test]
        fn whatever_a_cookie_says_it_leads_nowhere_else(cookie in ".{0,80}", path in ".{0,40}") {
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
