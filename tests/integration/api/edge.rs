//! Attacks on connections, byte by byte: the connection ends and other clients are served.

use std::{io::Read, time::Duration};

use recall_api::{Limits, ServerConfig};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{sleep, timeout},
};

use super::harness::{ANNA, Server};
use crate::server::TIMEOUT;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
pub(super) const SETTINGS: u8 = 4;
pub(super) const HEADERS: u8 = 1;
pub(super) const RESET: u8 = 3;
const CONTINUATION: u8 = 9;
pub(super) const END_STREAM: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;
/// `GET http://localhost/healthz` in RFC 7541: three indexed names and two literals.
const HEALTH: &[u8] = b"\x82\x86\x04\x08/healthz\x01\x09localhost";

pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// The client preface and settings of an HTTP/2 connection, and these frames.
pub(super) fn http2(frames: &[Vec<u8>]) -> Vec<u8> {
    [PREFACE.to_vec(), frame(SETTINGS, 0, 0, &[]), frames.concat()].concat()
}

/// Returns the types of the received frames.
fn kinds(mut bytes: &[u8]) -> Vec<u8> {
    let mut kinds = Vec::new();
    while let [a, b, c, kind, ..] = *bytes {
        kinds.push(kind);
        bytes = bytes.get(9 + u32::from_be_bytes([0, a, b, c]) as usize..).unwrap_or_default();
    }
    kinds
}

/// Reads until the server ends the connection; fails if it does not.
async fn read_until_closed(socket: &mut TcpStream, what: &str) -> Vec<u8> {
    let mut said = Vec::new();
    // A reset also counts as an end.
    let _ = timeout(TIMEOUT, socket.read_to_end(&mut said)).await.unwrap_or_else(|_| panic!("{what} does not end"));
    said
}

pub(super) async fn say(server: &Server, bytes: &[u8]) -> TcpStream {
    let mut socket = TcpStream::connect(server.address).await.unwrap();
    socket.write_all(bytes).await.unwrap();
    socket
}

