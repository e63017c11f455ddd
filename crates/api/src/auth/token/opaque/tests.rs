//! What answers mean, how often is asked, and what holds while nobody answers.
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

/// An issuer in memory, and its clock.
#[derive(Default)]
struct World {
    later: AtomicI64,
    asked: AtomicUsize,
    down: AtomicBool,
    without_endpoint: AtomicBool,
    revoked: AtomicBool,
}

impl Clock for World {
    fn now(&self) -> Timestamp {
        Timestamp::from_timestamp(NOW + self.later.load(Ordering::Relaxed), 0).unwrap()
    }
}

#[async_trait]
impl Fetch for World {
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

fn rules() -> Rules {
    Rules {
        audiences: vec!["recall".to_owned()],
        types: vec![],
        role_claim: "roles".to_owned(),
        admin_role: "admin".to_owned(),
        skew: Duration::ZERO,
    }
}

fn world() -> (Arc<World>, Introspector, Provider) {
    let world = Arc::new(World::default());
    let client = Introspection { issuer: ISSUER.to_owned(), client_id: "recall".to_owned(), client_secret: "secret".to_owned() };
    (world.clone(), Introspector::new(client, world.clone(), world.clone()), Provider::new(ISSUER, world.clone(), world))
}

impl World {
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
    }
}

#[test]
fn only_access_tokens_that_are_meant_for_this_server_mean_something() {
    let now = Timestamp::from_timestamp(NOW, 0).unwrap();
    let of = |change| meaning(answer(change).as_object().unwrap().clone(), ISSUER, &rules(), now);
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
async fn the_issuer_is_asked_once_and_again_soon() {
    let (world, introspector, provider) = world();
    for _ in 0..20 {
        assert_eq!(ask(&introspector, &provider, "good").await, "good");
        assert_eq!(ask(&introspector, &provider, "bad").await, "invalid");
    }
    assert_eq!(world.asked(), 2);
    world.revoked.store(true, Ordering::Relaxed);
    assert_eq!(ask(&introspector, &provider, "good").await, "good");
    world.wait(10);
    assert_eq!(ask(&introspector, &provider, "good").await, "invalid", "a token that was taken back is believed for ten seconds");
    assert_eq!(world.asked(), 3);
}

#[tokio::test]
async fn an_expiry_holds_between_questions() {
    let (world, introspector, provider) = world();
    world.wait(55);
    assert_eq!(ask(&introspector, &provider, "good").await, "good");
    world.wait(5);
    assert_eq!(ask(&introspector, &provider, "good").await, "invalid");
    assert_eq!(world.asked(), 1);
}

#[tokio::test]
async fn an_issuer_that_does_not_answer_grants_nothing_and_refuses_nothing_for_good() {
    let (world, introspector, provider) = world();
    world.down.store(true, Ordering::Relaxed);
    assert_eq!(ask(&introspector, &provider, "good").await, "unavailable");
    world.down.store(false, Ordering::Relaxed);
    assert_eq!(ask(&introspector, &provider, "good").await, "good");
    let (world, introspector, provider) = self::world();
    world.without_endpoint.store(true, Ordering::Relaxed);
    assert_eq!(ask(&introspector, &provider, "good").await, "unavailable");
    assert_eq!(world.asked(), 0);
}
