//! Runs an operation together with the batched reads that its fields ask for.
//!
//! A batch should hold what all fields of a level ask for. The loader's usual way, a task that waits a millisecond for more,
//! costs every level one or two of them. Here reads are begun as soon as the operation itself can go no further and no read is
//! under way: then every field that could ask has asked, and what a level asks for does not hang on which read ended first.
//!
//! It also ends an operation whose answer exceeds its budget, and gives way to others between the slices of a large one.

use std::{
    num::NonZeroUsize,
    pin::{Pin, pin},
    sync::{
        Arc, LazyLock, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker, ready},
};

use futures_util::{
    Stream,
    future::BoxFuture,
    stream::{FuturesUnordered, StreamExt},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::PollSemaphore;

use super::budget::AnswerBudget;
use crate::error::ApiError;

/// How often an operation that says it could go on is polled at once. Combinators over many fields pause every few dozen.
const MOST_POLLS: usize = 64;

/// Reads that wait for their operation to pause.
#[derive(Clone, Default)]
pub(crate) struct Batches(Arc<Mutex<Vec<BoxFuture<'static, ()>>>>);

impl Batches {
    /// Adds a read.
    pub(crate) fn push(&self, read: BoxFuture<'static, ()>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(read);
    }

    /// Runs the operation and its reads; reads that nobody waits for any more are dropped with it.
    ///
    /// # Errors
    /// `RESPONSE_TOO_LARGE`, when the answer exceeds its budget.
    pub(crate) async fn drive<T>(self, budget: Arc<AnswerBudget>, operation: impl Future<Output = T>) -> Result<T, ApiError> {
        let mut operation = pin!(operation);
        let mut reads = Reads::of(self, budget);
        std::future::poll_fn(move |context| reads.poll(context, |context| operation.as_mut().poll(context))).await
    }

    /// The responses of a stream, with the reads that each of them needs. Each has the budget for itself; one that exceeds it is
    /// the last.
    pub(crate) fn drive_stream<S: Stream + Send + 'static>(
        self,
        budget: Arc<AnswerBudget>,
        responses: S,
    ) -> impl Stream<Item = Result<S::Item, ApiError>> {
        let mut responses = Some(Box::pin(responses));
        let mut reads = Reads::of(self, budget.clone());
        futures_util::stream::poll_fn(move |context| {
            let Some(open) = &mut responses else { return Poll::Ready(None) };
            let next = reads.poll(context, |context| Pin::new(&mut *open).poll_next(context));
            next.map(|next| match next {
                Ok(next) => {
                    budget.reset();
                    reads.has_room = None;
                    next.map(Ok)
                }
                Err(exceeded) => {
                    responses = None;
                    Some(Err(exceeded))
                }
            })
        })
    }
}

/// Tells whether the operation was woken, and wakes the task.
struct Nudge {
    woken: AtomicBool,
    task: Mutex<Waker>,
}

impl Wake for Nudge {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.task.lock().unwrap_or_else(PoisonError::into_inner).wake_by_ref();
    }
}

struct Reads {
    queue: Batches,
    running: FuturesUnordered<BoxFuture<'static, ()>>,
    nudge: Arc<Nudge>,
    budget: Arc<AnswerBudget>,
    /// Room for large answers, and whether this one has it.
    large: PollSemaphore,
    has_room: Option<OwnedSemaphorePermit>,
}

/// Large answers that are made at a time in this process.
static LARGE_ANSWERS: LazyLock<Arc<Semaphore>> =
    LazyLock::new(|| Arc::new(Semaphore::new(std::thread::available_parallelism().map_or(1, NonZeroUsize::get))));

impl Reads {
    fn of(queue: Batches, budget: Arc<AnswerBudget>) -> Self {
        let nudge = Nudge { woken: AtomicBool::new(false), task: Mutex::new(Waker::noop().clone()) };
        let large = PollSemaphore::new(LARGE_ANSWERS.clone());
        Self { queue, running: FuturesUnordered::new(), nudge: Arc::new(nudge), budget, large, has_room: None }
    }

