//! Authentication of WebSockets, and event streams that end with their token.

use futures_util::{SinkExt, StreamExt};
use jsonwebtoken::Algorithm;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{self, Message, client::IntoClientRequest, http::HeaderValue},
};

use super::issuer::{Issuer, Key, server};
use crate::{
    api::harness::{Server, text},
    server::within,
};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

async fn world() -> (std::sync::Arc<Issuer>, Server) {
    let issuer = Issuer::start(&[Key::new("a", Algorithm::ES256)]).await;
    let server = server(&[&issuer]).await;
    (issuer, server)
}

/// Returns a token that expires in three seconds.
fn short(issuer: &Issuer) -> String {
    let now = issuer.claims("anna")["iat"].as_i64().unwrap();
    issuer.token("anna", json!({ "exp": now + 3 }))
}

pub(super) async fn post(server: &Server, token: &str, query: &str, variables: Value) -> Value {
    let request = server.http.post(server.url("/graphql")).bearer_auth(token);
    let answer: Value = request.json(&json!({ "query": query, "variables": variables })).send().await.unwrap().json().await.unwrap();
    assert!(answer.get("errors").is_none(), "{answer}");
    answer["data"].clone()
}

pub(super) async fn session(server: &Server, token: &str) -> String {
    let data = post(server, token, "mutation { createSession(input: {}) { session { id } } }", json!({})).await;
    text(&data["createSession"]["session"]["id"])
}

pub(super) async fn say(server: &Server, token: &str, session: &str, words: &str) {
    let query = "mutation($s: ID!, $t: String!) { sendMessage(input: { sessionId: $s, text: $t }) { errors { code } } }";
    assert_eq!(post(server, token, query, json!({ "s": session, "t": words })).await["sendMessage"]["errors"], json!([]));
}

/// Reads the events of a stream until one of this type.
pub(super) async fn until(response: &mut reqwest::Response, kind: &str) -> Vec<(String, String, Value)> {
    let (mut buffer, mut events) = (String::new(), Vec::new());
    loop {
        let chunk = within(&format!("no {kind} arrives: {events:?}"), response.chunk()).await.unwrap();
        let chunk = chunk.unwrap_or_else(|| panic!("ended without {kind}: {events:?}"));
        buffer.push_str(std::str::from_utf8(&chunk).unwrap());
        while let Some((block, rest)) = buffer.split_once("\n\n") {
            let field = |name: &str| block.lines().find_map(|l| l.strip_prefix(name)).unwrap_or_default().trim().to_owned();
            if let Ok(data) = serde_json::from_str(&field("data:")) {
                events.push((field("id:"), field("event:"), data));
            }
            buffer = rest.to_owned();
        }
        if events.last().is_some_and(|e| e.1 == kind) {
            return events;
        }
    }
}

#[tokio::test]
async fn stream_ends_with_token_and_resumes_with_new_one() {
    let (issuer, server) = world().await;
    let long = issuer.token("anna", json!({}));
    let session = session(&server, &long).await;
    let path = server.url(&format!("/sessions/{session}/events"));
    assert_eq!(server.http.get(&path).send().await.unwrap().status(), 401, "a stream opens without a token");
    let mut stream = server.http.get(&path).bearer_auth(short(&issuer)).send().await.unwrap();
    assert_eq!(stream.status(), 200);
    say(&server, &long, &session, "One.").await;
    let heard = until(&mut stream, "bye").await;
    assert!(heard.iter().any(|e| e.2["text"] == "One."), "{heard:?}");
    assert_eq!(heard.last().unwrap().2["code"], "auth_expired");
    assert!(stream.chunk().await.unwrap().is_none(), "an event follows the bye");

    let cursor = &heard.iter().rev().find(|e| !e.0.is_empty()).unwrap().0;
    say(&server, &long, &session, "Two.").await;
    let mut again = server.http.get(&path).bearer_auth(&long).header("last-event-id", cursor).send().await.unwrap();
    let heard = until(&mut again, "caught_up").await;
    let texts: Vec<_> = heard.iter().filter(|e| e.1 == "message_stored").map(|e| e.2["text"].clone()).collect();
    assert_eq!(texts, ["Two."], "an event was lost or duplicated");
}

