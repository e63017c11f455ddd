//! How WebSockets begin and end for the client libraries of graphql-transport-ws.

use std::sync::Arc;

use async_trait::async_trait;
use axum::http::request::Parts;
use futures_util::StreamExt;
use recall_api::{Authenticator, Identity, ServerConfig, auth::AuthError};
use serde_json::json;
use signaling::{Bye, ByeCode};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_tungstenite::tungstenite::Message;

use super::{
    harness::{ANNA, Server},
    streams::{Socket, connect, event, follow, frame, head, hear, say, try_connect},
};

/// Follows a session from its beginning, and hears its first event.
async fn follow_from_start(server: &Server, socket: &mut Socket, id: &str, session: &str) {
    let start = head(server, session).await;
    follow(socket, id, session, Some(&start)).await;
    let message = server.say(ANNA, session, "Hello.").await;
    assert_eq!(event(socket).await["data"]["message_id"], message.as_str());
}

/// Expects the connection to close, and nothing before it.
async fn expect_close(socket: &mut Socket, code: u16) {
    match frame(socket).await {
        Some(Message::Close(Some(close))) => assert_eq!(u16::from(close.code), code, "{close:?}"),
        other => panic!("no close frame: {other:?}"),
    }
    assert!(socket.next().await.is_none(), "nothing follows");
}

#[tokio::test]
async fn restart_closes_without_complete() {
    let server = Server::start().await;
    let (one, other) = (server.session(ANNA).await, server.session(ANNA).await);
    let mut socket = connect(&server, ANNA).await;
    for (id, session) in [("1", &one), ("2", &other)] {
        follow_from_start(&server, &mut socket, id, session).await;
    }
    let stopped = tokio::spawn(server.stop());
    for _ in 0..2 {
        let bye = event(&mut socket).await;
        assert_eq!((&bye["type"], &bye["data"]["code"], &bye["data"]["reconnect"]), (&json!("bye"), &json!("restart"), &json!(true)));
    }
    expect_close(&mut socket, 1012).await;
    stopped.await.unwrap();
}

#[tokio::test]
async fn idle_websocket_closes_at_once_when_the_server_stops() {
    let server = Server::start().await;
    let mut socket = connect(&server, ANNA).await;
    let stopped = tokio::spawn(server.stop());
    expect_close(&mut socket, 1012).await;
    stopped.await.unwrap();
}

#[tokio::test]
async fn unavailable_log_closes_without_complete() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    let mut socket = connect(&server, ANNA).await;
    follow_from_start(&server, &mut socket, "1", &session).await;
    server.hub().shutdown(Bye::from(ByeCode::Unavailable));
    assert_eq!(event(&mut socket).await["data"]["code"], "unavailable");
    expect_close(&mut socket, 1013).await;

    let mut socket = connect(&server, ANNA).await;
    follow(&mut socket, "1", &session, None).await;
    let refused = hear(&mut socket).await;
    assert_eq!(refused["payload"]["errors"][0]["extensions"]["code"], "UNAVAILABLE", "{refused:#}");
    expect_close(&mut socket, 1013).await;
}

#[tokio::test]
async fn finished_operations_complete_before_the_connection_closes() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    let mut socket = connect(&server, ANNA).await;
    follow_from_start(&server, &mut socket, "1", &session).await;
    say(&mut socket, json!({ "id": "q", "type": "subscribe", "payload": { "query": "{ viewer { id } }" } })).await;
    assert_eq!(hear(&mut socket).await["payload"]["data"]["viewer"]["id"], ANNA);
    assert_eq!(hear(&mut socket).await, json!({ "id": "q", "type": "complete" }));
    let stopped = tokio::spawn(server.stop());
    assert_eq!(event(&mut socket).await["type"], "bye");
    expect_close(&mut socket, 1012).await;
    stopped.await.unwrap();
}

/// Cannot tell who asks for the moment, as with an issuer that does not answer.
struct Unreachable;

#[async_trait]
impl Authenticator for Unreachable {
    async fn authenticate(&self, _: &Parts) -> Result<Identity, AuthError> {
        Err(AuthError::Missing)
    }

    async fn authorize(&self, _: &str) -> Option<Result<Identity, AuthError>> {
        Some(Err(AuthError::Unavailable("the issuer does not answer".into())))
    }

    fn reads_credentials(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn unavailable_authentication_asks_to_try_again() {
    let server = Server::start_as(ServerConfig::default(), Arc::new(Unreachable), None).await;
    let mut socket = try_connect(&server, &[("sec-websocket-protocol", "graphql-transport-ws")]).await.unwrap();
    say(&mut socket, json!({ "type": "connection_init", "payload": { "authorization": "Bearer x" } })).await;
    expect_close(&mut socket, 1013).await;
}

/// The head of the answer to a handshake whose headers are written as given.
async fn handshake(server: &Server, protocol: &str) -> String {
    let mut socket = TcpStream::connect(server.address).await.unwrap();
    let request = format!(
        "GET /graphql/ws HTTP/1.1\r\nHost: {}\r\nx-test-user: {ANNA}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{protocol}\r\n\r\n",
        server.address
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(socket.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

/// Python's gql looks for `Sec-WebSocket-Protocol` and takes another protocol where it does not find the header in that case.
#[tokio::test]
async fn handshake_is_answered_in_the_case_of_its_request() {
    let server = Server::start().await;
    for name in ["Sec-WebSocket-Protocol", "sec-websocket-protocol", "SEC-WEBSOCKET-PROTOCOL"] {
        let head = handshake(&server, &format!("{name}: graphql-ws, graphql-transport-ws")).await;
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        assert!(head.lines().any(|line| line == format!("{name}: graphql-transport-ws")), "{head}");
    }
    let head = handshake(&server, "Sec-WebSocket-Protocol: graphql-ws").await;
    assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
}
