//! A token issuer in the test's process. It signs anything, including tokens that no real issuer would sign.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
};

use axum::{Json, Router, extract::State, routing::get};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::Algorithm;
use recall::{http_client::WebDocuments, system::SystemClock};
use recall_api::{ProtectedResource, ServerConfig, TokenConfig, Tokens};
use recall_domain::{Timestamp, UserId};
use recall_ports::{Clock, Fetch, Store};
use ring::{
    hmac,
    rand::SystemRandom,
    rsa,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256},
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::op::{self, Op};
use crate::api::harness::Server;

pub(crate) const AUDIENCE: &str = "https://recall.example.org";
pub(crate) const FIXED_TOKEN: &str = "fixed-token-0123456789-0123456789-0123456789";
/// The user of the fixed token.
pub(crate) const LOCAL: &str = "00000000-0000-4000-8000-00000000000c";

/// An RSA key for these tests alone. ring generates none.
const RSA: &[u8] = include_bytes!("../../data/issuer/rsa.pk8.der");

/// A named signing key.
#[derive(Clone)]
pub(crate) struct Key {
    pub(crate) id: String,
    pub(crate) algorithm: Algorithm,
    private: Arc<PrivateKey>,
}

enum PrivateKey {
    Rsa(rsa::KeyPair),
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

impl Key {
    pub(crate) fn new(id: &str, algorithm: Algorithm) -> Self {
        let random = SystemRandom::new();
        let private = match algorithm {
            Algorithm::ES256 => {
                let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
                PrivateKey::Ec(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key.as_ref(), &random).unwrap())
            }
            Algorithm::EdDSA => {
                PrivateKey::Ed(Ed25519KeyPair::from_pkcs8(Ed25519KeyPair::generate_pkcs8(&random).unwrap().as_ref()).unwrap())
            }
            _ => PrivateKey::Rsa(rsa::KeyPair::from_pkcs8(RSA).unwrap()),
        };
        Self { id: id.to_owned(), algorithm, private: Arc::new(private) }
    }

    pub(crate) fn public(&self) -> Value {
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let mut jwk = match &*self.private {
            PrivateKey::Rsa(key) => {
                let public: rsa::PublicKeyComponents<Vec<u8>> = key.public().into();
                json!({ "kty": "RSA", "n": encode(&public.n), "e": encode(&public.e) })
            }
            PrivateKey::Ec(key) => {
                // One byte says that the point is not compressed.
                let (x, y) = key.public_key().as_ref()[1..].split_at(32);
                json!({ "kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y) })
            }
            PrivateKey::Ed(key) => json!({ "kty": "OKP", "crv": "Ed25519", "x": encode(key.public_key().as_ref()) }),
        };
        jwk["alg"] = json!(self.algorithm);
        jwk["kid"] = json!(self.id);
        jwk["use"] = json!("sig");
        jwk
    }

    /// Returns the header of a valid token.
    pub(crate) fn header(&self) -> Value {
        json!({ "typ": "at+jwt", "alg": self.algorithm, "kid": self.id })
    }

    /// Signs this header and these claims without checks.
    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        let (message, random) = (unsigned(header, claims), SystemRandom::new());
        let signature = match &*self.private {
            PrivateKey::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, message.as_bytes(), &mut signature).unwrap();
                signature
            }
            PrivateKey::Ec(key) => key.sign(&random, message.as_bytes()).unwrap().as_ref().to_vec(),
            PrivateKey::Ed(key) => key.sign(message.as_bytes()).as_ref().to_vec(),
        };
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

pub(crate) fn unsigned(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(header), part(claims))
}

