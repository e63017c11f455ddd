//! Copies the write-ahead log into the database file, on a thread of its own.
//!
//! SQLite does this inside the commit that fills the log, which then waits for the disk several times as long as other commits. This
//! thread copies while the writer goes on. Under constant load it never reaches the end of the log, so the log could grow without
//! bound; the writer therefore still copies the rest itself when the log is much larger ([`INLINE_PAGES`]).

use std::{
    sync::{
        atomic::{AtomicU32, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::JoinHandle,
};

use super::{connection::Opener, failure::Failure};

/// Growth of the log, in pages of 4 KiB, after which this thread copies it. Pages that change often are copied once for many commits.
const BACKGROUND_PAGES: u32 = 4_000;
/// Size of the log, in pages, at which the commit itself copies the rest.
pub(super) const INLINE_PAGES: u32 = 16_000;

/// Handle to the thread. The thread ends when the handle is dropped.
pub(super) struct Checkpointer {
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    log_pages: &'static AtomicU32,
    growth: Growth,
}

impl Checkpointer {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub(super) fn start(opener: Opener) -> Result<Self, Failure> {
        let log_pages = opener.log_pages();
        // One place is enough: a wake that finds it full is already asked for.
        let (wake, woken) = sync_channel(1);
        let body = move || run(&opener, &woken);
        let thread = std::thread::Builder::new().name("sqlite-checkpoint".to_owned()).spawn(body).map_err(Failure::File)?;
        Ok(Self { wake: Some(wake), thread: Some(thread), log_pages, growth: Growth::default() })
    }

    /// Wakes the thread if the log has grown enough. Called after each commit.
    pub(super) fn wake(&mut self) {
        if self.growth.is_due(self.log_pages.load(Ordering::Relaxed))
            && let Some(wake) = &self.wake
        {
            let _ = wake.try_send(());
        }
    }

    /// Ends the thread, and waits until it has closed its connection.
    pub(super) fn stop(&mut self) {
        drop(self.wake.take());
        if let Some(thread) = self.thread.take() {
            // It does not panic; and if it did, there would be nothing left to do here.
            let _ = thread.join();
        }
    }
}

/// How far the log has been handed to the thread.
#[derive(Debug, Default)]
struct Growth {
    /// Size of the log, in pages, when the thread was last woken.
    handed_over: u32,
}

impl Growth {
    /// Whether the thread should copy a log that now has `pages` pages.
    fn is_due(&mut self, pages: u32) -> bool {
        if pages < self.handed_over {
            // The log was copied as a whole, and began again.
            self.handed_over = 0;
        }
        let is_due = pages - self.handed_over >= BACKGROUND_PAGES;
        if is_due {
            self.handed_over = pages;
        }
        is_due
    }
}

fn run(opener: &Opener, woken: &Receiver<()>) {
    let mut connection = None;
    while woken.recv().is_ok() {
        let opened = connection.take().map_or_else(|| opener.writer(), Ok);
        match opened.and_then(|db| db.batch("PRAGMA wal_checkpoint(PASSIVE)").map(|()| db)) {
            Ok(db) => connection = Some(db),
            // The writer copies the log itself if this thread cannot.
            Err(e) => tracing::warn!(error = %e, "the write-ahead log was not copied"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_is_copied_after_each_growth_and_when_it_begins_again() {
        let mut growth = Growth::default();
        assert!(!growth.is_due(BACKGROUND_PAGES - 1));
        assert!(growth.is_due(BACKGROUND_PAGES));
        assert!(!growth.is_due(BACKGROUND_PAGES + 1), "not after each commit of a large log");
        assert!(growth.is_due(2 * BACKGROUND_PAGES));
        assert!(!growth.is_due(10), "the log has begun again");
        assert!(growth.is_due(BACKGROUND_PAGES));
    }
}
