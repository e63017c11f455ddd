//! Checks the claims of an access token. Pure: the signature was checked before, and the time is an argument.

use std::time::Duration;

use chrono::TimeDelta;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::blocklist;
use crate::auth::identity::Permissions;
use recall_domain::{Caller, Timestamp, TokenDigest, UserId, ViewerRole};

/// UUID namespace of the user ids of all issuers. A change would give every user another id.
const ISSUERS: Uuid = Uuid::from_u128(0x8f1c_52b0_6d0e_4a57_9a63_2c1f_7b0d_e94a);

/// Requirements for the claims of access tokens.
pub(in crate::auth) struct ClaimRules {
    pub(super) audiences: Vec<String>,
    pub(super) types: Vec<String>,
    pub(super) role_claim: String,
    pub(super) admin_role: String,
    pub(in crate::auth) skew: Duration,
}

/// What an access token grants.
#[derive(Clone, Debug)]
pub(super) struct TokenGrant {
    pub(super) caller: Caller,
    pub(super) permissions: Permissions,
    pub(super) until: Timestamp,
    /// Digest of the token's id, by which an administrator can revoke it.
    pub(super) token: Option<TokenDigest>,
    /// The id of the client that got the token (RFC 9068, section 2.2).
    pub(super) client: Option<String>,
}

/// Why claims are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(super) enum ClaimError {
    Issuer,
    Subject,
    Audience,
    /// The expiry is missing or malformed.
    Expiry,
    Expired,
    /// The token is not valid yet, or was issued in the future.
    Early,
    /// It is an ID token, not an access token.
    IdToken,
    /// It is bound to a key (RFC 7800), by DPoP (RFC 9449) or a client certificate (RFC 8705).
    Bound,
}

impl ClaimError {
    pub(super) fn code(self) -> &'static str {
        self.into()
    }
}

impl ClaimRules {
    /// Whether the header's `typ` is that of an access token.
    pub(super) fn accepts_type(&self, typ: Option<&str>) -> bool {
        let Some(typ) = typ else { return false };
        let short = typ.get(.."application/".len()).filter(|p| p.eq_ignore_ascii_case("application/")).map_or(typ, |p| &typ[p.len()..]);
        self.types.iter().any(|t| t.eq_ignore_ascii_case(short))
    }

    /// Checks the claims of a token that `issuer` has signed.
    pub(super) fn check(&self, claims: &Map<String, Value>, issuer: &str, now: Timestamp) -> Result<TokenGrant, ClaimError> {
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        if text("iss") != Some(issuer) {
            return Err(ClaimError::Issuer);
        }
        let subject = text("sub").filter(|s| !s.is_empty()).ok_or(ClaimError::Subject)?;
        if !string_values(claims.get("aud")).any(|a| self.audiences.iter().any(|wanted| wanted == a)) {
            return Err(ClaimError::Audience);
        }
        let skew = TimeDelta::from_std(self.skew).unwrap_or_default();
        let until =
            claims.get("exp").and_then(parse_numeric_date).ok_or(ClaimError::Expiry)?.checked_add_signed(skew).ok_or(ClaimError::Expiry)?;
        if now >= until {
            return Err(ClaimError::Expired);
        }
        for name in ["nbf", "iat"] {
            let Some(given) = claims.get(name) else { continue };
            if parse_numeric_date(given).is_none_or(|from| from > now + skew) {
                return Err(ClaimError::Early);
            }
        }
        // Some providers use the type `JWT` for every token. These claims then identify an ID token.
        if ["nonce", "at_hash", "c_hash"].iter().any(|name| claims.contains_key(*name)) {
            return Err(ClaimError::IdToken);
        }
        // This server cannot verify the key, so a thief could use the token as a plain bearer token.
        if claims.contains_key("cnf") {
            return Err(ClaimError::Bound);
        }
        let scopes = string_values(claims.get("scope")).chain(string_values(claims.get("scp"))).flat_map(|s| s.split(' '));
        let role = if self.is_admin(claims) { ViewerRole::Admin } else { ViewerRole::User };
        Ok(TokenGrant {
            caller: Caller::verified(user_id(issuer, subject), role),
            permissions: Permissions::of_scopes(scopes),
            until,
            token: text("jti").map(|id| blocklist::digest_of(issuer, id)),
            // Providers before RFC 9068 name the client in `azp`, as in ID tokens.
            client: text("client_id").or_else(|| text("azp")).map(str::to_owned),
        })
    }

    /// Whether the claims contain the administrator role.
    pub(in crate::auth) fn is_admin(&self, claims: &Map<String, Value>) -> bool {
        string_values(self.role_claim_value(claims)).any(|role| role == self.admin_role)
    }

