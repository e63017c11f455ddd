//! Event streams over WebSocket, server-sent events and signaling share one log and one cursor.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{self, Message, client::IntoClientRequest, http::HeaderValue},
};

use super::harness::{ANNA, BORIS, Server, text};
use crate::server::within;

pub(super) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

pub(super) async fn try_connect(server: &Server, headers: &[(&'static str, &str)]) -> Result<Socket, tungstenite::Error> {
    let mut request = format!("ws://{}/graphql/ws", server.address).into_client_request().unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(*name, HeaderValue::from_str(value).unwrap());
    }
    connect_async(request).await.map(|(socket, _)| socket)
}

pub(super) async fn connect(server: &Server, user: &str) -> Socket {
    let mut socket = try_connect(server, &[("x-test-user", user), ("sec-websocket-protocol", "graphql-transport-ws")]).await.unwrap();
    say(&mut socket, json!({ "type": "connection_init" })).await;
    assert_eq!(hear(&mut socket).await["type"], "connection_ack");
    socket
}

pub(super) async fn say(socket: &mut Socket, message: Value) {
    socket.send(Message::text(message.to_string())).await.unwrap();
}

pub(super) async fn frame(socket: &mut Socket) -> Option<Message> {
    loop {
        match within("no frame arrives", socket.next()).await {
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            Some(Ok(frame)) => return Some(frame),
            _ => return None,
        }
    }
}

pub(super) async fn hear(socket: &mut Socket) -> Value {
    match frame(socket).await {
        Some(Message::Text(text)) => serde_json::from_str(&text).unwrap(),
        other => panic!("no text: {other:?}"),
    }
}

const EVENTS: &str =
    "subscription($id: ID!, $after: String) { sessionEvents(sessionId: $id, after: $after) { seq cursor type createdAt data } }";

pub(super) async fn follow(socket: &mut Socket, id: &str, session: &str, after: Option<&str>) {
    let payload = json!({ "query": EVENTS, "variables": { "id": session, "after": after } });
    say(socket, json!({ "id": id, "type": "subscribe", "payload": payload })).await;
}

pub(super) async fn event(socket: &mut Socket) -> Value {
    let message = hear(socket).await;
    assert_eq!(message["type"], "next", "{message:#}");
    assert!(message["payload"].get("errors").is_none_or(|e| e.as_array().is_none_or(Vec::is_empty)), "{message:#}");
    message["payload"]["data"]["sessionEvents"].clone()
}

pub(super) async fn head(server: &Server, session: &str) -> String {
    let data = server.data(ANNA, "query($id: ID!) { session(id: $id) { head } }", json!({ "id": session })).await;
    text(&data["session"]["head"])
}

#[tokio::test]
async fn subscription_replays_then_follows_live_events() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    let start = head(&server, &session).await;
    for n in 1..=3 {
        server.say(ANNA, &session, &format!("Before {n}.")).await;
    }
    let mut socket = connect(&server, ANNA).await;
    follow(&mut socket, "1", &session, Some(&start)).await;
    for n in 1..=3 {
        let event = event(&mut socket).await;
        assert_eq!((&event["seq"], &event["type"]), (&json!(n), &json!("message_stored")));
        assert_eq!(event["data"]["text"], format!("Before {n}."));
    }
    server.say(ANNA, &session, "After.").await;
    let last = event(&mut socket).await;
    assert_eq!((&last["seq"], &last["data"]["text"]), (&json!(4), &json!("After.")));
    assert_eq!(last["cursor"], head(&server, &session).await);

    let delete = "mutation($id: ID!) { deleteSession(input: { id: $id }) { deletedId errors { code } } }";
    server.data(ANNA, delete, json!({ "id": session })).await;
    let bye = event(&mut socket).await;
    assert_eq!((&bye["type"], &bye["data"]["code"], &bye["data"]["reconnect"]), (&json!("bye"), &json!("deleted"), &json!(false)));
    assert_eq!(bye["cursor"], last["cursor"]);
    assert_eq!(hear(&mut socket).await, json!({ "id": "1", "type": "complete" }));
}

