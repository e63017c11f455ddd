//! Status of the graph engine, for metrics.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How far the graph engine is behind the store. The projector updates it.
#[derive(Debug)]
pub struct GraphStatus(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    /// The engine has received all changes up to this moment.
    current_at: Instant,
    /// Number of users whose graph is missing or behind.
    behind: usize,
}

impl Default for GraphStatus {
    fn default() -> Self {
        Self(Mutex::new(Inner { current_at: Instant::now(), behind: 0 }))
    }
}

impl GraphStatus {
    /// Records that all changes up to `moment` were sent, except those of `behind` users.
    pub(super) fn record_round(&self, moment: Instant, behind: usize) {
        let mut inner = self.0.lock();
        inner.behind = behind;
        if behind == 0 {
            inner.current_at = moment;
        }
    }

    /// Sets the number of users whose graph is missing or behind.
    pub(super) fn set_behind(&self, behind: usize) {
        self.0.lock().behind = behind;
    }

    /// Returns the number of users whose graph is missing or behind.
    pub fn behind(&self) -> usize {
        self.0.lock().behind
    }

    /// Returns the age of the oldest change that the engine may not have.
    pub fn lag(&self) -> Duration {
        self.0.lock().current_at.elapsed()
    }
}
