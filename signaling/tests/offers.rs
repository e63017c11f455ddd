//! Offers, changes and removal of peers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use signaling::*;
use support::{Client, Server};

async fn refusal(server: &Server, stream: &str, offer: &str) -> &'static str {
    let result = server.signaling.offer(stream.to_owned(), offer).await;
    result.map_or_else(|error| error.code(), |_| "ANSWERED")
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_offers_have_an_error_code() {
    let server = Server::start(SignalingConfig::default()).await;
    let (_client, offer) = Client::new("events").await;
    assert_eq!(refusal(&server, "s", "nonsense").await, "BAD_SDP");
    assert_eq!(refusal(&server, "s", "v=0\r\ns=-\r\n").await, "NO_DATA_CHANNEL");
    assert_eq!(refusal(&server, "s", &"v=0\r\n".repeat(10_000)).await, "OFFER_TOO_LARGE");
    assert_eq!(refusal(&server, "nobody's", &offer).await, "UNKNOWN_STREAM");
    server.log.failing.store(true, Ordering::Relaxed);
    assert_eq!(refusal(&server, "s", &offer).await, "UNAVAILABLE");
    assert_eq!(server.signaling.stats().peers, 0, "a refused offer left a peer");
}

#[tokio::test(flavor = "multi_thread")]
async fn number_of_peers_is_limited() {
    let config = SignalingConfig { max_peers: 3, max_peers_per_stream: 2, ..SignalingConfig::default() };
    let server = Server::start(config).await;
    server.log.logs.lock().unwrap().insert("t".into(), Default::default());
    let (_client, offer) = Client::new("events").await;
    let first = server.signaling.offer("s".into(), &offer).await.unwrap();
    assert_eq!(refusal(&server, "s", &offer).await, "ANSWERED");
    assert_eq!(refusal(&server, "s", &offer).await, "TOO_MANY_PEERS_FOR_STREAM");
    assert_eq!(refusal(&server, "t", &offer).await, "ANSWERED");
    assert_eq!(refusal(&server, "t", &offer).await, "TOO_MANY_PEERS");
    assert!(!server.signaling.delete(&"t".into(), &first.peer_id), "a peer of another stream was deleted");
    assert!(server.signaling.delete(&"s".into(), &first.peer_id));
    server.until_peers(2).await;
    assert_eq!(refusal(&server, "s", &offer).await, "ANSWERED");
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_contain_public_addresses() {
    let config = SignalingConfig {
        udp_listen: "0.0.0.0:0".parse().unwrap(),
        public_addresses: vec!["203.0.113.9:0".parse().unwrap(), "127.0.0.1:0".parse().unwrap()],
        ..SignalingConfig::default()
    };
    let server = Server::start(config).await;
    let port = server.signaling.udp_addr().port();
    let (mut client, offer) = Client::new("events").await;
    let answer = server.signaling.offer("s".into(), &offer).await.unwrap();
    let candidates: Vec<_> = answer.sdp.lines().filter(|line| line.starts_with("a=candidate")).collect();
    assert_eq!(candidates.len(), 2);
    assert!(candidates[0].contains(&format!(" 203.0.113.9 {port} typ host")));
    // On a wildcard socket the server must send from the address that the client used.
    client.accept(answer).await;
    client.until_open().await;

    let wildcard = SignalingConfig { udp_listen: "0.0.0.0:0".parse().unwrap(), ..SignalingConfig::default() };
    let refused = Signaling::bind(wildcard, server.hub.clone()).await;
    assert!(matches!(refused, Err(BindError::NoPublicAddress(_))));
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn local_server_offers_loopback_and_own_address() {
    let config = SignalingConfig { this_machine: true, ..SignalingConfig::default() };
    let server = Server::start(config).await;
    let port = server.signaling.udp_addr().port();
    let (mut client, offer) = Client::new("events").await;
    let answer = server.signaling.offer("s".into(), &offer).await.unwrap();
    let candidates: Vec<_> = answer.sdp.lines().filter(|line| line.starts_with("a=candidate")).collect();
    assert!(candidates[0].contains(&format!(" 127.0.0.1 {port} typ host")), "{candidates:?}");
    // The second candidate exists only on a machine with a network.
    assert!(candidates.len() <= 2);
    assert!(!candidates.iter().any(|line| line.contains(" 0.0.0.0 ")), "{candidates:?}");
    client.accept(answer).await;
    client.until_open().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn peer_connects_over_ipv6() {
    let config = SignalingConfig { udp_listen: "[::1]:0".parse().unwrap(), ..SignalingConfig::default() };
    let server = Server::start(config).await;
    let (mut client, offer) = Client::at("events", "[::1]:0").await;
    client.accept(server.signaling.offer("s".into(), &offer).await.unwrap()).await;
    client.until_open().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trickle_fragments_require_entity_tag() {
    let server = Server::start(SignalingConfig::default()).await;
    let client = Client::open(&server).await;
    let answer = client.answer.clone().unwrap();
    let trickle = "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:0\r\na=candidate:1 1 udp 1 a.local 9 typ host\r\na=end-of-candidates\r\n";
    let patch = async |stream: &str, peer: &str, tag: Option<&str>, text: &str| {
        let outcome = server.signaling.patch(&stream.to_owned(), peer, tag, text).await;
        outcome.map_err(|error| error.code())
    };
    let (id, tag) = (answer.peer_id.as_str(), Some(answer.etag.as_str()));
    assert_eq!(patch("s", id, tag, trickle).await, Ok(PatchOutcome::Candidates { ignored: 1 }));
    assert_eq!(patch("s", id, None, trickle).await, Err("PRECONDITION_REQUIRED"));
    assert_eq!(patch("s", id, Some("\"old\""), trickle).await, Err("PRECONDITION_FAILED"));
    assert_eq!(patch("s", "nobody", tag, trickle).await, Err("UNKNOWN_PEER"));
    assert_eq!(patch("t", id, tag, trickle).await, Err("UNKNOWN_PEER"));
    assert_eq!(patch("s", id, tag, "nonsense").await, Err("BAD_SDP_FRAGMENT"));
}

#[tokio::test(flavor = "multi_thread")]
async fn ice_restart_keeps_the_stream() {
    let server = Server::start(SignalingConfig::default()).await;
    let client = Client::hello(&server, Value::Null).await;
    client.expect("welcome").await;
    client.expect("caught_up").await;
    let answer = client.answer.clone().unwrap();

    client.connection.restart_ice().await.unwrap();
    let offer = client.connection.create_offer(None).await.unwrap();
    client.connection.set_local_description(offer.clone()).await.unwrap();
    let outcome = server.signaling.patch(&"s".into(), &answer.peer_id, Some("*"), &offer.sdp).await.unwrap();
    let PatchOutcome::Restarted { sdp_fragment, etag } = outcome else {
        panic!("no restart");
    };
    assert_ne!(etag, answer.etag);
    // A browser client uses the old answer with the new credentials and candidates.
    let value = |text: &str, name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().to_owned()
    };
    let mut restarted = answer.sdp.clone();
    for name in ["a=ice-ufrag:", "a=ice-pwd:"] {
        let (old, new) = (value(&answer.sdp, name), value(&sdp_fragment, name));
        assert_ne!(old, new);
        restarted = restarted.replace(&format!("{name}{old}"), &format!("{name}{new}"));
    }
    let description = webrtc::peer_connection::RTCSessionDescription::answer(restarted).unwrap();
    client.connection.set_remote_description(description).await.unwrap();
    for n in 1..=5 {
        server.say(json!(n));
        client.expect_events(n, n).await;
    }
    assert_eq!(server.signaling.stats().peers, 1);
}
