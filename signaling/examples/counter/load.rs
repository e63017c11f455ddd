//! A load test: connects many peers to a running counter, and measures connection time, event latency,
//! and lost or duplicated events.
//!
//! It uses the client side of the same WebRTC stack and shares the machine with the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rtc::ice::mdns::MulticastDnsMode;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use webrtc::data_channel::{DataChannel, DataChannelEvent};
use webrtc::peer_connection::{
    PeerConnection, PeerConnectionBuilder, PeerConnectionEventHandler, RTCIceGatheringState, RTCSessionDescription, SettingEngineBuilder,
};

use crate::log::now_us;

use crate::Failure;

/// Peers that connect at the same time.
const CONCURRENCY: usize = 40;

#[derive(Default)]
struct Totals {
    events: AtomicU64,
    wrong: AtomicU64,
    gaps: AtomicU64,
    closed: AtomicU64,
}

pub(crate) async fn run(http: &str, peers: usize, seconds: u64) -> Result<(), Failure> {
    request(http, "POST", "/rate/0", "").await?;
    let before = stats(http).await?;
    let totals = Arc::new(Totals::default());
    let (sender, mut delays) = mpsc::unbounded_channel::<u64>();
    let mut opened = vec![];
    let mut connections = vec![];
    // Several at a time, because the client's stack mostly waits for timers while it connects.
    let mut opening = tokio::task::JoinSet::new();
    let mut started = 0;
    while started < peers || !opening.is_empty() {
        while started < peers && opening.len() < CONCURRENCY {
            started += 1;
            let http = http.to_owned();
            opening.spawn(async move { timeout(Duration::from_secs(20), connect(&http)).await });
        }
        match opening.join_next().await {
            Some(Ok(Ok(Ok((connection, channel, took))))) => {
                opened.push(took.as_micros() as u64);
                tokio::spawn(listen(channel, totals.clone(), sender.clone()));
                connections.push(connection);
            }
            failure => println!("a peer did not open: {:?}", failure.map(|result| result.is_ok())),
        }
    }
    drop(sender);
    report("POST to open of this client, ms", &mut opened);
    sleep(Duration::from_secs(2)).await;
    let connected = stats(http).await?;
    let memory = |stats: &Value| stats["rss_kb"].as_i64().unwrap_or_default();
    println!(
        "{} peers open; server {} kB before, {} kB now: {} kB a peer",
        connected["open"],
        memory(&before),
        memory(&connected),
        (memory(&connected) - memory(&before)) / (opened.len().max(1) as i64)
    );
    request(http, "POST", "/rate/100", "").await?;
    sleep(Duration::from_secs(seconds)).await;
    request(http, "POST", "/rate/0", "").await?;
    sleep(Duration::from_secs(1)).await;
    let after = stats(http).await?;
    let mut all = vec![];
    while let Ok(delay) = delays.try_recv() {
        all.push(delay);
    }
    report("event to client, ms", &mut all);
    let events = totals.events.load(Ordering::Relaxed);
    let cpu = after["cpu_ms"].as_i64().unwrap_or_default() - connected["cpu_ms"].as_i64().unwrap_or_default();
    println!(
        "{events} events, {} out of order, {} gaps, {} closed; {:.1} us of server CPU an event; server {} kB",
        totals.wrong.load(Ordering::Relaxed),
        totals.gaps.load(Ordering::Relaxed),
        totals.closed.load(Ordering::Relaxed),
        cpu as f64 * 1000.0 / events.max(1) as f64,
        memory(&after)
    );
    println!("{}", after["udp"].as_str().unwrap_or_default());
    let start = Instant::now();
    for connection in connections {
        let _ = timeout(Duration::from_secs(1), connection.close()).await;
    }
    while stats(http).await?["peers"] != 0 && start.elapsed() < Duration::from_secs(30) {
        sleep(Duration::from_millis(100)).await;
    }
    println!("all peers ended after {:.1} s: {}", start.elapsed().as_secs_f64(), stats(http).await?);
    Ok(())
}

