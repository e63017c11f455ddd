//! The virtual socket of one peer, and the runtime that gives it to the WebRTC stack.

use std::future::Future;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use webrtc::runtime::{
    AsyncInterval, AsyncTcpListener, AsyncTcpStream, AsyncUdpSocket, JoinHandle, RecvMeta, Runtime, TokioRuntime, Transmit,
};

use super::Mux;
use super::inbox::Inbox;

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Sends and receives for one peer through the multiplexer.
struct VirtualSocket {
    mux: Arc<Mux>,
    inbox: Arc<Inbox>,
    /// The address that the stack assumes it is bound to, and the key of its local candidate. The
    /// stack bound it briefly; it is visible nowhere else.
    assumed: SocketAddr,
}

impl std::fmt::Debug for VirtualSocket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "VirtualSocket({})", self.mux.address())
    }
}

impl AsyncUdpSocket for VirtualSocket {
    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.assumed)
    }

    fn poll_send(&self, context: &mut Context<'_>, transmit: &Transmit<'_>) -> Poll<io::Result<usize>> {
        if !self.mux.send(&self.inbox, transmit) {
            self.mux.wait_until_writable(context.waker());
            // Try again, because the socket may have become writable before the waker was stored.
            if !self.mux.send(&self.inbox, transmit) {
                return Poll::Pending;
            }
        }
        self.inbox.sent(transmit.contents, transmit.segment_size);
        Poll::Ready(Ok(transmit.contents.len()))
    }

    fn poll_recv(&self, context: &mut Context<'_>, buffers: &mut [IoSliceMut<'_>], meta: &mut [RecvMeta]) -> Poll<io::Result<usize>> {
        let (Some(buffer), Some(meta)) = (buffers.first_mut(), meta.first_mut()) else {
            return Poll::Ready(Ok(0));
        };
        let Poll::Ready((length, from)) = self.inbox.poll_take(context, buffer) else {
            return Poll::Pending;
        };
        *meta = RecvMeta::default();
        meta.addr = from;
        meta.len = length;
        meta.stride = length.max(1);
        Poll::Ready(Ok(1))
    }

    fn max_gso_segments(&self) -> usize {
        self.mux.state.max_gso_segments()
    }
}

/// The Tokio runtime with UDP through the multiplexer.
pub(crate) struct MuxRuntime {
    mux: Arc<Mux>,
    inbox: Arc<Inbox>,
    tokio: TokioRuntime,
}

impl MuxRuntime {
    pub(super) fn new(mux: Arc<Mux>, inbox: Arc<Inbox>) -> Self {
        Self { mux, inbox, tokio: TokioRuntime }
    }
}

impl std::fmt::Debug for MuxRuntime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MuxRuntime({})", self.mux.address())
    }
}

impl Runtime for MuxRuntime {
    fn wrap_udp_socket(&self, socket: std::net::UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        // Only the address is used. The socket itself closes here.
        Ok(Arc::new(VirtualSocket { mux: self.mux.clone(), inbox: self.inbox.clone(), assumed: socket.local_addr()? }))
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) -> Box<dyn JoinHandle> {
        self.tokio.spawn(future)
    }

    fn wrap_tcp_listener(&self, listener: std::net::TcpListener) -> io::Result<Arc<dyn AsyncTcpListener>> {
        self.tokio.wrap_tcp_listener(listener)
    }

    fn connect_tcp<'a>(&'a self, address: SocketAddr) -> BoxFuture<'a, io::Result<Arc<dyn AsyncTcpStream>>> {
        self.tokio.connect_tcp(address)
    }

    fn resolve_host<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        self.tokio.resolve_host(host)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.tokio.sleep(duration)
    }

    fn interval(&self, period: Duration) -> Box<dyn AsyncInterval> {
        self.tokio.interval(period)
    }

    fn block_on(&self, future: Pin<Box<dyn Future<Output = ()> + '_>>) {
        self.tokio.block_on(future);
    }

    fn yield_now(&self) -> BoxFuture<'static, ()> {
        self.tokio.yield_now()
    }
}
