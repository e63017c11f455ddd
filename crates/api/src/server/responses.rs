//! Sends HTTP/2 responses in chunks and ends those that the client does not read.
//!
//! If a client reads nothing, the next write times out and the connection ends. Over HTTP/2 a client may withhold the
//! flow-control window of one response and read everything else. The server cannot see that window, but hyper asks for the next
//! chunk only when it may send the previous one.

use std::{
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll},
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, sleep_until};

use super::open_requests::RequestGuard;

/// Size of a chunk: one HTTP/2 frame.
const CHUNK_BYTES: usize = 16 * 1024;

/// An open response, or `None` after it was ended.
type ResponseState = Mutex<Option<OpenResponse>>;

/// The open responses of one connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Responses(Arc<Mutex<Vec<Weak<ResponseState>>>>);

impl Responses {
    /// Wraps a body to send it in chunks and end it when it stalls.
    pub(super) fn track(&self, body: Body, request_guard: RequestGuard) -> Body {
        let state = Arc::new(Mutex::new(Some(OpenResponse { body, rest: Bytes::new(), since: None, _request_guard: request_guard })));
        let mut open_responses = lock(&self.0);
        open_responses.retain(|response| response.strong_count() > 0);
        open_responses.push(Arc::downgrade(&state));
        Body::new(ResponseBody(state))
    }

    /// Ends a response when its client has read nothing for `idle_time`, and returns.
    pub(super) async fn end_stalled(&self, idle_time: Duration) {
        loop {
            let now = Instant::now();
            let mut next = now + idle_time;
            let mut is_ended = false;
            let open_responses: Vec<_> = lock(&self.0).iter().filter_map(Weak::upgrade).collect();
            for response in open_responses {
                let mut state = lock(&response);
                let Some(due) = state.as_ref().and_then(|state| state.since).map(|since| since + idle_time) else { continue };
                if due > now {
                    next = next.min(due);
                    continue;
                }
                let stalled = state.take();
                drop(state);
                // Dropped without the lock, because dropping a long body or a stream may take time.
                drop(stalled);
                metrics::counter!("recall_http_answers_untaken_total").increment(1);
                is_ended = true;
            }
            if is_ended {
                return;
            }
            sleep_until(next).await;
        }
    }
}

/// A response that has not ended.
#[derive(Debug)]
struct OpenResponse {
    body: Body,
    /// The rest of a body frame that is longer than a chunk.
    rest: Bytes,
    /// When the current chunk began to wait for the client.
    since: Option<Instant>,
    _request_guard: RequestGuard,
}

impl OpenResponse {
    /// Takes the next chunk from the rest.
    ///
    /// The last byte of a response is a chunk of its own. Hyper asks for it only when everything before it may be sent, so the
    /// server notices when the chunk before it stalls.
    fn next_chunk(&mut self) -> Bytes {
        self.since = Some(Instant::now());
        let left = self.rest.len();
        let apart = usize::from(left > 1 && self.body.is_end_stream());
        // Copied, because a slice would keep the whole buffer alive.
        Bytes::copy_from_slice(&self.rest.split_to(CHUNK_BYTES.min(left - apart)))
    }
}

/// The body of an open response.
struct ResponseBody(Arc<ResponseState>);

/// The client did not read the response in time.
#[derive(Debug, thiserror::Error)]
#[error("the client read nothing of a response")]
struct StalledClient;

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut state = lock(&self.0);
        let Some(response) = state.as_mut() else { return Poll::Ready(Some(Err(axum::Error::new(StalledClient)))) };
        if response.rest.is_empty() {
            response.since = None;
            match std::task::ready!(Pin::new(&mut response.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => response.rest = data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                end => return Poll::Ready(end),
            }
        }
        Poll::Ready(Some(Ok(Frame::data(response.next_chunk()))))
    }

    fn is_end_stream(&self) -> bool {
        lock(&self.0).as_ref().is_some_and(|response| response.rest.is_empty() && response.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let state = lock(&self.0);
        let Some(response) = state.as_ref() else { return SizeHint::default() };
        let (of_body, rest) = (response.body.size_hint(), response.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(of_body.lower() + rest);
        if let Some(upper) = of_body.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::future::poll_fn;

    use futures_util::stream;
    use tokio::time::timeout;

    use super::*;
    use crate::server::open_requests::OpenRequests;

    const LONG: Duration = Duration::from_millis(100);

    async fn next(body: &mut Body) -> Option<Result<Bytes, axum::Error>> {
        let frame = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await;
        frame.map(|frame| frame.map(|frame| frame.into_data().unwrap()))
    }

    #[tokio::test]
    async fn long_response_is_sent_whole_in_chunks() {
        let responses = Responses::default();
        for length in [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 5 * CHUNK_BYTES + 7] {
            let content: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
            let mut body = responses.track(Body::from(content.clone()), OpenRequests::default().begin());
            let (mut taken, mut last) = (Vec::new(), 0);
            while !body.is_end_stream() {
                assert_eq!(body.size_hint().exact(), Some((length - taken.len()) as u64));
                let next_chunk = next(&mut body).await.unwrap().unwrap();
                assert!((1..=CHUNK_BYTES).contains(&next_chunk.len()));
                last = next_chunk.len();
                taken.extend(next_chunk);
            }
            assert_eq!((taken, last), (content, length.min(1)));
            assert!(next(&mut body).await.is_none());
        }
    }

    #[tokio::test]
    async fn unread_response_is_ended_and_its_memory_freed() {
        let (responses, requests) = (Responses::default(), OpenRequests::default());
        let content = Bytes::from(vec![7; 10 * CHUNK_BYTES]);
        let mut idle_time = responses.track(Body::from(content.clone()), requests.begin());
        let _piece = next(&mut idle_time).await.unwrap().unwrap();
        assert!(timeout(LONG, requests.wait_until_idle(Duration::ZERO)).await.is_err());
        responses.end_stalled(LONG).await;
        assert!(content.is_unique(), "the sent chunk keeps the rest in memory");
        requests.wait_until_idle(Duration::ZERO).await;
        assert!(!idle_time.is_end_stream() && next(&mut idle_time).await.unwrap().is_err(), "a late reader gets an error");
    }

    #[tokio::test]
    async fn idle_stream_and_slow_reader_are_not_ended() {
        let (responses, requests) = (Responses::default(), OpenRequests::default());
        let mut idle = responses.track(Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>()), requests.begin());
        let mut slow = responses.track(Body::from(vec![7; 60 * CHUNK_BYTES]), requests.begin());
        let taking = async {
            assert!(timeout(LONG / 10, next(&mut idle)).await.is_err(), "the stream is idle");
            let mut taken = 0;
            while let Some(next_chunk) = next(&mut slow).await {
                taken += next_chunk.unwrap().len();
                tokio::time::sleep(LONG / 5).await;
            }
            assert_eq!(taken, 60 * CHUNK_BYTES);
        };
        // Less than the whole response takes, and far more than one chunk.
        tokio::select! {
            () = taking => {}
            () = responses.end_stalled(5 * LONG) => unreachable!(),
        }
    }
}
