//! Counts the open requests of a connection, from their head to the end of their response.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::Request,
    http::Version,
    middleware::Next,
    response::Response,
};
use http_body::{Frame, SizeHint};
use tokio::{sync::watch, time::sleep};

use super::Connection;

/// Counts the open requests of one connection.
#[derive(Clone, Debug)]
pub(super) struct OpenRequests(Arc<watch::Sender<usize>>);

impl Default for OpenRequests {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }
}

impl OpenRequests {
    pub(super) fn begin(&self) -> RequestGuard {
        self.0.send_modify(|open| *open += 1);
        RequestGuard(self.clone())
    }

    /// Waits until no request has been open for `idle_time`.
    pub(super) async fn wait_until_idle(&self, idle_time: Duration) {
        let mut open = self.0.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        while open.wait_for(|open| *open == 0).await.is_ok() {
            tokio::select! {
                () = sleep(idle_time) => return,
                // A request has started, and may have ended again.
                _ = open.changed() => {}
            }
        }
    }
}

/// Keeps a request counted as open until dropped.
#[derive(Debug)]
pub(super) struct RequestGuard(OpenRequests);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.0.send_modify(|open| *open -= 1);
    }
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::time::{Instant, timeout};

    use super::*;

    const LONG: Duration = Duration::from_millis(100);

    #[tokio::test]
    async fn connection_is_idle_after_its_last_response() {
        let requests = OpenRequests::default();
        let begun = Instant::now();
        requests.wait_until_idle(LONG).await;
        assert!(begun.elapsed() >= LONG, "a connection without requests");

        let (first, second) = (requests.begin(), requests.begin());
        assert!(timeout(3 * LONG, requests.wait_until_idle(LONG)).await.is_err(), "a stream may last");
        drop(first);
        assert!(timeout(3 * LONG, requests.wait_until_idle(LONG)).await.is_err());
        let (waiting, begun) = (requests.clone(), Instant::now());
        let idle = tokio::spawn(async move { waiting.wait_until_idle(LONG).await });
        sleep(LONG).await;
        drop(second);
        sleep(LONG / 2).await;
        drop(requests.begin());
        idle.await.unwrap();
        assert!(begun.elapsed() >= 2 * LONG + LONG / 2, "each request restarts the idle time");
    }
}
