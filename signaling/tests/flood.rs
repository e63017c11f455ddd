//! Datagrams of strangers, and of a peer's owner with a spoofed address.
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

/// Builds a binding request (RFC 8489) with `padding` meaningless bytes.
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

/// Returns the number of bytes received within this time.
async fn received_bytes(socket: &UdpSocket, within: Duration) -> usize {
    let (begun, mut bytes, mut buffer) = (Instant::now(), 0, [0; 2048]);
    while let Ok(Ok(length)) = timeout(within.saturating_sub(begun.elapsed()), socket.recv(&mut buffer)).await {
        bytes += length;
    }
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn datagram_flood_gets_no_answer_and_blocks_nobody() {
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
    assert_eq!(received_bytes(&stranger, Duration::from_secs(1)).await, 0);
    let seen = server.signaling.stats().udp;
    assert!(seen.unroutable > 0 && seen.bad_integrity > 0, "{seen:?}");
    drop(client);
}

#[tokio::test(flavor = "multi_thread")]
async fn unverified_address_receives_no_more_than_it_sent() {
    let server = Server::start(SignalingConfig::default()).await;
    let (_client, offer) = Client::new("events").await;
    let answer = server.signaling.offer("s".into(), &offer).await.unwrap();
    let user = format!("{}:{}", value(&answer.sdp, "a=ice-ufrag:"), value(&offer, "a=ice-ufrag:"));
    let password = value(&answer.sdp, "a=ice-pwd:");
    // The address may be spoofed, as far as the server knows: it never answers a check.
    let victim = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    victim.connect(server.signaling.udp_addr()).await.unwrap();
    let (mut sent, mut got) = (0, 0);
    for (padding, pause) in [(0, 1_500), (0, 100), (0, 0), (0, 0), (0, 500), (600, 500)] {
        let request = request(&user, password, padding);
        sent += victim.send(&request).await.unwrap();
        got += received_bytes(&victim, Duration::from_millis(pause)).await;
        assert!(got <= sent, "{got} bytes for {sent}");
    }
    // Datagrams like the start of a handshake.
    for _ in 0..20 {
        sent += victim.send(&[22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).await.unwrap();
    }
    got += received_bytes(&victim, Duration::from_secs(2)).await;
    assert!(got > 0 && got <= sent, "{got} bytes for {sent}");
}
