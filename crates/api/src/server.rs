//! Accepts connections, limits them in number and idle time, and closes them.
//!
//! Limits apply to all connections together and to each address. A connection ends when its client sends no request, or reads
//! nothing of a response, for too long.

mod connection;
mod connection_limit;
mod open_requests;
mod responses;

use std::{sync::Arc, time::Duration};

use axum::{Extension, Router, middleware::from_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use ipnet::IpNet;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::Semaphore,
    time::timeout,
};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tower::Layer;

pub(crate) use self::connection::Connection;
use self::{connection_limit::ConnectionLimit, open_requests::OpenRequests, responses::Responses};
use crate::tls::Tls;

/// Maximum size of a request head. A token takes 8 KiB at most; cookies share the rest.
const MAX_HEAD_BYTES: u32 = 64 * 1024;
/// HTTP/2 streams that a client may reset before the server accepts them. One more ends the connection.
const MAX_PENDING_RESETS: usize = 20;
/// Multiple of `write_timeout` that an idle client has to read its last responses.
///
/// A slow client reads a little at a time. A client that withholds HTTP/2's window reads nothing.
const FINAL_RESPONSE_FACTOR: u32 = 10;

/// Limits of connections.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Maximum number of open connections; more wait in the backlog of the operating system.
    pub connections: usize,
    /// Maximum number from one IPv4 address or IPv6 /64; more are closed immediately.
    pub connections_per_address: Option<usize>,
    /// Proxies, which may open more connections because they serve many clients.
    pub trusted_proxies: Vec<IpNet>,
    /// Maximum time to wait for the head of a request.
    ///
    /// It starts with the connection or with the end of the previous request, in every version of HTTP.
    pub head_timeout: Duration,
    /// Time for which a client may read nothing from its connection, or from one response.
    pub write_timeout: Duration,
    /// Time for open requests to end after a shutdown begins.
    pub grace: Duration,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            connections: 4096,
            connections_per_address: None,
            trusted_proxies: Vec::new(),
            head_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            grace: Duration::from_secs(10),
        }
    }
}

/// A TCP listener, with or without TLS.
pub struct Listener {
    tcp: TcpListener,
    tls: Option<Arc<Tls>>,
}

impl Listener {
    /// Creates a listener. With `tls`, every connection must begin with a handshake.
    pub fn new(tcp: TcpListener, tls: Option<Arc<Tls>>) -> Self {
        Self { tcp, tls }
    }
}

impl From<TcpListener> for Listener {
    fn from(tcp: TcpListener) -> Self {
        Self::new(tcp, None)
    }
}

/// Serves until `shutdown` completes, then lets open requests end.
///
/// The event hub should end its streams at the same time.
pub async fn serve(listener: impl Into<Listener>, router: Router, config: ServerConfig, shutdown: impl Future<Output = ()>) {
    let Listener { tcp, tls } = listener.into();
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(config.head_timeout).max_buf_size(MAX_HEAD_BYTES as usize);
    // Needed for the response to a WebSocket handshake, see `graphql::websocket`.
    builder.http1().preserve_header_case(true);
    let http2 = &mut builder.http2();
    http2.timer(TokioTimer::new()).keep_alive_interval(Some(Duration::from_secs(20))).max_concurrent_streams(128);
    http2.max_header_list_size(MAX_HEAD_BYTES).max_pending_accept_reset_streams(MAX_PENDING_RESETS);
    let router = router.layer(from_fn(connection::count_request));
    let slots = Arc::new(Semaphore::new(config.connections));
    let connection_limit = Arc::new(ConnectionLimit::new(config.connections_per_address, config.trusted_proxies));
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
                // The process has no file descriptors left, or the peer has disconnected. Without a pause the first case would spin.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        // Refused without a response, which would cost more than the connection.
        let Some(slot) = connection_limit.acquire(peer.ip(), permit) else { continue };
        // Small frames of streams must be sent without delay.
        let _ = socket.set_nodelay(true);
        // Without a timeout, a client that reads nothing would keep its response or its stream's events in memory for ever.
        let mut socket = TimeoutStream::new(socket);
        socket.set_write_timeout(Some(config.write_timeout));
        let connection = Connection {
            _slot: Arc::new(slot),
            requests: OpenRequests::default(),
            responses: Responses::default(),
            is_proxy: connection_limit.is_proxy(peer.ip()),
            peer: peer.ip(),
            closing: closing.clone(),
        };
        let (builder, router, tls) = (builder.clone(), router.clone(), tls.clone());
        let times = (config.head_timeout, config.write_timeout);
        tokio::spawn(async move {
            match tls {
                None => serve_connection(Box::pin(socket), &builder, router, connection, times).await,
                // A handshake that is in progress when the server stops does not count as a request.
                Some(tls) => match connection.closing.clone().run_until_cancelled(tls.accept(Box::pin(socket))).await {
                    Some(Ok(socket)) => serve_connection(socket, &builder, router, connection, times).await,
                    Some(Err(error)) => {
                        metrics::counter!("recall_tls_handshakes_failed_total").increment(1);
                        tracing::debug!(%error, "TLS handshake failed");
                    }
                    None => {}
                },
            }
        });
    }
    drop(tcp);
    closing.cancel();
    let all = u32::try_from(config.connections).unwrap_or(u32::MAX);
    // All slots are free when all connections have ended, including those taken over by WebSockets.
    if timeout(config.grace, slots.acquire_many(all)).await.is_err() {
        tracing::warn!("connections are still open at the end of the grace period");
    }
}

/// Serves one connection.
///
/// Returns when it ends, is idle or stalled for too long, or when the server stops.
async fn serve_connection<S>(
    socket: S,
    builder: &Builder<TokioExecutor>,
    router: Router,
    connection: Connection,
    (head_timeout, write_timeout): (Duration, Duration),
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = TowerToHyperService::new(Extension(connection.clone()).layer(router));
    let served = builder.serve_connection_with_upgrades(TokioIo::new(socket), service);
    tokio::pin!(served);
    let stalled = async {
        loop {
            connection.responses.end_stalled(write_timeout).await;
            if !connection.is_proxy {
                return;
            }
        }
    };
    // Hyper limits the time of a head in HTTP/1 only, and only after the first bytes have identified the version.
    let (ended, is_idle) = tokio::select! {
        ended = &mut served => (Some(ended), false),
        () = connection.closing.cancelled() => (None, false),
        () = connection.requests.wait_until_idle(head_timeout) => (None, true),
        () = stalled => {
            tracing::debug!("a client read nothing of a response");
            return;
        }
    };
    let ended = match ended {
        Some(ended) => Ok(ended),
        None => {
            served.as_mut().graceful_shutdown();
            // Requests that are open when the server stops get its grace period. An idle client may still have to read a response.
            if is_idle { timeout(write_timeout * FINAL_RESPONSE_FACTOR, served).await } else { Ok(served.await) }
        }
    };
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(error, "a connection ended with an error"),
        Err(_) => tracing::debug!("a connection did not close in time"),
    }
    drop(connection);
}
