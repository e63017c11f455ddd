//! How far the graph engine is behind, for operators.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// How far the graph engine is behind. Shared by the projector and whoever asks.
#[derive(Debug)]
pub struct GraphStatus(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    /// Everything that was in the store at this moment was told.
    told_until: Instant,
    /// Users whose graph is known to be missing or behind.
    behind: usize,
}

impl Default for GraphStatus {
    fn default() -> Self {
        Self(Mutex::new(Inner { told_until: Instant::now(), behind: 0 }))
    }
}

impl GraphStatus {
    /// All that was in the store at `moment` was told, but for `behind` users.
    pub(super) fn told(&self, moment: Instant, behind: usize) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.behind = behind;
        if behind == 0 {
            inner.told_until = moment;
        }
    }

    /// Users were found whose graph is missing or behind.
    pub(super) fn found(&self, behind: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).behind = behind;
    }

    /// How many users have a graph that is known to be missing or behind.
    pub fn behind(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).behind
    }

    /// Age of the oldest change that may not have been told.
    pub fn lag(&self) -> Duration {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).told_until.elapsed()
    }
}
