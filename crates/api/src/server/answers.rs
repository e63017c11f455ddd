//! Answers over HTTP/2, given piece by piece, and the end of those that nobody takes.
//!
//! A client that reads nothing lets the next write wait, and the connection ends. Over HTTP/2 it may read everything else and
//! hold back the window of an answer alone. The server cannot see that window, but it is asked for the next piece only when the
//! one before may be sent.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll},
    time::Duration,
};

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, sleep_until};

use super::requests::UnderWay;

/// Given at a time: a frame of HTTP/2.
const PIECE: usize = 16 * 1024;

/// An answer until it was ended.
type Ending = Mutex<Option<Given>>;

/// The answers of one connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers(Arc<Mutex<Vec<Weak<Ending>>>>);

impl Answers {
    /// An answer that is given piece by piece, and ends when nothing of it is taken.
    pub(super) fn give(&self, body: Body, under_way: UnderWay) -> Body {
        let given = Arc::new(Mutex::new(Some(Given { body, rest: Bytes::new(), since: None, _under_way: under_way })));
        let mut all = lock(&self.0);
        all.retain(|answer| answer.strong_count() > 0);
        all.push(Arc::downgrade(&given));
        Body::new(Answer(given))
    }

    /// Ends answers of which nothing was taken for so long. Returns when there was one.
    pub(super) async fn end_untaken(&self, long: Duration) {
        loop {
            let now = Instant::now();
            let mut next = now + long;
            let mut is_ended = false;
            let all: Vec<_> = lock(&self.0).iter().filter_map(Weak::upgrade).collect();
            for answer in all {
                let mut given = lock(&answer);
                let Some(due) = given.as_ref().and_then(|given| given.since).map(|since| since + long) else { continue };
                if due > now {
                    next = next.min(due);
                    continue;
                }
                let untaken = given.take();
                drop(given);
                // It may be long, or a stream: nobody should wait for its end.
                drop(untaken);
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

/// An answer that has not ended.
#[derive(Debug)]
struct Given {
    body: Body,
    /// What is left of a part of it that is longer than a piece.
    rest: Bytes,
    /// Since when a piece waits to be sent.
    since: Option<Instant>,
    _under_way: UnderWay,
}

impl Given {
    /// The next piece of what is left. The last byte of an answer comes alone: it is asked for when all before it may be sent, while
    /// what was given last waits unseen.
    fn piece(&mut self) -> Bytes {
        self.since = Some(Instant::now());
        let left = self.rest.len();
        let apart = usize::from(left > 1 && self.body.is_end_stream());
        // Copied: a part of it would keep all of it.
        Bytes::copy_from_slice(&self.rest.split_to(PIECE.min(left - apart)))
    }
}

/// The body of such an answer.
struct Answer(Arc<Ending>);

/// Nobody took it in time.
#[derive(Debug, thiserror::Error)]
#[error("the client took nothing of an answer")]
struct Untaken;

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut given = lock(&self.0);
        let Some(answer) = given.as_mut() else { return Poll::Ready(Some(Err(axum::Error::new(Untaken)))) };
        if answer.rest.is_empty() {
            answer.since = None;
            match std::task::ready!(Pin::new(&mut answer.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => answer.rest = data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                end => return Poll::Ready(end),
            }
        }
        Poll::Ready(Some(Ok(Frame::data(answer.piece()))))
    }

    fn is_end_stream(&self) -> bool {
        lock(&self.0).as_ref().is_some_and(|answer| answer.rest.is_empty() && answer.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let given = lock(&self.0);
        let Some(answer) = given.as_ref() else { return SizeHint::default() };
        let (of_body, rest) = (answer.body.size_hint(), answer.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(of_body.lower() + rest);
        if let Some(upper) = of_body.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::future::poll_fn;

    use futures_util::stream;
    use tokio::time::timeout;

    use super::*;
    use crate::server::requests::Requests;

    const LONG: Duration = Duration::from_millis(100);

    async fn next(body: &mut Body) -> Option<Result<Bytes, axum::Error>> {
        let frame = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await;
        frame.map(|frame| frame.map(|frame| frame.into_data().unwrap()))
    }

    #[tokio::test]
    async fn a_long_answer_comes_in_pieces_and_whole() {
        let answers = Answers::default();
        for length in [0, 1, PIECE - 1, PIECE, PIECE + 1, 5 * PIECE + 7] {
            let content: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
            let mut body = answers.give(Body::from(content.clone()), Requests::default().begin());
            let (mut taken, mut last) = (Vec::new(), 0);
            while !body.is_end_stream() {
                assert_eq!(body.size_hint().exact(), Some((length - taken.len()) as u64));
                let piece = next(&mut body).await.unwrap().unwrap();
                assert!((1..=PIECE).contains(&piece.len()));
                last = piece.len();
                taken.extend(piece);
            }
            assert_eq!((taken, last), (content, length.min(1)));
            assert!(next(&mut body).await.is_none());
        }
    }

    #[tokio::test]
    async fn what_nobody_takes_ends_and_is_let_go() {
        let (answers, requests) = (Answers::default(), Requests::default());
        let content = Bytes::from(vec![7; 10 * PIECE]);
        let mut long = answers.give(Body::from(content.clone()), requests.begin());
        let _piece = next(&mut long).await.unwrap().unwrap();
        assert!(timeout(LONG, requests.none_for(Duration::ZERO)).await.is_err());
        answers.end_untaken(LONG).await;
        assert!(content.is_unique(), "the piece that was given keeps the rest");
        requests.none_for(Duration::ZERO).await;
        assert!(!long.is_end_stream() && next(&mut long).await.unwrap().is_err(), "who comes for it after all is told");
    }

    #[tokio::test]
    async fn a_stream_on_which_nothing_happens_goes_on_and_so_does_one_that_is_taken_slowly() {
        let (answers, requests) = (Answers::default(), Requests::default());
        let mut idle = answers.give(Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>()), requests.begin());
        let mut slow = answers.give(Body::from(vec![7; 60 * PIECE]), requests.begin());
        let taking = async {
            assert!(timeout(LONG / 10, next(&mut idle)).await.is_err(), "it is waited for");
            let mut taken = 0;
            while let Some(piece) = next(&mut slow).await {
                taken += piece.unwrap().len();
                tokio::time::sleep(LONG / 5).await;
            }
            assert_eq!(taken, 60 * PIECE);
        };
        // Less than all of it takes, and far more than a piece.
        tokio::select! {
            () = taking => {}
            () = answers.end_untaken(5 * LONG) => unreachable!(),
        }
    }
}
