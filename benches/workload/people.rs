//! A token issuer in this process, for servers with many users.

use anyhow::Context;
use aws_lc_rs::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair},
};
use axum::{Json, Router, routing::get};
use jsonwebtoken::{Algorithm, EncodingKey, Header, jwk::Jwk};
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
    key: EncodingKey,
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
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new())?;
        let key = EncodingKey::from_ec_der(made.as_ref());
        let mut jwk = json!(Jwk::from_encoding_key(&key, Algorithm::ES256)?);
        jwk["kid"] = json!(KEY);
        jwk["use"] = json!("sig");
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
        let mut header = Header::new(Algorithm::ES256);
        (header.typ, header.kid) = (Some("at+jwt".to_owned()), Some(KEY.to_owned()));
        let now = now().timestamp();
        let token = |n: usize| {
            let claims = json!({
                "iss": self.url, "aud": AUDIENCE, "sub": format!("person {n}"), "client_id": "workload", "jti": format!("{now} {n}"),
                "iat": now, "exp": now + LIFE, "scope": "recall.read recall.write",
            });
            jsonwebtoken::encode(&header, &claims, &self.key).context("a token cannot be signed")
        };
        (0..n).map(token).collect()
    }
}
