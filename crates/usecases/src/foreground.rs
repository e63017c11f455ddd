//! Counts the jobs and searches that run, so that work that can wait gives way to them.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of jobs and searches that run in this process.
#[derive(Debug, Default)]
pub(crate) struct Foreground(AtomicUsize);

impl Foreground {
    /// Counts a job or a search until the result is dropped.
    pub(crate) fn begin(&self) -> InForeground<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        InForeground(self)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

/// A job or a search that runs until this is dropped.
pub(crate) struct InForeground<'f>(&'f Foreground);

impl Drop for InForeground<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}
