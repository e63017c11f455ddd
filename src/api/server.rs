//! Accepts connections: how many at once, how long a request's head may take and a client may read nothing, and how they end.

use std::{net::IpAddr, sync::Arc, time::Duration};

use axum::{Extension, Router};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{
        conn::auto::Builder,
        graceful::{GracefulShutdown, Watcher},
    },
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tower::Layer;

use super::tls::Tls;

/// Bounds of connections.
#[derive(Clone, Copy, Debug)]
pub struct ServerConfig {
    /// Connections at once; more wait in the backlog of the operating system.
    pub connections: usize,
    /// Time for the head of a request, from the connection or from the request before.
    pub head_timeout: Duration,
    /// Time a client may take nothing of what is sent to it.
    pub write_timeout: Duration,
    /// Time for open requests to end after a shutdown began.
    pub grace: Duration,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            connections: 4096,
            head_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            grace: Duration::from_secs(10),
        }
    }
}

/// Where connections come in.
pub struct Listener {
    tcp: TcpListener,
    tls: Option<Arc<Tls>>,
}

impl Listener {
    /// With a certificate every connection must begin with a handshake.
    pub fn new(tcp: TcpListener, tls: Option<Arc<Tls>>) -> Self {
        Self { tcp, tls }
    }
}

impl From<TcpListener> for Listener {
    fn from(tcp: TcpListener) -> Self {
        Self::new(tcp, None)
    }
}

/// One accepted connection, in the extensions of its requests. It counts until the last clone is dropped: whoever takes the
/// connection over, as a WebSocket does, keeps one.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    _slot: Arc<Slot>,
    /// Who is at its other end.
    pub(crate) peer: IpAddr,
    /// The server stops.
    pub(crate) closing: CancellationToken,
}

#[derive(Debug)]
struct Slot(#[allow(dead_code, reason = "held, not read")] OwnedSemaphorePermit);

impl Slot {
    fn taken(permit: OwnedSemaphorePermit) -> Arc<Self> {
        metrics::gauge!("recall_http_connections").increment(1);
        Arc::new(Self(permit))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        metrics::gauge!("recall_http_connections").decrement(1);
    }
}

/// Serves until `shutdown` ends, then lets open requests end. Streams should be ended by their hub at the same time.
pub async fn serve(listener: impl Into<Listener>, router: Router, config: ServerConfig, shutdown: impl Future<Output = ()>) {
    let Listener { tcp, tls } = listener.into();
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(config.head_timeout);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(Some(Duration::from_secs(20))).max_concurrent_streams(128);
    let graceful = GracefulShutdown::new();
    let slots = Arc::new(Semaphore::new(config.connections));
    let closing = CancellationToken::new();
    tokio::pin!(shutdown);
    loop {
        let permit = tokio::select! {
            permit = slots.clone().acquire_owned() => permit,
            () = &mut shutdown => break,
        };
        let Ok(permit) = permit else { break };
        let accepted = tokio::select! {
            accepted = tcp.accept() => accepted,
            () = &mut shutdown => break,
        };
        let (socket, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of file descriptors, or the other side has gone: without a pause the first would spin.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        // Small frames of streams must not wait for more.
        let _ = socket.set_nodelay(true);
        // A client that reads nothing would keep its response, and a stream's events, for ever.
        let mut socket = TimeoutStream::new(socket);
        socket.set_write_timeout(Some(config.write_timeout));
        let connection = Connection { _slot: Slot::taken(permit), peer: peer.ip(), closing: closing.clone() };
        let (builder, watcher, router, tls) = (builder.clone(), graceful.watcher(), router.clone(), tls.clone());
        tokio::spawn(async move {
            match tls {
                None => carry(Box::pin(socket), &builder, watcher, router, connection).await,
                // A handshake that is under way when the server stops is no request.
                Some(tls) => match connection.closing.clone().run_until_cancelled(tls.accept(Box::pin(socket))).await {
                    Some(Ok(socket)) => carry(socket, &builder, watcher, router, connection).await,
                    Some(Err(error)) => {
                        metrics::counter!("recall_tls_handshakes_failed_total").increment(1);
                        tracing::debug!(%error, "a handshake failed");
                    }
                    None => {}
                },
            }
        });
    }
    drop(tcp);
    closing.cancel();
    let all = u32::try_from(config.connections).unwrap_or(u32::MAX);
    let ended = async {
        graceful.shutdown().await;
        // Connections that were taken over are not watched; they are over when their slots are free.
        let _ = slots.acquire_many(all).await;
    };
    if tokio::time::timeout(config.grace, ended).await.is_err() {
        tracing::warn!("connections were still open at the end of the grace period");
    }
}

/// Answers the requests of one connection until it ends.
async fn carry<S>(socket: S, builder: &Builder<TokioExecutor>, watcher: Watcher, router: Router, connection: Connection)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = TowerToHyperService::new(Extension(connection.clone()).layer(router));
    let served = builder.serve_connection_with_upgrades(TokioIo::new(socket), service).into_owned();
    if let Err(error) = watcher.watch(served).await {
        tracing::debug!(error, "a connection ended early");
    }
    drop(connection);
}
