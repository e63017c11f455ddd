//! Tests of claiming addresses, and of datagrams from unknown senders.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;
use crate::stun::tests::request;
use std::task::Context;

async fn mux() -> (Arc<Mux>, CancellationToken) {
    let stop = CancellationToken::new();
    let crypto = rtc::crypto::default_provider().unwrap();
    let listen = "127.0.0.1:0".parse().unwrap();
    (Mux::bind(listen, Senders::Any, crypto, stop.clone()).await.unwrap(), stop)
}

fn waiting(attachment: &Attachment) -> usize {
    let mut context = Context::from_waker(Waker::noop());
    let mut buffer = [0; 1500];
    let mut count = 0;
    while attachment.inbox.poll_take(&mut context, &mut buffer).is_ready() {
        count += 1;
    }
    count
}

#[tokio::test]
async fn signed_request_claims_the_source_address() {
    let (mux, stop) = mux().await;
    let (alice, bob) = (mux.attach(), mux.attach());
    alice.register("alice", "alice's password");
    bob.register("bob", "bob's password");
    let from = "127.0.0.1:4000".parse().unwrap();

    mux.route(&request("alice:x", "guess", false), from, None);
    mux.route(b"\x16dtls from nobody", from, None);
    mux.route(&request("carol:x", "guess", false), from, None);
    assert_eq!((waiting(&alice), waiting(&bob)), (0, 0));
    assert_eq!(mux.stats().bad_integrity, 1);
    assert_eq!(mux.stats().unroutable, 3);

    mux.route(&request("alice:x", "alice's password", false), from, None);
    mux.route(b"\x16dtls of alice", from, None);
    assert_eq!((waiting(&alice), waiting(&bob)), (2, 0));

    mux.route(&request("bob:x", "guess", false), from, None);
    mux.route(b"\x16dtls of alice", from, None);
    assert_eq!((waiting(&alice), waiting(&bob)), (1, 0), "a wrong password claims no address");

    mux.route(&request("bob:x", "bob's password", false), from, None);
    mux.route(b"\x16dtls of bob", from, None);
    assert_eq!((waiting(&alice), waiting(&bob)), (0, 2));
    drop(alice);
    mux.route(b"\x16dtls of bob", from, None);
    assert_eq!(waiting(&bob), 1, "a peer that lost an address does not remove it");
    drop(bob);
    assert_eq!(mux.sizes(), (0, 0));
    stop.cancel();
}

#[tokio::test]
async fn nothing_is_sent_to_an_unverified_address() {
    let (mux, stop) = mux().await;
    let stranger = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let alice = mux.attach();
    alice.register("alice", "password");
    let transmit =
        Transmit { destination: stranger.local_addr().unwrap(), ecn: None, contents: b"hello", segment_size: None, src_ip: None };
    assert!(mux.send(&alice.inbox, &transmit));
    assert_eq!(mux.stats().unsent, 1);
    stranger.send_to(&request("alice:x", "password", false), mux.address()).await.unwrap();
    while mux.stats().routed == 0 {
        tokio::task::yield_now().await;
    }
    assert!(mux.send(&alice.inbox, &transmit));
    let mut buffer = [0; 100];
    let (length, from) = stranger.recv_from(&mut buffer).await.unwrap();
    assert_eq!((&buffer[..length], from), (&b"hello"[..], mux.address()));
    stop.cancel();
}

#[tokio::test]
async fn addresses_and_credentials_per_peer_are_bounded() {
    let (mux, stop) = mux().await;
    let alice = mux.attach();
    alice.register("alice", "password");
    for port in 1..=100 {
        let from = SocketAddr::from(([127, 0, 0, 1], port));
        mux.route(&request("alice:x", "password", false), from, None);
    }
    assert_eq!(mux.sizes(), (1, MAX_ADDRESSES_PER_PEER));
    for restart in 0..100 {
        alice.register(&format!("alice{restart}"), "password");
    }
    assert_eq!(mux.sizes(), (MAX_CREDENTIALS_PER_PEER, MAX_ADDRESSES_PER_PEER), "ICE restarts do not accumulate credentials");
    mux.route(&request("alice98:x", "password", false), "127.0.0.1:200".parse().unwrap(), None);
    assert_eq!(waiting(&alice), 101, "the previous credentials are still valid");
    drop(alice);
    assert_eq!(mux.sizes(), (0, 0));
    stop.cancel();
}

#[tokio::test]
async fn this_machine_port_ignores_signed_requests_of_others() {
    let stop = CancellationToken::new();
    let listen = Senders::ThisMachine.bind_to("127.0.0.1:0".parse().unwrap());
    let mux = Mux::bind(listen, Senders::ThisMachine, rtc::crypto::default_provider().unwrap(), stop.clone()).await.unwrap();
    let alice = mux.attach();
    alice.register("alice", "password");
    let signed = request("alice:x", "password", false);
    let lan = Some("192.168.1.5".parse().unwrap());

    mux.route(&signed, "192.168.1.6:4000".parse().unwrap(), lan);
    assert_eq!((waiting(&alice), mux.sizes().1, mux.stats().unroutable), (0, 0, 1), "the request claims no address");
    mux.route(&signed, "192.168.1.5:4000".parse().unwrap(), lan);
    assert_eq!(waiting(&alice), 1);

    // A real datagram to the loopback address and, if there is a network, to the machine's own address.
    for ip in [Some("127.0.0.1".parse().unwrap()), own_address(false)].into_iter().flatten() {
        let browser = tokio::net::UdpSocket::bind((ip, 0)).await.unwrap();
        let before = mux.stats().routed;
        browser.send_to(&signed, (ip, mux.address().port())).await.unwrap();
        while mux.stats().routed == before {
            tokio::task::yield_now().await;
        }
        let destination = browser.local_addr().unwrap();
        assert!(mux.send(&alice.inbox, &Transmit { destination, ecn: None, contents: b"hello", segment_size: None, src_ip: None }));
        let mut buffer = [0; 100];
        let (_, from) = browser.recv_from(&mut buffer).await.unwrap();
        assert_eq!(from, SocketAddr::new(ip, mux.address().port()), "the response comes from the address that the request was sent to");
    }
    stop.cancel();
}
