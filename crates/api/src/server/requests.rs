//! Which requests of a connection are under way: from their head to the end of their answer.

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

/// Counts the requests of one connection.
#[derive(Clone, Debug)]
pub(super) struct Requests(Arc<watch::Sender<usize>>);

impl Default for Requests {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }
}

impl Requests {
    pub(super) fn begin(&self) -> UnderWay {
        self.0.send_modify(|open| *open += 1);
        UnderWay(self.clone())
    }

    /// Ends when no request has been under way for that long.
    pub(super) async fn none_for(&self, long: Duration) {
        let mut open = self.0.subscribe();
        // The sender lives as long as this.
        while open.wait_for(|open| *open == 0).await.is_ok() {
            tokio::select! {
                () = sleep(long) => return,
                // One that came, and may have gone again.
                _ = open.changed() => {}
            }
        }
    }
}

/// One request.
#[derive(Debug)]
pub(super) struct UnderWay(Requests);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.0.send_modify(|open| *open -= 1);
    }
}

/// Middleware: counts a request of a connection until its answer has been taken, or nobody wants it any more.
pub(super) async fn under_way(request: Request, next: Next) -> Response {
    let Some(connection) = request.extensions().get::<Connection>() else { return next.run(request).await };
    let (under_way, answers) = (connection.requests.begin(), connection.answers.clone());
    let is_http2 = request.version() == Version::HTTP_2;
    next.run(request).await.map(|body| match is_http2 {
        true => answers.give(body, under_way),
        false => Body::new(Counted { body, _under_way: under_way }),
    })
}

/// The body of an answer.
struct Counted {
    body: Body,
    _under_way: UnderWay,
}

impl HttpBody for Counted {
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
    async fn a_connection_is_idle_after_its_last_answer() {
        let requests = Requests::default();
        let begun = Instant::now();
        requests.none_for(LONG).await;
        assert!(begun.elapsed() >= LONG, "one that never asks");

        let (first, second) = (requests.begin(), requests.begin());
        assert!(timeout(3 * LONG, requests.none_for(LONG)).await.is_err(), "a stream may last");
        drop(first);
        assert!(timeout(3 * LONG, requests.none_for(LONG)).await.is_err());
        let (waiting, begun) = (requests.clone(), Instant::now());
        let idle = tokio::spawn(async move { waiting.none_for(LONG).await });
        sleep(LONG).await;
        drop(second);
        sleep(LONG / 2).await;
        drop(requests.begin());
        idle.await.unwrap();
        assert!(begun.elapsed() >= 2 * LONG + LONG / 2, "each request begins the time anew");
    }
}
