//! Runs an operation together with the batched reads of its fields.
//!
//! A batch should contain the reads of all fields on one level. The loader's default, a task that waits a millisecond for more reads,
//! adds one or two milliseconds per level. This driver starts reads when the operation is blocked and no read is running. By then
//! every field on the level has asked, and the batches do not depend on which read finished first.
//!
//! The driver also stops an operation whose response exceeds its budget, and yields between the slices of a large response.
use std::{
    num::NonZeroUsize,
    pin::{Pin, pin},
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker, ready},
};

use parking_lot::Mutex;

use futures_util::{
    Stream,
    future::BoxFuture,
    stream::{FuturesUnordered, StreamExt},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::PollSemaphore;

use super::budget::ResponseBudget;
use crate::error::ApiError;

/// Maximum number of polls in a row of an operation that wakes itself. Combinators over many fields yield every few dozen.
const MAX_POLLS: usize = 64;

/// Reads that wait until their operation is blocked.
#[derive(Clone, Default)]
pub(crate) struct BatchQueue(Arc<Mutex<Vec<BoxFuture<'static, ()>>>>);

impl BatchQueue {
    /// Adds a read.
    pub(crate) fn push(&self, read: BoxFuture<'static, ()>) {
        self.0.lock().push(read);
    }

    /// Runs the operation and its reads. Reads that nothing waits for are dropped with it.
    ///
    /// # Errors
    /// `RESPONSE_TOO_LARGE`, if the response exceeds its budget.
    pub(crate) async fn drive<T>(self, budget: Arc<ResponseBudget>, operation: impl Future<Output = T>) -> Result<T, ApiError> {
        let mut operation = pin!(operation);
        let mut driver = Driver::of(self, budget);
        std::future::poll_fn(move |context| driver.poll(context, |context| operation.as_mut().poll(context))).await
    }

    /// Returns the responses of a stream, running the reads that each needs. Each response has the whole budget. The first
    /// one that exceeds it ends the stream.
    pub(crate) fn drive_stream<S: Stream + Send + 'static>(
        self,
        budget: Arc<ResponseBudget>,
        responses: S,
    ) -> impl Stream<Item = Result<S::Item, ApiError>> {
        let mut responses = Some(Box::pin(responses));
        let mut driver = Driver::of(self, budget.clone());
        futures_util::stream::poll_fn(move |context| {
            let Some(open) = &mut responses else { return Poll::Ready(None) };
            let next = driver.poll(context, |context| Pin::new(&mut *open).poll_next(context));
            next.map(|next| match next {
                Ok(next) => {
                    budget.reset();
                    driver.large_permit = None;
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

/// Records that the operation was woken, and wakes the task.
struct WakeFlag {
    woken: AtomicBool,
    task: Mutex<Waker>,
}

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.task.lock().wake_by_ref();
    }
}

/// Drives one operation and its reads.
struct Driver {
    queue: BatchQueue,
    running: FuturesUnordered<BoxFuture<'static, ()>>,
    wake_flag: Arc<WakeFlag>,
    budget: Arc<ResponseBudget>,
    /// Limits large responses in this process; and the permit that this one holds.
    large: PollSemaphore,
    large_permit: Option<OwnedSemaphorePermit>,
}

/// Permits for large responses: one per core.
static LARGE_ANSWERS: LazyLock<Arc<Semaphore>> =
    LazyLock::new(|| Arc::new(Semaphore::new(std::thread::available_parallelism().map_or(1, NonZeroUsize::get))));

impl Driver {
    fn of(queue: BatchQueue, budget: Arc<ResponseBudget>) -> Self {
        let wake_flag = WakeFlag { woken: AtomicBool::new(false), task: Mutex::new(Waker::noop().clone()) };
        let large = PollSemaphore::new(LARGE_ANSWERS.clone());
        Self { queue, running: FuturesUnordered::new(), wake_flag: Arc::new(wake_flag), budget, large, large_permit: None }
    }

    /// Polls the operation, and its reads whenever it is blocked.
    fn poll<T>(&mut self, context: &mut Context<'_>, mut operation: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Poll<Result<T, ApiError>> {
        if self.budget.is_large() && self.large_permit.is_none() {
            // The semaphore is never closed, so this returns a permit.
            self.large_permit = ready!(self.large.poll_acquire(context));
        }
        self.budget.start_slice();
        self.wake_flag.task.lock().clone_from(context.waker());
        let waker = Waker::from(self.wake_flag.clone());
        loop {
            for _ in 0..MAX_POLLS {
                self.wake_flag.woken.store(false, Ordering::Release);
                let output = operation(&mut Context::from_waker(&waker));
                if let Err(exceeded) = self.budget.check() {
                    return Poll::Ready(Err(exceeded));
                }
                if let Poll::Ready(output) = output {
                    return Poll::Ready(Ok(output));
                }
                // Other tasks run between two slices. A large response may have to wait for its permit.
                if self.budget.is_paused() {
                    // `yield_now` wakes the task after the runtime has polled the network. A task that wakes itself would be polled 61 times
                    // before that.
                    let _ = pin!(tokio::task::yield_now()).poll(context);
                    return Poll::Pending;
                }
                if !self.wake_flag.woken.load(Ordering::Acquire) {
                    break;
                }
            }
            if !self.poll_reads(context) {
                return Poll::Pending;
            }
        }
    }

    /// Polls the reads. Returns true if all running reads have ended, so that the operation can continue.
    fn poll_reads(&mut self, context: &mut Context<'_>) -> bool {
        if self.running.is_empty() {
            self.running.extend(std::mem::take(&mut *self.queue.0.lock()));
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

    fn budget() -> Arc<ResponseBudget> {
        Arc::new(ResponseBudget::new(crate::limits::ResponseLimits { nodes: 10, bytes: 1_000 }, 0))
    }

    fn loader() -> (DataLoader<Doubling>, BatchQueue, Arc<AtomicUsize>) {
        let (batches, count) = (BatchQueue::default(), Arc::new(AtomicUsize::new(0)));
        let queue = batches.clone();
        let loader = DataLoader::new(Doubling(count.clone()), move |read| queue.push(read)).delay(Duration::ZERO);
        (loader, batches, count)
    }

    #[tokio::test]
    async fn fields_of_one_level_share_one_read() {
        let (loader, batches, count) = loader();
        let level = async |from: u32| {
            let asked = (from..from + 100).map(|n| loader.load_one(n));
            futures_util::future::join_all(asked).await.into_iter().map(|r| r.unwrap().unwrap()).sum::<u32>()
        };
        let sum = batches.drive(budget(), async { level(0).await + level(100).await }).await.unwrap();
        assert_eq!((sum, count.load(Ordering::Relaxed)), (2 * (0..200).sum::<u32>(), 2));
    }

    #[tokio::test]
    async fn each_stream_response_gets_its_reads() {
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
                counting.enter_field("field", false).await;
            }
        };
        let refused = BatchQueue::default().drive(budget, operation).await.unwrap_err();
        assert_eq!(refused.code(), "RESPONSE_TOO_LARGE");
    }

    #[tokio::test]
    async fn each_stream_response_has_the_whole_budget() {
        let budget = budget();
        let counting = budget.clone();
        let responses = futures_util::stream::iter([8_usize, 8, 8, 11, 1]).then(move |fields| {
            let counting = counting.clone();
            async move {
                for _ in 0..fields {
                    counting.enter_field("field", false).await;
                }
            }
        });
        let codes: Vec<_> = BatchQueue::default().drive_stream(budget, responses).map(|r| r.err().map(|e| e.code())).collect().await;
        assert_eq!(codes, [None, None, None, Some("RESPONSE_TOO_LARGE")]);
    }
}
