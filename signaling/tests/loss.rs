//! The stream over a network with loss: a relay drops datagrams with a fixed seed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use signaling::*;
use support::{Client, Server};
use tokio::net::UdpSocket;

/// A UDP relay in front of the server: one socket to the server per client address.
struct Relay {
    address: SocketAddr,
    /// Lost datagrams per thousand, in each direction.
    loss: AtomicU32,
    random: AtomicU64,
    dropped: AtomicU64,
    /// Server datagrams to lose: DTLS content type, and the handshake type of an unencrypted handshake message.
    /// Each entry is used once.
    losing: Mutex<Vec<(u8, Option<u8>)>>,
    upstream: Mutex<HashMap<SocketAddr, Arc<UdpSocket>>>,
}

impl Relay {
    async fn bind(socket: &Arc<UdpSocket>) -> Arc<Self> {
        Arc::new(Self {
            address: socket.local_addr().unwrap(),
            loss: AtomicU32::new(0),
            random: AtomicU64::new(0x9e37_79b9_7f4a_7c15),
            dropped: AtomicU64::new(0),
            losing: Mutex::default(),
            upstream: Mutex::default(),
        })
    }

    /// SplitMix64 (Steele, Lea and Flood).
    fn loses(&self) -> bool {
        let mut z = self.random.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let lost = (z ^ (z >> 31)) % 1000 < u64::from(self.loss.load(Ordering::Relaxed));
        self.dropped.fetch_add(u64::from(lost), Ordering::Relaxed);
        lost
    }

    /// Whether a server datagram is one of those to lose.
    fn picks(&self, datagram: &[u8]) -> bool {
        let mut losing = self.losing.lock().unwrap();
        let found = losing.iter().position(|(content, handshake)| {
            datagram.first() == Some(content) && handshake.is_none_or(|kind| datagram.get(13) == Some(&kind))
        });
        found.map(|index| losing.swap_remove(index)).is_some()
    }

    async fn run(self: Arc<Self>, socket: Arc<UdpSocket>, server: SocketAddr) {
        let mut buffer = [0; 2048];
        loop {
            let (length, client) = socket.recv_from(&mut buffer).await.unwrap();
            let known = self.upstream.lock().unwrap().get(&client).cloned();
            let upstream = match known {
                Some(upstream) => upstream,
                None => {
                    let upstream = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
                    upstream.connect(server).await.unwrap();
                    self.upstream.lock().unwrap().insert(client, upstream.clone());
                    let (relay, back, down) = (self.clone(), upstream.clone(), socket.clone());
                    tokio::spawn(async move {
                        let mut buffer = [0; 2048];
                        while let Ok(length) = back.recv(&mut buffer).await {
                            if !relay.picks(&buffer[..length]) && !relay.loses() {
                                let _ = down.send_to(&buffer[..length], client).await;
                            }
                        }
                    });
                    upstream
                }
            };
            if !self.loses() {
                let _ = upstream.send(&buffer[..length]).await;
            }
        }
    }
}

async fn server_behind_relay() -> (Server, Arc<Relay>) {
    let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
    let relay = Relay::bind(&socket).await;
    let config = SignalingConfig { public_addresses: vec![relay.address], max_peers_per_stream: 1000, ..SignalingConfig::default() };
    let server = Server::start(config).await;
    tokio::spawn(relay.clone().run(socket, server.signaling.udp_addr()));
    (server, relay)
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_datagrams_lose_no_events() {
    let (server, relay) = server_behind_relay().await;
    let client = Client::hello(&server, Value::Null).await;
    client.expect("welcome").await;
    client.expect("caught_up").await;
    relay.loss.store(50, Ordering::Relaxed);
    for n in 1..=300 {
        server.say(json!({"n": n, "text": "x".repeat(500)}));
    }
    client.expect_events(1, 300).await;
    assert!(relay.dropped.load(Ordering::Relaxed) > 0, "no datagram was lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn peer_survives_network_outage() {
    let (server, relay) = server_behind_relay().await;
    let client = Client::hello(&server, Value::Null).await;
    client.expect("welcome").await;
    client.expect("caught_up").await;
    relay.loss.store(1000, Ordering::Relaxed);
    server.say_many(10);
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    relay.loss.store(0, Ordering::Relaxed);
    client.expect_events(1, 10).await;
    assert_eq!(server.signaling.stats().open, 1);
}

/// A lost server flight of the DTLS handshake must be sent again.
#[tokio::test(flavor = "multi_thread")]
async fn lost_handshake_flights_are_retransmitted() {
    const HANDSHAKE: u8 = 22;
    const CHANGE_CIPHER_SPEC: u8 = 20;
    const HELLO_VERIFY_REQUEST: u8 = 3;
    const SERVER_HELLO: u8 = 2;
    for lost in [
        vec![(HANDSHAKE, Some(SERVER_HELLO))],
        vec![(HANDSHAKE, Some(SERVER_HELLO)), (HANDSHAKE, Some(SERVER_HELLO))],
        vec![(HANDSHAKE, Some(HELLO_VERIFY_REQUEST))],
        vec![(CHANGE_CIPHER_SPEC, None)],
    ] {
        let (server, relay) = server_behind_relay().await;
        relay.losing.lock().unwrap().clone_from(&lost);
        Client::open(&server).await;
        assert_eq!(*relay.losing.lock().unwrap(), [], "not all of {lost:?} were sent, so none of these was sent again");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "an experiment: how many of 60 opens succeed under loss, and how fast"]
async fn measure_opens_under_loss() {
    let (server, relay) = server_behind_relay().await;
    let server = Arc::new(server);
    relay.loss.store(50, Ordering::Relaxed);
    let mut opens = tokio::task::JoinSet::new();
    for _ in 0..60 {
        let server = server.clone();
        opens.spawn(async move {
            let start = std::time::Instant::now();
            let client = tokio::time::timeout(std::time::Duration::from_secs(14), Client::open(&server)).await;
            (client.is_ok(), start.elapsed().as_millis())
        });
    }
    let mut all = opens.join_all().await;
    all.sort_by_key(|(_, took)| *took);
    println!("{} of 60 opened: {all:?}", all.iter().filter(|(opened, _)| *opened).count());
}
