//! Accepts connections: how many at once, how long a request's head may take, and how they end.

use std::{sync::Arc, time::Duration};

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto::Builder, graceful::GracefulShutdown},
    service::TowerToHyperService,
};
use tokio::{net::TcpListener, sync::Semaphore};

/// Bounds of connections.
#[derive(Clone, Copy, Debug)]
pub struct ServerConfig {
    /// Connections at once; more wait in the backlog of the operating system.
    pub connections: usize,
    /// Time for the head of a request, from the connection or from the request before.
    pub head_timeout: Duration,
    /// Time for open requests to end after a shutdown began.
    pub grace: Duration,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self { connections: 4096, head_timeout: Duration::from_secs(30), grace: Duration::from_secs(10) }
    }
}

/// Serves until `shutdown` ends, then lets open requests end. Streams should be ended by their hub at the same time.
pub async fn serve(listener: TcpListener, router: Router, config: ServerConfig, shutdown: impl Future<Output = ()>) {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(config.head_timeout);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(Some(Duration::from_secs(20))).max_concurrent_streams(128);
    let graceful = GracefulShutdown::new();
    let slots = Arc::new(Semaphore::new(config.connections));
    tokio::pin!(shutdown);
    loop {
        let slot = tokio::select! {
            slot = slots.clone().acquire_owned() => slot,
            () = &mut shutdown => break,
        };
        let Ok(slot) = slot else { break };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut shutdown => break,
        };
        let socket = match accepted {
            Ok((socket, _)) => socket,
            Err(error) => {
                // Out of file descriptors, or the other side has gone: without a pause the first would spin.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        // Small frames of streams must not wait for more.
        let _ = socket.set_nodelay(true);
        let service = TowerToHyperService::new(router.clone());
        let connection = builder.serve_connection_with_upgrades(TokioIo::new(socket), service).into_owned();
        let connection = graceful.watch(connection);
        metrics::gauge!("recall_http_connections").increment(1);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(error, "a connection ended early");
            }
            metrics::gauge!("recall_http_connections").decrement(1);
            drop(slot);
        });
    }
    drop(listener);
    if tokio::time::timeout(config.grace, graceful.shutdown()).await.is_err() {
        tracing::warn!("requests were still open at the end of the grace period");
    }
}
