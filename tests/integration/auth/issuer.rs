//! An issuer of tokens in the test's own process: it signs whatever a test wants, also what no real one would.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
};

use aws_lc_rs::{
    encoding::AsDer,
    rand::SystemRandom,
    rsa,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair},
};
use axum::{Json, Router, extract::State, routing::get};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, crypto, jwk::Jwk};
use recall::{http_client::WebDocuments, system::SystemClock};
use recall_api::{ProtectedResource, ServerConfig, TokenConfig, Tokens};
use recall_domain::{Timestamp, UserId};
use recall_ports::{Clock, Fetch, Store};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::op::{self, Op};
use crate::api::harness::Server;

pub(crate) const AUDIENCE: &str = "https://recall.example.org";
pub(crate) const FIXED_TOKEN: &str = "fixed-token-0123456789-0123456789-0123456789";
/// Whose data the fixed token opens.
pub(crate) const LOCAL: &str = "00000000-0000-4000-8000-00000000000c";

/// A key with a name.
#[derive(Clone)]
pub(crate) struct Key {
    pub(crate) id: String,
    pub(crate) algorithm: Algorithm,
    pub(crate) private: EncodingKey,
}

impl Key {
    pub(crate) fn new(id: &str, algorithm: Algorithm) -> Self {
        let random = SystemRandom::new();
        let private = match algorithm {
            Algorithm::ES256 => {
                let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
                EncodingKey::from_ec_der(key.as_ref())
            }
            Algorithm::EdDSA => EncodingKey::from_ed_der(Ed25519KeyPair::generate_pkcs8(&random).unwrap().as_ref()),
            _ => {
                let key = rsa::KeyPair::generate(rsa::KeySize::Rsa2048).unwrap();
                let der: aws_lc_rs::encoding::Pkcs8V1Der<'_> = key.as_der().unwrap();
                // The key itself lies behind the envelope of 26 bytes.
                EncodingKey::from_rsa_der(&der.as_ref()[26..])
            }
        };
        Self { id: id.to_owned(), algorithm, private }
    }

    pub(crate) fn public(&self) -> Value {
        let mut jwk = match self.algorithm {
            Algorithm::EdDSA => {
                use aws_lc_rs::signature::KeyPair;
                let pair = Ed25519KeyPair::from_pkcs8(self.private.inner()).unwrap();
                json!({ "kty": "OKP", "crv": "Ed25519", "x": URL_SAFE_NO_PAD.encode(pair.public_key().as_ref()) })
            }
            algorithm => json!(Jwk::from_encoding_key(&self.private, algorithm).unwrap()),
        };
        jwk["kid"] = json!(self.id);
        jwk["use"] = json!("sig");
        jwk
    }

    /// The header that a good token has.
    pub(crate) fn header(&self) -> Value {
        json!({ "typ": "at+jwt", "alg": self.algorithm, "kid": self.id })
    }

    /// Signs what it is given, right or wrong.
    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        sign(header, claims, &self.private, self.algorithm)
    }
}

pub(crate) fn unsigned(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(header), part(claims))
}

pub(crate) fn sign(header: &Value, claims: &Value, key: &EncodingKey, algorithm: Algorithm) -> String {
    let message = unsigned(header, claims);
    let signature = crypto::sign(message.as_bytes(), key, algorithm).unwrap();
    format!("{message}.{signature}")
}

/// A clock that tests can put forward.
#[derive(Default)]
pub(crate) struct Ahead(AtomicI64);

impl Ahead {
    pub(crate) fn wait(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        SystemClock.now() + chrono::TimeDelta::seconds(self.0.load(Ordering::Relaxed))
    }
}

/// An issuer on a port of its own. It stops with the test's runtime.
pub(crate) struct Issuer {
    pub(crate) url: String,
    pub(crate) keys: Mutex<BTreeMap<String, Key>>,
    pub(crate) reads: AtomicUsize,
    pub(crate) clock: Arc<Ahead>,
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

    /// Claims of a good token that lives for an hour.
    pub(crate) fn claims(&self, subject: &str) -> Value {
        let now = self.clock.now().timestamp();
        json!({ "iss": self.url, "sub": subject, "aud": AUDIENCE, "iat": now, "exp": now + 3600, "client_id": "tests", "jti": "1",
            "scope": "recall.read recall.write" })
    }

    /// A good token with some claims replaced.
    pub(crate) fn token(&self, subject: &str, change: Value) -> String {
        let key = self.key("a");
        key.sign(&key.header(), &changed(self.claims(subject), &change))
    }
}

/// Replaces members of an object; null takes one away.
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
    document["authorization_response_iss_parameter_supported"] = json!(issuer.op.names_itself());
    Json(document)
}

async fn jwks(State(issuer): State<Arc<Issuer>>) -> Json<Value> {
    issuer.reads.fetch_add(1, Ordering::Relaxed);
    let keys: Vec<Value> = issuer.keys.lock().unwrap().values().map(Key::public).collect();
    Json(json!({ "keys": keys }))
}

/// What a server needs to read the tokens of issuers.
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

/// What it says about them.
pub(crate) fn resource(issuers: &[&Issuer]) -> ProtectedResource {
    ProtectedResource { resource: AUDIENCE.to_owned(), authorization_servers: issuers.iter().map(|i| i.url.clone()).collect() }
}

/// A server that accepts the tokens of issuers.
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
