//! HTTP/2 clients that read everything except one answer, whose flow-control window they keep closed.

use std::time::Duration;

use recall_api::{Limits, ServerConfig};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{sleep, timeout},
};

use super::{
    edge::{END_HEADERS, END_STREAM, HEADERS, RESET, SETTINGS, frame, http2, others_are_served, say},
    harness::{ANNA, Server},
};
use crate::server::TIMEOUT;

const DATA: u8 = 0;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const ACK: u8 = 1;
const PROBE: &str = "/healthz";

/// A settings frame that lets the server send this many bytes of each answer.
fn window(bytes: u32) -> Vec<u8> {
    frame(SETTINGS, 0, 0, &[&[0, 4][..], &bytes.to_be_bytes()].concat())
}

/// A GET request in RFC 7541: indexed names and literals.
fn get(server: &Server, stream: u32, path: &str) -> Vec<u8> {
    let literal = |text: &str| [&[u8::try_from(text.len()).unwrap()][..], text.as_bytes()].concat();
    let (path, authority) = (literal(path), literal(&server.address.to_string()));
    let user = [literal("x-test-user"), literal(ANNA)].concat();
    let head = [&b"\x82\x86\x04"[..], &path, b"\x01", &authority, b"\x00", &user].concat();
    frame(HEADERS, END_STREAM | END_HEADERS, stream, &head)
}

