//! NATS JetStream with an fsync for each message, by its text protocol.
//!
//! A subscriber has what client libraries call an ordered consumer: pushed, without acknowledgements, with flow control.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::Mutex,
};

use super::{
    deliveries::Deliveries,
    process::Process,
    system::{Pending, Reader, payload},
};

const CONNECT: &str =
    "CONNECT {\"verbose\":false,\"pedantic\":false,\"lang\":\"rust\",\"version\":\"1\",\"protocol\":1,\"headers\":true}\r\n";
/// Subject of the events.
const EVENTS: &str = "events";
/// Subjects of acknowledgements start with this; the number of the event follows.
const ACKNOWLEDGEMENTS: &str = "acknowledged.";
/// The longest time until the server listens.
const START: Duration = Duration::from_secs(10);

/// A server with one stream, and the connection that publishes.
pub(crate) struct Nats {
    process: Process,
    address: String,
    publisher: Writer,
    pending: Arc<Pending>,
    subscribers: AtomicUsize,
    _reading: Reader,
}

impl Nats {
    /// Starts the server and creates the stream.
    pub(crate) async fn start(program: &Path) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().display();
        let settings = format!(
            "host: 127.0.0.1\nport: -1\nports_file_dir: \"{path}\"\njetstream {{ store_dir: \"{path}/store\", sync_interval: always }}\n"
        );
        let file = folder.path().join("nats.conf");
        std::fs::write(&file, settings)?;
        let process = Process::start(program, folder, &["-c".as_ref(), file.as_ref()])?;
        let address = read_address(&process).await?;
        let mut connection = Connection::open(&address).await?;
        let stream = json!({ "name": "EVENTS", "subjects": [EVENTS], "storage": "file", "retention": "limits", "num_replicas": 1 });
        connection.writer.send("SUB created 1\r\n").await?;
        connection.writer.publish("$JS.API.STREAM.CREATE.EVENTS", "created", &stream.to_string()).await?;
        connection.next().await?.check()?;
        connection.writer.send(&format!("SUB {ACKNOWLEDGEMENTS}* 2\r\n")).await?;
        let (publisher, pending) = (connection.writer.clone(), Arc::new(Pending::default()));
        let reading = Reader::spawn(read_acknowledgements(connection, pending.clone()));
        Ok(Self { process, address, publisher, pending, subscribers: AtomicUsize::new(0), _reading: reading })
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.child.id()
    }

    pub(crate) async fn publish(&self, n: usize) -> anyhow::Result<()> {
        let outcome = self.pending.add(n);
        self.publisher.publish(EVENTS, &format!("{ACKNOWLEDGEMENTS}{n}"), &payload(n)).await?;
        outcome.await
    }

    pub(crate) async fn subscribe(&self, deliveries: Arc<Deliveries>) -> anyhow::Result<Reader> {
        let n = self.subscribers.fetch_add(1, Ordering::Relaxed);
        let (to, created) = (format!("delivered.{n}"), format!("created.{n}"));
        let consumer = json!({ "stream_name": "EVENTS", "config": {
            "deliver_subject": to, "deliver_policy": "all", "replay_policy": "instant", "ack_policy": "none", "max_deliver": 1,
            "flow_control": true, "idle_heartbeat": 5_000_000_000_u64, "mem_storage": true, "num_replicas": 1,
        } });
        let mut connection = Connection::open(&self.address).await?;
        connection.writer.send(&format!("SUB {to} 1\r\nSUB {created} 2\r\n")).await?;
        connection.writer.publish("$JS.API.CONSUMER.CREATE.EVENTS", &created, &consumer.to_string()).await?;
        Ok(Reader::spawn(async move {
            loop {
                let message = connection.next().await?;
                match message.reply {
                    _ if message.subject == created => message.check()?,
                    Some(reply) if message.status.contains("FlowControl") => connection.writer.publish(&reply, "", "").await?,
                    _ => deliveries.arrive(&message.payload),
                }
            }
        }))
    }
}

/// Waits until the server has written down its port.
async fn read_address(process: &Process) -> anyhow::Result<String> {
    let file = process.folder.path().join(format!("nats-server_{}.ports", process.child.id()));
    let begun = Instant::now();
    while begun.elapsed() < START {
        let ports = std::fs::read(&file).ok().and_then(|text| serde_json::from_slice::<Value>(&text).ok());
        if let Some(url) = ports.as_ref().and_then(|ports| ports["nats"][0].as_str()) {
            return Ok(url.trim_start_matches("nats://").to_owned());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    bail!("NATS did not start")
}

async fn read_acknowledgements(mut connection: Connection, pending: Arc<Pending>) -> anyhow::Result<()> {
    loop {
        let message = connection.next().await?;
        let n = message.subject.strip_prefix(ACKNOWLEDGEMENTS).context("no acknowledgement")?.parse()?;
        pending.resolve(n, message.check())?;
    }
}

/// A message as received.
struct Message {
    subject: String,
    reply: Option<String>,
    /// Status and headers; empty for messages of the stream.
    status: String,
    payload: String,
}

impl Message {
    /// Fails if this is an answer with an error.
    fn check(&self) -> anyhow::Result<()> {
        let answer: Value = serde_json::from_str(&self.payload).with_context(|| format!("NATS answered {:?}", self.status))?;
        ensure!(answer["error"].is_null(), "NATS refused: {answer}");
        Ok(())
    }
}

/// The sending half of a connection.
#[derive(Clone)]
struct Writer(Arc<Mutex<OwnedWriteHalf>>);

impl Writer {
    async fn send(&self, text: &str) -> anyhow::Result<()> {
        Ok(self.0.lock().await.write_all(text.as_bytes()).await?)
    }

    async fn publish(&self, subject: &str, reply: &str, payload: &str) -> anyhow::Result<()> {
        self.send(&format!("PUB {subject} {reply} {}\r\n{payload}\r\n", payload.len())).await
    }
}

struct Connection {
    reader: BufReader<OwnedReadHalf>,
    writer: Writer,
}

impl Connection {
    async fn open(address: &str) -> anyhow::Result<Self> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        let (reader, writer) = socket.into_split();
        let connection = Self { reader: BufReader::new(reader), writer: Writer(Arc::new(Mutex::new(writer))) };
        connection.writer.send(CONNECT).await?;
        Ok(connection)
    }

    /// Returns the next message, and answers pings before it.
    async fn next(&mut self) -> anyhow::Result<Message> {
        loop {
            let mut line = String::new();
            ensure!(self.reader.read_line(&mut line).await? > 0, "NATS closed the connection");
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["MSG", subject, _, ref reply @ .., size] => return self.read(subject, reply, 0, size.parse()?).await,
                ["HMSG", subject, _, ref reply @ .., header, size] => {
                    return self.read(subject, reply, header.parse()?, size.parse()?).await;
                }
                ["PING"] => self.writer.send("PONG\r\n").await?,
                ["INFO", ..] => {}
                _ => bail!("NATS sent {line:?}"),
            }
        }
    }

    /// Reads the rest of a message of `size` bytes, the first `header` of which are status and headers.
    async fn read(&mut self, subject: &str, reply: &[&str], header: usize, size: usize) -> anyhow::Result<Message> {
        // A line break follows.
        let mut content = vec![0; size + 2];
        self.reader.read_exact(&mut content).await?;
        content.truncate(size);
        let mut status = String::from_utf8(content)?;
        let payload = status.split_off(header);
        Ok(Message { subject: subject.to_owned(), reply: reply.first().map(|r| (*r).to_owned()), status, payload })
    }
}
