//! Event streams under a login cookie when the login ends here or at the issuer, and checks of logout tokens.

use jsonwebtoken::Algorithm;
use serde_json::{Value, json};

use super::{
    super::{
        issuer::changed,
        streams::{hear, open, send, until},
    },
    *,
};
use crate::server::within;

const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

fn logout_token(issuer: &Issuer, subject: &str, change: Value) -> String {
    let now = recall_ports::Clock::now(&*issuer.clock).timestamp();
    let claims = json!({ "iss": issuer.url, "aud": CLIENT, "sub": subject, "sid": format!("session of {subject}"), "iat": now, "exp": now + 120,
        "jti": "1", "events": { EVENT: {} } });
    let key = issuer.key("a");
    key.sign(&json!({ "typ": "logout+jwt", "alg": key.algorithm, "kid": key.id }), &changed(claims, &change))
}

async fn tell(server: &Server, token: &str) -> u16 {
    let body = form_urlencoded::Serializer::new(String::new()).append_pair("logout_token", token).finish();
    let request = server.http.post(server.url("/auth/backchannel-logout")).header("content-type", "application/x-www-form-urlencoded");
    request.body(body).send().await.unwrap().status().as_u16()
}

async fn say(browser: &Browser, session: &str, text: &str) {
    let query = format!("mutation {{ sendMessage(input: {{ sessionId: \"{session}\", text: \"{text}\" }}) {{ errors {{ code }} }} }}");
    let (_, answer) = browser.graphql(&query).await;
    assert_eq!(answer["data"]["sendMessage"]["errors"], json!([]), "{answer}");
}

#[tokio::test]
async fn streams_end_with_login_and_resume_with_next() {
    let (issuer, server) = world().await;
    for by_issuer in [false, true] {
        let browser = Browser::logged_in(&server, &issuer, "anna").await;
        let (_, made) = browser.graphql("mutation { createSession(input: {}) { session { id } } }").await;
        let session = made["data"]["createSession"]["session"]["id"].as_str().unwrap().to_owned();
        let path = format!("/sessions/{session}/events");
        let mut events = browser.get(&path).await;
        let cookie = format!("__Host-recall={}", browser.cookie("__Host-recall").unwrap());
        let mut socket = open(&server, &[("cookie", &cookie), ("origin", &server.url(""))]).await.unwrap();
        send(&mut socket, json!({ "type": "connection_init", "payload": { "csrfToken": browser.csrf().await } })).await;
        assert_eq!(hear(&mut socket).await["type"], "connection_ack");
        say(&browser, &session, "One.").await;

        match by_issuer {
            true => assert_eq!(tell(&server, &logout_token(&issuer, "anna", json!({}))).await, 200),
            false => drop(browser.log_out().await),
        }
        let heard = until(&mut events, "bye").await;
        assert_eq!(heard.last().unwrap().2["code"], "auth_expired");
        assert!(heard.iter().any(|e| e.2["text"] == "One."), "{heard:?}");
        assert_eq!(hear(&mut socket).await, json!([4403, "auth_expired"]));
        assert_eq!(browser.get(&path).await.status(), 401);

        let cursor = heard.iter().rev().find(|e| !e.0.is_empty()).unwrap().0.clone();
        assert_eq!(browser.log_in(&issuer, "anna", json!({})).await.status(), 303);
        say(&browser, &session, "Two.").await;
        let mut again = browser.send(browser.request(Method::GET, &path).header("last-event-id", cursor)).await;
        let heard = until(&mut again, "caught_up").await;
        let texts: Vec<_> = heard.iter().filter(|e| e.1 == "message_stored").map(|e| e.2["text"].clone()).collect();
        assert_eq!(texts, ["Two."], "an event was lost or duplicated");
    }
}

#[tokio::test]
async fn stream_survives_renewal_and_ends_on_refused_renewal() {
    let (issuer, server) = world().await;
    let browser = Browser::logged_in(&server, &issuer, "anna").await;
    let (_, made) = browser.graphql("mutation { createSession(input: {}) { session { id } } }").await;
    let session = made["data"]["createSession"]["session"]["id"].as_str().unwrap().to_owned();
    let mut events = browser.get(&format!("/sessions/{session}/events")).await;
    issuer.clock.advance(301);
    let renewed = async {
        while issuer.op.refreshes.load(std::sync::atomic::Ordering::Relaxed) == 0 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    within("the login is not renewed", renewed).await;
    say(&browser, &session, "One.").await;
    until(&mut events, "message_stored").await;
    issuer.op.forget("anna");
    issuer.clock.advance(301);
    assert_eq!(
        until(&mut events, "bye").await.last().unwrap().2["code"],
        "auth_expired",
        "the stream is open, although the renewal was refused"
    );
}

#[tokio::test]
async fn backchannel_logout_accepts_only_valid_tokens() {
    let (issuer, server) = world().await;
    let (anna, boris) = (Browser::logged_in(&server, &issuer, "anna").await, Browser::logged_in(&server, &issuer, "boris").await);
    let evil = Key::new("a", Algorithm::ES256);
    let good = logout_token(&issuer, "anna", json!({}));
    let claims =
        json!({ "iss": issuer.url, "aud": CLIENT, "sub": "anna", "iat": 1, "exp": 9_999_999_999_u64, "jti": "1", "events": { EVENT: {} } });
    let key = issuer.key("a");
    for bad in [
        String::new(),
        "x".to_owned(),
        evil.sign(&evil.header(), &claims),
        key.sign(&key.header(), &claims),
        super::super::issuer::unsigned(&json!({ "alg": "none" }), &claims) + ".",
        logout_token(&issuer, "anna", json!({ "aud": "another client" })),
        logout_token(&issuer, "anna", json!({ "iss": "https://evil.example" })),
        logout_token(&issuer, "anna", json!({ "nonce": "n" })),
        logout_token(&issuer, "anna", json!({ "events": {} })),
        logout_token(&issuer, "anna", json!({ "exp": 1 })),
        logout_token(&issuer, "anna", json!({ "sub": null, "sid": null })),
    ] {
        assert_eq!(tell(&server, &bad).await, 400, "{bad}");
    }
    let other = Issuer::start(&[Key::new("a", Algorithm::ES256)]).await;
    assert_eq!(tell(&server, &logout_token(&other, "anna", json!({}))).await, 400);
    assert!(anna.viewer().await.is_some());
    assert_eq!(tell(&server, &good).await, 200);
    assert_eq!(anna.viewer().await, None);
    assert!(boris.viewer().await.is_some(), "another user was logged out");
    let token = issuer.token("anna", json!({}));
    let log = "{ auditLog(first: 9) { nodes { action } } }";
    let request = server.http.post(server.url("/graphql")).bearer_auth(token).json(&json!({ "query": log }));
    let noted: Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(noted["data"]["auditLog"]["nodes"][0]["action"], "logout.issuer", "{noted}");

    // The same token has no effect on a later login.
    issuer.clock.advance(60);
    let again = Browser::logged_in(&server, &issuer, "anna").await;
    assert_eq!(tell(&server, &good).await, 200);
    assert!(again.viewer().await.is_some());
    assert_eq!(tell(&server, &logout_token(&issuer, "anna", json!({ "sid": null }))).await, 200);
    assert_eq!(again.viewer().await, None, "a login of the user is left");
}
