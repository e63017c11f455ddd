//! Forged, stolen and invalid tokens all get the same answer, so that guessing reveals nothing.

use std::sync::atomic::Ordering;

use jsonwebtoken::Algorithm;
use ring::hmac::{HMAC_SHA256, HMAC_SHA384, HMAC_SHA512};
use serde_json::{Value, json};

use super::issuer::{AUDIENCE, FIXED_TOKEN, Issuer, Key, LOCAL, changed, server, sign_with_secret, unsigned};
use crate::api::harness::{Server, text};

const VIEWER: &str = "{ viewer { id role } }";

/// Returns status, challenge and body of a request with this `Authorization` header.
async fn ask(server: &Server, authorization: &str) -> (u16, String, Value) {
    let request = server.http.post(server.url("/graphql")).header("authorization", authorization);
    let answer = request.json(&json!({ "query": VIEWER })).send().await.unwrap();
    let challenge = answer.headers().get("www-authenticate").map(|v| v.to_str().unwrap().to_owned()).unwrap_or_default();
    (answer.status().as_u16(), challenge, answer.json().await.unwrap())
}

async fn viewer(server: &Server, token: &str) -> Value {
    let (status, _, body) = ask(server, &format!("Bearer {token}")).await;
    assert_eq!(status, 200, "{body}");
    body["data"]["viewer"].clone()
}

/// Asserts the one answer that every bad token gets.
async fn refused(server: &Server, name: &str, token: &str) {
    let (status, challenge, body) = ask(server, &format!("Bearer {token}")).await;
    assert_eq!((status, &body["code"]), (401, &json!("UNAUTHENTICATED")), "{name}: {body}");
    assert_eq!(body["detail"], "The credentials are not valid. Log in again.", "{name}");
    let metadata = format!("Bearer error=\"invalid_token\", resource_metadata=\"{AUDIENCE}/.well-known/oauth-protected-resource\"");
    assert_eq!(challenge, metadata, "{name}");
}

async fn world() -> (std::sync::Arc<Issuer>, Server) {
    let issuer =
        Issuer::start(&[Key::new("a", Algorithm::ES256), Key::new("rsa", Algorithm::RS256), Key::new("ed", Algorithm::EdDSA)]).await;
    let server = server(&[&issuer]).await;
    (issuer, server)
}

#[tokio::test]
async fn valid_tokens_identify_user_by_issuer_and_subject() {
    let (issuer, _) = world().await;
    let other = Issuer::start(&[Key::new("a", Algorithm::ES256)]).await;
    let server = server(&[&issuer, &other]).await;
    let anna = viewer(&server, &issuer.token("anna", json!({}))).await;
    assert_eq!(anna["role"], "USER");
    for id in ["rsa", "ed"] {
        let key = issuer.key(id);
        assert_eq!(viewer(&server, &key.sign(&key.header(), &issuer.claims("anna"))).await, anna, "{id}");
    }
    let boris = viewer(&server, &issuer.token("boris", json!({}))).await;
    let namesake = viewer(&server, &other.token("anna", json!({}))).await;
    assert!(boris["id"] != anna["id"] && namesake["id"] != anna["id"]);
    assert_eq!(viewer(&server, &issuer.token("anna", json!({ "roles": ["x", "recall-admin"] }))).await["role"], "ADMIN");
    let fixed = viewer(&server, FIXED_TOKEN).await;
    assert_eq!((text(&fixed["id"]), text(&fixed["role"])), (LOCAL.to_owned(), "ADMIN".to_owned()));
}

#[tokio::test]
async fn unsigned_and_wrongly_signed_tokens_are_refused() {
    let (issuer, server) = world().await;
    let (key, claims) = (issuer.key("a"), issuer.claims("anna"));
    for alg in ["none", "None", "NONE", "nOnE", ""] {
        let message = unsigned(&changed(key.header(), &json!({ "alg": alg })), &claims);
        refused(&server, alg, &format!("{message}.")).await;
        refused(&server, alg, &message).await;
        refused(&server, alg, &format!("{message}.e30")).await;
    }
    // Uses the public key as a shared secret, in every form that an implementation might take.
    let rsa = issuer.key("rsa");
    let jwk = rsa.public();
    for (n, secret) in [jwk.to_string(), text(&jwk["n"]), format!("{}{}", text(&jwk["n"]), text(&jwk["e"]))].iter().enumerate() {
        for (alg, algorithm) in [("HS256", HMAC_SHA256), ("HS384", HMAC_SHA384), ("HS512", HMAC_SHA512)] {
            let header = changed(rsa.header(), &json!({ "alg": alg }));
            refused(&server, &format!("{alg} {n}"), &sign_with_secret(&header, &claims, secret.as_bytes(), algorithm)).await;
        }
    }
    // A valid signature of a key for another algorithm.
    for alg in ["RS256", "PS256", "EdDSA", "ES384"] {
        refused(&server, alg, &key.sign(&changed(key.header(), &json!({ "alg": alg })), &claims)).await;
    }
}

