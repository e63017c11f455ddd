//! Warnings for which anybody can give cause as often as they like, and which are therefore said once an hour.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

const HOUR: Duration = Duration::from_secs(60 * 60);

/// When a warning was last said.
#[derive(Default)]
pub(crate) struct Hourly(Mutex<Option<Instant>>);

impl Hourly {
    /// Whether it is to be said now; if so, it counts as said.
    pub(crate) fn is_due(&self) -> bool {
        let (now, mut last) = (Instant::now(), self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let is_due = last.is_none_or(|last| now.saturating_duration_since(last) >= HOUR);
        if is_due {
            *last = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_said_once_an_hour() {
        let warning = Hourly::default();
        assert!(warning.is_due());
        assert!((0..1_000).all(|_| !warning.is_due()));
        *warning.0.lock().unwrap() = Instant::now().checked_sub(HOUR);
        assert_eq!((warning.is_due(), warning.is_due()), (true, false));
    }
}