/// Returns the next frame as type, flags, stream and payload; answers pings. None after the end of the connection.
async fn next(socket: &mut TcpStream) -> Option<(u8, u8, u32, Vec<u8>)> {
    loop {
        let mut head = [0; 9];
        socket.read_exact(&mut head).await.ok()?;
        let [a, b, c, kind, flags, stream @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        socket.read_exact(&mut payload).await.ok()?;
        if kind == PING && flags == 0 {
            socket.write_all(&frame(PING, ACK, 0, &payload)).await.ok()?;
            continue;
        }
        return Some((kind, flags, u32::from_be_bytes(stream), payload));
    }
}

/// Reads until this stream has a frame of this type.
async fn read_until(socket: &mut TcpStream, kind: u8, stream: u32) {
    let come = async {
        loop {
            let (came, _, of, _) = next(socket).await.expect("the connection ended");
            if (came, of) == (kind, stream) {
                return;
            }
            assert_ne!(came, RESET, "of {of}");
        }
    };
    timeout(TIMEOUT, come).await.unwrap_or_else(|_| panic!("no frame of type {kind} on stream {stream}"));
}

/// Returns the address of an event stream that starts with stored events.
async fn events(server: &Server) -> String {
    let session = server.session(ANNA).await;
    for n in 0..50 {
        server.say(ANNA, &session, &format!("Message number {n}.")).await;
    }
    let head = server.data(ANNA, "query($id: ID!) { session(id: $id) { head } }", serde_json::json!({ "id": session })).await;
    let epoch = head["session"]["head"].as_str().unwrap().rsplit_once(':').unwrap().0.to_owned();
    format!("/sessions/{session}/events?after={epoch}:0")
}

/// Returns the address and content of a file that needs many frames.
async fn script(server: &Server) -> (String, Vec<u8>) {
    let page = server.get(ANNA, "/").send().await.unwrap().text().await.unwrap();
    let path = page.split('"').find(|part| part.starts_with("/assets/index-") && part.ends_with(".js")).unwrap().to_owned();
    let content = server.get(ANNA, &path).send().await.unwrap().bytes().await.unwrap().to_vec();
    assert!(content.len() > 50_000, "{path}");
    (path, content)
}

/// Waits until the one stream that the caller may have here has ended.
async fn wait_until_stream_ends(server: &Server, events: &str) {
    let over = async {
        while server.get(ANNA, events).send().await.unwrap().status() != 200 {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(TIMEOUT, over).await.expect("the stream did not end");
}

/// Settings under which only an unread answer can end a connection soon.
fn bounds(trusted_proxies: &[&str]) -> (ServerConfig, Limits) {
    let config = ServerConfig {
        head_timeout: Duration::from_secs(3_600),
        write_timeout: Duration::from_millis(300),
        trusted_proxies: trusted_proxies.iter().map(|network| network.parse().unwrap()).collect(),
        ..ServerConfig::default()
    };
    (config, Limits { streams_per_caller: Some(1), ..Limits::default() })
}

#[tokio::test]
async fn slow_http2_reader_is_disconnected() {
    let (config, limits) = bounds(&[]);
    let server = Server::start_bounded(config, limits).await;
    let (events, (script, _)) = (events(&server).await, script(&server).await);
    for (given, path) in [(0, &*events), (500, &events), (0, "/"), (100, "/"), (0, &script), (20_000, &script)] {
        let mut socket = say(&server, &http2(&[window(given), get(&server, 1, path)])).await;
        let (mut reader, mut writer) = socket.split();
        let asking = async {
            for stream in (3..).step_by(2) {
                if writer.write_all(&get(&server, stream, PROBE)).await.is_err() {
                    return;
                }
                sleep(Duration::from_millis(20)).await;
            }
        };
        let reading = async {
            let mut bytes = [0; 4096];
            while !matches!(reader.read(&mut bytes).await, Ok(0) | Err(_)) {}
        };
        let ended = async {
            tokio::select! {
                () = asking => {}
                () = reading => {}
            }
        };
        timeout(TIMEOUT, ended).await.unwrap_or_else(|_| panic!("{path} stays open with a window of {given} bytes"));
        others_are_served(&server).await;
    }
    wait_until_stream_ends(&server, &events).await;
}

#[tokio::test]
async fn http2_reader_with_open_window_gets_everything() {
    let (config, limits) = bounds(&[]);
    let long = 4 * config.write_timeout;
    let server = Server::start_bounded(config, limits).await;
    let (events, (script, content)) = (events(&server).await, script(&server).await);
    let room = frame(WINDOW_UPDATE, 0, 0, &(1u32 << 24).to_be_bytes());
    let mut socket = say(&server, &http2(&[window(1 << 24), room, get(&server, 1, &events), get(&server, 3, &script)])).await;
    let (mut heard, mut got) = (String::new(), Vec::new());
    let mut is_whole = false;
    while !is_whole || !heard.contains("event: caught_up") {
        match timeout(TIMEOUT, next(&mut socket)).await.unwrap().expect("the connection ended") {
            (DATA, _, 1, payload) => heard.push_str(&String::from_utf8(payload).unwrap()),
            (DATA, flags, 3, payload) => {
                got.extend(payload);
                is_whole |= flags & END_STREAM != 0;
            }
            _ => {}
        }
    }
    assert!(got == content, "{} bytes of {}", got.len(), content.len());
    assert_eq!(heard.matches("event: message_stored").count(), 50);
    // The stream is idle meanwhile.
    sleep(long).await;
    socket.write_all(&get(&server, 5, PROBE)).await.unwrap();
    read_until(&mut socket, DATA, 5).await;
}

#[tokio::test]
async fn slow_answer_of_trusted_proxy_ends_alone() {
    let (config, limits) = bounds(&["127.0.0.0/8"]);
    let server = Server::start_bounded(config, limits).await;
    let events = events(&server).await;
    let mut socket = say(&server, &http2(&[window(500), get(&server, 1, &events)])).await;
    read_until(&mut socket, DATA, 1).await;
    wait_until_stream_ends(&server, &events).await;
    socket.write_all(&get(&server, 3, PROBE)).await.unwrap();
    read_until(&mut socket, DATA, 3).await;
    socket.write_all(&frame(WINDOW_UPDATE, 0, 1, &(1u32 << 24).to_be_bytes())).await.unwrap();
    read_until(&mut socket, RESET, 1).await;
    socket.write_all(&get(&server, 5, PROBE)).await.unwrap();
    read_until(&mut socket, DATA, 5).await;
}
