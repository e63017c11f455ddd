//! Runs what keeps a core busy so that it holds no thread of the runtime.
//!
//! Reading a document is bounded ([`super::document`]), but a large one still keeps a core busy, and the runtime has as
//! many threads as the machine has cores. Large documents wait for each other, and one core stays free for everybody else.

use std::{num::NonZeroUsize, pin::pin, sync::Arc};

use tokio::{runtime::RuntimeFlavor, sync::Semaphore};

/// Steps of work that is done where it stands.
const SMALL: usize = 2_000;

/// Room for work that keeps a core busy. A clone is the same room.
#[derive(Clone, Debug)]
pub(super) struct CpuBound(Arc<Semaphore>);

impl CpuBound {
    /// Room for all cores but one.
    pub(super) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self(Arc::new(Semaphore::new(cores.saturating_sub(1).max(1))))
    }

    /// Runs work of so many steps on a thread of its own, where it is large. `None` when it panicked.
    pub(super) async fn run<T: Send + 'static>(&self, steps: usize, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        if steps <= SMALL {
            return Some(work());
        }
        let _room = self.0.acquire().await.ok();
        tokio::task::spawn_blocking(work).await.ok()
    }

    /// Polls work that borrows and waits for nobody; where it is large, other tasks leave the thread first.
    pub(super) async fn run_in_place<T>(&self, steps: usize, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        if steps <= SMALL {
            return work.await;
        }
        let _room = self.0.acquire().await.ok();
        let has_others = tokio::runtime::Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread;
        std::future::poll_fn(|context| match has_others {
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
    async fn large_work_leaves_the_only_thread_to_others() {
        let cpu = CpuBound::new();
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let (finish, may_finish) = std::sync::mpsc::channel();
        let may_finish = std::sync::Mutex::new(may_finish);
        let work = tokio::spawn(async move {
            let work = async {
                begun.send(()).unwrap();
                // Keeps its thread until another task has run.
                may_finish.lock().unwrap().recv().unwrap();
            };
            cpu.run_in_place(SMALL + 1, work).await;
        });
        has_begun.await.unwrap();
        tokio::spawn(async move { finish.send(()).unwrap() }).await.unwrap();
        work.await.unwrap();
    }

    #[tokio::test]
    async fn work_runs_on_a_single_thread_too() {
        let cpu = CpuBound::new();
        assert_eq!(cpu.run(1, || 1).await, Some(1));
        assert_eq!(cpu.run(SMALL + 1, || 2).await, Some(2));
        assert_eq!(cpu.run_in_place(SMALL + 1, async { 3 }).await, 3);
    }
}
