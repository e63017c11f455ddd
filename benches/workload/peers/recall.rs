//! Recall over HTTP, followed over each of its transports.

use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use futures_util::StreamExt;
use parking_lot::Mutex;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::{
    deliveries::{Deliveries, mark},
    system::{PAYLOAD, Reader, TARGET},
    webrtc,
};
use crate::{
    follow,
    place::{Engine, Place},
    sentences::Writer,
    server::Server,
};

const ASSERT: &str = "mutation($i: AssertFactInput!) { assertFact(input: $i) { fact { id } errors { code message } } }";
const SEND: &str = "mutation($i: SendMessageInput!) { sendMessage(input: $i) { message { id } errors { code message } } }";
/// Length of a `message_stored` without its text.
const STORED: usize = 318;
/// Subjects of asserted facts, in turn.
const PEOPLE: [&str; 10] = ["Anna", "Boris", "Clara", "David", "Emma", "Felix", "Grace", "Henry", "Irene", "James"];

/// How an event is published.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// `assertFact`, which makes a `fact_update`.
    Assert,
    /// `sendMessage`, which makes a `message_stored`. Its facts follow and are not measured here.
    Send,
    /// `sendMessage` of the assistant, from which no facts are taken: one event, as long as those of peers.
    Reply,
}

/// How subscribers follow.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    WebSocket,
    Sse,
    WebRtc,
}

/// A server with one session.
pub(crate) struct Recall {
    server: Server,
    place: Place,
    session: String,
    /// The cursor before the first event.
    start: String,
    operation: Operation,
    transport: Transport,
    writer: Mutex<Writer>,
}

impl Recall {
    /// Starts the server and creates the session.
    pub(crate) async fn start(engine: &Engine, operation: Operation, transport: Transport) -> anyhow::Result<Self> {
        let place = Place::new(engine).await?;
        let server = Server::start_at(&place)?;
        let (session, start) = server.session(None, "peers").await?;
        Ok(Self { server, place, session, start, operation, transport, writer: Mutex::new(Writer::new()) })
    }

    pub(crate) fn id(&self) -> u32 {
        self.server.id()
    }

    /// Returns the JSON field with the name of an event.
    pub(crate) fn field(&self) -> &'static str {
        match self.operation {
            Operation::Assert => TARGET,
            Operation::Send | Operation::Reply => "client_message_id",
        }
    }

    /// Changes the transport of the next subscribers.
    pub(crate) fn set_transport(&mut self, transport: Transport) {
        self.transport = transport;
    }

    pub(crate) async fn publish(&self, n: usize) -> anyhow::Result<()> {
        let (name, query, mut input) = match self.operation {
            Operation::Assert => ("assertFact", ASSERT, json!({ "relation": "LIKES", "object": mark(n) })),
            Operation::Send | Operation::Reply => ("sendMessage", SEND, json!({ "clientMessageId": mark(n) })),
        };
        input["sessionId"] = json!(self.session);
        match self.operation {
            Operation::Assert => input["subject"] = json!(PEOPLE[n % PEOPLE.len()]),
            Operation::Send => input["text"] = json!(self.writer.lock().statement().1),
            Operation::Reply => {
                input["text"] = json!("x".repeat(PAYLOAD - STORED));
                input["role"] = json!("ASSISTANT");
            }
        }
        let data = self.server.graphql(query, json!({ "i": input })).await?;
        let errors = data[name]["errors"].as_array().with_context(|| format!("no answer: {data}"))?;
        ensure!(errors.is_empty(), "the server refused: {errors:?}");
        Ok(())
    }

    pub(crate) async fn subscribe(&self, deliveries: Arc<Deliveries>) -> anyhow::Result<Reader> {
        match self.transport {
            Transport::WebSocket => self.subscribe_websocket(deliveries).await,
            Transport::Sse => self.subscribe_sse(deliveries).await,
            Transport::WebRtc => webrtc::subscribe(&self.server.address, &self.session, &self.start, deliveries).await,
        }
    }

    async fn subscribe_websocket(&self, deliveries: Arc<Deliveries>) -> anyhow::Result<Reader> {
        let mut socket = follow::subscribe(&self.server.address, None, &self.session, &self.start).await?;
        Ok(Reader::spawn(async move {
            while let Some(frame) = socket.next().await {
                if let Message::Text(text) = frame? {
                    deliveries.arrive(&text);
                }
            }
            bail!("the WebSocket closed")
        }))
    }

    async fn subscribe_sse(&self, deliveries: Arc<Deliveries>) -> anyhow::Result<Reader> {
        let url = format!("http://{}/sessions/{}/events?after={}", self.server.address, self.session, self.start);
        let client = reqwest::Client::builder().tcp_nodelay(true).build()?;
        let mut chunks = client.get(url).send().await?.error_for_status()?.bytes_stream();
        Ok(Reader::spawn(async move {
            let mut open = Vec::new();
            while let Some(chunk) = chunks.next().await {
                open.extend_from_slice(&chunk?);
                // An event ends with an empty line; the rest waits for the next chunk.
                if let Some(end) = open.windows(2).rposition(|end| end == b"\n\n") {
                    deliveries.arrive(std::str::from_utf8(&open[..end])?);
                    open.drain(..end + 2);
                }
            }
            bail!("the event stream ended")
        }))
    }

    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        self.server.stop()?;
        self.place.remove().await
    }
}
