//! An event log in memory and a native WebRTC client, for tests over loopback.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use rtc::ice::mdns::MulticastDnsMode;
use serde_json::{Value, json, value::to_raw_value};
use signaling::*;
use tokio::sync::mpsc;
use tokio::time::timeout;
use webrtc::data_channel::{DataChannel, DataChannelEvent};
use webrtc::peer_connection::*;

/// Long enough for a busy machine; no passing test waits this long.
pub const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Default)]
pub struct Log {
    pub epoch: String,
    pub floor: u64,
    pub events: Vec<NumberedEvent>,
}

/// Logs in memory, by name.
#[derive(Default)]
pub struct MemoryLog {
    pub logs: Mutex<HashMap<String, Log>>,
    pub failing: AtomicBool,
}

impl MemoryLog {
    pub fn with(stream: &str) -> Arc<Self> {
        let log = Self::default();
        let new = Log { epoch: "e1".into(), floor: 1, events: vec![] };
        log.logs.lock().unwrap().insert(stream.into(), new);
        Arc::new(log)
    }

    pub fn append(&self, stream: &str, data: Value) -> u64 {
        let mut logs = self.logs.lock().unwrap();
        let log = logs.get_mut(stream).unwrap();
        let seq = log.events.len() as u64 + 1;
        log.events.push(NumberedEvent {
            seq,
            id: format!("{stream}-{seq}"),
            kind: "counted".into(),
            ts: "2026-01-01T00:00:00Z".into(),
            data: to_raw_value(&data).unwrap(),
        });
        seq
    }
}

#[async_trait]
impl EventSource for MemoryLog {
    type Stream = String;

    fn name(stream: &String) -> String {
        stream.clone()
    }

    async fn head(&self, stream: &String) -> Result<LogHead, SourceError> {
        if self.failing.load(Ordering::Relaxed) {
            return Err(SourceError::Unavailable("switched off".into()));
        }
        let logs = self.logs.lock().unwrap();
        let log = logs.get(stream).ok_or(SourceError::NotFound)?;
        Ok(LogHead { epoch: log.epoch.clone(), head: log.events.len() as u64, floor: log.floor })
    }

    async fn read(&self, stream: &String, after: u64, limit: usize) -> Result<LogPage, SourceError> {
        let head = self.head(stream).await?;
        if self.failing.load(Ordering::Relaxed) {
            return Err(SourceError::Unavailable("switched off".into()));
        }
        let logs = self.logs.lock().unwrap();
        let log = logs.get(stream).ok_or(SourceError::NotFound)?;
        let found = log.events.iter().filter(|event| event.seq > after && event.seq >= log.floor);
        Ok(LogPage { events: found.take(limit).cloned().collect(), head })
    }
}

/// A signaling service with one stream, `s`.
pub struct Server {
    pub log: Arc<MemoryLog>,
    pub hub: Arc<Hub<MemoryLog>>,
    pub signaling: Arc<Signaling<MemoryLog>>,
}

impl Server {
    pub async fn start(config: SignalingConfig) -> Self {
        Self::with_hub(config, HubConfig::default()).await
    }

    pub async fn with_hub(config: SignalingConfig, hub: HubConfig) -> Self {
        let log = MemoryLog::with("s");
        let hub = Hub::new(log.clone(), hub);
        let signaling = Signaling::bind(config, hub.clone()).await.unwrap();
        Self { log, hub, signaling }
    }

    pub fn say(&self, data: Value) -> u64 {
        let seq = self.log.append("s", data);
        self.hub.wake(&"s".to_owned());
        seq
    }

    pub fn say_many(&self, count: usize) {
        for n in 0..count {
            self.log.append("s", json!(n));
        }
        self.hub.wake(&"s".to_owned());
    }

