//! Runs CPU-bound work without blocking the threads of the runtime.
//!
//! The work on a document is bounded ([`super::document`]), but a large document still keeps a core busy. The runtime has one thread per
//! core. So large documents wait for each other, and one core stays free for other tasks.

use std::{num::NonZeroUsize, pin::pin, sync::Arc};

use tokio::{runtime::RuntimeFlavor, sync::Semaphore};

/// Work of at most this many steps runs directly on the current thread.
const INLINE_STEPS: usize = 2_000;

/// Limits concurrent CPU-bound work. Clones share the limit.
#[derive(Clone, Debug)]
pub(super) struct CpuLimiter(Arc<Semaphore>);

impl CpuLimiter {
    /// Creates a limiter for all cores but one.
    pub(super) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self(Arc::new(Semaphore::new(cores.saturating_sub(1).max(1))))
    }

    /// Runs work; large work runs on a blocking thread. Returns `None` if it panicked.
    pub(super) async fn run<T: Send + 'static>(&self, steps: usize, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        if steps <= INLINE_STEPS {
            return Some(work());
        }
        let _permit = self.0.acquire().await.ok();
        tokio::task::spawn_blocking(work).await.ok()
    }

    /// Runs a future that borrows and never waits. Before large work, other tasks move to another thread.
    pub(super) async fn run_in_place<T>(&self, steps: usize, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        if steps <= INLINE_STEPS {
            return work.await;
        }
        let _permit = self.0.acquire().await.ok();
        let is_multi_threaded = tokio::runtime::Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread;
        std::future::poll_fn(|context| match is_multi_threaded {
            true => tokio::task::block_in_place(|| work.as_mut().poll(context)),
            false => work.as_mut().poll(context),
        })
        .await
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn large_work_does_not_block_the_only_thread() {
        let cpu = CpuLimiter::new();
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let (finish, may_finish) = std::sync::mpsc::channel();
        let may_finish = std::sync::Mutex::new(may_finish);
        let work = tokio::spawn(async move {
            let work = async {
                begun.send(()).unwrap();
                // Blocks its thread until another task has run.
                may_finish.lock().unwrap().recv().unwrap();
            };
            cpu.run_in_place(INLINE_STEPS + 1, work).await;
        });
        has_begun.await.unwrap();
        tokio::spawn(async move { finish.send(()).unwrap() }).await.unwrap();
        work.await.unwrap();
    }

    #[tokio::test]
    async fn work_also_runs_on_a_single_threaded_runtime() {
        let cpu = CpuLimiter::new();
        assert_eq!(cpu.run(1, || 1).await, Some(1));
        assert_eq!(cpu.run(INLINE_STEPS + 1, || 2).await, Some(2));
        assert_eq!(cpu.run_in_place(INLINE_STEPS + 1, async { 3 }).await, 3);
    }
}
