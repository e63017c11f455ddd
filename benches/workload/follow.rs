//! A WebSocket client that follows one session and records when each event arrives.
//! Checks only numbers and order; callers interpret the events.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::{Context, bail, ensure};
use chrono::{DateTime, Utc};
use futures_util::{SinkExt, StreamExt};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{net::TcpStream, task::JoinHandle};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Message, client::IntoClientRequest, http::HeaderValue},
};

const EVENTS: &str = "subscription($id: ID!, $after: String) { sessionEvents(sessionId: $id, after: $after) { seq type createdAt data } }";

/// An event as received.
pub(crate) struct Seen {
    seq: u64,
    pub(crate) kind: String,
    pub(crate) message: String,
    /// The server's time: just before the transaction, truncated to milliseconds.
    pub(crate) created: DateTime<Utc>,
    pub(crate) received: DateTime<Utc>,
}

impl Seen {
    /// Milliseconds from the server's time to the arrival. Includes the commit and its fsync.
    pub(crate) fn delay_ms(&self) -> f64 {
        millis(self.received - self.created)
    }
}

/// Converts to milliseconds, with fractions.
pub(crate) fn millis(span: chrono::TimeDelta) -> f64 {
    span.num_microseconds().unwrap_or(i64::MAX) as f64 / 1e3
}

/// The wall clock, which client and server share.
#[allow(clippy::disallowed_methods, reason = "the server's own clock is cut to milliseconds")]
pub(crate) fn now() -> DateTime<Utc> {
    Utc::now()
}

/// Connects and subscribes to the events of a session after a cursor.
pub(crate) async fn subscribe(
    address: &str,
    token: Option<&str>,
    session: &str,
    after: &str,
) -> anyhow::Result<WebSocketStream<MaybeTlsStream<TcpStream>>> {
    let mut request = format!("ws://{address}/graphql/ws").into_client_request()?;
    request.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static("graphql-transport-ws"));
    let (mut socket, _) = connect_async(request).await?;
    let payload = token.map(|token| json!({ "authorization": format!("Bearer {token}") }));
    socket.send(Message::text(json!({ "type": "connection_init", "payload": payload.unwrap_or_else(|| json!({})) }).to_string())).await?;
    let acknowledged = socket.next().await.context("the connection ended")??;
    ensure!(acknowledged.to_text()?.contains("connection_ack"), "no acknowledgement: {acknowledged}");
    let payload = json!({ "query": EVENTS, "variables": { "id": session, "after": after } });
    socket.send(Message::text(json!({ "id": "1", "type": "subscribe", "payload": payload }).to_string())).await?;
    Ok(socket)
}

/// Follows one session until dropped.
pub(crate) struct Follower {
    task: JoinHandle<anyhow::Result<()>>,
    seen: Arc<Mutex<Vec<Seen>>>,
    last: Arc<AtomicU64>,
}

impl Follower {
    /// Connects and follows from the cursor. `processed` counts finished messages.
    pub(crate) async fn start(
        address: &str,
        token: Option<&str>,
        session: &str,
        after: &str,
        processed: Arc<AtomicU64>,
    ) -> anyhow::Result<Self> {
        let mut socket = subscribe(address, token, session, after).await?;
        let (seen, last) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicU64::new(0)));
        let (kept, newest) = (seen.clone(), last.clone());
        let task = tokio::spawn(async move {
            while let Some(frame) = socket.next().await {
                let Message::Text(text) = frame? else { continue };
                let received = now();
                let mut message: Value = serde_json::from_str(&text)?;
                ensure!(message["type"] == "next", "the subscription ended: {message}");
                let event = message["payload"]["data"]["sessionEvents"].take();
                let kind = event["type"].as_str().context("an event without type")?.to_owned();
                let seen = Seen {
                    seq: event["seq"].as_u64().context("an event without number")?,
                    message: event["data"]["message_id"].as_str().unwrap_or_default().to_owned(),
                    created: event["createdAt"].as_str().context("an event without time")?.parse()?,
                    received,
                    kind,
                };
                let (seq, ended) = (seen.seq, matches!(seen.kind.as_str(), "message_processed" | "message_failed"));
                kept.lock().push(seen);
                newest.store(seq, Ordering::Release);
                if ended {
                    processed.fetch_add(1, Ordering::Relaxed);
                }
            }
            bail!("the connection ended")
        });
        Ok(Self { task, seen, last })
    }

    /// Returns the number of the newest event.
    pub(crate) fn last(&self) -> u64 {
        self.last.load(Ordering::Acquire)
    }

    /// Returns the finished messages with the time of their event.
    pub(crate) fn ended(&self) -> Vec<(String, DateTime<Utc>)> {
        let seen = self.seen.lock();
        let ended = seen.iter().filter(|e| matches!(e.kind.as_str(), "message_processed" | "message_failed"));
        ended.map(|e| (e.message.clone(), e.received)).collect()
    }

    /// Stops, and compares the events with the messages `sent`, in order, and with the head of the log.
    ///
    /// # Errors
    /// When an event is missing, duplicated or out of order, or a message was not stored or processed exactly once.
    pub(crate) async fn finish(self, sent: &[String], head: u64) -> anyhow::Result<Vec<Seen>> {
        if self.task.is_finished() {
            self.task.await??;
            bail!("the follower ended early");
        }
        self.task.abort();
        let seen = std::mem::take(&mut *self.seen.lock());
        for (event, expected) in seen.iter().zip(1..) {
            ensure!(event.seq == expected, "event {expected} is missing or out of order: {} came", event.seq);
        }
        ensure!(seen.len() as u64 == head, "{} of {head} events came", seen.len());
        let of = |kind: &str| seen.iter().filter(|e| e.kind == kind).map(|e| e.message.as_str()).collect::<Vec<_>>();
        ensure!(of("message_stored") == sent.iter().map(String::as_str).collect::<Vec<_>>(), "not every message is stored once, in order");
        let processed = of("message_processed");
        let distinct: HashSet<&str> = processed.iter().copied().collect();
        ensure!(processed.len() == sent.len() && distinct.len() == sent.len(), "{} of {} processed", processed.len(), sent.len());
        Ok(seen)
    }
}