#[tokio::test]
async fn cursor_of_another_log_causes_gap() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    server.say(ANNA, &session, "One.").await;
    server.say(ANNA, &session, "Two.").await;
    let mut socket = connect(&server, ANNA).await;
    follow(&mut socket, "1", &session, Some("feedbeef:1")).await;
    let gap = event(&mut socket).await;
    assert_eq!((&gap["type"], &gap["seq"]), (&json!("gap"), &json!(2)));
    assert_eq!((&gap["data"]["from"], &gap["data"]["to"]), (&json!(1), &json!(2)));
    assert_eq!(gap["cursor"], head(&server, &session).await);
    server.say(ANNA, &session, "Three.").await;
    assert_eq!(event(&mut socket).await["seq"], 3);
}

#[tokio::test]
async fn refused_subscription_has_error_code() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    let mut socket = connect(&server, BORIS).await;
    for (n, (id, after, code)) in [
        (session.as_str(), None, "NOT_FOUND"),
        (&uuid::Uuid::nil().to_string(), None, "NOT_FOUND"),
        ("7", None, "INVALID_ID"),
        (session.as_str(), Some("nonsense"), "BAD_CURSOR"),
    ]
    .into_iter()
    .enumerate()
    {
        follow(&mut socket, &n.to_string(), id, after).await;
        let message = hear(&mut socket).await;
        assert_eq!(message["payload"]["errors"][0]["extensions"]["code"], code, "{message:#}");
        assert_eq!(hear(&mut socket).await["type"], "complete");
    }
    // Queries use the same connection with the same limits.
    say(&mut socket, json!({ "id": "q", "type": "subscribe", "payload": { "query": "{ viewer { id } }" } })).await;
    assert_eq!(hear(&mut socket).await["payload"]["data"]["viewer"]["id"], BORIS);
    assert_eq!(hear(&mut socket).await["type"], "complete");
    let deep = "{a".repeat(10_000);
    say(&mut socket, json!({ "id": "d", "type": "subscribe", "payload": { "query": deep } })).await;
    assert_eq!(hear(&mut socket).await["payload"]["errors"][0]["extensions"]["code"], "QUERY_TOO_DEEP");
}

#[tokio::test]
async fn websocket_operations_are_limited_and_checked() {
    let server = Server::start().await;
    let protocol = ("sec-websocket-protocol", "graphql-transport-ws");
    let status = |outcome: Result<Socket, tungstenite::Error>| match outcome {
        Err(tungstenite::Error::Http(response)) => response.status().as_u16(),
        other => panic!("{other:?}"),
    };
    assert_eq!(status(try_connect(&server, &[protocol]).await), 401);
    assert_eq!(status(try_connect(&server, &[("x-test-user", ANNA), protocol, ("origin", "http://evil.example")]).await), 403);
    assert_eq!(status(try_connect(&server, &[("x-test-user", ANNA), ("sec-websocket-protocol", "graphql-ws")]).await), 400);

    let mut early = try_connect(&server, &[("x-test-user", ANNA), protocol]).await.unwrap();
    say(&mut early, json!({ "id": "1", "type": "subscribe", "payload": { "query": "{ viewer { id } }" } })).await;
    assert!(matches!(frame(&mut early).await, Some(Message::Close(Some(_)))));
    let mut broken = try_connect(&server, &[("x-test-user", ANNA), protocol]).await.unwrap();
    broken.send(Message::text("{\"type\":")).await.unwrap();
    assert!(matches!(frame(&mut broken).await, Some(Message::Close(Some(_)))));

    let session = server.session(ANNA).await;
    let mut socket = connect(&server, ANNA).await;
    for n in 0..50 {
        follow(&mut socket, &n.to_string(), &session, None).await;
    }
    follow(&mut socket, "too many", &session, None).await;
    let refused = hear(&mut socket).await;
    assert_eq!(refused["id"], "too many");
    assert_eq!(refused["payload"]["errors"][0]["extensions"]["code"], "TOO_MANY_OPERATIONS");
    assert_eq!(hear(&mut socket).await, json!({ "id": "too many", "type": "complete" }));
    say(&mut socket, json!({ "id": "7", "type": "complete" })).await;
    assert_eq!(hear(&mut socket).await, json!({ "id": "7", "type": "complete" }));
    say(&mut socket, json!({ "id": "again", "type": "subscribe", "payload": { "query": "{ viewer { id } }" } })).await;
    assert_eq!(hear(&mut socket).await["payload"]["data"]["viewer"]["id"], ANNA);
}

