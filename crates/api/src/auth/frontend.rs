//! Authenticates front ends that serve many people: one key for the front end, and a signed name of the person in a header.
//!
//! The front end vouches for the person. So its key is as valuable as the memories of all its users.

use std::sync::Arc;

use async_trait::async_trait;
use axum::http::{HeaderMap, HeaderName, header, request::Parts};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use chrono::TimeDelta;
use ring::hmac;
use serde::Deserialize;
use serde_json::{Map, Value};
use subtle::ConstantTimeEq;
use tokio::time::Instant;

use super::{
    authenticator::{AuthError, Authenticator, refused},
    identity::{Identity, Permission, Program},
    token::{bearer, claims},
};
use recall_domain::{Caller, FrontEndKind, Timestamp, ViewerRole};
use recall_ports::Clock;

/// The issuer of the user ids. A change would give every person another memory.
const ISSUER: &str = "frontend";
/// The header with an unsigned id.
const UNSIGNED_ID: &str = "x-openwebui-user-id";
/// Longest id of a person, in bytes.
const MAX_ID_BYTES: usize = 256;
/// Longest signed name, in bytes.
const MAX_TOKEN_BYTES: usize = 8 * 1024;

/// Configuration of front ends.
#[derive(Clone)]
pub struct FrontendConfig {
    /// The key that front ends send as bearer token.
    pub key: String,
    /// The header with the signed user.
    pub user_header: HeaderName,
    /// The secret with which front ends sign users (HS256). Without it, signed users are refused.
    pub user_secret: Option<String>,
    /// Whether an unsigned id is accepted.
    pub unsigned_user: bool,
    /// Maximum difference between the clocks of front end and server.
    pub clock_skew: std::time::Duration,
}

/// Authenticates requests with the key of front ends, and passes other requests to another authenticator.
pub struct Frontends {
    config: FrontendConfig,
    secret: Option<hmac::Key>,
    others: Arc<dyn Authenticator>,
    clock: Arc<dyn Clock>,
}

#[derive(Deserialize)]
struct Head {
    alg: String,
    #[serde(default)]
    crit: Option<serde::de::IgnoredAny>,
}

/// A person, and until when the front end vouches for them.
struct Person {
    id: String,
    until: Option<Timestamp>,
}

impl Frontends {
    /// Creates the authenticator. `others` handles requests without the key.
    pub fn new(config: FrontendConfig, others: Arc<dyn Authenticator>, clock: Arc<dyn Clock>) -> Self {
        let secret = config.user_secret.as_ref().map(|secret| hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()));
        Self { config, secret, others, clock }
    }

    /// Whether the request has the key of front ends.
    fn has_key(&self, headers: &HeaderMap) -> bool {
        let mut given = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(one), None) = (given.next(), given.next()) else { return false };
        let token = one.to_str().ok().and_then(bearer);
        token.is_some_and(|token| bool::from(token.as_bytes().ct_eq(self.config.key.as_bytes())))
    }

    /// Finds the person behind a request.
    fn person(&self, headers: &HeaderMap) -> Result<Person, AuthError> {
        if let Some(signed) = only_value(headers, self.config.user_header.as_str())? {
            let secret = self.secret.as_ref().ok_or_else(|| refused("frontend_secret"))?;
            return self.verify(secret, signed);
        }
        if !self.config.unsigned_user {
            return Err(AuthError::FrontendUser);
        }
        let id = only_value(headers, UNSIGNED_ID)?.ok_or(AuthError::FrontendUser)?;
        Ok(Person { id: checked_id(id)?, until: None })
    }

    /// Verifies the signed name of a person.
    fn verify(&self, secret: &hmac::Key, signed: &str) -> Result<Person, AuthError> {
        if signed.len() > MAX_TOKEN_BYTES {
            return Err(refused("too_long"));
        }
        let malformed = || refused("malformed");
        let (content, signature) = signed.rsplit_once('.').ok_or_else(malformed)?;
        let (head, body) = content.split_once('.').ok_or_else(malformed)?;
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| malformed());
        let head: Head = serde_json::from_slice(&decode(head)?).map_err(|_| malformed())?;
        // The algorithm is fixed: one that the token chooses could be `none`.
        if head.alg != "HS256" || head.crit.is_some() {
            return Err(refused("algorithm"));
        }
        hmac::verify(secret, content.as_bytes(), &decode(signature)?).map_err(|_| refused("signature"))?;
        let claims: Map<String, Value> = serde_json::from_slice(&decode(body)?).map_err(|_| malformed())?;
        let until = self.check_times(&claims)?;
        let id = ["id", "sub"].iter().find_map(|name| claims.get(*name)?.as_str()).ok_or_else(|| refused("subject"))?;
        Ok(Person { id: checked_id(id)?, until })
    }

    /// Checks the claims about time, if there are any, and returns the expiry.
    fn check_times(&self, claims: &Map<String, Value>) -> Result<Option<Timestamp>, AuthError> {
        let now = self.clock.now();
        let skew = TimeDelta::from_std(self.config.clock_skew).unwrap_or_default();
        let time =
            |name: &str| claims.get(name).map(|value| claims::parse_numeric_date(value).ok_or_else(|| refused("expiry"))).transpose();
        for name in ["nbf", "iat"] {
            if time(name)?.is_some_and(|from| from > now + skew) {
                return Err(refused("early"));
            }
        }
        let until = time("exp")?.and_then(|until| until.checked_add_signed(skew));
        if until.is_some_and(|until| until <= now) { Err(refused("expired")) } else { Ok(until) }
    }

    /// The product whose header names the user.
    fn product(&self) -> Option<&'static str> {
        self.config.user_header.as_str().contains("openwebui").then_some("Open WebUI")
    }

    fn identity(&self, person: &Person) -> Identity {
        let left = person.until.map(|until| (until - self.clock.now()).to_std().unwrap_or_default());
        Identity {
            // The role that a front end gives a person does not count here: an administrator there administrates the front end.
            caller: Caller::verified(claims::user_id(ISSUER, &person.id), ViewerRole::User),
            permissions: [Permission::Read, Permission::Write].into_iter().collect(),
            manages_tokens: false,
            until: left.map(|left| Instant::now() + left),
            proof: None,
            csrf: None,
            address: None,
            program: Some(Program { kind: FrontEndKind::SignedUser, name: self.product().map(str::to_owned) }),
        }
    }
}

