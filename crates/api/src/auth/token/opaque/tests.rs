//! Tests of introspection: evaluation of responses, caching and failures.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::{
    sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use serde_json::json;

use super::*;
use recall_ports::FetchError;

const ISSUER: &str = "https://login.example.org";
const NOW: i64 = 1_800_000_000;

/// An issuer in memory with a clock.
#[derive(Default)]
struct FakeIssuer {
    later: AtomicI64,
    asked: AtomicUsize,
    down: AtomicBool,
    without_endpoint: AtomicBool,
    revoked: AtomicBool,
}

impl Clock for FakeIssuer {
    fn now(&self) -> Timestamp {
        Timestamp::from_timestamp(NOW + self.later.load(Ordering::Relaxed), 0).unwrap()
    }
}

#[async_trait]
impl Fetch for FakeIssuer {
    async fn get(&self, url: &str) -> Result<Vec<u8>, FetchError> {
        let endpoint = (!self.without_endpoint.load(Ordering::Relaxed)).then_some("https://login.example.org/introspect");
        Ok(match url.ends_with("/keys") {
            true => json!({ "keys": [] }),
            false => json!({ "issuer": ISSUER, "jwks_uri": "https://login.example.org/keys", "introspection_endpoint": endpoint }),
        }
        .to_string()
        .into_bytes())
    }

    async fn post_form(&self, url: &str, client: (&str, &str), form: &[(&str, &str)]) -> Result<Vec<u8>, FetchError> {
        assert_eq!((url, client), ("https://login.example.org/introspect", ("recall", "secret")));
        self.asked.fetch_add(1, Ordering::Relaxed);
        tokio::task::yield_now().await;
        if self.down.load(Ordering::Relaxed) {
            return Err(FetchError::Status { url: url.to_owned(), status: 500 });
        }
        let good = form[0] == ("token", "good") && !self.revoked.load(Ordering::Relaxed);
        Ok(if good { answer(json!({})) } else { json!({ "active": false }) }.to_string().into_bytes())
    }
}

fn answer(change: Value) -> Value {
    let mut claims =
        json!({ "active": true, "token_type": "Bearer", "sub": "anna", "aud": "recall", "exp": NOW + 60, "scope": "recall.read" });
    for (name, value) in change.as_object().unwrap() {
        match value {
            Value::Null => claims.as_object_mut().unwrap().remove(name),
            value => claims.as_object_mut().unwrap().insert(name.clone(), value.clone()),
        };
    }
    claims
}

fn rules() -> ClaimRules {
    ClaimRules {
        audiences: vec!["recall".to_owned()],
        types: vec![],
        role_claim: "roles".to_owned(),
        admin_role: "admin".to_owned(),
        skew: Duration::ZERO,
    }
}

fn fake_issuer() -> (Arc<FakeIssuer>, Introspector, Provider) {
    let fake_issuer = Arc::new(FakeIssuer::default());
    let client = Introspection { issuer: ISSUER.to_owned(), client_id: "recall".to_owned(), client_secret: "secret".to_owned() };
    (
        fake_issuer.clone(),
        Introspector::new(client, fake_issuer.clone(), fake_issuer.clone()),
        Provider::new(ISSUER, fake_issuer.clone(), fake_issuer),
    )
}

impl FakeIssuer {
    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    fn wait(&self, seconds: i64) {
        self.later.fetch_add(seconds, Ordering::Relaxed);
    }
}

async fn ask(introspector: &Introspector, provider: &Provider, token: &str) -> &'static str {
    match introspector.check(token, provider, &rules()).await {
        Ok(_) => "good",
        Err(AuthError::Invalid) => "invalid",
        Err(AuthError::Unavailable(_)) => "unavailable",
        Err(AuthError::Missing) => "missing",
        Err(AuthError::Bound) => "bound",
        Err(AuthError::FrontendUser) => "front end",
    }
}

#[test]
fn only_access_tokens_for_this_server_are_accepted() {
    let now = Timestamp::from_timestamp(NOW, 0).unwrap();
    let of = |change| evaluate(answer(change).as_object().unwrap().clone(), ISSUER, &rules(), now);
    assert!(of(json!({})).is_some() && of(json!({ "iss": ISSUER, "token_use": "access_token" })).is_some());
    for bad in [
        json!({ "active": false }),
        json!({ "active": "true" }),
        json!({ "active": null }),
        json!({ "token_type": null }),
        json!({ "token_type": "DPoP" }),
        json!({ "token_use": "refresh_token" }),
        json!({ "cnf": { "jkt": "x" } }),
        json!({ "iss": "https://evil.example" }),
        json!({ "aud": null }),
        json!({ "aud": "another" }),
        json!({ "exp": null }),
        json!({ "exp": NOW }),
        json!({ "nbf": NOW + 60 }),
        json!({ "sub": null }),
        json!({ "sub": "" }),
    ] {
        assert!(of(bad.clone()).is_none(), "{bad}");
    }
    let (client, person) = (of(json!({ "sub": null, "client_id": "agent" })).unwrap(), of(json!({ "client_id": "agent" })).unwrap());
    assert_ne!(client.caller.user(), person.caller.user());
}

#[tokio::test]
async fn introspection_is_cached_for_seconds() {
    let (fake_issuer, introspector, provider) = fake_issuer();
    for _ in 0..20 {
        assert_eq!(ask(&introspector, &provider, "good").await, "good");
        assert_eq!(ask(&introspector, &provider, "bad").await, "invalid");
    }
    assert_eq!(fake_issuer.asked(), 2);
    fake_issuer.revoked.store(true, Ordering::Relaxed);
    assert_eq!(ask(&introspector, &provider, "good").await, "good");
    fake_issuer.wait(10);
    assert_eq!(ask(&introspector, &provider, "good").await, "invalid", "a revoked token is accepted for ten seconds");
    assert_eq!(fake_issuer.asked(), 3);
}

#[tokio::test]
async fn cached_token_expires_on_time() {
    let (fake_issuer, introspector, provider) = fake_issuer();
    fake_issuer.wait(55);
    assert_eq!(ask(&introspector, &provider, "good").await, "good");
    fake_issuer.wait(5);
    assert_eq!(ask(&introspector, &provider, "good").await, "invalid");
    assert_eq!(fake_issuer.asked(), 1);
}

#[tokio::test]
async fn failed_introspection_is_not_cached() {
    let (fake_issuer, introspector, provider) = fake_issuer();
    fake_issuer.down.store(true, Ordering::Relaxed);
    assert_eq!(ask(&introspector, &provider, "good").await, "unavailable");
    fake_issuer.down.store(false, Ordering::Relaxed);
    assert_eq!(ask(&introspector, &provider, "good").await, "good");
    let (fake_issuer, introspector, provider) = self::fake_issuer();
    fake_issuer.without_endpoint.store(true, Ordering::Relaxed);
    assert_eq!(ask(&introspector, &provider, "good").await, "unavailable");
    assert_eq!(fake_issuer.asked(), 0);
}