    /// Polls the operation, and reads whenever it waits.
    fn poll<T>(&mut self, context: &mut Context<'_>, mut operation: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Poll<Result<T, ApiError>> {
        if self.budget.is_large() && self.has_room.is_none() {
            // Never closed, so there is always a permit in the end.
            self.has_room = ready!(self.large.poll_acquire(context));
        }
        self.budget.resume();
        self.nudge.task.lock().unwrap_or_else(PoisonError::into_inner).clone_from(context.waker());
        let waker = Waker::from(self.nudge.clone());
        loop {
            for _ in 0..MOST_POLLS {
                self.nudge.woken.store(false, Ordering::Release);
                let output = operation(&mut Context::from_waker(&waker));
                if let Err(exceeded) = self.budget.check() {
                    return Poll::Ready(Err(exceeded));
                }
                if let Poll::Ready(output) = output {
                    return Poll::Ready(Ok(output));
                }
                // Between two slices others run, and a large answer waits for its turn.
                if self.budget.is_paused() {
                    // Wakes the task after the runtime has looked for news from the network. A task that wakes itself would be
                    // polled 61 times before that.
                    let _ = pin!(tokio::task::yield_now()).poll(context);
                    return Poll::Pending;
                }
                if !self.nudge.woken.load(Ordering::Acquire) {
                    break;
                }
            }
            if !self.advance(context) {
                return Poll::Pending;
            }
        }
    }

    /// Polls the reads; whether all that were under way have ended, which gives the operation something to go on with.
    fn advance(&mut self, context: &mut Context<'_>) -> bool {
        if self.running.is_empty() {
            self.running.extend(std::mem::take(&mut *self.queue.0.lock().unwrap_or_else(PoisonError::into_inner)));
        }
        let mut ended = false;
        loop {
            match self.running.poll_next_unpin(context) {
                Poll::Ready(Some(())) => ended = true,
                Poll::Ready(None) => return ended,
                Poll::Pending => return false,
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{
        collections::HashMap,
        convert::Infallible,
        sync::atomic::{AtomicUsize, Ordering},
        time::Duration,
    };

    use async_graphql::dataloader::{DataLoader, Loader};

    use super::*;

    struct Doubling(Arc<AtomicUsize>);

    impl Loader<u32> for Doubling {
        type Value = u32;
        type Error = Infallible;

        async fn load(&self, keys: &[u32]) -> Result<HashMap<u32, u32>, Infallible> {
            tokio::task::yield_now().await;
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(keys.iter().map(|k| (*k, 2 * k)).collect())
        }
    }

    fn budget() -> Arc<AnswerBudget> {
        Arc::new(AnswerBudget::new(crate::graphql::AnswerLimits { nodes: 10, bytes: 1_000 }, 0))
    }

    fn loader() -> (DataLoader<Doubling>, Batches, Arc<AtomicUsize>) {
        let (batches, count) = (Batches::default(), Arc::new(AtomicUsize::new(0)));
        let queue = batches.clone();
        let loader = DataLoader::new(Doubling(count.clone()), move |read| queue.push(read)).delay(Duration::ZERO);
        (loader, batches, count)
    }

    #[tokio::test]
    async fn what_a_level_asks_for_is_one_read() {
        let (loader, batches, count) = loader();
        let level = async |from: u32| {
            let asked = (from..from + 100).map(|n| loader.load_one(n));
            futures_util::future::join_all(asked).await.into_iter().map(|r| r.unwrap().unwrap()).sum::<u32>()
        };
        let sum = batches.drive(budget(), async { level(0).await + level(100).await }).await.unwrap();
        assert_eq!((sum, count.load(Ordering::Relaxed)), (2 * (0..200).sum::<u32>(), 2));
    }

    #[tokio::test]
    async fn every_response_of_a_stream_gets_its_reads() {
        let (loader, batches, _) = loader();
        let loader = Arc::new(loader);
        let responses = futures_util::stream::iter(0..3_u32).then(move |n| {
            let loader = loader.clone();
            async move { loader.load_one(n).await.unwrap().unwrap() }
        });
        let all: Vec<u32> = batches.drive_stream(budget(), responses).map(Result::unwrap).collect().await;
        assert_eq!(all, [0, 2, 4]);
    }

    #[tokio::test]
    async fn operation_that_exceeds_its_budget_is_dropped() {
        let budget = budget();
        let counting = budget.clone();
        let operation = async move {
            for _ in 0..11 {
                counting.enter("field", false).await;
            }
        };
        let refused = Batches::default().drive(budget, operation).await.unwrap_err();
        assert_eq!(refused.code(), "RESPONSE_TOO_LARGE");
    }

    #[tokio::test]
    async fn each_response_of_a_stream_has_the_budget_for_itself() {
        let budget = budget();
        let counting = budget.clone();
        let responses = futures_util::stream::iter([8_usize, 8, 8, 11, 1]).then(move |fields| {
            let counting = counting.clone();
            async move {
                for _ in 0..fields {
                    counting.enter("field", false).await;
                }
            }
        });
        let codes: Vec<_> = Batches::default().drive_stream(budget, responses).map(|r| r.err().map(|e| e.code())).collect().await;
        assert_eq!(codes, [None, None, None, Some("RESPONSE_TOO_LARGE")]);
    }
}
