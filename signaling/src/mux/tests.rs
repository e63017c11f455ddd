//! Who may claim an address, and what the mux does with strangers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;
use crate::stun::tests::request;
use std::task::Context;

async fn mux() -> (Arc<Mux>, CancellationToken) {
    let stop = CancellationToken::new();
    let crypto = rtc::crypto::default_provider().unwrap();
    let listen = "127.0.0.1:0".parse().unwrap();
    (Mux::bind(listen, Senders::Everybody, crypto, stop.clone()).await.unwrap(), stop)
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
async fn an_address_belongs_to_whoever_signed_from_it() {
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
    assert_eq!((waiting(&alice), waiting(&bob)), (1, 0), "a guess takes no address");

    mux.route(&request("bob:x", "bob's password", false), from, None);
    mux.route(b"\x16dtls of bob", from, None);
    assert_eq!((waiting(&alice), waiting(&bob)), (0, 2));
    drop(alice);
    mux.route(b"\x16dtls of bob", from, None);
    assert_eq!(waiting(&bob), 1, "whoever lost an address does not take it along");
    drop(bob);
    assert_eq!(mux.sizes(), (0, 0));
    stop.cancel();
}

#[tokio::test]
async fn nothing_is_sent_to_an_address_that_proved_nothing() {
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
async fn addresses_of_one_peer_are_bounded() {
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
    assert_eq!(mux.sizes(), (MAX_CREDENTIALS_PER_PEER, MAX_ADDRESSES_PER_PEER), "nor can ICE restarts pile up credentials");
    mux.route(&request("alice98:x", "password", false), "127.0.0.1:200".parse().unwrap(), None);
    assert_eq!(waiting(&alice), 101, "the former credentials still count");
    drop(alice);
    assert_eq!(mux.sizes(), (0, 0));
    stop.cancel();
}

#[tokio::test]
async fn port_of_one_machine_ignores_signed_requests_of_another() {
    let stop = CancellationToken::new();
    let listen = Senders::ThisMachine.bind_to("127.0.0.1:0".parse().unwrap());
    let mux = Mux::bind(listen, Senders::ThisMachine, rtc::crypto::default_provider().unwrap(), stop.clone()).await.unwrap();
    let alice = mux.attach();
    alice.register("alice", "password");
    let signed = request("alice:x", "password", false);
    let lan = Some("192.168.1.5".parse().unwrap());

    mux.route(&signed, "192.168.1.6:4000".parse().unwrap(), lan);
    assert_eq!((waiting(&alice), mux.sizes().1, mux.stats().unroutable), (0, 0, 1), "nor may it claim an address");
    mux.route(&signed, "192.168.1.5:4000".parse().unwrap(), lan);
    assert_eq!(waiting(&alice), 1);

    // A real datagram to the loopback address and, where there is a network, to the machine's own address.
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
        assert_eq!(from, SocketAddr::new(ip, mux.address().port()), "the answer comes from the address that was asked");
    }
    stop.cancel();
}
