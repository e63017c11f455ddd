//! Checks the claims of ID tokens and logout tokens. Pure: signatures were verified before, and the time is an argument.

use std::time::Duration;

use chrono::TimeDelta;
use serde_json::{Map, Value};

use super::super::token::claims::{parse_numeric_date, string_values, user_id};
use recall_domain::{Timestamp, UserId};
use recall_ports::LoggedOut;

/// Maximum length of a text claim that is stored.
const MAX_TEXT_CHARS: usize = 255;
/// Event name in logout tokens (OpenID Connect Back-Channel Logout, section 2.4).
const LOGOUT_EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";
/// Maximum age of a logout token without an expiry.
const MAX_LOGOUT_TOKEN_AGE: TimeDelta = TimeDelta::minutes(5);

/// Expected issuer, client and time of a token.
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) client_id: &'a str,
    pub(super) now: Timestamp,
    pub(super) skew: Duration,
}

/// The user of an ID token.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Person {
    pub(super) user: UserId,
    /// The id of the session at the issuer.
    pub(super) session: Option<String>,
    pub(super) name: Option<String>,
}

fn text<'c>(claims: &'c Map<String, Value>, name: &str) -> Option<&'c str> {
    claims.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

fn bounded_text(claims: &Map<String, Value>, name: &str) -> Option<String> {
    text(claims, name).filter(|t| t.chars().count() <= MAX_TEXT_CHARS).map(str::to_owned)
}

