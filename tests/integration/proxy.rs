//! A controllable connection to PostgreSQL.
//! It counts statements, and can break, fall silent, or lose the answer to a COMMIT.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
};
use tokio_util::sync::CancellationToken;

/// Where a COMMIT gets lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Lost {
    /// It never reaches the server.
    Request,
    /// The server commits, and the answer is lost.
    Answer,
}

/// The proxy. It stops when dropped.
pub(crate) struct Proxy {
    address: SocketAddr,
    wire: Arc<Wire>,
    stop: CancellationToken,
}

struct Wire {
    server: String,
    statements: AtomicU64,
    commits_to_lose: Mutex<Vec<Lost>>,
    /// Ends every open connection.
    cut: Mutex<CancellationToken>,
    /// Open connections carry nothing any more and do not end, as behind a router that lost power.
    silence: Mutex<CancellationToken>,
    /// New connections are accepted, and carry nothing until this is false.
    away: watch::Sender<bool>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop.cancel();
        self.cut();
    }
}

impl Proxy {
    /// Starts a proxy to the server of a URL; returns it with the URL through it.
    pub(crate) async fn to(url: &str) -> (Self, String) {
        let (before, rest) = url.split_once('@').unwrap();
        let (server, after) = rest.split_once('/').unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let wire = Arc::new(Wire {
            server: server.to_owned(),
            statements: AtomicU64::new(0),
            commits_to_lose: Mutex::default(),
            cut: Mutex::default(),
            silence: Mutex::default(),
            away: watch::Sender::new(false),
        });
        let proxy = Self { address, wire, stop: CancellationToken::new() };
        tokio::spawn(proxy.stop.clone().run_until_cancelled_owned(accept(listener, proxy.wire.clone())));
        let url = format!("{before}@{}/{after}", proxy.address);
        (proxy, url)
    }

    /// Returns the number of statements so far, including those that begin and end transactions.
    pub(crate) fn statements(&self) -> u64 {
        self.wire.statements.load(SeqCst)
    }

    /// Returns [`Proxy::statements`] when no more arrive.
    pub(crate) async fn statements_at_rest(&self) -> u64 {
        loop {
            let before = self.statements();
            tokio::time::sleep(Duration::from_millis(40)).await;
            if self.statements() == before {
                return before;
            }
        }
    }

    /// Ends every connection. New ones work.
    pub(crate) fn cut(&self) {
        std::mem::take(&mut *self.wire.cut.lock().unwrap()).cancel();
    }

    /// Silences every connection forever. New ones work.
    pub(crate) fn silence(&self) {
        std::mem::take(&mut *self.wire.silence.lock().unwrap()).cancel();
    }

    /// Silences every connection forever, and new ones until [`Proxy::heal`].
    pub(crate) fn part(&self) {
        self.wire.away.send_replace(true);
        self.silence();
    }

    pub(crate) fn heal(&self) {
        self.wire.away.send_replace(false);
    }

    /// Loses the next COMMITs, and their connections, in this order.
    pub(crate) fn lose_commits(&self, how: &[Lost]) {
        self.wire.commits_to_lose.lock().unwrap().extend(how.iter().rev());
    }

    pub(crate) fn commits_left_to_lose(&self) -> usize {
        self.wire.commits_to_lose.lock().unwrap().len()
    }
}

async fn accept(listener: TcpListener, wire: Arc<Wire>) {
    loop {
        let Ok((client, _)) = listener.accept().await else { continue };
        let wire = wire.clone();
        tokio::spawn(async move {
            let cut = wire.cut.lock().unwrap().clone();
            cut.run_until_cancelled_owned(carry(client, wire)).await;
        });
    }
}

/// Carries one connection until either side or a test ends it.
async fn carry(client: TcpStream, wire: Arc<Wire>) {
    if wire.away.subscribe().wait_for(|away| !away).await.is_err() {
        return;
    }
    let silence = wire.silence.lock().unwrap().clone();
    let Ok(server) = TcpStream::connect(&wire.server).await else { return };
    let (_, _) = (client.set_nodelay(true), server.set_nodelay(true));
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let deaf = AtomicBool::new(false);
    tokio::select! {
        () = up(&mut from_client, &mut to_server, &wire, &deaf) => {}
        () = down(&mut from_server, &mut to_client, &deaf) => {}
        // The sockets stay open, because the cancelled futures only borrow them.
        () = silence.cancelled() => std::future::pending().await,
    }
}

/// Forwards client messages: <https://www.postgresql.org/docs/current/protocol-message-formats.html>.
async fn up(from: &mut OwnedReadHalf, to: &mut OwnedWriteHalf, wire: &Wire, deaf: &AtomicBool) {
    let mut waiting = Vec::new();
    let mut typed = false;
    loop {
        while let Some(length) = length(&waiting, typed) {
            let message: Vec<u8> = waiting.drain(..length).collect();
            if typed {
                let text = message.get(5..).unwrap_or_default();
                let simple = message[0] == b'Q' && !text.starts_with(b"/* SQLx ping");
                wire.statements.fetch_add(u64::from(simple || message[0] == b'E'), SeqCst);
                if message[0] == b'Q' && text.starts_with(b"COMMIT") {
                    match wire.commits_to_lose.lock().unwrap().pop() {
                        Some(Lost::Request) => return,
                        Some(Lost::Answer) => deaf.store(true, SeqCst),
                        None => {}
                    }
                }
            } else {
                // A client may first request encryption, which the test server declines.
                typed = message.get(4..8) == Some(&[0, 3, 0, 0]) || message.get(4..6) == Some(&[0, 3]);
            }
            if to.write_all(&message).await.is_err() {
                return;
            }
        }
        if from.read_buf(&mut waiting).await.unwrap_or(0) == 0 {
            return;
        }
    }
}

/// Returns the length of the first message when it is complete.
fn length(waiting: &[u8], typed: bool) -> Option<usize> {
    let at = usize::from(typed);
    let bytes: [u8; 4] = waiting.get(at..at + 4)?.try_into().ok()?;
    let length = u32::from_be_bytes(bytes) as usize + at;
    (waiting.len() >= length).then_some(length)
}

/// Forwards server messages. A lost answer ends the connection once the server has sent it.
async fn down(from: &mut OwnedReadHalf, to: &mut OwnedWriteHalf, deaf: &AtomicBool) {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let n = from.read(&mut bytes).await.unwrap_or(0);
        if n == 0 || deaf.load(SeqCst) || to.write_all(&bytes[..n]).await.is_err() {
            return;
        }
    }
}
