//! Datagrams of strangers, and of somebody who has a peer and lies about where they are.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::time::{Duration, Instant};

use rtc::crypto::HmacAlgorithm;
use signaling::*;
use support::{Client, Server};
use tokio::{net::UdpSocket, time::timeout};

fn value<'s>(sdp: &'s str, name: &str) -> &'s str {
    sdp.lines().find_map(|line| line.strip_prefix(name)).unwrap()
}

/// A binding request (RFC 8489) with `padding` bytes that say nothing.
fn request(user: &str, password: &str, padding: usize) -> Vec<u8> {
    let provider = rtc::crypto::default_provider().unwrap();
    let mut datagram = vec![0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42];
    datagram.extend([7; 12]);
    let mut add = |kind: u16, value: &[u8]| {
        datagram.extend(kind.to_be_bytes());
        datagram.extend(u16::try_from(value.len()).unwrap().to_be_bytes());
        datagram.extend(value);
        datagram.resize(datagram.len().next_multiple_of(4), 0);
    };
    add(0x0006, user.as_bytes());
    add(0x0024, &[0x6e, 0, 0, 1]);
    add(0x802a, &[9; 8]);
    if padding > 0 {
        add(0x8026, &vec![0; padding]);
    }
    let length = u16::try_from(datagram.len() - 20 + 24).unwrap();
    datagram[2..4].copy_from_slice(&length.to_be_bytes());
    let mut tag = [0; 20];
    provider.crypto().new_hmac(HmacAlgorithm::Sha1, password.as_bytes()).unwrap().sign(&[&datagram], &mut tag).unwrap();
    datagram.extend([0, 8, 0, 20]);
    datagram.extend(tag);
    datagram
}

/// Bytes that come within a while.
async fn heard(socket: &UdpSocket, within: Duration) -> usize {
    let (begun, mut bytes, mut buffer) = (Instant::now(), 0, [0; 2048]);
    while let Ok(Ok(length)) = timeout(within.saturating_sub(begun.elapsed()), socket.recv(&mut buffer)).await {
        bytes += length;
    }
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_datagrams_is_answered_by_nothing_and_keeps_nobody_out() {
    let server = Server::start(SignalingConfig::default()).await;
    let (_client, offer) = Client::new("events").await;
    let answer = server.signaling.offer("s".into(), &offer).await.unwrap();
    let (fragment, password) = (value(&answer.sdp, "a=ice-ufrag:"), value(&answer.sdp, "a=ice-pwd:"));
    let stranger = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    stranger.connect(server.signaling.udp_addr()).await.unwrap();
    let kinds = [
        request("nobody:x", password, 0),
        request(&format!("{fragment}:x"), "a guess of the right len", 0),
        request(&format!("{fragment}:x"), password, 0)[..40].to_vec(),
        request("", password, 0),
        vec![22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        vec![0; 1400],
        vec![],
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
    ];
    for _ in 0..2_000 {
        for kind in &kinds {
            let _ = stranger.send(kind).await;
        }
        tokio::task::yield_now().await;
    }
    let client = Client::open(&server).await;
    assert_eq!(heard(&stranger, Duration::from_secs(1)).await, 0);
    let seen = server.signaling.stats().udp;
    assert!(seen.unroutable > 0 && seen.bad_integrity > 0, "{seen:?}");
    drop(client);
}

#[tokio::test(flavor = "multi_thread")]
async fn before_consent_no_more_bytes_go_out_than_came_in() {
    let server = Server::start(SignalingConfig::default()).await;
    let (_client, offer) = Client::new("events").await;
    let answer = server.signaling.offer("s".into(), &offer).await.unwrap();
    let user = format!("{}:{}", value(&answer.sdp, "a=ice-ufrag:"), value(&offer, "a=ice-ufrag:"));
    let password = value(&answer.sdp, "a=ice-pwd:");
    // Somebody else's address, as far as the server knows: nothing that it asks is ever answered.
    let victim = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    victim.connect(server.signaling.udp_addr()).await.unwrap();
    let (mut sent, mut got) = (0, 0);
    for (padding, pause) in [(0, 1_500), (0, 100), (0, 0), (0, 0), (0, 500), (600, 500)] {
        let request = request(&user, password, padding);
        sent += victim.send(&request).await.unwrap();
        got += heard(&victim, Duration::from_millis(pause)).await;
        assert!(got <= sent, "{got} bytes for {sent}");
    }
    // As if a handshake had begun.
    for _ in 0..20 {
        sent += victim.send(&[22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).await.unwrap();
    }
    got += heard(&victim, Duration::from_secs(2)).await;
    assert!(got > 0 && got <= sent, "{got} bytes for {sent}");
}