pub(super) async fn others_are_served(server: &Server) {
    assert_eq!(server.get(ANNA, "/healthz").send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn idle_connection_ends_in_every_http_version() {
    let head_timeout = Duration::from_millis(200);
    let write_timeout = Duration::from_millis(50);
    let server = Server::start_with(ServerConfig { head_timeout, write_timeout, ..ServerConfig::default() }).await;
    let session = server.session(ANNA).await;
    let mut stream = server.get(ANNA, &format!("/sessions/{session}/events")).send().await.unwrap();
    let request = format!("GET /healthz HTTP/1.1\r\nhost: {}\r\n\r\n", server.address).into_bytes();
    let cases = [
        ("nothing at all", Vec::new()),
        ("half a line", b"GET /hea".to_vec()),
        ("half a head", b"GET / HTTP/1.1\r\nhost: x\r\nx-a: ".to_vec()),
        ("a request, and then nothing", request),
        ("half a preface", PREFACE[..9].to_vec()),
        ("a preface", PREFACE.to_vec()),
        ("an idle connection", http2(&[])),
        ("an answered one", http2(&[frame(HEADERS, END_STREAM | END_HEADERS, 1, HEALTH)])),
        ("half a head of HTTP/2", http2(&[frame(HEADERS, END_STREAM, 1, &HEALTH[..3])])),
    ];
    let mut open = Vec::new();
    for (what, bytes) in &cases {
        open.push((what, say(&server, bytes).await));
    }
    others_are_served(&server).await;
    for (what, socket) in &mut open {
        let said = read_until_closed(socket, what).await;
        assert_eq!(what.contains("answered") || what.contains("request"), String::from_utf8_lossy(&said).contains("ok"), "{what}");
    }
    // A dripping client gains no time.
    let mut socket = say(&server, &http2(&[frame(HEADERS, END_STREAM, 1, &HEALTH[..3])])).await;
    let dripping = async {
        while socket.write_all(&frame(CONTINUATION, 0, 1, b"")).await.is_ok() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(TIMEOUT, dripping).await.expect("a dripping request head does not end");
    let more = timeout(3 * head_timeout, stream.chunk()).await;
    assert!(matches!(more, Err(_) | Ok(Ok(Some(_)))), "the stream ended: {more:?}");
    others_are_served(&server).await;
}

#[tokio::test]
async fn dripping_request_body_times_out() {
    let limits = Limits { operation_timeout: Duration::from_millis(1), ..Limits::default() };
    let server = Server::start_within(limits).await;
    let head = format!(
        "POST /graphql HTTP/1.1\r\nhost: {}\r\nx-test-user: {ANNA}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{{",
        server.address
    );
    let mut socket = say(&server, head.as_bytes()).await;
    let (mut reader, mut writer) = socket.split();
    let dripping = async {
        while writer.write_all(b" ").await.is_ok() {
            sleep(Duration::from_millis(100)).await;
        }
    };
    let mut said = Vec::new();
    tokio::select! {
        () = dripping => {}
        _ = timeout(TIMEOUT, reader.read_to_end(&mut said)) => {}
    }
    assert!(String::from_utf8_lossy(&said).contains("TIMEOUT"), "{}", String::from_utf8_lossy(&said));
}

#[tokio::test]
async fn http2_rapid_reset_ends_connection() {
    let server = Server::start().await;
    let mut socket = say(&server, &http2(&[])).await;
    let (mut reader, mut writer) = socket.split();
    let flood = async {
        for stream in (1..200_000).step_by(2) {
            let both = [frame(HEADERS, END_STREAM | END_HEADERS, stream, HEALTH), frame(RESET, 0, stream, &8u32.to_be_bytes())].concat();
            if writer.write_all(&both).await.is_err() {
                return;
            }
        }
        panic!("the server accepted 100,000 streams that were opened and reset");
    };
    let mut said = Vec::new();
    let (_, ended) = tokio::join!(flood, timeout(TIMEOUT, reader.read_to_end(&mut said)));
    assert!(ended.is_ok(), "the connection is still open");
    let answered = kinds(&said).into_iter().filter(|kind| *kind == HEADERS).count();
    assert!(answered < 2_000, "the server answered {answered} streams");
    others_are_served(&server).await;
}

#[tokio::test]
async fn endless_request_head_ends_connection() {
    let server = Server::start().await;
    let flood = async |first: Vec<u8>, next: Vec<u8>| {
        let mut socket = say(&server, &first).await;
        let (mut reader, mut writer) = socket.split();
        let mut sent = 0;
        let flood = async {
            while sent < 64 * 1024 * 1024 && writer.write_all(&next).await.is_ok() {
                sent += next.len();
            }
        };
        let mut said = Vec::new();
        let _ = tokio::join!(flood, timeout(TIMEOUT, reader.read_to_end(&mut said)));
        assert!(sent < 16 * 1024 * 1024, "the server read {sent} bytes of one request head");
        said
    };
    // A literal that is never indexed.
    let literal = [&b"\x00\x01a\x7f\x81\x7c"[..], &[b'x'; 16_000]].concat();
    for (name, next) in [("empty", frame(CONTINUATION, 0, 1, b"")), ("long", frame(CONTINUATION, 0, 1, &literal))] {
        let said = flood(http2(&[frame(HEADERS, END_STREAM, 1, HEALTH)]), next).await;
        assert!(!kinds(&said).contains(&HEADERS), "{name}");
    }
    let start = format!("GET /healthz HTTP/1.1\r\nhost: {}\r\nx-a: ", server.address).into_bytes();
    for (name, next) in [("one header", vec![b'x'; 16_000]), ("many headers", b"\r\nx-a: b".repeat(1_000))] {
        let said = flood(start.clone(), next).await;
        assert!(!said.starts_with(b"HTTP/1.1 200"), "{name}");
    }
    others_are_served(&server).await;
}

#[tokio::test]
async fn connections_per_address_are_limited() {
    let config = ServerConfig { connections_per_address: Some(2), ..ServerConfig::default() };
    let server = Server::start_with(config).await;
    let request = format!("GET /healthz HTTP/1.1\r\nhost: {}\r\n\r\n", server.address);
    let ask = async |socket: &mut TcpStream| {
        let mut answer = [0; 12];
        let asked = socket.write_all(request.as_bytes()).await;
        asked.is_ok() && socket.read_exact(&mut answer).await.is_ok() && &answer == b"HTTP/1.1 200"
    };
    let connect = || TcpStream::connect(server.address);
    let (mut first, mut second) = (connect().await.unwrap(), connect().await.unwrap());
    assert!(ask(&mut first).await && ask(&mut second).await);
    let mut third = connect().await.unwrap();
    assert!(!ask(&mut third).await, "a third connection is served");
    drop(first);
    let begun = std::time::Instant::now();
    while !ask(&mut connect().await.unwrap()).await {
        assert!(begun.elapsed() < TIMEOUT, "a closed connection still counts");
        sleep(Duration::from_millis(20)).await;
    }
    let proxy =
        ServerConfig { connections_per_address: Some(1), trusted_proxies: vec!["127.0.0.0/8".parse().unwrap()], ..ServerConfig::default() };
    let server = Server::start_with(proxy).await;
    let _open = [say(&server, b"").await, say(&server, b"").await, say(&server, b"").await];
    others_are_served(&server).await;
}

#[tokio::test]
async fn compressed_body_is_rejected() {
    let server = Server::start().await;
    for encoding in ["gzip", "br", "deflate", "zstd", "identity, gzip", "GZIP"] {
        let request = server.post(ANNA, "/graphql").header("content-type", "application/json").header("content-encoding", encoding);
        let answer = request.body(r#"{"query":"{ viewer { id } }"}"#).send().await.unwrap();
        assert_eq!(answer.status(), 415, "{encoding}");
        assert_eq!(answer.json::<serde_json::Value>().await.unwrap()["code"], "UNSUPPORTED_MEDIA_TYPE");
    }
    let request = server.post(ANNA, "/graphql").header("content-type", "application/json").header("content-encoding", "identity");
    assert_eq!(request.body(r#"{"query":"{ viewer { id } }"}"#).send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn larger_answer_is_compressed_for_clients_that_accept_gzip() {
    const LARGE: &str = r#"{"query":"{ __schema { types { name description } } }"}"#;
    const SMALL: &str = r#"{"query":"{ viewer { id } }"}"#;
    let server = Server::start().await;
    let ask = async |body: &'static str, accepted: &str| {
        let request = server.post(ANNA, "/graphql").header("content-type", "application/json").header("accept-encoding", accepted);
        let answer = request.body(body).send().await.unwrap();
        let encoding = answer.headers().get("content-encoding").map(|e| e.to_str().unwrap().to_owned());
        (encoding, answer.bytes().await.unwrap())
    };
    let (encoding, plain) = ask(LARGE, "identity").await;
    assert_eq!(encoding, None);
    assert!(plain.len() > 4096, "{} bytes", plain.len());
    let (encoding, compressed) = ask(LARGE, "br, gzip").await;
    assert_eq!(encoding.as_deref(), Some("gzip"));
    assert!(compressed.len() < plain.len() / 2, "{} of {} bytes", compressed.len(), plain.len());
    let mut whole = Vec::new();
    flate2::read::GzDecoder::new(&compressed[..]).read_to_end(&mut whole).unwrap();
    assert_eq!(whole, plain);
    assert_eq!(ask(SMALL, "gzip").await.0, None);
}

#[tokio::test]
async fn path_traversal_is_rejected() {
    let server = Server::start().await;
    for path in [
        "/../Cargo.toml",
        "/../../Cargo.toml",
        "/assets/../../../Cargo.toml",
        "/..%2f..%2fCargo.toml",
        "/%2e%2e/%2e%2e/Cargo.toml",
        "/%2e%2e%5c%2e%2e%5cCargo.toml",
        "/..\\..\\Cargo.toml",
        "/....//....//Cargo.toml",
        "//etc/passwd",
        "/etc/passwd",
        "///etc/passwd",
        "/%00/etc/passwd",
        "/index.html%00.txt",
        "/index.html/",
        "/assets/",
        "/assets",
        "/file:///etc/passwd",
        "http://x/../../Cargo.toml",
        "/src/main.rs",
        "/graphiql/../../src/main.rs",
    ] {
        let request = format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", server.address);
        let said = read_until_closed(&mut say(&server, request.as_bytes()).await, path).await;
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(said.starts_with("HTTP/1.1 4"), "{path}: {said}");
        assert!(!said.contains("[package]") && !said.contains("root:") && !said.contains("fn main"), "{path}");
    }
}