/// Signs with a shared secret, which this server accepts from nobody.
pub(crate) fn sign_with_secret(header: &Value, claims: &Value, secret: &[u8], algorithm: hmac::Algorithm) -> String {
    let message = unsigned(header, claims);
    let signature = hmac::sign(&hmac::Key::new(algorithm, secret), message.as_bytes());
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// A clock that tests can advance.
#[derive(Default)]
pub(crate) struct AdjustableClock(AtomicI64);

impl AdjustableClock {
    pub(crate) fn advance(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl Clock for AdjustableClock {
    fn now(&self) -> Timestamp {
        SystemClock.now() + chrono::TimeDelta::seconds(self.0.load(Ordering::Relaxed))
    }
}

/// An issuer on its own port. It stops with the test's runtime.
pub(crate) struct Issuer {
    pub(crate) url: String,
    pub(crate) keys: Mutex<BTreeMap<String, Key>>,
    pub(crate) reads: AtomicUsize,
    pub(crate) clock: Arc<AdjustableClock>,
    pub(crate) op: Op,
}

impl Issuer {
    pub(crate) async fn start(keys: &[Key]) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address: SocketAddr = listener.local_addr().unwrap();
        let keys = keys.iter().map(|k| (k.id.clone(), k.clone())).collect();
        let url = format!("http://{address}");
        let issuer = Arc::new(Self { url, keys: Mutex::new(keys), reads: AtomicUsize::new(0), clock: Arc::default(), op: Op::default() });
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route("/jwks", get(jwks))
            .route("/evil", get(jwks))
            .merge(op::routes())
            .with_state(issuer.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        issuer
    }

    pub(crate) fn key(&self, id: &str) -> Key {
        self.keys.lock().unwrap()[id].clone()
    }

    /// Returns the claims of a valid token that expires in an hour.
    pub(crate) fn claims(&self, subject: &str) -> Value {
        let now = self.clock.now().timestamp();
        json!({ "iss": self.url, "sub": subject, "aud": AUDIENCE, "iat": now, "exp": now + 3600, "client_id": "tests", "jti": "1",
            "scope": "recall.read recall.write" })
    }

    /// Returns a valid token with some claims replaced.
    pub(crate) fn token(&self, subject: &str, change: Value) -> String {
        let key = self.key("a");
        key.sign(&key.header(), &changed(self.claims(subject), &change))
    }
}

/// Replaces members of an object; null removes one.
pub(crate) fn changed(mut object: Value, change: &Value) -> Value {
    for (name, value) in change.as_object().unwrap() {
        match value {
            Value::Null => object.as_object_mut().unwrap().remove(name),
            value => object.as_object_mut().unwrap().insert(name.clone(), value.clone()),
        };
    }
    object
}

async fn discovery(State(issuer): State<Arc<Issuer>>) -> Json<Value> {
    let place = |path: &str| format!("{}{path}", issuer.url);
    let mut document = json!({ "issuer": issuer.url, "jwks_uri": place("/jwks"), "authorization_endpoint": place("/authorize"),
        "token_endpoint": place("/token"), "userinfo_endpoint": place("/userinfo"), "end_session_endpoint": place("/end") });
    document["authorization_response_iss_parameter_supported"] = json!(issuer.op.names_issuer());
    Json(document)
}

async fn jwks(State(issuer): State<Arc<Issuer>>) -> Json<Value> {
    issuer.reads.fetch_add(1, Ordering::Relaxed);
    let keys: Vec<Value> = issuer.keys.lock().unwrap().values().map(Key::public).collect();
    Json(json!({ "keys": keys }))
}

/// Returns the configuration with which a server accepts tokens of these issuers.
pub(crate) fn token_config(issuers: &[&Issuer]) -> TokenConfig {
    TokenConfig {
        issuers: issuers.iter().map(|i| i.url.clone()).collect(),
        audiences: vec![AUDIENCE.to_owned()],
        algorithms: ["RS256", "PS256", "ES256", "EdDSA"].map(str::to_owned).to_vec(),
        types: vec!["at+jwt".to_owned()],
        role_claim: "roles".to_owned(),
        admin_role: "recall-admin".to_owned(),
        clock_skew: std::time::Duration::ZERO,
        introspection: None,
        personal: None,
        revoked: None,
        fixed: Some((FIXED_TOKEN.to_owned(), LOCAL.parse::<UserId>().unwrap())),
    }
}

/// Returns the metadata that the server publishes about these issuers.
pub(crate) fn resource(issuers: &[&Issuer]) -> ProtectedResource {
    ProtectedResource { resource: AUDIENCE.to_owned(), authorization_servers: issuers.iter().map(|i| i.url.clone()).collect() }
}

/// Starts a server that accepts tokens of these issuers.
pub(crate) async fn server(issuers: &[&Issuer]) -> Server {
    let fetch: Arc<dyn Fetch> = Arc::new(WebDocuments::new().unwrap());
    let config = token_config(issuers);
    let clock: Arc<dyn Clock> = match issuers.first() {
        Some(issuer) => issuer.clock.clone(),
        None => Arc::new(SystemClock),
    };
    let tokens = |store: Arc<dyn Store>| {
        Arc::new(Tokens::new(TokenConfig { personal: Some(store.clone()), revoked: Some(store), ..config }, Some(&fetch), clock).unwrap())
            as Arc<_>
    };
    Server::start_over(ServerConfig::default(), tokens, Some(resource(issuers))).await
}