/// Reads `count` server-sent events as (id, event, data).
pub(super) async fn sse(response: reqwest::Response, count: usize) -> Vec<(String, String, Value)> {
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut chunks = response.bytes_stream();
    let (mut buffer, mut events) = (String::new(), Vec::new());
    while events.len() < count {
        buffer.push_str(std::str::from_utf8(&within("no event arrives", chunks.next()).await.unwrap().unwrap()).unwrap());
        while let Some((block, rest)) = buffer.split_once("\n\n") {
            let field = |name: &str| block.lines().find_map(|l| l.strip_prefix(name)).unwrap_or_default().trim().to_owned();
            if let Ok(data) = serde_json::from_str(&field("data:")) {
                events.push((field("id:"), field("event:"), data));
            }
            buffer = rest.to_owned();
        }
    }
    events
}

#[tokio::test]
async fn server_sent_events_resume_after_last_event_id() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    let start = head(&server, &session).await;
    for n in 1..=3 {
        server.say(ANNA, &session, &format!("Number {n}.")).await;
    }
    let path = format!("/sessions/{session}/events");
    let events = sse(server.get(ANNA, &format!("{path}?after={start}")).send().await.unwrap(), 4).await;
    let kinds: Vec<_> = events.iter().map(|e| e.1.as_str()).collect();
    assert_eq!(kinds, ["message_stored", "message_stored", "message_stored", "caught_up"]);
    assert_eq!(events[2].0, head(&server, &session).await);
    assert_eq!(events[0].2["text"], "Number 1.");
    // A browser sends this header after a lost connection; it takes precedence over the address.
    let again = server.get(ANNA, &format!("{path}?after={start}")).header("last-event-id", &events[1].0);
    let resumed = sse(again.send().await.unwrap(), 1).await;
    assert_eq!(resumed[0].2["text"], "Number 3.");
    let gap = sse(server.get(ANNA, &format!("{path}?after=feedbeef:9")).send().await.unwrap(), 1).await;
    assert_eq!((gap[0].1.as_str(), &gap[0].2["to"]), ("gap", &json!(3)));
    assert_eq!(server.get(ANNA, &format!("{path}?after=7")).send().await.unwrap().status(), 400);
}

#[tokio::test]
async fn server_sent_events_contain_reconnection_delay() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    let mut response = server.get(ANNA, &format!("/sessions/{session}/events")).send().await.unwrap();
    let mut heard = String::new();
    while !heard.contains("\n\n") {
        heard.push_str(std::str::from_utf8(&within("no event arrives", response.chunk()).await.unwrap().unwrap()).unwrap());
    }
    let retry: u64 = heard.lines().find_map(|line| line.strip_prefix("retry:")).unwrap().trim().parse().unwrap();
    assert!((1_000..=3_000).contains(&retry), "{heard}");
    assert!(heard.contains("event: caught_up"), "no first event with the delay: {heard}");
}

/// The offer of Chromium for one data channel.
pub(in crate::api) const OFFER: &str = "v=0\r\no=- 4611731400430051336 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n\
    a=extmap-allow-mixed\r\na=msid-semantic: WMS\r\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\n\
    a=ice-ufrag:bk0/\r\na=ice-pwd:vLwEpeo/+yqcZqPLT8hRnQhm\r\na=ice-options:trickle\r\n\
    a=fingerprint:sha-256 49:66:12:17:0D:1C:91:AE:57:4C:C6:36:DD:D5:97:D2:7D:62:C9:9A:7F:B9:A3:F4:70:03:E7:43:91:73:23:5E\r\n\
    a=setup:actpass\r\na=mid:0\r\na=sctp-port:5000\r\na=max-message-size:262144\r\n";