    /// Finds the role claim, by its full name or as a path with dots.
    ///
    /// The full name is tried first, because some providers require URLs as claim names.
    fn role_claim_value<'c>(&self, claims: &'c Map<String, Value>) -> Option<&'c Value> {
        claims.get(&self.role_claim).or_else(|| {
            let mut parts = self.role_claim.split('.');
            let first = claims.get(parts.next()?)?;
            parts.try_fold(first, |value, part| value.get(part))
        })
    }
}

/// Derives the user id from an issuer and a subject.
///
/// The two steps ensure that no two pairs have the same input.
pub(in crate::auth) fn user_id(issuer: &str, subject: &str) -> UserId {
    UserId(Uuid::new_v5(&Uuid::new_v5(&ISSUERS, issuer.as_bytes()), subject.as_bytes()))
}

/// Returns the strings of a claim that is one string or a list.
pub(in crate::auth) fn string_values(value: Option<&Value>) -> impl Iterator<Item = &str> {
    let list = match value {
        Some(Value::Array(list)) => list.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    list.iter().filter_map(Value::as_str)
}

/// Reads a `NumericDate`: seconds since 1970, possibly with a fraction.
pub(in crate::auth) fn parse_numeric_date(value: &Value) -> Option<Timestamp> {
    let seconds = value.as_f64().filter(|s| s.is_finite() && *s >= 0.0)?;
    // Clamped to the end of the year 9999.
    let seconds = seconds.min(253_402_300_799.0);
    Timestamp::from_timestamp_millis((seconds * 1e3) as i64)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::auth::identity::Permission;

    const ISSUER: &str = "https://login.example.org";
    const NOW: i64 = 1_800_000_000;

    fn rules() -> ClaimRules {
        ClaimRules {
            audiences: vec!["recall".to_owned()],
            types: vec!["at+jwt".to_owned()],
            role_claim: "realm.roles".to_owned(),
            admin_role: "recall-admin".to_owned(),
            skew: Duration::from_secs(5),
        }
    }

    /// Checks valid claims with some of them replaced, or removed by null.
    fn check(change: Value) -> Result<TokenGrant, ClaimError> {
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
    fn valid_claims_are_accepted() {
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
    fn each_invalid_claim_is_refused() {
        for (bad, error) in [
            (json!({ "iss": "https://evil.example" }), ClaimError::Issuer),
            (json!({ "iss": "https://login.example.org/" }), ClaimError::Issuer),
            (json!({ "iss": null }), ClaimError::Issuer),
            (json!({ "sub": null }), ClaimError::Subject),
            (json!({ "sub": "" }), ClaimError::Subject),
            (json!({ "sub": 7 }), ClaimError::Subject),
            (json!({ "aud": "other" }), ClaimError::Audience),
            (json!({ "aud": [] }), ClaimError::Audience),
            (json!({ "aud": null }), ClaimError::Audience),
            (json!({ "exp": null }), ClaimError::Expiry),
            (json!({ "exp": "soon" }), ClaimError::Expiry),
            (json!({ "exp": -1 }), ClaimError::Expiry),
            (json!({ "exp": NOW - 5 }), ClaimError::Expired),
            (json!({ "exp": 0 }), ClaimError::Expired),
            (json!({ "nbf": NOW + 6 }), ClaimError::Early),
            (json!({ "nbf": "now" }), ClaimError::Early),
            (json!({ "iat": NOW + 3600 }), ClaimError::Early),
            (json!({ "nonce": "n" }), ClaimError::IdToken),
            (json!({ "at_hash": "h" }), ClaimError::IdToken),
            (json!({ "cnf": { "jkt": "x" } }), ClaimError::Bound),
            (json!({ "cnf": { "x5t#S256": "x" } }), ClaimError::Bound),
            (json!({ "cnf": {} }), ClaimError::Bound),
            (json!({ "cnf": 7, "exp": NOW - 5 }), ClaimError::Expired),
        ] {
            assert_eq!(check(bad.clone()).unwrap_err(), error, "{bad}");
        }
    }

    #[test]
    fn scopes_and_roles_are_read_from_all_known_claims() {
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
    fn token_types_are_compared_as_media_types() {
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
        fn different_subjects_have_different_user_ids(a in ".{0,12}", b in ".{0,12}", c in ".{0,12}", d in ".{0,12}") {
            proptest::prop_assert_eq!(user_id(&a, &b) == user_id(&c, &d), a == c && b == d);
        }

        #[test]
        fn arbitrary_claims_never_panic(exp: f64, nbf: f64, text in ".{0,30}") {
            let _ = check(json!({ "exp": exp, "nbf": nbf, "scope": text, "aud": [text, 7, null], "realm": [text] }));
        }
    }
}
