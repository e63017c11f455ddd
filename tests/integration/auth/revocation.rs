//! Issuer tokens that an administrator revokes, and their streams.

use jsonwebtoken::Algorithm;
use serde_json::{Value, json};

use super::{
    issuer::{FIXED_TOKEN, Issuer, Key, server},
    streams::{hear, init, open, post, say, send, session, until},
};
use crate::api::harness::{Server, text};

async fn world() -> (std::sync::Arc<Issuer>, Server) {
    let issuer = Issuer::start(&[Key::new("a", Algorithm::ES256)]).await;
    let server = server(&[&issuer]).await;
    (issuer, server)
}

async fn revoke(server: &Server, token: &str, input: Value) -> Value {
    let query = "mutation($input: RevokeTokenInput!) { revokeToken(input: $input) { revoked errors { code } } }";
    let request = server.http.post(server.url("/graphql")).bearer_auth(token);
    request.json(&json!({ "query": query, "variables": { "input": input } })).send().await.unwrap().json().await.unwrap()
}

async fn status(server: &Server, token: &str) -> u16 {
    let request = server.http.post(server.url("/graphql")).bearer_auth(token).json(&json!({ "query": "{ viewer { id } }" }));
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn revoked_token_is_refused_and_its_streams_end() {
    let (issuer, server) = world().await;
    let (stolen, good) = (issuer.token("anna", json!({ "jti": "stolen" })), issuer.token("anna", json!({ "jti": "good" })));
    let session = session(&server, &good).await;
    let path = server.url(&format!("/sessions/{session}/events"));
    let mut events = server.http.get(&path).bearer_auth(&stolen).send().await.unwrap();
    let mut kept = server.http.get(&path).bearer_auth(&good).send().await.unwrap();
    let mut socket = open(&server, &[]).await.unwrap();
    send(&mut socket, init(&stolen)).await;
    assert_eq!(hear(&mut socket).await["type"], "connection_ack");
    let query = format!("subscription {{ sessionEvents(sessionId: \"{session}\") {{ type data }} }}");
    send(&mut socket, json!({ "id": "1", "type": "subscribe", "payload": { "query": query } })).await;

    let input = json!({ "issuer": issuer.url, "tokenId": "stolen", "expiresAt": "2099-01-01T00:00:00Z" });
    let done = revoke(&server, FIXED_TOKEN, input).await;
    assert_eq!(done["data"]["revokeToken"], json!({ "revoked": true, "errors": [] }), "{done}");
    // Also while events arrive all the time.
    let talk = async {
        loop {
            say(&server, &good, &session, "One.").await;
            tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        }
    };
    let ends = async {
        let heard = until(&mut events, "bye").await;
        assert_eq!(heard.last().unwrap().2["code"], "auth_expired");
        loop {
            let frame = hear(&mut socket).await;
            if frame.is_array() {
                break assert_eq!(frame, json!([4403, "auth_expired"]));
            }
        }
    };
    tokio::select! {
        () = talk => {}
        () = ends => {}
    }
    assert_eq!((status(&server, &stolen).await, status(&server, &good).await), (401, 200));
    say(&server, &good, &session, "Two.").await;
    loop {
        let heard = until(&mut kept, "message_stored").await;
        assert!(heard.iter().all(|e| e.1 != "bye"), "the stream of the other token ended");
        if heard.iter().any(|e| e.2["text"] == "Two.") {
            break;
        }
    }
    // The same `jti` of another issuer is another token.
    let other = Issuer::start(&[Key::new("a", Algorithm::ES256)]).await;
    let both = super::issuer::server(&[&issuer, &other]).await;
    revoke(&both, FIXED_TOKEN, json!({ "issuer": issuer.url, "tokenId": "x" })).await;
    let token = |issuer: &Issuer| issuer.token("anna", json!({ "jti": "x" }));
    assert_eq!((status(&both, &token(&issuer)).await, status(&both, &token(&other)).await), (401, 200));
}

#[tokio::test]
async fn stream_ends_when_access_token_is_revoked() {
    let (issuer, server) = world().await;
    let login = issuer.token("anna", json!({}));
    let create = "mutation { createAccessToken(input: { name: \"x\", scopes: [\"recall.read\"] }) { accessToken { id } secret } }";
    let made = post(&server, &login, create, json!({})).await["createAccessToken"].clone();
    let session = session(&server, &login).await;
    let path = server.url(&format!("/sessions/{session}/events"));
    let mut events = server.http.get(&path).bearer_auth(text(&made["secret"])).send().await.unwrap();
    let revoke = "mutation($id: ID!) { revokeAccessToken(input: { id: $id }) { revokedId } }";
    post(&server, &login, revoke, json!({ "id": made["accessToken"]["id"] })).await;
    assert_eq!(until(&mut events, "bye").await.last().unwrap().2["code"], "auth_expired");
}

#[tokio::test]
async fn only_administrators_revoke_valid_issuer_tokens() {
    let (issuer, server) = world().await;
    let victim = issuer.token("boris", json!({ "jti": "victim" }));
    let input = json!({ "issuer": issuer.url, "tokenId": "victim" });
    for (token, code) in [
        (issuer.token("anna", json!({})), "INSUFFICIENT_SCOPE"),
        (issuer.token("anna", json!({ "scope": "recall.read recall.write recall.admin" })), "FORBIDDEN"),
        (issuer.token("root", json!({ "roles": ["recall-admin"] })), "INSUFFICIENT_SCOPE"),
    ] {
        assert_eq!(revoke(&server, &token, input.clone()).await["errors"][0]["extensions"]["code"], code);
    }
    for (input, code) in [
        (json!({ "issuer": format!("{}/", issuer.url), "tokenId": "victim" }), "UNKNOWN_ISSUER"),
        (json!({ "issuer": issuer.url, "tokenId": "" }), "INVALID_TOKEN_ID"),
    ] {
        let answer = revoke(&server, FIXED_TOKEN, input).await["data"]["revokeToken"].clone();
        assert_eq!((&answer["revoked"], &answer["errors"][0]["code"]), (&json!(false), &json!(code)));
    }
    assert_eq!(status(&server, &victim).await, 200);
}
