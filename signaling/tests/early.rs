//! A client that begins the DTLS handshake before it nominates its candidate pair, like libdatachannel.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::net::SocketAddr;

use rtc::crypto::{RTCCryptoProvider, default_provider};
use rtc::ice::attributes::{control::AttrControlling, priority::PriorityAttr, use_candidate::UseCandidateAttr};
use rtc::stun::attributes::ATTR_USERNAME;
use rtc::stun::fingerprint::FINGERPRINT;
use rtc::stun::integrity::MessageIntegrity;
use rtc::stun::message::{BINDING_REQUEST, BINDING_SUCCESS, Message, Setter, TransactionId};
use rtc::stun::textattrs::Username;
use rtc::stun::xoraddr::XorMappedAddress;
use signaling::*;
use support::{Server, TIMEOUT};
use tokio::net::UdpSocket;
use tokio::time::timeout;

const FRAGMENT: &str = "bk0/";
const PASSWORD: &str = "vLwEpeo/+yqcZqPLT8hRnQhm";
const OFFER: &str = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n\
    m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\n\
    a=ice-ufrag:bk0/\r\na=ice-pwd:vLwEpeo/+yqcZqPLT8hRnQhm\r\n\
    a=fingerprint:sha-256 49:66:12:17:0D:1C:91:AE:57:4C:C6:36:DD:D5:97:D2:7D:62:C9:9A:7F:B9:A3:F4:70:03:E7:43:91:73:23:5E\r\n\
    a=setup:active\r\na=mid:0\r\na=sctp-port:5000\r\n";
const HANDSHAKE: u8 = 22;
const HELLO_VERIFY_REQUEST: u8 = 3;

/// A handwritten client: one socket, and the credentials of both sides.
struct Peer {
    socket: UdpSocket,
    server: SocketAddr,
    fragment: String,
    password: String,
    crypto: std::sync::Arc<dyn RTCCryptoProvider>,
}

impl Peer {
    async fn offer(server: &Server) -> Self {
        let answer = server.signaling.offer("s".into(), OFFER).await.unwrap();
        let value = |name: &str| answer.sdp.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
        Self {
            socket: UdpSocket::bind("127.0.0.1:0").await.unwrap(),
            server: server.signaling.udp_addr(),
            fragment: value("a=ice-ufrag:"),
            password: value("a=ice-pwd:"),
            crypto: default_provider().unwrap(),
        }
    }

    fn integrity(&self, password: &str) -> Box<MessageIntegrity<'_>> {
        Box::new(MessageIntegrity::new_short_term_integrity_with_provider(password.to_owned(), self.crypto.crypto()))
    }

    async fn send(&self, datagram: &[u8]) {
        self.socket.send_to(datagram, self.server).await.unwrap();
    }

    async fn check(&self, nominates: bool) {
        let mut attributes: Vec<Box<dyn Setter + '_>> = vec![
            Box::new(BINDING_REQUEST),
            Box::new(TransactionId::new()),
            Box::new(Username::new(ATTR_USERNAME, format!("{}:{FRAGMENT}", self.fragment))),
            Box::new(AttrControlling(7)),
            Box::new(PriorityAttr(2_130_706_431)),
        ];
        if nominates {
            attributes.push(Box::<UseCandidateAttr>::default());
        }
        attributes.push(self.integrity(&self.password));
        attributes.push(Box::new(FINGERPRINT));
        let mut request = Message::new();
        request.build(&attributes).unwrap();
        self.send(&request.raw).await;
    }

    /// Answers a check of the server.
    async fn confirm(&self, datagram: &[u8]) {
        let mut request = Message::new();
        request.unmarshal_binary(datagram).unwrap();
        let mut answer = Message::new();
        let mapped = XorMappedAddress { ip: self.server.ip(), port: self.server.port() };
        answer
            .build(&[Box::new(request), Box::new(BINDING_SUCCESS), Box::new(mapped), self.integrity(PASSWORD), Box::new(FINGERPRINT)])
            .unwrap();
        self.send(&answer.raw).await;
    }

    /// Receives until `wanted` accepts a datagram; meanwhile it answers checks of the server.
    async fn expect(&self, what: &str, wanted: impl Fn(&[u8]) -> bool) {
        let mut buffer = [0; 2048];
        loop {
            let received = timeout(TIMEOUT, self.socket.recv_from(&mut buffer)).await;
            let (length, _) = received.unwrap_or_else(|_| panic!("no {what}")).unwrap();
            let datagram = &buffer[..length];
            if datagram.starts_with(&[0, 1]) {
                self.confirm(datagram).await;
            }
            if wanted(datagram) {
                return;
            }
        }
    }
}

/// A DTLS 1.2 ClientHello: ECDHE-ECDSA with AES-128-GCM on P-256, extended master secret.
fn client_hello() -> Vec<u8> {
    let extensions: &[u8] = &[
        0, 10, 0, 4, 0, 2, 0, 23, // supported groups: secp256r1
        0, 11, 0, 2, 1, 0, // point formats: uncompressed
        0, 13, 0, 4, 0, 2, 4, 3, // signatures: ECDSA with SHA-256
        0, 23, 0, 0, // extended master secret
    ];
    let mut body = vec![0xfe, 0xfd];
    body.extend([9; 32]); // random
    body.extend([0, 0]); // no session, no cookie
    body.extend([0, 2, 0xc0, 0x2b]); // cipher suites
    body.extend([1, 0]); // no compression
    body.extend((extensions.len() as u16).to_be_bytes());
    body.extend(extensions);
    let length = (body.len() as u32).to_be_bytes();
    let mut message = vec![1, length[1], length[2], length[3], 0, 0, 0, 0, 0, length[1], length[2], length[3]];
    message.extend(body);
    let mut record = vec![HANDSHAKE, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0];
    record.extend((message.len() as u16).to_be_bytes());
    record.extend(message);
    record
}

#[tokio::test(flavor = "multi_thread")]
async fn dtls_handshake_before_nomination_is_answered() {
    let server = Server::start(SignalingConfig::default()).await;
    let peer = Peer::offer(&server).await;
    peer.check(false).await;
    peer.expect("check of the server", |datagram| datagram.starts_with(&[0, 1])).await;
    peer.send(&client_hello()).await;
    peer.check(true).await;
    // The client sends the ClientHello once, so a server that drops it never answers.
    peer.expect("HelloVerifyRequest", |datagram| datagram.first() == Some(&HANDSHAKE) && datagram.get(13) == Some(&HELLO_VERIFY_REQUEST))
        .await;
}