    /// Waits until there are `count` peers.
    pub async fn until_peers(&self, count: usize) {
        let reached = async {
            while self.signaling.stats().peers != count {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(TIMEOUT, reached).await.unwrap_or_else(|_| panic!("still {:?}, wanted {count} peers", self.signaling.stats()));
    }
}

struct Handler(mpsc::UnboundedSender<RTCIceGatheringState>);

#[async_trait]
impl PeerConnectionEventHandler for Handler {
    async fn on_ice_gathering_state_change(&self, state: RTCIceGatheringState) {
        let _ = self.0.send(state);
    }
}

/// A native client with one data channel.
pub struct Client {
    pub connection: Arc<dyn PeerConnection>,
    pub channel: Arc<dyn DataChannel>,
    pub answer: Option<Answer>,
}

impl Client {
    /// Creates a client that has gathered its candidates, and returns its offer.
    pub async fn new(label: &str) -> (Self, String) {
        Self::at(label, "127.0.0.1:0").await
    }

    pub async fn at(label: &str, address: &'static str) -> (Self, String) {
        let (sender, mut states) = mpsc::unbounded_channel();
        let settings =
            SettingEngineBuilder::new().with_multicast_dns_mode(MulticastDnsMode::Disabled).with_include_loopback_candidate(true).build();
        let connection = PeerConnectionBuilder::new()
            .with_configuration(RTCConfigurationBuilder::new().build())
            .with_setting_engine(settings)
            .with_handler(Arc::new(Handler(sender)))
            .with_udp_addrs(vec![address])
            .build()
            .await
            .unwrap();
        let connection: Arc<dyn PeerConnection> = Arc::new(connection);
        let channel = connection.create_data_channel(label, None).await.unwrap();
        let offer = connection.create_offer(None).await.unwrap();
        connection.set_local_description(offer).await.unwrap();
        while states.recv().await != Some(RTCIceGatheringState::Complete) {}
        let sdp = connection.local_description().await.unwrap().sdp;
        (Self { connection, channel, answer: None }, sdp)
    }

    pub async fn accept(&mut self, answer: Answer) {
        let description = RTCSessionDescription::answer(answer.sdp.clone()).unwrap();
        self.connection.set_remote_description(description).await.unwrap();
        self.answer = Some(answer);
    }

    /// Creates a client with an open channel.
    pub async fn open(server: &Server) -> Self {
        let (mut client, offer) = Self::new("events").await;
        let answer = server.signaling.offer("s".into(), &offer).await.unwrap();
        client.accept(answer).await;
        client.until_open().await;
        client
    }

    pub async fn until_open(&self) {
        loop {
            match timeout(TIMEOUT, self.channel.poll()).await.expect("the channel does not open") {
                Some(DataChannelEvent::OnOpen) => return,
                Some(_) => {}
                None => panic!("the channel closed before it opened"),
            }
        }
    }

    /// Creates a client that sent its hello; the next frame is its welcome.
    pub async fn hello(server: &Server, resume: Value) -> Self {
        let client = Self::open(server).await;
        client.say(json!({"t": "hello", "v": 1, "stream": "s", "resume": resume})).await;
        client
    }

    pub async fn say(&self, frame: Value) {
        self.channel.send_text(&frame.to_string()).await.unwrap();
    }

    /// Returns the next frame except pings, which it answers; `None` when the channel is closed.
    pub async fn next(&self) -> Option<Value> {
        loop {
            match timeout(TIMEOUT, self.channel.poll()).await.expect("neither a frame nor the end") {
                Some(DataChannelEvent::OnMessage(message)) => {
                    assert!(message.data.len() <= MAX_FRAME_BYTES && message.is_string);
                    let frame: Value = serde_json::from_slice(&message.data).unwrap();
                    if frame["t"] == "ping" {
                        let _ = self.channel.send_text(r#"{"t":"pong"}"#).await;
                        continue;
                    }
                    return Some(frame);
                }
                Some(DataChannelEvent::OnClose) | None => return None,
                Some(_) => {}
            }
        }
    }

    pub async fn expect(&self, t: &str) -> Value {
        let frame = self.next().await.unwrap_or_else(|| panic!("closed, wanted {t}"));
        assert_eq!(frame["t"], t, "{frame}");
        frame
    }

    /// Expects exactly the events `from..=to`, in order.
    pub async fn expect_events(&self, from: u64, to: u64) {
        for seq in from..=to {
            let frame = self.expect("ev").await;
            assert_eq!(frame["seq"], seq);
        }
    }

    pub async fn expect_bye(&self, code: &str) {
        let frame = self.expect("bye").await;
        assert_eq!(frame["code"], code, "{frame}");
        assert_eq!(self.next().await, None, "a frame follows a bye");
    }
}