#[tokio::test]
async fn tokens_with_invalid_claims_are_refused() {
    let (issuer, _) = world().await;
    let other = Issuer::start(&[Key::new("a", Algorithm::ES256)]).await;
    let server = server(&[&issuer, &other]).await;
    let now = issuer.claims("anna")["iat"].as_i64().unwrap();
    viewer(&server, &issuer.token("anna", json!({}))).await;
    for (name, change) in [
        ("another audience", json!({ "aud": "https://other.example.org" })),
        ("audience with a slash", json!({ "aud": format!("{AUDIENCE}/") })),
        ("no audience", json!({ "aud": null })),
        ("an unknown issuer", json!({ "iss": "https://evil.example" })),
        ("issuer with a slash", json!({ "iss": format!("{}/", issuer.url) })),
        ("no issuer", json!({ "iss": null })),
        ("a mixed-up issuer", json!({ "iss": other.url })),
        ("no subject", json!({ "sub": null })),
        ("expired", json!({ "exp": now - 1 })),
        ("without end", json!({ "exp": null })),
        ("not valid yet", json!({ "nbf": now + 60 })),
        ("issued in the future", json!({ "iat": now + 60 })),
        ("an ID token", json!({ "nonce": "n" })),
    ] {
        refused(&server, name, &issuer.token("anna", change)).await;
    }
}

/// RFC 9449 and RFC 8705: a stolen bound token is useless only if no server accepts it as a bearer token.
#[tokio::test]
async fn key_bound_token_is_refused_with_reason() {
    let (issuer, server) = world().await;
    for confirmation in [json!({ "jkt": "0ZcOCORZNYy" }), json!({ "x5t#S256": "bwcK0esc3AC" }), json!({}), json!("x")] {
        let token = issuer.token("anna", json!({ "cnf": confirmation }));
        let (status, challenge, body) = ask(&server, &format!("Bearer {token}")).await;
        assert_eq!((status, &body["code"]), (401, &json!("UNAUTHENTICATED")), "{body}");
        assert!(text(&body["detail"]).contains("`cnf`") && challenge.contains("invalid_token"), "{body} {challenge}");
        let (status, ..) = ask(&server, &format!("DPoP {token}")).await;
        assert_eq!(status, 401);
    }
    let forged = Key::new("a", Algorithm::ES256);
    let token = forged.sign(&forged.header(), &changed(issuer.claims("anna"), &json!({ "cnf": {} })));
    refused(&server, "only a valid token gets the reason", &token).await;
}

#[tokio::test]
async fn unknown_and_embedded_keys_are_refused() {
    let (issuer, server) = world().await;
    let stranger = Key::new("a", Algorithm::ES256);
    let claims = issuer.claims("anna");
    viewer(&server, &issuer.token("anna", json!({}))).await;
    let reads = issuer.reads.load(Ordering::Relaxed);
    refused(&server, "a known name, another key", &stranger.sign(&stranger.header(), &claims)).await;
    for change in [
        json!({ "kid": "unknown" }),
        json!({ "kid": "../../../../dev/null" }),
        json!({ "kid": "a' OR '1'='1" }),
        json!({ "kid": "" }),
        json!({ "kid": 7 }),
        json!({ "kid": null }),
        json!({ "jwk": stranger.public() }),
        json!({ "jku": format!("{}/evil", issuer.url) }),
        json!({ "x5u": format!("{}/evil", issuer.url), "kid": null }),
    ] {
        refused(&server, &change.to_string(), &stranger.sign(&changed(stranger.header(), &change), &claims)).await;
    }
    assert_eq!(issuer.reads.load(Ordering::Relaxed), reads, "a token caused a request within ten seconds of the last");
    let key = issuer.key("a");
    for change in [json!({ "typ": "JWT" }), json!({ "typ": null }), json!({ "crit": ["exp"] }), json!({ "crit": [] })] {
        refused(&server, &change.to_string(), &key.sign(&changed(key.header(), &change), &claims)).await;
    }
}

