//! How often an issuer is asked, and what holds while it cannot be.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use async_trait::async_trait;
use serde_json::{Value, json};

use super::*;

const ISSUER: &str = "https://login.example.org/realm";

/// An issuer in memory, and its clock.
struct World {
    now: AtomicI64,
    reads: AtomicUsize,
    keys: Mutex<Vec<&'static str>>,
    discovery: Mutex<Option<Value>>,
}

impl Clock for World {
    fn now(&self) -> Timestamp {
        Timestamp::from_timestamp(self.now.load(Ordering::Relaxed), 0).unwrap()
    }
}

#[async_trait]
impl Fetch for World {
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
            other => panic!("nobody may ask {other}"),
        };
        Ok(document.to_string().into_bytes())
    }

    async fn post_form(&self, url: &str, _: (&str, &str), _: &[(&str, &str)]) -> Result<Vec<u8>, FetchError> {
        panic!("nobody may ask {url}")
    }
}

fn discovery() -> Value {
    json!({ "issuer": ISSUER, "jwks_uri": "https://login.example.org/keys" })
}

fn world(keys: &[&'static str]) -> (Arc<World>, Arc<Provider>) {
    let world = Arc::new(World {
        now: AtomicI64::new(1_800_000_000),
        reads: AtomicUsize::new(0),
        keys: Mutex::new(keys.to_vec()),
        discovery: Mutex::new(Some(discovery())),
    });
    let provider = Arc::new(Provider::new(ISSUER, world.clone(), world.clone()));
    (world, provider)
}

impl World {
    fn wait(&self, seconds: i64) {
        self.now.fetch_add(seconds, Ordering::Relaxed);
    }

    fn reads(&self) -> usize {
        self.reads.load(Ordering::Relaxed)
    }
}

async fn ask(provider: &Provider, id: &str) -> &'static str {
    match provider.key(Some(id), Algorithm::ES256).await {
        Ok(_) => "key",
        Err(AuthError::Invalid) => "invalid",
        Err(AuthError::Unavailable(_)) => "unavailable",
        Err(AuthError::Missing) => "missing",
        Err(AuthError::Bound) => "bound",
    }
}

#[tokio::test]
async fn keys_are_read_once_for_many_tokens() {
    let (world, provider) = world(&["a"]);
    assert_eq!(world.reads(), 0, "nothing before the first token");
    let many = (0..50).map(|_| ask(&provider, "a"));
    assert!(futures_util::future::join_all(many).await.iter().all(|a| *a == "key"));
    assert_eq!(world.reads(), 1);
}

#[tokio::test]
async fn a_new_key_is_found_and_an_old_one_is_forgotten() {
    let (world, provider) = world(&["old"]);
    assert_eq!(ask(&provider, "old").await, "key");
    world.wait(30);
    *world.keys.lock().unwrap() = vec!["new"];
    assert_eq!(ask(&provider, "old").await, "key", "nothing asks for a read yet");
    assert_eq!(ask(&provider, "new").await, "key");
    assert_eq!(ask(&provider, "old").await, "invalid");
    assert_eq!(world.reads(), 2, "the name that is gone is not looked for within ten seconds");
    world.wait(300);
    *world.keys.lock().unwrap() = vec![];
    assert_eq!(ask(&provider, "new").await, "invalid", "a key that was taken back is believed for five minutes at most");
}

#[tokio::test]
async fn invented_key_names_do_not_reach_the_issuer() {
    let (world, provider) = world(&["a"]);
    ask(&provider, "a").await;
    for n in 0..500 {
        assert_eq!(ask(&provider, &format!("invented-{n}")).await, "invalid");
    }
    assert_eq!(world.reads(), 1);
    world.wait(11);
    for _ in 0..100 {
        assert_eq!(ask(&provider, "invented").await, "invalid");
        assert_eq!(ask(&provider, "a").await, "key", "real tokens are served meanwhile");
    }
    assert_eq!(world.reads(), 2);
    world.wait(11);
    ask(&provider, "invented").await;
    assert_eq!(world.reads(), 2, "a name that was looked for in vain is remembered");
    world.wait(61);
    ask(&provider, "invented").await;
    assert_eq!(world.reads(), 3, "but not for ever");
}

#[tokio::test]
async fn keys_serve_for_an_hour_while_the_issuer_is_down() {
    let (world, provider) = world(&["a"]);
    assert_eq!(ask(&provider, "a").await, "key");
    *world.discovery.lock().unwrap() = None;
    world.wait(3_500);
    assert_eq!(ask(&provider, "a").await, "key");
    world.wait(101);
    assert_eq!(ask(&provider, "a").await, "unavailable");
    let reads = world.reads();
    for _ in 0..100 {
        assert_eq!(ask(&provider, "a").await, "unavailable");
    }
    assert_eq!(world.reads(), reads, "an issuer that is down is not asked by every request");
    *world.discovery.lock().unwrap() = Some(discovery());
    world.wait(10);
    assert_eq!(ask(&provider, "a").await, "key");
}

#[tokio::test]
async fn an_issuer_speaks_for_itself_and_over_tls_only() {
    for bad in [
        json!({ "issuer": "https://evil.example", "jwks_uri": "https://login.example.org/keys" }),
        json!({ "issuer": ISSUER, "jwks_uri": "http://login.example.org/keys" }),
        json!({ "issuer": ISSUER, "jwks_uri": "https://login.example.org/keys", "introspection_endpoint": "http://login.example.org/i" }),
        json!({ "issuer": ISSUER, "jwks_uri": "file:///etc/passwd" }),
        json!({ "issuer": ISSUER }),
        json!([]),
    ] {
        let (world, provider) = world(&["a"]);
        *world.discovery.lock().unwrap() = Some(bad.clone());
        assert_eq!(ask(&provider, "a").await, "unavailable", "{bad}");
    }
}
