//! What the claims of a token must say, and what they mean here. Pure: the signature has been checked, and the time is
//! an argument.

use std::time::Duration;

use chrono::TimeDelta;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::blocklist;
use crate::auth::Permissions;
use recall_domain::{Caller, Timestamp, TokenDigest, UserId, ViewerRole};

/// Below this name lie the users of all issuers. Changing it would give everybody another identity.
const ISSUERS: Uuid = Uuid::from_u128(0x8f1c_52b0_6d0e_4a57_9a63_2c1f_7b0d_e94a);

/// What is demanded of claims.
pub(in crate::auth) struct Rules {
    pub(super) audiences: Vec<String>,
    pub(super) types: Vec<String>,
    pub(super) role_claim: String,
    pub(super) admin_role: String,
    pub(in crate::auth) skew: Duration,
}

/// What claims give.
#[derive(Clone, Debug)]
pub(super) struct Granted {
    pub(super) caller: Caller,
    pub(super) permissions: Permissions,
    pub(super) until: Timestamp,
    /// What the issuer calls the token, by which it can be taken back.
    pub(super) token: Option<TokenDigest>,
}

/// Why claims are not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    Issuer,
    Subject,
    Audience,
    /// No expiry, or one that cannot be read.
    Expiry,
    Expired,
    /// Not valid yet, or issued in the future.
    Early,
    /// It tells who somebody is, not what its bearer may do.
    IdToken,
    /// Only the holder of a key may use it (RFC 7800), by DPoP (RFC 9449) or a client certificate (RFC 8705).
    Bound,
}

impl Problem {
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Issuer => "issuer",
            Self::Subject => "subject",
            Self::Audience => "audience",
            Self::Expiry => "expiry",
            Self::Expired => "expired",
            Self::Early => "early",
            Self::IdToken => "id_token",
            Self::Bound => "bound",
        }
    }
}

impl Rules {
    /// Whether a header's `typ` is one of an access token.
    pub(super) fn accepts_type(&self, typ: Option<&str>) -> bool {
        let Some(typ) = typ else { return false };
        let short = typ.get(.."application/".len()).filter(|p| p.eq_ignore_ascii_case("application/")).map_or(typ, |p| &typ[p.len()..]);
        self.types.iter().any(|t| t.eq_ignore_ascii_case(short))
    }

    /// Checks the claims of a token whose signature is that of `issuer`.
    pub(super) fn check(&self, claims: &Map<String, Value>, issuer: &str, now: Timestamp) -> Result<Granted, Problem> {
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        if text("iss") != Some(issuer) {
            return Err(Problem::Issuer);
        }
        let subject = text("sub").filter(|s| !s.is_empty()).ok_or(Problem::Subject)?;
        if !texts(claims.get("aud")).any(|a| self.audiences.iter().any(|wanted| wanted == a)) {
            return Err(Problem::Audience);
        }
        let skew = TimeDelta::from_std(self.skew).unwrap_or_default();
        let until = claims.get("exp").and_then(moment).ok_or(Problem::Expiry)?.checked_add_signed(skew).ok_or(Problem::Expiry)?;
        if now >= until {
            return Err(Problem::Expired);
        }
        for name in ["nbf", "iat"] {
            let Some(given) = claims.get(name) else { continue };
            if moment(given).is_none_or(|from| from > now + skew) {
                return Err(Problem::Early);
            }
        }
        // With providers that call every token `JWT`, these claims tell an ID token from an access token.
        if ["nonce", "at_hash", "c_hash"].iter().any(|name| claims.contains_key(*name)) {
            return Err(Problem::IdToken);
        }
        // A thief could use it as a plain bearer token.
        if claims.contains_key("cnf") {
            return Err(Problem::Bound);
        }
        let scopes = texts(claims.get("scope")).chain(texts(claims.get("scp"))).flat_map(|s| s.split(' '));
        let role = if self.is_admin(claims) { ViewerRole::Admin } else { ViewerRole::User };
        Ok(Granted {
            caller: Caller::verified(user(issuer, subject), role),
            permissions: Permissions::of_scopes(scopes),
            until,
            token: text("jti").map(|id| blocklist::digest_of(issuer, id)),
        })
    }

    /// Whether claims name the role of administrators.
    pub(in crate::auth) fn is_admin(&self, claims: &Map<String, Value>) -> bool {
        texts(self.roles(claims)).any(|role| role == self.admin_role)
    }

    /// The claim itself, or what the dots lead to; a name that contains dots is tried first, as some providers demand
    /// addresses as names.
    fn roles<'c>(&self, claims: &'c Map<String, Value>) -> Option<&'c Value> {
        claims.get(&self.role_claim).or_else(|| {
            let mut parts = self.role_claim.split('.');
            let first = claims.get(parts.next()?)?;
            parts.try_fold(first, |value, part| value.get(part))
        })
    }
}

/// The user that a subject of an issuer is. Two steps, so that no choice of names makes two subjects one.
pub(in crate::auth) fn user(issuer: &str, subject: &str) -> UserId {
    UserId(Uuid::new_v5(&Uuid::new_v5(&ISSUERS, issuer.as_bytes()), subject.as_bytes()))
}

