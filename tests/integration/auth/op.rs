//! The issuer of the tests as one that people log in to: it gives codes and refresh tokens, each for one use, and says in ID
//! tokens whatever a test wants.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

use axum::{Json, Router, body::Bytes, extract::State, http::StatusCode, routing::post};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::issuer::{Issuer, changed};

pub(crate) const CLIENT: &str = "recall-web";
/// Odd characters, which have to be encoded on the way.
pub(crate) const CLIENT_SECRET: &str = "secret: +%/ of 0123456789";

/// Somebody who has logged in at the issuer.
#[derive(Clone)]
struct Grant {
    subject: String,
    /// Where the code was sent, and to what it is bound.
    asked: BTreeMap<String, String>,
    change: Value,
}

/// What the issuer knows of logins.
#[derive(Default)]
pub(crate) struct Op {
    codes: Mutex<BTreeMap<String, Grant>>,
    refresh_tokens: Mutex<BTreeMap<String, Grant>>,
    used: Mutex<BTreeMap<String, Grant>>,
    count: AtomicU64,
    pub(crate) refreshes: AtomicUsize,
    /// Answers nothing any more.
    pub(crate) down: AtomicBool,
    silent: AtomicBool,
    /// What is said at the userinfo endpoint; nothing when absent.
    pub(crate) userinfo: Mutex<Option<Value>>,
    /// What the answers to codes and refresh tokens say besides; null takes a member away.
    pub(crate) answer: Mutex<Option<Value>>,
}

pub(super) fn routes() -> Router<Arc<Issuer>> {
    Router::new().route("/token", post(token)).route("/userinfo", post(userinfo))
}

impl Op {
    pub(super) fn names_itself(&self) -> bool {
        !self.silent.load(Ordering::Relaxed)
    }

    /// It does not name itself in what it sends browsers back with.
    pub(crate) fn be_silent(&self) {
        self.silent.store(true, Ordering::Relaxed);
    }

    /// Somebody logs in: the code with which the browser goes back. `asked` are the parameters that it came with, and
    /// `change` is what the ID token says differently.
    pub(crate) fn code(&self, subject: &str, asked: &BTreeMap<String, String>, change: Value) -> String {
        let code = self.fresh("code");
        self.codes.lock().unwrap().insert(code.clone(), Grant { subject: subject.to_owned(), asked: asked.clone(), change });
        code
    }

    fn fresh(&self, what: &str) -> String {
        format!("{what}-{}", self.count.fetch_add(1, Ordering::Relaxed))
    }

    /// Takes back everything that somebody was given.
    pub(crate) fn forget(&self, subject: &str) {
        self.refresh_tokens.lock().unwrap().retain(|_, grant| grant.subject != subject);
    }

    /// The refresh tokens that are good.
    pub(crate) fn refresh_tokens(&self) -> Vec<String> {
        self.refresh_tokens.lock().unwrap().keys().cloned().collect()
    }

    /// Uses a refresh token, as the server does or a thief. One that was used before takes everything back.
    fn refresh(&self, token: &str) -> Option<Grant> {
        let grant = self.refresh_tokens.lock().unwrap().remove(token);
        if let Some(grant) = &grant {
            self.used.lock().unwrap().insert(token.to_owned(), grant.clone());
        } else if let Some(stolen) = self.used.lock().unwrap().get(token) {
            self.forget(&stolen.subject);
        }
        grant
    }

    /// Somebody who has stolen a refresh token uses it.
    pub(crate) fn steal(&self) -> Option<String> {
        let token = self.refresh_tokens().pop()?;
        let grant = self.refresh(&token)?;
        let next = self.fresh("refresh");
        self.refresh_tokens.lock().unwrap().insert(next.clone(), grant);
        Some(next)
    }
}

fn fields(body: &[u8]) -> BTreeMap<String, String> {
    form_urlencoded::parse(body).into_owned().collect()
}

type Answer = (StatusCode, Json<Value>);

fn refused(error: &str) -> Answer {
    (StatusCode::BAD_REQUEST, Json(json!({ "error": error, "error_description": "no" })))
}

/// Name and secret as in RFC 6749, section 2.3.1.
fn is_client(headers: &axum::http::HeaderMap) -> bool {
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let both = format!("{}:{}", encoded(CLIENT), encoded(CLIENT_SECRET));
    let expected = format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(both));
    headers.get("authorization").is_some_and(|v| v.to_str().unwrap() == expected)
}

/// Knows the bearer of the access token that `token` hands out.
async fn userinfo(State(issuer): State<Arc<Issuer>>, headers: axum::http::HeaderMap) -> Answer {
    let said = issuer.op.userinfo.lock().unwrap().clone();
    match said.filter(|_| headers.get("authorization").is_some_and(|v| v == "Bearer opaque")) {
        Some(said) => (StatusCode::OK, Json(said)),
        None => (StatusCode::UNAUTHORIZED, Json(json!({ "error": "invalid_token" }))),
    }
}

async fn token(State(issuer): State<Arc<Issuer>>, headers: axum::http::HeaderMap, body: Bytes) -> Answer {
    let form = fields(&body);
    let op = &issuer.op;
    if op.down.load(Ordering::Relaxed) {
        return (StatusCode::BAD_GATEWAY, Json(Value::Null));
    }
    if !is_client(&headers) {
        return (StatusCode::UNAUTHORIZED, Json(json!({ "error": "invalid_client" })));
    }
    let field = |name: &str| form.get(name).cloned().unwrap_or_default();
    let first = field("grant_type") == "authorization_code";
    let grant = match field("grant_type").as_str() {
        "authorization_code" => {
            let Some(grant) = op.codes.lock().unwrap().remove(&field("code")) else { return refused("invalid_grant") };
            let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(field("code_verifier")));
            let bound = grant.asked["code_challenge"] == challenge && grant.asked["redirect_uri"] == field("redirect_uri");
            if !bound {
                return refused("invalid_grant");
            }
            grant
        }
        "refresh_token" => {
            op.refreshes.fetch_add(1, Ordering::Relaxed);
            match op.refresh(&field("refresh_token")) {
                Some(grant) => grant,
                None => return refused("invalid_grant"),
            }
        }
        _ => return refused("unsupported_grant_type"),
    };
    let refresh = op.fresh("refresh");
    op.refresh_tokens.lock().unwrap().insert(refresh.clone(), grant.clone());
    let now = recall_ports::Clock::now(&*issuer.clock).timestamp();
    let key = issuer.key("a");
    let mut claims = json!({ "iss": issuer.url, "sub": grant.subject, "aud": CLIENT, "iat": now, "exp": now + 3600,
        "sid": format!("session of {}", grant.subject), "name": format!("{} at the issuer", grant.subject) });
    if first {
        claims["nonce"] = json!(grant.asked["nonce"]);
    }
    let id_token = key.sign(&json!({ "typ": "JWT", "alg": key.algorithm, "kid": key.id }), &changed(claims, &grant.change));
    let answer =
        json!({ "access_token": "opaque", "token_type": "bearer", "expires_in": 300, "refresh_token": refresh, "id_token": id_token });
    let change = op.answer.lock().unwrap().clone().unwrap_or(json!({}));
    (StatusCode::OK, Json(changed(answer, &change)))
}
