//! Reads the rest of a body that was refused while the client still sends it.
//!
//! A connection that is closed with unread bytes is reset. The client then sees a broken connection instead of the refusal.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    extract::Request,
    http::header,
    middleware::Next,
    response::Response,
};
use http_body::{Body as _, Frame, SizeHint};
use parking_lot::Mutex;

/// Most bytes that are read and dropped, and the longest time for it. A client that sends more sees a broken connection.
const MOST_BYTES: usize = 64 * 1024 * 1024;
const MOST_TIME: Duration = Duration::from_secs(30);

/// Middleware: drops the rest of a body that was refused.
///
/// A client that waits for `100 Continue` sends nothing before somebody begins to read, so its body is left alone until then.
pub(crate) async fn discard(request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let waits = request.headers().contains_key(header::EXPECT);
    let mut rest = SharedBody::default();
    let request = request.map(|body| {
        rest.0.lock().body = Some(body);
        Body::new(rest.clone())
    });
    let response = next.run(request).await;
    if response.status().is_client_error() && (!waits || rest.0.lock().is_begun) {
        // The response is what the client needs, whether or not it sends everything in time.
        let _ = tokio::time::timeout(MOST_TIME, rest.discard()).await;
    }
    response
}

/// A body that its handler and the middleware share. Only one of them reads at a time.
#[derive(Clone, Default)]
struct SharedBody(Arc<Mutex<Progress>>);

#[derive(Default)]
struct Progress {
    body: Option<Body>,
    is_begun: bool,
}

impl SharedBody {
    async fn discard(&mut self) {
        let mut read = 0;
        while let Some(Ok(frame)) = std::future::poll_fn(|context| Pin::new(&mut *self).poll_frame(context)).await {
            read += frame.data_ref().map_or(0, Bytes::len);
            if read > MOST_BYTES {
                break;
            }
        }
    }
}

impl http_body::Body for SharedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut progress = self.0.lock();
        progress.is_begun = true;
        match &mut progress.body {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.lock().body.as_ref().is_none_or(http_body::Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.0.lock().body.as_ref().map_or_else(SizeHint::default, http_body::Body::size_hint)
    }
}