fn report(what: &str, micros: &mut [u64]) {
    micros.sort_unstable();
    let at = |share: f64| {
        let index = (micros.len() as f64 * share) as usize;
        micros.get(index).copied().unwrap_or_default() as f64 / 1000.0
    };
    println!(
        "{what}: p50 {:.1}, p95 {:.1}, p99 {:.1}, most {:.1} ({})",
        at(0.5),
        at(0.95),
        at(0.99),
        micros.last().copied().unwrap_or_default() as f64 / 1000.0,
        micros.len()
    );
}

async fn listen(channel: Arc<dyn DataChannel>, totals: Arc<Totals>, delays: mpsc::UnboundedSender<u64>) {
    let mut last = None;
    while let Some(event) = channel.poll().await {
        let DataChannelEvent::OnMessage(message) = event else {
            continue;
        };
        let Ok(frame) = serde_json::from_slice::<Value>(&message.data) else {
            continue;
        };
        match frame["t"].as_str() {
            Some("welcome") => last = frame["head"].as_u64(),
            Some("ev") => {
                totals.events.fetch_add(1, Ordering::Relaxed);
                let seq = frame["seq"].as_u64();
                if seq != last.map(|last| last + 1) {
                    totals.wrong.fetch_add(1, Ordering::Relaxed);
                }
                last = seq;
                let at = frame["d"]["at_us"].as_u64().unwrap_or_default();
                let _ = delays.send(now_us().saturating_sub(at));
            }
            Some("gap") => {
                totals.gaps.fetch_add(1, Ordering::Relaxed);
            }
            Some("ping") => {
                let _ = channel.send_text(r#"{"t":"pong"}"#).await;
            }
            _ => {}
        }
    }
    totals.closed.fetch_add(1, Ordering::Relaxed);
}

struct Handler(mpsc::UnboundedSender<RTCIceGatheringState>);

#[async_trait]
impl PeerConnectionEventHandler for Handler {
    async fn on_ice_gathering_state_change(&self, state: RTCIceGatheringState) {
        let _ = self.0.send(state);
    }
}

async fn connect(http: &str) -> Result<(Arc<dyn PeerConnection>, Arc<dyn DataChannel>, Duration), Failure> {
    let (sender, mut states) = mpsc::unbounded_channel();
    let settings =
        SettingEngineBuilder::new().with_multicast_dns_mode(MulticastDnsMode::Disabled).with_include_loopback_candidate(true).build();
    let connection = PeerConnectionBuilder::new()
        .with_setting_engine(settings)
        .with_handler(Arc::new(Handler(sender)))
        .with_udp_addrs(vec!["127.0.0.1:0"])
        .build()
        .await?;
    let connection: Arc<dyn PeerConnection> = Arc::new(connection);
    let channel = connection.create_data_channel("events", None).await?;
    let offer = connection.create_offer(None).await?;
    connection.set_local_description(offer.clone()).await?;
    while !matches!(states.recv().await, Some(RTCIceGatheringState::Complete) | None) {}
    let start = Instant::now();
    let answer = request(http, "POST", "/signaling/counter", &offer.sdp).await?;
    connection.set_remote_description(RTCSessionDescription::answer(answer)?).await?;
    while !matches!(channel.poll().await, Some(DataChannelEvent::OnOpen)) {}
    let took = start.elapsed();
    channel.send_text(r#"{"t":"hello","v":1,"stream":"counter","resume":null}"#).await?;
    Ok((connection, channel, took))
}

async fn stats(http: &str) -> Result<Value, Failure> {
    Ok(serde_json::from_str(&request(http, "GET", "/stats", "").await?)?)
}

/// Sends an HTTP/1.1 request. Returns the body of a successful response.
async fn request(http: &str, method: &str, path: &str, body: &str) -> Result<String, Failure> {
    let mut stream = TcpStream::connect(http).await?;
    let length = body.len();
    let text = format!("{method} {path} HTTP/1.1\r\nhost: {http}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
    stream.write_all(text.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("no HTTP answer")?;
    let status = head.split(' ').nth(1).unwrap_or_default();
    match status.starts_with('2') {
        true => Ok(body.to_owned()),
        false => Err(format!("{status}: {body}").into()),
    }
}
