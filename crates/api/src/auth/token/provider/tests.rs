//! Tests of the key cache: rotation, invented keys and failures of the issuer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use async_trait::async_trait;
use serde_json::{Value, json};

use super::*;

const ISSUER: &str = "https://login.example.org/realm";

/// An issuer in memory with a clock.
struct FakeIssuer {
    now: AtomicI64,
    reads: AtomicUsize,
    keys: Mutex<Vec<&'static str>>,
    discovery: Mutex<Option<Value>>,
}

impl Clock for FakeIssuer {
    fn now(&self) -> Timestamp {
        Timestamp::from_timestamp(self.now.load(Ordering::Relaxed), 0).unwrap()
    }
}

#[async_trait]
impl Fetch for FakeIssuer {
    async fn get(&self, url: &str) -> Result<Vec<u8>, FetchError> {
        let document = match url {
            "https://login.example.org/realm/.well-known/openid-configuration" => {
                self.reads.fetch_add(1, Ordering::Relaxed);
                self.discovery.lock().unwrap().clone().ok_or_else(|| FetchError::Status { url: url.to_owned(), status: 500 })?
            }
            "https://login.example.org/keys" => {
                let key = |id: &&str| {
                    json!({ "kty": "EC", "crv": "P-256", "kid": id, "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
                        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0" })
                };
                json!({ "keys": self.keys.lock().unwrap().iter().map(key).collect::<Vec<_>>() })
            }
            other => panic!("unexpected request to {other}"),
        };
        Ok(document.to_string().into_bytes())
    }

    async fn post_form(&self, url: &str, _: (&str, &str), _: &[(&str, &str)]) -> Result<Vec<u8>, FetchError> {
        panic!("unexpected request to {url}")
    }
}

fn discovery() -> Value {
    json!({ "issuer": ISSUER, "jwks_uri": "https://login.example.org/keys" })
}

fn fake_issuer(keys: &[&'static str]) -> (Arc<FakeIssuer>, Arc<Provider>) {
    let fake_issuer = Arc::new(FakeIssuer {
        now: AtomicI64::new(1_800_000_000),
        reads: AtomicUsize::new(0),
        keys: Mutex::new(keys.to_vec()),
        discovery: Mutex::new(Some(discovery())),
    });
    let provider = Arc::new(Provider::new(ISSUER, fake_issuer.clone(), fake_issuer.clone()));
    (fake_issuer, provider)
}

impl FakeIssuer {
    fn wait(&self, seconds: i64) {
        self.now.fetch_add(seconds, Ordering::Relaxed);
    }

    fn reads(&self) -> usize {
        self.reads.load(Ordering::Relaxed)
    }
}

async fn ask(provider: &Provider, id: &str) -> &'static str {
    match provider.find_key(Some(id), Algorithm::ES256).await {
        Ok(_) => "key",
        Err(AuthError::Invalid) => "invalid",
        Err(AuthError::Unavailable(_)) => "unavailable",
        Err(AuthError::Missing) => "missing",
        Err(AuthError::Bound) => "bound",
        Err(AuthError::FrontendUser) => "front end",
    }
}

#[tokio::test]
async fn keys_are_read_once_for_many_tokens() {
    let (fake_issuer, provider) = fake_issuer(&["a"]);
    assert_eq!(fake_issuer.reads(), 0, "nothing before the first token");
    let many = (0..50).map(|_| ask(&provider, "a"));
    assert!(futures_util::future::join_all(many).await.iter().all(|a| *a == "key"));
    assert_eq!(fake_issuer.reads(), 1);
}

#[tokio::test]
async fn rotated_key_replaces_the_old_one() {
    let (fake_issuer, provider) = fake_issuer(&["old"]);
    assert_eq!(ask(&provider, "old").await, "key");
    fake_issuer.wait(30);
    *fake_issuer.keys.lock().unwrap() = vec!["new"];
    assert_eq!(ask(&provider, "old").await, "key", "the cache is still fresh");
    assert_eq!(ask(&provider, "new").await, "key");
    assert_eq!(ask(&provider, "old").await, "invalid");
    assert_eq!(fake_issuer.reads(), 2, "the removed key causes no read within ten seconds");
    fake_issuer.wait(300);
    *fake_issuer.keys.lock().unwrap() = vec![];
    assert_eq!(ask(&provider, "new").await, "invalid", "a revoked key is accepted for five minutes at most");
}

#[tokio::test]
async fn invented_key_ids_do_not_reach_the_issuer() {
    let (fake_issuer, provider) = fake_issuer(&["a"]);
    ask(&provider, "a").await;
    for n in 0..500 {
        assert_eq!(ask(&provider, &format!("invented-{n}")).await, "invalid");
    }
    assert_eq!(fake_issuer.reads(), 1);
    fake_issuer.wait(11);
    for _ in 0..100 {
        assert_eq!(ask(&provider, "invented").await, "invalid");
        assert_eq!(ask(&provider, "a").await, "key", "real tokens are served meanwhile");
    }
    assert_eq!(fake_issuer.reads(), 2);
    fake_issuer.wait(11);
    ask(&provider, "invented").await;
    assert_eq!(fake_issuer.reads(), 2, "an unknown key id is cached");
    fake_issuer.wait(61);
    ask(&provider, "invented").await;
    assert_eq!(fake_issuer.reads(), 3, "but the cache expires");
}

#[tokio::test]
async fn cached_keys_are_used_for_an_hour_without_the_issuer() {
    let (fake_issuer, provider) = fake_issuer(&["a"]);
    assert_eq!(ask(&provider, "a").await, "key");
    *fake_issuer.discovery.lock().unwrap() = None;
    fake_issuer.wait(3_500);
    assert_eq!(ask(&provider, "a").await, "key");
    fake_issuer.wait(101);
    assert_eq!(ask(&provider, "a").await, "unavailable");
    let reads = fake_issuer.reads();
    for _ in 0..100 {
        assert_eq!(ask(&provider, "a").await, "unavailable");
    }
    assert_eq!(fake_issuer.reads(), reads, "requests do not all reach an issuer that is down");
    *fake_issuer.discovery.lock().unwrap() = Some(discovery());
    fake_issuer.wait(10);
    assert_eq!(ask(&provider, "a").await, "key");
}

#[tokio::test]
async fn unsafe_discovery_documents_are_refused() {
    for bad in [
        json!({ "issuer": "https://evil.example", "jwks_uri": "https://login.example.org/keys" }),
        json!({ "issuer": ISSUER, "jwks_uri": "http://login.example.org/keys" }),
        json!({ "issuer": ISSUER, "jwks_uri": "https://login.example.org/keys", "introspection_endpoint": "http://login.example.org/i" }),
        json!({ "issuer": ISSUER, "jwks_uri": "file:///etc/passwd" }),
        json!({ "issuer": ISSUER }),
        json!([]),
    ] {
        let (fake_issuer, provider) = fake_issuer(&["a"]);
        *fake_issuer.discovery.lock().unwrap() = Some(bad.clone());
        assert_eq!(ask(&provider, "a").await, "unavailable", "{bad}");
    }
}
