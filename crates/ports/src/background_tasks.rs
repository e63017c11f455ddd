//! Runs background tasks that outlive the request that started them. The process waits for them on shutdown.

use std::time::Duration;

use tokio::{task::JoinHandle, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The background tasks of one owner. A clone shares them.
#[derive(Clone, Debug, Default)]
pub struct BackgroundTasks {
    running: TaskTracker,
    ending: CancellationToken,
    dropped: CancellationToken,
}

impl BackgroundTasks {
    /// Starts a task. Its result is `None` if it was dropped, so it must be safe to drop at any await.
    pub fn run<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<Option<T>> {
        let dropped = self.dropped.clone();
        self.running.spawn(async move { dropped.run_until_cancelled(work).await })
    }

    /// Whether the process is stopping: long tasks should end at the next step.
    pub fn are_ending(&self) -> bool {
        self.ending.is_cancelled()
    }

    /// Announces that the process is stopping. New tasks can still start.
    pub fn wind_up(&self) {
        self.ending.cancel();
    }

    /// Waits up to `grace` for all tasks, then drops them.
    pub async fn end(&self, grace: Duration) {
        self.wind_up();
        self.running.close();
        if timeout(grace, self.running.wait()).await.is_err() {
            tracing::warn!(running = self.running.len(), "work was dropped before its end");
            self.dropped.cancel();
            self.running.wait().await;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test]
    async fn tasks_are_awaited_notified_and_dropped() {
        let background_tasks = BackgroundTasks::default();
        let short = background_tasks.run(async {
            sleep(Duration::from_millis(10)).await;
            7
        });
        let told = background_tasks.clone();
        let in_steps = background_tasks.run(async move {
            while !told.are_ending() {
                sleep(Duration::from_millis(10)).await;
            }
        });
        let endless = background_tasks.run(std::future::pending::<()>());
        let begun = Instant::now();
        background_tasks.end(Duration::from_secs(1)).await;
        assert!(begun.elapsed() >= Duration::from_secs(1));
        assert_eq!((short.await.unwrap(), in_steps.await.unwrap(), endless.await.unwrap()), (Some(7), Some(()), None));
    }
}