/// Returns the only value of a header; `None` if it is absent or empty.
fn only_value<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h str>, AuthError> {
    let mut given = headers.get_all(name).iter();
    match (given.next(), given.next()) {
        (None, _) => Ok(None),
        (Some(one), None) => {
            let value = one.to_str().map_err(|_| refused("malformed"))?.trim();
            Ok((!value.is_empty()).then_some(value))
        }
        (Some(_), Some(_)) => Err(refused("malformed")),
    }
}

fn checked_id(id: &str) -> Result<String, AuthError> {
    let id = id.trim();
    if id.is_empty() || id.len() > MAX_ID_BYTES { Err(refused("subject")) } else { Ok(id.to_owned()) }
}

#[async_trait]
impl Authenticator for Frontends {
    async fn authenticate(&self, parts: &Parts) -> Result<Identity, AuthError> {
        match self.has_key(&parts.headers) {
            true => Ok(self.identity(&self.person(&parts.headers)?)),
            false => self.others.authenticate(parts).await,
        }
    }

    async fn authorize(&self, credentials: &str) -> Option<Result<Identity, AuthError>> {
        // A WebSocket has no header for the person, so the key alone is refused there like an unknown token.
        self.others.authorize(credentials).await
    }

    fn reads_credentials(&self) -> bool {
        self.others.reads_credentials()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const KEY: &str = "key-of-the-front-end-0123456789abcdef";
    const SECRET: &str = "secret-of-the-front-end-0123456789ab";

    struct FixedClock;

    impl Clock for FixedClock {
        fn now(&self) -> Timestamp {
            Timestamp::from_timestamp(1_700_000_000, 0).unwrap()
        }
    }

    struct Nobody;

    #[async_trait]
    impl Authenticator for Nobody {
        async fn authenticate(&self, _: &Parts) -> Result<Identity, AuthError> {
            Err(AuthError::Missing)
        }
    }

    fn frontends(unsigned_user: bool, user_secret: Option<&str>) -> Frontends {
        let config = FrontendConfig {
            key: KEY.to_owned(),
            user_header: HeaderName::from_static("x-openwebui-user-jwt"),
            user_secret: user_secret.map(str::to_owned),
            unsigned_user,
            clock_skew: std::time::Duration::from_secs(5),
        };
        Frontends::new(config, Arc::new(Nobody), Arc::new(FixedClock))
    }

    fn signed(head: &Value, claims: &Value, secret: &str) -> String {
        let content = [head, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
        let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), content.as_bytes());
        format!("{content}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    fn hs256(claims: &Value) -> String {
        signed(&serde_json::json!({ "alg": "HS256", "typ": "JWT" }), claims, SECRET)
    }

    async fn ask(frontends: &Frontends, headers: &[(&'static str, &str)]) -> Result<Identity, AuthError> {
        let mut request = axum::http::Request::builder().header("authorization", format!("Bearer {KEY}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        frontends.authenticate(&request.body(()).unwrap().into_parts().0).await
    }

    #[tokio::test]
    async fn signed_people_are_separate_users_and_never_administrators() {
        let frontends = frontends(false, Some(SECRET));
        let user = async |claims: Value| ask(&frontends, &[("x-openwebui-user-jwt", &hs256(&claims))]).await.unwrap();
        let anna = user(serde_json::json!({ "id": "anna", "role": "admin", "exp": 1_700_000_060 })).await;
        let same = user(serde_json::json!({ "sub": "anna" })).await;
        let boris = user(serde_json::json!({ "sub": "boris" })).await;
        assert_eq!(anna.caller, same.caller);
        assert_ne!(anna.caller.user(), boris.caller.user());
        assert_eq!(anna.caller.role(), ViewerRole::User);
        assert!(!anna.permissions.include(Permission::Admin) && !anna.manages_tokens && anna.until.is_some());
    }

    #[tokio::test]
    async fn missing_or_invalid_people_are_refused() {
        let strict = frontends(false, Some(SECRET));
        assert!(matches!(ask(&strict, &[]).await, Err(AuthError::FrontendUser)));
        assert!(matches!(ask(&strict, &[("x-openwebui-user-id", "anna")]).await, Err(AuthError::FrontendUser)));
        let good = serde_json::json!({ "sub": "anna" });
        for bad in [
            signed(&serde_json::json!({ "alg": "HS256" }), &good, "another secret"),
            signed(&serde_json::json!({ "alg": "none" }), &good, SECRET),
            signed(&serde_json::json!({ "alg": "HS512" }), &good, SECRET),
            signed(&serde_json::json!({ "alg": "HS256", "crit": ["b64"] }), &good, SECRET),
            hs256(&serde_json::json!({ "sub": "anna", "exp": 1_699_999_994 })),
            hs256(&serde_json::json!({ "sub": "anna", "exp": "tomorrow" })),
            hs256(&serde_json::json!({ "sub": "anna", "nbf": 1_700_000_006 })),
            hs256(&serde_json::json!({ "sub": "  " })),
            hs256(&serde_json::json!({ "sub": "a".repeat(257) })),
            hs256(&serde_json::json!({ "email": "anna@example.org" })),
            "a.b".to_owned(),
            "a.b.c".to_owned(),
        ] {
            assert!(matches!(ask(&strict, &[("x-openwebui-user-jwt", &bad)]).await, Err(AuthError::Invalid)), "{bad}");
        }
        let skewed = hs256(&serde_json::json!({ "sub": "anna", "exp": 1_699_999_996 }));
        assert!(ask(&strict, &[("x-openwebui-user-jwt", &skewed)]).await.is_ok(), "the clocks may differ a little");
        let twice = [("x-openwebui-user-jwt", hs256(&good)), ("x-openwebui-user-jwt", hs256(&good))];
        assert!(ask(&strict, &twice.each_ref().map(|(n, v)| (*n, v.as_str()))).await.is_err(), "a header given twice");
    }

    #[tokio::test]
    async fn unsigned_people_are_accepted_only_if_allowed() {
        let open = frontends(true, None);
        let anna = ask(&open, &[("x-openwebui-user-id", "anna")]).await.unwrap();
        let strict = frontends(false, Some(SECRET));
        let same = ask(&strict, &[("x-openwebui-user-jwt", &hs256(&serde_json::json!({ "id": "anna" })))]).await.unwrap();
        assert_eq!(anna.caller, same.caller, "signing gives people another memory");
        // A signed name is never read without its signature.
        assert!(ask(&open, &[("x-openwebui-user-jwt", "a.b.c"), ("x-openwebui-user-id", "anna")]).await.is_err());
    }

    #[tokio::test]
    async fn other_keys_are_left_to_the_other_authenticator() {
        let frontends = frontends(true, None);
        let request = axum::http::Request::builder().header("authorization", "Bearer other").header("x-openwebui-user-id", "anna");
        let parts = request.body(()).unwrap().into_parts().0;
        assert!(matches!(frontends.authenticate(&parts).await, Err(AuthError::Missing)));
    }
}