#[tokio::test]
async fn signaling_follows_whip() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    let offer = |user: &'static str, session: &str, sdp: &str| {
        server.post(user, &format!("/signaling/{session}")).header("content-type", "application/sdp").body(sdp.to_owned()).send()
    };
    let answered = offer(ANNA, &session, OFFER).await.unwrap();
    assert_eq!(answered.status(), 201);
    assert_eq!(answered.headers()["content-type"], "application/sdp");
    assert_eq!(answered.headers()["link"], "<stun:stun.example.org:3478>; rel=\"ice-server\"");
    let location = answered.headers()["location"].to_str().unwrap().to_owned();
    let tag = answered.headers()["etag"].to_str().unwrap().to_owned();
    assert!(location.starts_with(&format!("/signaling/{session}/")));
    assert!(answered.text().await.unwrap().starts_with("v=0"));

    for (user, target, sdp, status, code) in [
        (ANNA, session.as_str(), "hello", 400, "BAD_SDP"),
        (ANNA, session.as_str(), "v=0\r\ns=-\r\n", 400, "NO_DATA_CHANNEL"),
        (ANNA, session.as_str(), &OFFER.repeat(40), 413, "OFFER_TOO_LARGE"),
        (ANNA, "7", OFFER, 404, "NOT_FOUND"),
        (BORIS, session.as_str(), OFFER, 404, "NOT_FOUND"),
    ] {
        let refused = offer(user, target, sdp).await.unwrap();
        assert_eq!(refused.status(), status, "{code}");
        let problem: Value = refused.json().await.unwrap();
        assert_eq!(problem["code"], code);
    }

    let trickle = |user: &str, tag: Option<&str>, body: &str| {
        let mut request = server.http.patch(server.url(&location)).header("x-test-user", user);
        if let Some(tag) = tag {
            request = request.header("if-match", tag);
        }
        request.header("content-type", "application/trickle-ice-sdpfrag").body(body.to_owned()).send()
    };
    let candidate = "a=ice-ufrag:bk0/\r\na=ice-pwd:vLwEpeo/+yqcZqPLT8hRnQhm\r\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:0\r\n\
        a=candidate:1 1 udp 2113937151 127.0.0.1 50000 typ host\r\n";
    assert_eq!(trickle(ANNA, Some(&tag), candidate).await.unwrap().status(), 204);
    assert_eq!(trickle(ANNA, None, candidate).await.unwrap().status(), 428);
    assert_eq!(trickle(ANNA, Some("\"old\""), candidate).await.unwrap().status(), 412);
    assert_eq!(trickle(BORIS, Some(&tag), candidate).await.unwrap().status(), 404);

    let close = |user: &str| server.http.delete(server.url(&location)).header("x-test-user", user).send();
    assert_eq!(close(BORIS).await.unwrap().status(), 404);
    assert_eq!(close(ANNA).await.unwrap().status(), 200);
}

#[tokio::test]
async fn graphql_mutation_opens_event_stream() {
    let server = Server::start().await;
    let session = server.session(ANNA).await;
    let query = "mutation($input: OpenEventStreamInput!) { openEventStream(input: $input) {
        peerId answer location etag iceServers { urls username } errors { code path } } }";
    let open = async |user: &str, offer: &str| {
        let input = json!({ "sessionId": session, "offer": offer });
        server.data(user, query, json!({ "input": input })).await["openEventStream"].clone()
    };
    let opened = open(ANNA, OFFER).await;
    assert_eq!(opened["errors"], json!([]));
    assert!(text(&opened["answer"]).starts_with("v=0"));
    assert_eq!(opened["location"], format!("/signaling/{session}/{}", text(&opened["peerId"])));
    assert_eq!(opened["iceServers"][0]["urls"], json!(["stun:stun.example.org:3478"]));
    assert_eq!(open(ANNA, "hello").await["errors"], json!([{ "code": "BAD_SDP", "path": ["input", "offer"] }]));
    assert_eq!(open(BORIS, OFFER).await["errors"][0]["code"], "NOT_FOUND");
}

#[tokio::test]
async fn websocket_counts_as_connection_and_closes_on_stop() {
    let config = recall_api::ServerConfig { connections: 1, ..recall_api::ServerConfig::default() };
    let server = Server::start_with(config).await;
    let mut socket = connect(&server, ANNA).await;
    let waiting = tokio::time::timeout(std::time::Duration::from_millis(300), server.get(ANNA, "/healthz").send()).await;
    assert!(waiting.is_err(), "a second connection was served");
    let stopped = tokio::spawn(server.stop());
    loop {
        match within("no close frame arrives", socket.next()).await {
            Some(Ok(Message::Close(Some(frame)))) => break assert_eq!(u16::from(frame.code), 1012),
            Some(Ok(_)) => {}
            other => panic!("no close frame: {other:?}"),
        }
    }
    drop(socket);
    stopped.await.unwrap();
}