/// One text or a list of them.
pub(in crate::auth) fn texts(value: Option<&Value>) -> impl Iterator<Item = &str> {
    let list = match value {
        Some(Value::Array(list)) => list.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    list.iter().filter_map(Value::as_str)
}

/// Seconds since 1970, also with a fraction.
pub(in crate::auth) fn moment(value: &Value) -> Option<Timestamp> {
    let seconds = value.as_f64().filter(|s| s.is_finite() && *s >= 0.0)?;
    // Later than any calendar is as good as never.
    let seconds = seconds.min(253_402_300_799.0);
    Timestamp::from_timestamp_millis((seconds * 1e3) as i64)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::auth::Permission;

    const ISSUER: &str = "https://login.example.org";
    const NOW: i64 = 1_800_000_000;

    fn rules() -> Rules {
        Rules {
            audiences: vec!["recall".to_owned()],
            types: vec!["at+jwt".to_owned()],
            role_claim: "realm.roles".to_owned(),
            admin_role: "recall-admin".to_owned(),
            skew: Duration::from_secs(5),
        }
    }

    /// Good claims with some of them replaced, or taken away by null.
    fn check(change: Value) -> Result<Granted, Problem> {
        let mut claims = json!({ "iss": ISSUER, "sub": "anna", "aud": "recall", "exp": NOW + 60, "iat": NOW, "scope": "recall.read" });
        for (name, value) in change.as_object().unwrap() {
            match value {
                Value::Null => claims.as_object_mut().unwrap().remove(name),
                value => claims.as_object_mut().unwrap().insert(name.clone(), value.clone()),
            };
        }
        rules().check(claims.as_object().unwrap(), ISSUER, Timestamp::from_timestamp(NOW, 0).unwrap())
    }

    #[test]
    fn good_claims_are_accepted() {
        for good in [
            json!({}),
            json!({ "aud": ["other", "recall"] }),
            json!({ "nbf": NOW + 4 }),
            json!({ "exp": NOW - 4 }),
            json!({ "exp": 1e300 }),
            json!({ "iat": null }),
        ] {
            check(good.clone()).unwrap_or_else(|p| unreachable!("{good}: {p:?}"));
        }
    }

    #[test]
    fn each_bad_claim_is_refused() {
        for (bad, problem) in [
            (json!({ "iss": "https://evil.example" }), Problem::Issuer),
            (json!({ "iss": "https://login.example.org/" }), Problem::Issuer),
            (json!({ "iss": null }), Problem::Issuer),
            (json!({ "sub": null }), Problem::Subject),
            (json!({ "sub": "" }), Problem::Subject),
            (json!({ "sub": 7 }), Problem::Subject),
            (json!({ "aud": "other" }), Problem::Audience),
            (json!({ "aud": [] }), Problem::Audience),
            (json!({ "aud": null }), Problem::Audience),
            (json!({ "exp": null }), Problem::Expiry),
            (json!({ "exp": "soon" }), Problem::Expiry),
            (json!({ "exp": -1 }), Problem::Expiry),
            (json!({ "exp": NOW - 5 }), Problem::Expired),
            (json!({ "exp": 0 }), Problem::Expired),
            (json!({ "nbf": NOW + 6 }), Problem::Early),
            (json!({ "nbf": "now" }), Problem::Early),
            (json!({ "iat": NOW + 3600 }), Problem::Early),
            (json!({ "nonce": "n" }), Problem::IdToken),
            (json!({ "at_hash": "h" }), Problem::IdToken),
            (json!({ "cnf": { "jkt": "x" } }), Problem::Bound),
            (json!({ "cnf": { "x5t#S256": "x" } }), Problem::Bound),
            (json!({ "cnf": {} }), Problem::Bound),
            (json!({ "cnf": 7, "exp": NOW - 5 }), Problem::Expired),
        ] {
            assert_eq!(check(bad.clone()).unwrap_err(), problem, "{bad}");
        }
    }

    #[test]
    fn scopes_and_roles_come_from_where_providers_put_them() {
        let permissions = |change| check(change).unwrap().permissions;
        assert!(permissions(json!({ "scope": "openid recall.write" })).include(Permission::Write));
        assert!(permissions(json!({ "scope": null, "scp": ["recall.admin"] })).include(Permission::Admin));
        assert!(permissions(json!({ "scope": ["recall.read", "x"] })).include(Permission::Read));
        assert_eq!(permissions(json!({ "scope": null })), Permissions::default());
        let role = |change| check(change).unwrap().caller.role();
        assert_eq!(role(json!({})), ViewerRole::User);
        assert_eq!(role(json!({ "realm": { "roles": ["x", "recall-admin"] } })), ViewerRole::Admin);
        assert_eq!(role(json!({ "realm.roles": "recall-admin" })), ViewerRole::Admin);
        assert_eq!(role(json!({ "realm": "recall-admin" })), ViewerRole::User);
        assert_eq!(role(json!({ "realm": { "roles": { "recall-admin": true } } })), ViewerRole::User);
    }

    #[test]
    fn types_are_compared_as_media_types() {
        for (typ, good) in [
            (Some("at+jwt"), true),
            (Some("AT+JWT"), true),
            (Some("application/at+jwt"), true),
            (Some("JWT"), false),
            (Some("ä"), false),
            (None, false),
        ] {
            assert_eq!(rules().accepts_type(typ), good, "{typ:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn two_people_are_never_one(a in ".{0,12}", b in ".{0,12}", c in ".{0,12}", d in ".{0,12}") {
            proptest::prop_assert_eq!(user(&a, &b) == user(&c, &d), a == c && b == d);
        }

        #[test]
        fn whatever_claims_say_they_are_read_or_refused(exp: f64, nbf: f64, text in ".{0,30}") {
            let _ = check(json!({ "exp": exp, "nbf": nbf, "scope": text, "aud": [text, 7, null], "realm": [text] }));
        }
    }
}