impl Expected<'_> {
    fn skew(&self) -> TimeDelta {
        TimeDelta::from_std(self.skew).unwrap_or_default()
    }

    /// Checks the claims that both kinds of tokens have. The error names the wrong claim.
    fn common(&self, claims: &Map<String, Value>) -> Result<(), &'static str> {
        if text(claims, "iss") != Some(self.issuer) {
            return Err("issuer");
        }
        if !string_values(claims.get("aud")).any(|a| a == self.client_id) {
            return Err("audience");
        }
        if claims.get("exp").is_some_and(|exp| parse_numeric_date(exp).is_none_or(|exp| self.now >= exp + self.skew())) {
            return Err("expired");
        }
        match claims.get("iat").map(parse_numeric_date) {
            Some(Some(issued)) if issued <= self.now + self.skew() => Ok(()),
            _ => Err("early"),
        }
    }

    /// Checks an ID token and returns its user (OpenID Connect Core, section 3.1.3.7).
    ///
    /// `nonce` is that of the login attempt; `None` when a login is renewed.
    pub(super) fn person(&self, claims: &Map<String, Value>, nonce: Option<&str>) -> Result<Person, &'static str> {
        self.common(claims)?;
        if !claims.contains_key("exp") {
            return Err("expiry");
        }
        // With several audiences, the token must name the authorized party.
        let party = claims.get("azp");
        if party.is_some_and(|p| p.as_str() != Some(self.client_id)) || (party.is_none() && string_values(claims.get("aud")).count() > 1) {
            return Err("party");
        }
        if nonce.is_some() && text(claims, "nonce") != nonce {
            return Err("nonce");
        }
        let subject = text(claims, "sub").ok_or("subject")?;
        Ok(Person {
            user: user_id(self.issuer, subject),
            session: bounded_text(claims, "sid"),
            name: ["name", "preferred_username", "email"].into_iter().find_map(|claim| bounded_text(claims, claim)),
        })
    }

    /// Checks a logout token (OpenID Connect Back-Channel Logout, section 2.6). Returns what to log out and when it was issued.
    pub(super) fn logged_out(&self, claims: &Map<String, Value>) -> Result<(LoggedOut, Timestamp), &'static str> {
        self.common(claims)?;
        let issued = claims.get("iat").and_then(parse_numeric_date).ok_or("early")?;
        if !claims.contains_key("exp") && self.now >= issued + MAX_LOGOUT_TOKEN_AGE {
            return Err("expired");
        }
        // Only these two claims distinguish an ID token from a logout token.
        if claims.contains_key("nonce") {
            return Err("nonce");
        }
        if !claims.get("events").and_then(|events| events.get(LOGOUT_EVENT)).is_some_and(Value::is_object) {
            return Err("event");
        }
        if text(claims, "jti").is_none() {
            return Err("token_id");
        }
        let of = match (text(claims, "sid"), text(claims, "sub")) {
            (Some(session), _) => LoggedOut::Session(session.to_owned()),
            (None, Some(subject)) => LoggedOut::User(user_id(self.issuer, subject)),
            (None, None) => return Err("subject"),
        };
        Ok((of, issued))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    const ISSUER: &str = "https://login.example.org";
    const NOW: i64 = 1_800_000_000;

    fn expected() -> Expected<'static> {
        let now = Timestamp::from_timestamp(NOW, 0).unwrap();
        Expected { issuer: ISSUER, client_id: "web", now, skew: Duration::from_secs(5) }
    }

    fn changed(mut claims: Value, change: &Value) -> Map<String, Value> {
        for (name, value) in change.as_object().unwrap() {
            match value {
                Value::Null => claims.as_object_mut().unwrap().remove(name),
                value => claims.as_object_mut().unwrap().insert(name.clone(), value.clone()),
            };
        }
        claims.as_object().unwrap().clone()
    }

    fn id_token(change: Value) -> Result<Person, &'static str> {
        let good = json!({ "iss": ISSUER, "sub": "anna", "aud": "web", "exp": NOW + 60, "iat": NOW, "nonce": "n", "sid": "s",
            "name": "Anna" });
        expected().person(&changed(good, &change), Some("n"))
    }

    #[test]
    fn id_token_must_match_client_and_login() {
        let person = id_token(json!({})).unwrap();
        assert_eq!(person, Person { user: user_id(ISSUER, "anna"), session: Some("s".to_owned()), name: Some("Anna".to_owned()) });
        for good in [
            json!({ "aud": ["web"] }),
            json!({ "aud": ["web", "api"], "azp": "web" }),
            json!({ "exp": NOW - 4 }),
            json!({ "iat": NOW + 4 }),
        ] {
            assert!(id_token(good.clone()).is_ok(), "{good}");
        }
        for (bad, why) in [
            (json!({ "iss": "https://evil.example" }), "issuer"),
            (json!({ "iss": null }), "issuer"),
            (json!({ "aud": "another" }), "audience"),
            (json!({ "aud": [] }), "audience"),
            (json!({ "aud": ["web", "api"] }), "party"),
            (json!({ "azp": "api" }), "party"),
            (json!({ "azp": 7 }), "party"),
            (json!({ "exp": NOW - 5 }), "expired"),
            (json!({ "exp": "soon" }), "expired"),
            (json!({ "exp": null }), "expiry"),
            (json!({ "iat": NOW + 6 }), "early"),
            (json!({ "iat": null }), "early"),
            (json!({ "nonce": "m" }), "nonce"),
            (json!({ "nonce": null }), "nonce"),
            (json!({ "sub": null }), "subject"),
            (json!({ "sub": "" }), "subject"),
        ] {
            assert_eq!(id_token(bad.clone()), Err(why), "{bad}");
        }
        let nameless = id_token(json!({ "name": "a".repeat(256), "sid": 7 })).unwrap();
        assert_eq!((nameless.name, nameless.session), (None, None));
    }

    fn logout_token(change: Value) -> Result<LoggedOut, &'static str> {
        let good = json!({ "iss": ISSUER, "sub": "anna", "sid": "s", "aud": "web", "iat": NOW, "exp": NOW + 60, "jti": "1",
            "events": { LOGOUT_EVENT: {} } });
        expected().logged_out(&changed(good, &change)).map(|(of, _)| of)
    }

    #[test]
    fn logout_token_needs_event_and_subject() {
        assert_eq!(logout_token(json!({})), Ok(LoggedOut::Session("s".to_owned())));
        assert_eq!(logout_token(json!({ "sid": null })), Ok(LoggedOut::User(user_id(ISSUER, "anna"))));
        assert_eq!(logout_token(json!({ "sub": null })), Ok(LoggedOut::Session("s".to_owned())));
        assert!(logout_token(json!({ "exp": null, "iat": NOW - 299 })).is_ok());
        for (bad, why) in [
            (json!({ "events": null }), "event"),
            (json!({ "events": { LOGOUT_EVENT: true } }), "event"),
            (json!({ "events": [LOGOUT_EVENT] }), "event"),
            (json!({ "nonce": "n" }), "nonce"),
            (json!({ "aud": "another" }), "audience"),
            (json!({ "iss": "https://evil.example" }), "issuer"),
            (json!({ "iat": null }), "early"),
            (json!({ "exp": NOW - 5 }), "expired"),
            (json!({ "exp": null, "iat": NOW - 300 }), "expired"),
            (json!({ "jti": null }), "token_id"),
            (json!({ "sub": null, "sid": null }), "subject"),
        ] {
            assert_eq!(logout_token(bad.clone()), Err(why), "{bad}");
        }
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_claims_never_panic(exp: f64, iat: f64, text in ".{0,30}") {
            let odd = json!({ "exp": exp, "iat": iat, "aud": [text, 7, null], "azp": text, "events": text, "sid": [text] });
            let _ = (id_token(odd.clone()), logout_token(odd));
        }
    }
}
