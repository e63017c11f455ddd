//! A token issuer in this process, for servers with many users.

use anyhow::Context;
use axum::{Json, Router, routing::get};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
};
use serde_json::json;
use tokio::{net::TcpListener, task::JoinHandle};

use crate::follow::now;

const AUDIENCE: &str = "https://recall.example.org";
const KEY: &str = "one";
/// Lifetime of a token in seconds, longer than any workload.
const LIFE: i64 = 6 * 3600;

/// The issuer; stops when dropped.
pub(crate) struct People {
    url: String,
    key: EcdsaKeyPair,
    serving: JoinHandle<()>,
}

impl Drop for People {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl People {
    /// Generates a key and serves its public half.
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let random = SystemRandom::new();
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random)?;
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, made.as_ref(), &random)?;
        // One byte says that the point is not compressed.
        let (x, y) = key.public_key().as_ref()[1..].split_at(32);
        let (x, y) = (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y));
        let jwk = json!({ "kty": "EC", "crv": "P-256", "alg": "ES256", "kid": KEY, "use": "sig", "x": x, "y": y });
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let (discovery, keys) = (json!({ "issuer": url, "jwks_uri": format!("{url}/jwks") }), json!({ "keys": [jwk] }));
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(move || std::future::ready(Json(discovery.clone()))))
            .route("/jwks", get(move || std::future::ready(Json(keys.clone()))));
        let serving = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                eprintln!("the issuer ended: {error}");
            }
        });
        Ok(Self { url, key, serving })
    }

    /// Returns server settings that accept the tokens and set no limits.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        let mut settings = self.identities();
        settings.extend([
            ("RECALL_REQUESTS_PER_MINUTE", "0".to_owned()),
            ("RECALL_ADDRESS_REQUESTS_PER_MINUTE", "0".to_owned()),
            ("RECALL_MESSAGES_PER_MINUTE", "0".to_owned()),
            ("RECALL_MESSAGES_PER_DAY", "0".to_owned()),
            // Without these, fewer facts would be extracted and counted than on a server without login.
            ("RECALL_ENTITIES_PER_SESSION", "0".to_owned()),
            ("RECALL_FACTS_PER_SESSION", "0".to_owned()),
        ]);
        settings
    }

    /// Returns server settings that accept the tokens.
    pub(crate) fn identities(&self) -> Vec<(&'static str, String)> {
        vec![("RECALL_OIDC_ISSUER", self.url.clone()), ("RECALL_OIDC_AUDIENCE", AUDIENCE.to_owned())]
    }

    /// Returns tokens of `n` users.
    pub(crate) fn tokens(&self, n: usize) -> anyhow::Result<Vec<String>> {
        let encode = |part: &[u8]| URL_SAFE_NO_PAD.encode(part);
        let header = encode(json!({ "typ": "at+jwt", "alg": "ES256", "kid": KEY }).to_string().as_bytes());
        let (now, random) = (now().timestamp(), SystemRandom::new());
        let token = |n: usize| {
            let claims = json!({
                "iss": self.url, "aud": AUDIENCE, "sub": format!("person {n}"), "client_id": "workload", "jti": format!("{now} {n}"),
                "iat": now, "exp": now + LIFE, "scope": "recall.read recall.write",
            });
            let message = format!("{header}.{}", encode(claims.to_string().as_bytes()));
            let signature = self.key.sign(&random, message.as_bytes()).ok().context("a token cannot be signed")?;
            Ok(format!("{message}.{}", encode(signature.as_ref())))
        };
        (0..n).map(token).collect()
    }
}
