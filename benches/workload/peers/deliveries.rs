//! When each event was published, acknowledged and delivered, by one clock.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use parking_lot::Mutex;

use crate::{figures::Times, server::TIMEOUT};

/// Events at the start that are not counted in the times: a server's first ones are slower.
pub(crate) const WARM_UP: usize = 20;

const DIGITS: usize = 6;

/// Returns the name by which event `n` is recognized.
pub(crate) fn mark(n: usize) -> String {
    format!("mark{n:0DIGITS$}")
}

/// The events of one measurement with their times.
pub(crate) struct Deliveries {
    /// What is before the number of an event in a frame.
    before: String,
    begun: Vec<OnceLock<Instant>>,
    acknowledged: Mutex<Times>,
    delivered: Mutex<Times>,
    count: AtomicUsize,
    last: Mutex<Option<Instant>>,
}

impl Deliveries {
    /// Expects the events `0..events`, each with its name in a JSON field that no other event has.
    pub(crate) fn new(events: usize, field: &str) -> Self {
        Self {
            before: format!(r#""{field}":"mark"#),
            begun: (0..events).map(|_| OnceLock::new()).collect(),
            acknowledged: Mutex::default(),
            delivered: Mutex::default(),
            count: AtomicUsize::new(0),
            last: Mutex::default(),
        }
    }

    /// Notes that event `n` is about to be published.
    pub(crate) fn begin(&self, n: usize) {
        if let Some(begun) = self.begun.get(n) {
            let _ = begun.set(Instant::now());
        }
    }

    /// Notes that the server has acknowledged event `n`.
    pub(crate) fn acknowledge(&self, n: usize) {
        self.note(n, Instant::now(), &self.acknowledged);
    }

    /// Notes the events of a frame that a subscriber has just received.
    ///
    /// The text is searched instead of parsed, so that no format costs the client more than another.
    pub(crate) fn arrive(&self, frame: &str) {
        let now = Instant::now();
        for (at, _) in frame.match_indices(&self.before) {
            let number = frame.get(at + self.before.len()..).and_then(|rest| rest.get(..DIGITS)?.parse().ok());
            let Some(n) = number else { continue };
            self.note(n, now, &self.delivered);
            *self.last.lock() = Some(now);
            self.count.fetch_add(1, Ordering::Release);
        }
    }

    fn note(&self, n: usize, now: Instant, times: &Mutex<Times>) {
        let begun = self.begun.get(n).and_then(OnceLock::get);
        if let Some(begun) = begun.filter(|_| n >= WARM_UP) {
            times.lock().note(now - *begun);
        }
    }

    /// Waits until `expected` deliveries were noted; returns the time of the last one.
    ///
    /// # Errors
    /// When some are missing, or more than expected came.
    pub(crate) async fn wait_for(&self, expected: usize) -> anyhow::Result<Instant> {
        let waiting = Instant::now();
        while self.count.load(Ordering::Acquire) < expected && waiting.elapsed() < TIMEOUT / 4 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let count = self.count.load(Ordering::Acquire);
        ensure!(count == expected, "{count} of {expected} events were delivered");
        self.last.lock().context("no event was delivered")
    }

    /// Returns the times to acknowledgement and to delivery.
    pub(crate) fn take(&self) -> (Times, Times) {
        (std::mem::take(&mut self.acknowledged.lock()), std::mem::take(&mut self.delivered.lock()))
    }
}
