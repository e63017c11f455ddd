//! Requests that a foreign page makes a browser send.
//! Browsers do not attach the cookie to them; these tests attach it anyway.

use serde_json::json;

use super::{
    super::streams::{hear, open, send},
    *,
};

#[tokio::test]
async fn cookie_without_csrf_token_changes_nothing() {
    let (issuer, server) = world().await;
    let (anna, boris) = (Browser::logged_in(&server, &issuer, "anna").await, Browser::logged_in(&server, &issuer, "boris").await);
    let id = uuid::Uuid::from_u128(7);
    let mutation = json!({ "query": "mutation { createSession(input: {}) { session { id } } }" }).to_string();
    let (signaling, peer) = (format!("/signaling/{id}"), format!("/signaling/{id}/x"));
    let places = [
        (Method::POST, "/graphql"),
        (Method::POST, "/chat"),
        (Method::POST, "/entity/resolve"),
        (Method::POST, &signaling),
        (Method::PATCH, &peer),
        (Method::DELETE, &peer),
        (Method::POST, "/auth/logout"),
    ];
    let types = ["application/json", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/sdp", ""];
    let (own, foreign) = (anna.csrf().await, boris.csrf().await);
    assert_ne!(own, foreign);
    for (method, path) in &places {
        for media in types {
            for shown in [None, Some(""), Some("x"), Some(foreign.as_str()), Some(&own[1..])] {
                let mut request = anna.request(method.clone(), path).body(mutation.clone());
                if !media.is_empty() {
                    request = request.header("content-type", media);
                }
                if let Some(shown) = shown {
                    request = request.header("x-csrf-token", shown);
                }
                let answer = code_of(request.send().await.unwrap()).await;
                assert_eq!(answer, (403, "CSRF_TOKEN_REQUIRED".to_owned()), "{method} {path} {media} {shown:?}");
            }
        }
    }
    let (_, kept) = anna.graphql("{ sessions { totalCount } }").await;
    assert_eq!(kept["data"]["sessions"]["totalCount"], 0, "a session was created");
    // With the token every request passes this check.
    for (method, path) in &places {
        let request = anna.request(method.clone(), path).header("x-csrf-token", own.as_str()).header("content-type", "application/json");
        let (status, code) = code_of(request.body(mutation.clone()).send().await.unwrap()).await;
        assert!(code != "CSRF_TOKEN_REQUIRED" && status != 401, "{method} {path}: {status} {code}");
    }
}

#[tokio::test]
async fn bearer_token_and_reads_need_no_csrf_token() {
    let (issuer, server) = world().await;
    let browser = Browser::logged_in(&server, &issuer, "anna").await;
    let bearer = browser.request(Method::POST, "/graphql").bearer_auth(issuer.token("boris", json!({})));
    let answer: Value = bearer.json(&json!({ "query": "{ viewer { id } }" })).send().await.unwrap().json().await.unwrap();
    assert_ne!(answer["data"]["viewer"]["id"].as_str(), browser.viewer().await.as_deref(), "the cookie takes precedence over the token");
    let bad = browser.request(Method::POST, "/graphql").bearer_auth("x").json(&json!({ "query": "{ viewer { id } }" }));
    assert_eq!(bad.send().await.unwrap().status(), 401, "the cookie replaces an invalid token");

    let read = browser.get("/graphql?query=%7Bviewer%7Bid%7D%7D").await;
    assert_eq!(read.status(), 200);
    let changes = browser.get("/graphql?query=mutation%7BcreateSession(input:%7B%7D)%7Bsession%7Bid%7D%7D%7D").await;
    assert_eq!(changes.status(), 405, "a link runs a mutation");
    let (_, made) = browser.graphql("mutation { createSession(input: {}) { session { id } } }").await;
    let session = made["data"]["createSession"]["session"]["id"].as_str().unwrap();
    assert_eq!(browser.get(&format!("/sessions/{session}/events")).await.status(), 200, "server-sent events");
    let foreign = browser.request(Method::GET, &format!("/sessions/{session}/events")).header("origin", "https://evil.example");
    assert_eq!(foreign.send().await.unwrap().status(), 403);
}

#[tokio::test]
async fn websocket_with_cookie_needs_own_origin_and_csrf_token() {
    let (issuer, server) = world().await;
    let browser = Browser::logged_in(&server, &issuer, "anna").await;
    let cookie = format!("__Host-recall={}", browser.cookie("__Host-recall").unwrap());
    let own = server.url("");
    let status = |outcome: Result<_, tokio_tungstenite::tungstenite::Error>| match outcome {
        Err(tokio_tungstenite::tungstenite::Error::Http(response)) => response.status().as_u16(),
        Ok(_) => 101,
        Err(other) => panic!("{other}"),
    };
    for (origin, expected) in [("https://evil.example", 403), ("null", 403), (own.as_str(), 101)] {
        assert_eq!(status(open(&server, &[("cookie", &cookie), ("origin", origin)]).await.map(drop)), expected, "{origin}");
    }
    assert_eq!(
        status(open(&server, &[("cookie", &cookie)]).await.map(drop)),
        403,
        "a missing origin is accepted, although pages always send it"
    );

    let csrf = browser.csrf().await;
    for payload in
        [json!({}), json!({ "csrfToken": "x" }), json!({ "csrfToken": 7 }), json!({ "authorization": "Bearer x", "csrfToken": csrf })]
    {
        let mut socket = open(&server, &[("cookie", &cookie), ("origin", &own)]).await.unwrap();
        send(&mut socket, json!({ "type": "connection_init", "payload": payload })).await;
        assert_eq!(hear(&mut socket).await[0], 4403, "{payload}");
    }
    let mut socket = open(&server, &[("cookie", &cookie), ("origin", &own)]).await.unwrap();
    send(&mut socket, json!({ "type": "connection_init", "payload": { "csrfToken": csrf } })).await;
    assert_eq!(hear(&mut socket).await["type"], "connection_ack");
    send(&mut socket, json!({ "id": "1", "type": "subscribe", "payload": { "query": "{ viewer { id } }" } })).await;
    assert_eq!(hear(&mut socket).await["payload"]["data"]["viewer"]["id"].as_str(), browser.viewer().await.as_deref());
    // Without a cookie the token of a page opens nothing.
    let mut socket = open(&server, &[]).await.unwrap();
    send(&mut socket, json!({ "type": "connection_init", "payload": { "csrfToken": csrf } })).await;
    assert_eq!(hear(&mut socket).await[0], 4403, "a CSRF token counts as a login");
}
