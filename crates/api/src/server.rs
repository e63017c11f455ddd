//! Accepts connections: how many at once, in all and from one address, how long one may ask for nothing and a client may read
//! nothing, and how they end.

mod answers;
mod crowd;
mod requests;

use std::{net::IpAddr, sync::Arc, time::Duration};

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

use self::{
    answers::Answers,
    crowd::{Crowd, Slot},
    requests::Requests,
};
use super::tls::Tls;

/// Longest head of a request. A token has 8 KiB at most, and cookies share the rest.
const MAX_HEAD: u32 = 64 * 1024;
/// Streams of HTTP/2 that a client may open and take back before they are looked at. Then the connection ends.
const MAX_RESETS: usize = 20;
/// How many times `write_timeout` a client that asks for nothing more may take for what it was answered: a slow one takes a little
/// at a time, and one that holds back HTTP/2's window takes nothing.
const LAST_ANSWER: u32 = 10;

/// Bounds of connections.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Connections at once; more wait in the backlog of the operating system.
    pub connections: usize,
    /// Of these from one address, or one network of 64 bits; more are closed at once.
    pub connections_per_address: Option<usize>,
    /// Addresses that may have more: proxies, which bring everybody.
    pub trusted_proxies: Vec<IpNet>,
    /// Time for the head of a request, from the connection or from the end of the request before, in every version of HTTP.
    pub head_timeout: Duration,
    /// Time a client may take nothing of what is sent to it, or of one answer.
    pub write_timeout: Duration,
    /// Time for open requests to end after a shutdown began.
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
    requests: Requests,
    answers: Answers,
    /// A proxy that is trusted: what one of its clients does not take is no reason to part from the others.
    is_proxy: bool,
    /// Who is at its other end.
    pub(crate) peer: IpAddr,
    /// The server stops.
    pub(crate) closing: CancellationToken,
}

/// Serves until `shutdown` ends, then lets open requests end. Streams should be ended by their hub at the same time.
pub async fn serve(listener: impl Into<Listener>, router: Router, config: ServerConfig, shutdown: impl Future<Output = ()>) {
    let Listener { tcp, tls } = listener.into();
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(config.head_timeout).max_buf_size(MAX_HEAD as usize);
    // For the answer to a WebSocket's handshake, see `graphql::websocket`.
    builder.http1().preserve_header_case(true);
    let http2 = &mut builder.http2();
    http2.timer(TokioTimer::new()).keep_alive_interval(Some(Duration::from_secs(20))).max_concurrent_streams(128);
    http2.max_header_list_size(MAX_HEAD).max_pending_accept_reset_streams(MAX_RESETS);
    let router = router.layer(from_fn(requests::under_way));
    let slots = Arc::new(Semaphore::new(config.connections));
    let crowd = Arc::new(Crowd::new(config.connections_per_address, config.trusted_proxies));
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
        // Without a word, which would cost more than the connection.
        let Some(slot) = crowd.enter(peer.ip(), permit) else { continue };
        // Small frames of streams must not wait for more.
        let _ = socket.set_nodelay(true);
        // A client that reads nothing would keep its response, and a stream's events, for ever.
        let mut socket = TimeoutStream::new(socket);
        socket.set_write_timeout(Some(config.write_timeout));
        let connection = Connection {
            _slot: Arc::new(slot),
            requests: Requests::default(),
            answers: Answers::default(),
            is_proxy: crowd.is_proxy(peer.ip()),
            peer: peer.ip(),
            closing: closing.clone(),
        };
        let (builder, router, tls) = (builder.clone(), router.clone(), tls.clone());
        let times = (config.head_timeout, config.write_timeout);
        tokio::spawn(async move {
            match tls {
                None => carry(Box::pin(socket), &builder, router, connection, times).await,
                // A handshake that is under way when the server stops is no request.
                Some(tls) => match connection.closing.clone().run_until_cancelled(tls.accept(Box::pin(socket))).await {
                    Some(Ok(socket)) => carry(socket, &builder, router, connection, times).await,
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
    // A connection is over when its slot is free, whoever has taken it over.
    if timeout(config.grace, slots.acquire_many(all)).await.is_err() {
        tracing::warn!("connections were still open at the end of the grace period");
    }
}

/// Answers the requests of one connection until it ends, asks for nothing or takes nothing for too long, or the server stops.
async fn carry<S>(
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
    let untaken = async {
        loop {
            connection.answers.end_untaken(write_timeout).await;
            if !connection.is_proxy {
                return;
            }
        }
    };
    // Hyper counts the time of a head in HTTP/1 only, and not before the first bytes say that it is that.
    let (ended, is_idle) = tokio::select! {
        ended = &mut served => (Some(ended), false),
        () = connection.closing.cancelled() => (None, false),
        () = connection.requests.none_for(head_timeout) => (None, true),
        () = untaken => {
            tracing::debug!("a client took nothing of an answer");
            return;
        }
    };
    let ended = match ended {
        Some(ended) => Ok(ended),
        None => {
            served.as_mut().graceful_shutdown();
            // Requests that are open when the server stops have its grace. Who is idle may still have to take an answer.
            if is_idle { timeout(write_timeout * LAST_ANSWER, served).await } else { Ok(served.await) }
        }
    };
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(error, "a connection ended early"),
        Err(_) => tracing::debug!("a connection did not end by itself"),
    }
    drop(connection);
}
