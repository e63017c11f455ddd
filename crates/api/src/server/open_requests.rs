//! Counts the open requests of a connection, from their head to the end of their response.

use std::{sync::Arc, time::Duration};

use tokio::{sync::watch, time::sleep};

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
