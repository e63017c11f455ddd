//! centrifuge with its memory engine, by its JSON protocol over WebSocket.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    sync::Arc,
};

use anyhow::{Context, anyhow, bail, ensure};
use futures_util::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use serde_json::{Value, json};
use tokio::{net::TcpStream, sync::Mutex};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async_with_config,
    tungstenite::{Message, Utf8Bytes},
};

use super::{
    deliveries::Deliveries,
    process::Process,
    system::{Pending, Reader, payload},
};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;
type Sender = Arc<Mutex<SplitSink<Socket, Message>>>;

const CHANNEL: &str = "events";
/// Number of the command that publishes event 0. Lower ones connect and subscribe.
const FIRST: usize = 10;
/// Both sides send this to show that they are alive.
const PING: &str = "{}";

/// A server, and the connection that publishes.
pub(crate) struct Centrifuge {
    process: Process,
    address: String,
    publisher: Sender,
    pending: Arc<Pending>,
    _reading: Reader,
}

impl Centrifuge {
    /// Starts the server.
    pub(crate) async fn start(program: &Path) -> anyhow::Result<Self> {
        let mut process = Process::start(program, tempfile::tempdir()?, &[])?;
        let mut line = String::new();
        BufReader::new(process.child.stdout.take().context("no standard output")?).read_line(&mut line)?;
        let address = line.trim().strip_prefix("http://").with_context(|| format!("no address in {line:?}"))?.to_owned();
        let (sender, receiver) = connect(&address).await?;
        let publisher = Arc::new(Mutex::new(sender));
        let pending = Arc::new(Pending::default());
        let reading = Reader::spawn(read_acknowledgements(receiver, publisher.clone(), pending.clone()));
        Ok(Self { process, address, publisher, pending, _reading: reading })
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.child.id()
    }

    pub(crate) async fn publish(&self, n: usize) -> anyhow::Result<()> {
        let outcome = self.pending.add(n);
        let command = format!(r#"{{"id":{},"publish":{{"channel":"{CHANNEL}","data":{}}}}}"#, n + FIRST, payload(n));
        self.publisher.lock().await.send(Message::text(command)).await?;
        outcome.await
    }

    pub(crate) async fn subscribe(&self, deliveries: Arc<Deliveries>) -> anyhow::Result<Reader> {
        let (mut sender, mut receiver) = connect(&self.address).await?;
        let command = json!({ "id": 2, "subscribe": { "channel": CHANNEL, "recover": true, "offset": 0 } });
        sender.send(Message::text(command.to_string())).await?;
        Ok(Reader::spawn(async move {
            loop {
                // The reply contains the events so far.
                let frame = next(&mut receiver).await?;
                deliveries.arrive(&frame);
                answer_ping(&mut sender, &frame).await?;
                ensure!(!frame.contains(r#""error":"#), "centrifuge refused: {frame}");
            }
        }))
    }
}

async fn connect(address: &str) -> anyhow::Result<(SplitSink<Socket, Message>, SplitStream<Socket>)> {
    let (socket, _) = connect_async_with_config(format!("ws://{address}/connection"), None, true).await?;
    let (mut sender, mut receiver) = socket.split();
    sender.send(Message::text(json!({ "id": 1, "connect": {} }).to_string())).await?;
    let connected = next(&mut receiver).await?;
    ensure!(connected.contains(r#""connect":"#), "centrifuge refused: {connected}");
    Ok((sender, receiver))
}

/// Returns the next frame: one or more replies, one a line.
async fn next(receiver: &mut SplitStream<Socket>) -> anyhow::Result<Utf8Bytes> {
    loop {
        match receiver.next().await.context("centrifuge closed the connection")?? {
            Message::Text(text) => return Ok(text),
            Message::Close(reason) => bail!("centrifuge closed the connection: {reason:?}"),
            _ => {}
        }
    }
}

async fn answer_ping(sender: &mut SplitSink<Socket, Message>, frame: &str) -> anyhow::Result<()> {
    if frame.lines().any(|line| line == PING) {
        sender.send(Message::text(PING)).await?;
    }
    Ok(())
}

async fn read_acknowledgements(mut receiver: SplitStream<Socket>, sender: Sender, pending: Arc<Pending>) -> anyhow::Result<()> {
    loop {
        let frame = next(&mut receiver).await?;
        answer_ping(&mut *sender.lock().await, &frame).await?;
        for line in frame.lines().filter(|line| *line != PING) {
            let reply: Value = serde_json::from_str(line)?;
            let n =
                reply["id"].as_u64().and_then(|id| usize::try_from(id).ok()?.checked_sub(FIRST)).context("a reply without its command")?;
            let outcome = if reply["error"].is_null() { Ok(()) } else { Err(anyhow!("centrifuge refused: {reply}")) };
            pending.resolve(n, outcome)?;
        }
    }
}