pub(super) async fn open(server: &Server, headers: &[(&'static str, &str)]) -> Result<Socket, tungstenite::Error> {
    let mut request = format!("ws://{}/graphql/ws", server.address).into_client_request().unwrap();
    request.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static("graphql-transport-ws"));
    for (name, value) in headers {
        request.headers_mut().insert(*name, HeaderValue::from_str(value).unwrap());
    }
    connect_async(request).await.map(|(socket, _)| socket)
}

pub(super) async fn send(socket: &mut Socket, message: Value) {
    socket.send(Message::text(message.to_string())).await.unwrap();
}

/// Returns the next frame: text as JSON, a close frame as code and reason.
pub(super) async fn hear(socket: &mut Socket) -> Value {
    loop {
        match within("no frame arrives", socket.next()).await {
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            Some(Ok(Message::Text(text))) => return serde_json::from_str(&text).unwrap(),
            Some(Ok(Message::Close(Some(frame)))) => return json!([u16::from(frame.code), frame.reason.as_str()]),
            other => panic!("{other:?}"),
        }
    }
}

pub(super) fn init(token: &str) -> Value {
    json!({ "type": "connection_init", "payload": { "authorization": format!("Bearer {token}") } })
}

const WHO: &str = "{ viewer { id } }";

async fn viewer(socket: &mut Socket) -> Value {
    send(socket, json!({ "id": "v", "type": "subscribe", "payload": { "query": WHO } })).await;
    let answer = hear(socket).await;
    assert_eq!(hear(socket).await["type"], "complete");
    answer["payload"]["data"]["viewer"]["id"].clone()
}

#[tokio::test]
async fn websocket_authenticates_by_first_frame_or_header() {
    let (issuer, server) = world().await;
    let (anna, boris) = (issuer.token("anna", json!({})), issuer.token("boris", json!({})));
    let id = post(&server, &anna, WHO, json!({})).await["viewer"]["id"].clone();
    let header = format!("Bearer {anna}");

    let mut by_frame = open(&server, &[]).await.unwrap();
    send(&mut by_frame, init(&anna)).await;
    assert_eq!(hear(&mut by_frame).await["type"], "connection_ack");
    assert_eq!(viewer(&mut by_frame).await, id);

    let mut by_header = open(&server, &[("authorization", &header)]).await.unwrap();
    send(&mut by_header, json!({ "type": "connection_init" })).await;
    assert_eq!(hear(&mut by_header).await["type"], "connection_ack");
    assert_eq!(viewer(&mut by_header).await, id);

    let mut by_both = open(&server, &[("authorization", &header)]).await.unwrap();
    send(&mut by_both, init(&boris)).await;
    assert_eq!(hear(&mut by_both).await["type"], "connection_ack");
    assert_ne!(viewer(&mut by_both).await, id, "the header takes precedence over the first frame");
}

#[tokio::test]
async fn websocket_without_valid_token_runs_nothing() {
    let (issuer, server) = world().await;
    let good = format!("Bearer {}", issuer.token("anna", json!({})));
    for payload in [
        json!({}),
        json!({ "authorization": "Bearer x" }),
        json!({ "authorization": 7 }),
        json!({ "authorization": good.replace("Bearer", "Basic") }),
    ] {
        let mut socket = open(&server, &[]).await.unwrap();
        send(&mut socket, json!({ "type": "connection_init", "payload": payload })).await;
        assert_eq!(hear(&mut socket).await[0], 4403, "{payload}");
    }
    let mut bad_frame = open(&server, &[("authorization", &good)]).await.unwrap();
    send(&mut bad_frame, init("x")).await;
    assert_eq!(hear(&mut bad_frame).await[0], 4403, "the header replaces an invalid token in the first frame");
    let mut early = open(&server, &[]).await.unwrap();
    send(&mut early, json!({ "id": "1", "type": "subscribe", "payload": { "query": WHO } })).await;
    assert!(hear(&mut early).await.is_array(), "the socket is open before authentication");
    let status = |outcome: Result<Socket, tungstenite::Error>| match outcome {
        Err(tungstenite::Error::Http(response)) => response.status().as_u16(),
        other => panic!("{other:?}"),
    };
    assert_eq!(status(open(&server, &[("authorization", "Bearer x")]).await), 401, "an invalid token in the header is accepted");
    for origin in ["https://evil.example", "null", "http://localhost:1"] {
        assert_eq!(status(open(&server, &[("authorization", &good), ("origin", origin)]).await), 403, "{origin}");
    }
}

#[tokio::test]
async fn websocket_closes_when_token_expires() {
    let (issuer, server) = world().await;
    let session = session(&server, &issuer.token("anna", json!({}))).await;
    let mut socket = open(&server, &[]).await.unwrap();
    send(&mut socket, init(&short(&issuer))).await;
    assert_eq!(hear(&mut socket).await["type"], "connection_ack");
    let query = format!("subscription {{ sessionEvents(sessionId: \"{session}\") {{ type data }} }}");
    send(&mut socket, json!({ "id": "1", "type": "subscribe", "payload": { "query": query } })).await;
    let bye = hear(&mut socket).await;
    assert_eq!(
        bye["payload"]["data"]["sessionEvents"],
        json!({ "type": "bye", "data": { "code": "auth_expired", "reconnect": false, "after_ms": 0 } }),
        "{bye}"
    );
    assert_eq!(
        hear(&mut socket).await,
        json!([4403, "auth_expired"]),
        "no close frame: after a `complete` clients would not get a new token"
    );

    let mut narrow = open(&server, &[]).await.unwrap();
    send(&mut narrow, init(&issuer.token("anna", json!({ "scope": "recall.write" })))).await;
    assert_eq!(hear(&mut narrow).await["type"], "connection_ack");
    for query in [query.as_str(), "subscription { memoryEvents { type data } }"] {
        send(&mut narrow, json!({ "id": "1", "type": "subscribe", "payload": { "query": query } })).await;
        assert!(hear(&mut narrow).await.to_string().contains("INSUFFICIENT_SCOPE"));
        assert_eq!(hear(&mut narrow).await["type"], "complete");
    }
}
