//! A wire to PostgreSQL that tests hold in their hands: it counts statements, and can be cut, silenced, or lose the answer to a COMMIT.

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
    /// It never arrives at the server.
    Request,
    /// The server commits, and nobody hears of it.
    Answer,
}

/// Stops with its last handle.
pub(crate) struct Proxy {
    address: SocketAddr,
    wire: Arc<Wire>,
    stop: CancellationToken,
}

struct Wire {
    server: String,
    statements: AtomicU64,
    commits_to_lose: Mutex<Vec<Lost>>,
    /// Ends every connection there is.
    cut: Mutex<CancellationToken>,
    /// Connections there are carry nothing any more, for ever, and do not end; as behind a router that was switched off.
    silence: Mutex<CancellationToken>,
    /// New connections are taken, and carry nothing until this is false.
    away: watch::Sender<bool>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop.cancel();
        self.cut();
    }
}

impl Proxy {
    /// A wire to the server of a URL, and the URL that leads over it.
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

    /// How many statements went to the server so far, those that begin and end transactions included.
    pub(crate) fn statements(&self) -> u64 {
        self.wire.statements.load(SeqCst)
    }

    /// As [`Proxy::statements`], once nothing comes any more.
    pub(crate) async fn statements_at_rest(&self) -> u64 {
        loop {
            let before = self.statements();
            tokio::time::sleep(Duration::from_millis(40)).await;
            if self.statements() == before {
                return before;
            }
        }
    }

    /// Ends every connection. New ones are taken.
    pub(crate) fn cut(&self) {
        std::mem::take(&mut *self.wire.cut.lock().unwrap()).cancel();
    }

    /// Every connection falls silent for ever. New ones are taken.
    pub(crate) fn silence(&self) {
        std::mem::take(&mut *self.wire.silence.lock().unwrap()).cancel();
    }

    /// No connection carries anything, and new ones do not until [`Proxy::heal`]. Those there were stay silent then.
    pub(crate) fn part(&self) {
        self.wire.away.send_replace(true);
        self.silence();
    }

    pub(crate) fn heal(&self) {
        self.wire.away.send_replace(false);
    }

    /// The next COMMITs get lost, with their connections, in this order.
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

/// Carries one connection until either side, or a test, ends it.
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
        // The sockets stay open: they are not moved into what carries.
        () = silence.cancelled() => std::future::pending().await,
    }
}

/// From the client, message by message: <https://www.postgresql.org/docs/current/protocol-message-formats.html>.
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
                // Before it, a client may ask for encryption, which the server of the tests declines.
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

/// Of the first message, when it is there whole.
fn length(waiting: &[u8], typed: bool) -> Option<usize> {
    let at = usize::from(typed);
    let bytes: [u8; 4] = waiting.get(at..at + 4)?.try_into().ok()?;
    let length = u32::from_be_bytes(bytes) as usize + at;
    (waiting.len() >= length).then_some(length)
}

/// From the server; an answer that is to be lost ends the connection, once it is known that it was given.
async fn down(from: &mut OwnedReadHalf, to: &mut OwnedWriteHalf, deaf: &AtomicBool) {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let n = from.read(&mut bytes).await.unwrap_or(0);
        if n == 0 || deaf.load(SeqCst) || to.write_all(&bytes[..n]).await.is_err() {
            return;
        }
    }
}
