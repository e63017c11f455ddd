//! The stream over a real WebRTC connection: a native client on loopback, through one UDP port.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::time::Duration;

use serde_json::{Value, json};
use signaling::*;
use support::{Client, Server};

fn resume(seq: u64) -> Value {
    json!({"epoch": "e1", "seq": seq})
}

#[tokio::test(flavor = "multi_thread")]
async fn live_client_receives_new_events() {
    let server = Server::start(SignalingConfig::default()).await;
    server.say(json!("before"));
    let client = Client::hello(&server, Value::Null).await;
    let welcome = client.expect("welcome").await;
    assert_eq!(
        (&welcome["v"], &welcome["head"], &welcome["recovered"], &welcome["epoch"]),
        (&json!(1), &json!(1), &json!(true), &json!("e1"))
    );
    assert_eq!(client.expect("caught_up").await["seq"], 1);
    server.say(json!({"hello": "world"}));
    let event = client.expect("ev").await;
    assert_eq!(event["d"], json!({"hello": "world"}));
    assert_eq!((&event["seq"], &event["id"], &event["type"]), (&json!(2), &json!("s-2"), &json!("counted")));
    server.hub.ephemeral(&"s".into(), "answer_delta", json!("He"));
    let ephemeral = client.expect("eph").await;
    assert_eq!((&ephemeral["type"], &ephemeral["d"]), (&json!("answer_delta"), &json!("He")));
    client.say(json!({"t": "ack", "seq": 2})).await;
    client.say(json!({"t": "from the future", "x": [1]})).await;
    server.say(json!(3));
    client.expect_events(3, 3).await;
    let stats = server.signaling.stats();
    assert_eq!((stats.peers, stats.open, stats.udp.bad_integrity), (1, 1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn returning_client_receives_missed_events() {
    let ring = HubConfig { ring_events: 16, page: 50, ..HubConfig::default() };
    let server = Server::with_hub(SignalingConfig::default(), ring).await;
    server.say_many(1000);
    let client = Client::hello(&server, resume(10)).await;
    assert_eq!(client.expect("welcome").await["recovered"], true);
    client.expect_events(11, 500).await;
    server.say_many(100);
    // Whether the replay reaches the head before more events arrive depends on speed.
    let (mut last, mut caught_up) = (500, 0);
    while last < 1100 || caught_up < 1100 {
        let frame = client.next().await.unwrap();
        match frame["t"].as_str().unwrap() {
            "ev" => {
                assert_eq!(frame["seq"], last + 1);
                last += 1;
            }
            "caught_up" => {
                caught_up = frame["seq"].as_u64().unwrap();
                assert_eq!(caught_up, last);
                if last == 1000 {
                    // The client is live from here on, so there is no second `caught_up`.
                    client.expect_events(1001, 1100).await;
                    break;
                }
            }
            other => panic!("{other}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unavailable_replay_is_a_gap() {
    let server = Server::start(SignalingConfig::default()).await;
    server.say_many(20);
    server.log.logs.lock().unwrap().get_mut("s").unwrap().floor = 8;
    for (cursor, reason, from, to) in
        [(resume(3), "expired", 4, 7), (resume(99), "ahead_of_log", 1, 20), (json!({"epoch": "e0", "seq": 3}), "epoch_changed", 1, 20)]
    {
        let client = Client::hello(&server, cursor).await;
        let welcome = client.expect("welcome").await;
        assert_eq!((&welcome["recovered"], &welcome["reason"]), (&json!(false), &json!(reason)));
        let gap = client.expect("gap").await;
        assert_eq!((&gap["from"], &gap["to"], &gap["reason"]), (&json!(from), &json!(to), &json!(reason)));
        client.expect_events(to + 1, 20).await;
        assert_eq!(client.expect("caught_up").await["seq"], 20);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn event_too_large_for_a_frame_is_a_gap() {
    let server = Server::start(SignalingConfig::default()).await;
    let client = Client::hello(&server, Value::Null).await;
    client.expect("welcome").await;
    client.expect("caught_up").await;
    server.say(json!("x".repeat(60_000)));
    server.say(json!("x".repeat(MAX_FRAME_BYTES)));
    server.say(json!(3));
    client.expect_events(1, 1).await;
    let gap = client.expect("gap").await;
    assert_eq!((&gap["from"], &gap["to"], &gap["reason"]), (&json!(2), &json!(2), &json!("too_large")));
    client.expect_events(3, 3).await;
}

/// Events of 30 kB: far more than the client's buffers and the server's limit hold together.
const EVENTS: u64 = 1_000;

#[tokio::test(flavor = "multi_thread")]
async fn slow_client_is_disconnected_and_resumes_without_loss() {
    let config = SignalingConfig { slow_after: Duration::from_secs(4), ..SignalingConfig::default() };
    let server = Server::start(config).await;
    let mut client = Client::hello(&server, Value::Null).await;
    client.expect("welcome").await;
    client.expect("caught_up").await;
    for _ in 0..EVENTS {
        server.say(json!("x".repeat(30_000)));
    }
    server.until_peers(0).await;
    let cut_after = take(&client, 0).await;
    assert!(cut_after < EVENTS);
    // The client reconnects as told. On a busy machine lost packets can stall it for seconds, and it is
    // disconnected again; only progress matters.
    let mut last = cut_after;
    while last < EVENTS {
        client = Client::hello(&server, resume(last)).await;
        assert_eq!(client.expect("welcome").await["recovered"], true);
        let further = take(&client, last).await;
        assert!(further > last, "nothing after {last}");
        last = further;
    }
}

/// Receives all events, or until the server disconnects the slow client. Returns the number of the last.
async fn take(client: &Client, mut last: u64) -> u64 {
    while last < EVENTS
        && let Some(frame) = client.next().await
    {
        match frame["t"].as_str().unwrap() {
            "ev" => {
                assert_eq!(frame["seq"], last + 1);
                last += 1;
            }
            "bye" => assert_eq!(frame["code"], "slow"),
            "caught_up" => {}
            other => panic!("{other}"),
        }
    }
    last
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_client_is_removed_at_once() {
    let server = Server::start(SignalingConfig::default()).await;
    let client = Client::hello(&server, Value::Null).await;
    client.expect("welcome").await;
    client.channel.close().await.unwrap();
    server.until_peers(0).await;
    let client = Client::hello(&server, Value::Null).await;
    client.expect("welcome").await;
    client.connection.close().await.unwrap();
    server.until_peers(0).await;
    assert_eq!(server.signaling.stats().open, 0);
    assert_eq!(server.hub.stats().subscribers, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_client_is_removed() {
    let config =
        SignalingConfig { heartbeat: Duration::from_secs(1), dead_after: Duration::from_millis(2500), ..SignalingConfig::default() };
    let server = Server::start(config).await;
    let answering = Client::hello(&server, Value::Null).await;
    let silent = Client::hello(&server, Value::Null).await;
    server.until_peers(2).await;
    let (_, ended) = tokio::join!(
        async {
            server.until_peers(1).await;
            server.say(json!("still there"));
        },
        async {
            loop {
                if answering.expect("welcome").await["t"] == "welcome" {
                    break;
                }
            }
            answering.expect("caught_up").await;
            answering.expect("ev").await
        }
    );
    assert_eq!(ended["seq"], 1);
    drop(silent);
}

#[tokio::test(flavor = "multi_thread")]
async fn channel_without_hello_is_closed() {
    let config = SignalingConfig { hello_timeout: Duration::from_millis(200), ..SignalingConfig::default() };
    let server = Server::start(config).await;
    Client::open(&server).await.expect_bye("timeout").await;
    server.until_peers(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn peer_without_channel_is_removed() {
    let config = SignalingConfig { open_timeout: Duration::from_millis(200), ..SignalingConfig::default() };
    let server = Server::start(config).await;
    let (_client, offer) = Client::new("events").await;
    server.signaling.offer("s".into(), &offer).await.unwrap();
    assert_eq!(server.signaling.stats().peers, 1);
    server.until_peers(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn channel_with_other_label_is_not_served() {
    let config = SignalingConfig { open_timeout: Duration::from_secs(2), ..SignalingConfig::default() };
    let server = Server::start(config).await;
    let (mut client, offer) = Client::new("files").await;
    client.accept(server.signaling.offer("s".into(), &offer).await.unwrap()).await;
    client.until_open().await;
    assert_eq!(client.next().await, None);
    server.until_peers(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_frames_end_stream_with_reason() {
    async fn expect_bye(client: &Client, reason: &str) {
        let bye = client.expect("bye").await;
        assert_eq!(bye, json!({"t": "bye", "code": "protocol", "reason": reason, "reconnect": false, "after_ms": 0}));
        assert_eq!(client.next().await, None, "a frame follows a bye");
    }
    let server = Server::start(SignalingConfig::default()).await;
    let hello = json!({"t": "hello", "v": 1, "stream": "s", "resume": null}).to_string();
    for (first, reason) in [
        ("".to_owned(), "not_a_frame"),
        ("{".to_owned(), "not_a_frame"),
        (json!({"t": "ack", "seq": 1}).to_string(), "hello_expected"),
        (json!({"t": "hello", "v": 2, "stream": "s", "resume": null}).to_string(), "unsupported_version"),
        (json!({"t": "hello", "v": 1, "stream": "other", "resume": null}).to_string(), "wrong_stream"),
        (json!({"t": "hello", "v": 1, "stream": "s"}).to_string(), "wrong_fields"),
    ] {
        let client = Client::open(&server).await;
        client.channel.send_text(&first).await.unwrap();
        expect_bye(&client, reason).await;
    }
    for (second, reason) in
        [(hello.clone(), "second_hello"), ("[]".to_owned(), "not_a_frame"), (json!({"t": "ack", "seq": 7}).to_string(), "ack_ahead")]
    {
        let client = Client::open(&server).await;
        client.channel.send_text(&hello).await.unwrap();
        client.expect("welcome").await;
        client.expect("caught_up").await;
        client.channel.send_text(&second).await.unwrap();
        expect_bye(&client, reason).await;
    }
    let client = Client::open(&server).await;
    client.channel.send(bytes::BytesMut::from(hello.as_bytes())).await.unwrap();
    expect_bye(&client, "binary_frame").await;
    server.until_peers(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_end_and_shutdown_send_bye() {
    let server = Server::start(SignalingConfig::default()).await;
    let client = Client::hello(&server, Value::Null).await;
    client.expect("welcome").await;
    client.expect("caught_up").await;
    server.hub.end(&"s".into(), ByeCode::AuthExpired);
    let bye = client.expect("bye").await;
    assert_eq!(bye, json!({"t": "bye", "code": "auth_expired", "reconnect": false, "after_ms": 0}));

    let client = Client::hello(&server, Value::Null).await;
    client.expect("welcome").await;
    client.expect("caught_up").await;
    let (_, bye) = tokio::join!(server.signaling.shutdown(Duration::from_secs(10)), client.expect("bye"));
    assert_eq!((&bye["code"], &bye["reconnect"]), (&json!("restart"), &json!(true)));
    assert_eq!(server.signaling.stats().peers, 0);
    let (_client, offer) = Client::new("events").await;
    let refused = server.signaling.offer("s".into(), &offer).await.unwrap_err();
    assert_eq!(refused.code(), "UNAVAILABLE");
}

#[tokio::test(flavor = "multi_thread")]
async fn rebuilt_log_restarts_every_client() {
    let hub = HubConfig { poll: Duration::from_millis(50), ..HubConfig::default() };
    let server = Server::with_hub(SignalingConfig::default(), hub).await;
    server.say_many(5);
    let client = Client::hello(&server, resume(0)).await;
    client.expect("welcome").await;
    client.expect_events(1, 5).await;
    client.expect("caught_up").await;
    server.log.logs.lock().unwrap().get_mut("s").unwrap().epoch = "e2".into();
    client.expect_bye("restart").await;
    let client = Client::hello(&server, resume(5)).await;
    let welcome = client.expect("welcome").await;
    assert_eq!((&welcome["epoch"], &welcome["reason"]), (&json!("e2"), &json!("epoch_changed")));
    assert_eq!(client.expect("gap").await["to"], 5);
    client.expect("caught_up").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_permission_ends_peer_and_new_one_resumes() {
    let server = Server::start(SignalingConfig::default()).await;
    let (mut client, offer) = Client::new("events").await;
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let ended = async { ended.await.unwrap() };
    client.accept(server.signaling.offer_until("s".into(), &offer, ended).await.unwrap()).await;
    client.until_open().await;
    client.say(json!({"t": "hello", "v": 1, "stream": "s", "resume": null})).await;
    client.expect("welcome").await;
    client.expect("caught_up").await;
    server.say(json!(1));
    client.expect_events(1, 1).await;
    end.send(()).unwrap();
    client.expect_bye("auth_expired").await;
    server.say(json!(2));
    let again = Client::hello(&server, resume(1)).await;
    again.expect("welcome").await;
    again.expect_events(2, 2).await;
}