#[tokio::test]
async fn rotated_key_replaces_old_key() {
    let (issuer, server) = world().await;
    let old = issuer.token("anna", json!({}));
    let anna = viewer(&server, &old).await;
    let new = Key::new("new", Algorithm::ES256);
    issuer.keys.lock().unwrap().clear();
    issuer.keys.lock().unwrap().insert("new".to_owned(), new.clone());
    issuer.clock.advance(11);
    assert_eq!(viewer(&server, &old).await, anna, "the old key is refused before the new one was read");
    assert_eq!(viewer(&server, &new.sign(&new.header(), &issuer.claims("anna"))).await, anna);
    refused(&server, "signed with the old key", &old).await;
}

#[tokio::test]
async fn malformed_and_oversized_tokens_are_refused() {
    let (issuer, server) = world().await;
    let good = issuer.token("anna", json!({}));
    viewer(&server, &good).await;
    refused(&server, "oversized", &issuer.token("anna", json!({ "filler": "x".repeat(9_000) }))).await;
    let (message, signature) = good.rsplit_once('.').unwrap();
    let (header, _) = message.split_once('.').unwrap();
    let admin = unsigned(&issuer.key("a").header(), &changed(issuer.claims("anna"), &json!({ "roles": ["recall-admin"] })));
    for bad in [
        format!("{admin}.{signature}"),
        format!("{message}.{}", signature.chars().rev().collect::<String>()),
        format!("{message}."),
        format!("{message}.{}", "A".repeat(86)),
        header.to_owned(),
        format!("{good}.x"),
        format!("{good}="),
        "a.b.c".to_owned(),
        "..".to_owned(),
        "null".to_owned(),
        FIXED_TOKEN[1..].to_owned(),
        format!("{FIXED_TOKEN}x"),
    ] {
        refused(&server, &bad, &bad).await;
    }
    for bad in ["Basic dXNlcjpwYXNz", "Bearer", "bearer:x", &format!("Token {good}"), &format!("Bearer {good} {good}")] {
        assert_eq!(ask(&server, bad).await.0, 401, "{bad}");
    }
    let twice = server.http.post(server.url("/graphql")).header("authorization", format!("Bearer {good}"));
    let twice = twice.header("authorization", format!("Bearer {FIXED_TOKEN}")).json(&json!({ "query": VIEWER }));
    assert_eq!(twice.send().await.unwrap().status(), 401, "two tokens are accepted");
    for place in ["access_token", "token", "authorization"] {
        let query = server.http.post(server.url(&format!("/graphql?{place}={good}"))).json(&json!({ "query": VIEWER }));
        assert_eq!(query.send().await.unwrap().status(), 401, "a token in the address, which logs contain, is accepted: {place}");
    }
}

#[tokio::test]
async fn missing_token_gets_resource_metadata() {
    let (issuer, server) = world().await;
    let answer = server.http.post(server.url("/graphql")).json(&json!({ "query": VIEWER })).send().await.unwrap();
    assert_eq!(answer.status(), 401);
    let challenge = answer.headers()["www-authenticate"].to_str().unwrap().to_owned();
    assert_eq!(challenge, format!("Bearer resource_metadata=\"{AUDIENCE}/.well-known/oauth-protected-resource\""));
    let metadata: Value = server.http.get(server.url("/.well-known/oauth-protected-resource")).send().await.unwrap().json().await.unwrap();
    assert_eq!(metadata["resource"], AUDIENCE);
    assert_eq!(metadata["authorization_servers"], json!([issuer.url]));
    assert_eq!(metadata["scopes_supported"], json!(["recall.read", "recall.write", "recall.admin"]));
    assert_eq!(metadata["bearer_methods_supported"], json!(["header"]));
    let page = server.http.get(server.url("/graphql")).header("accept", "text/html").send().await.unwrap();
    assert_eq!(page.status(), 200, "the query page is closed, although it runs nothing without a token");
    let query = server.http.get(server.url("/graphql?query={viewer{id}}")).send().await.unwrap();
    assert_eq!(query.status(), 401);
    for path in ["/", "/healthz", "/readyz"] {
        assert_eq!(server.http.get(server.url(path)).send().await.unwrap().status(), 200, "{path} is closed");
    }
}
