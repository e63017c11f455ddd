//! An accepted connection, as its requests see it.

use std::{
    net::IpAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::Request,
    http::Version,
    middleware::Next,
    response::Response,
};
use http_body::{Frame, SizeHint};
use tokio_util::sync::CancellationToken;

use super::{
    connection_limit::ConnectionSlot,
    open_requests::{OpenRequests, RequestGuard},
    responses::Responses,
};

/// An accepted connection, in the extensions of its requests.
///
/// It counts as open until the last clone is dropped. A WebSocket that takes over the connection keeps a clone.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(super) _slot: Arc<ConnectionSlot>,
    pub(super) requests: OpenRequests,
    pub(super) responses: Responses,
    /// Whether the peer is a trusted proxy. One stalled client of a proxy must not disconnect the others.
    pub(super) is_proxy: bool,
    /// Address of the peer.
    pub(crate) peer: IpAddr,
    /// Cancelled when the server stops.
    pub(crate) closing: CancellationToken,
}

/// Middleware: counts a request until its response was read or dropped.
pub(super) async fn count_request(request: Request, next: Next) -> Response {
    let Some(connection) = request.extensions().get::<Connection>() else { return next.run(request).await };
    let (request_guard, responses) = (connection.requests.begin(), connection.responses.clone());
    let is_http2 = request.version() == Version::HTTP_2;
    next.run(request).await.map(|body| match is_http2 {
        true => responses.track(body, request_guard),
        false => Body::new(CountedBody { body, _request_guard: request_guard }),
    })
}

/// A response body that holds its request's guard.
struct CountedBody {
    body: Body,
    _request_guard: RequestGuard,
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
