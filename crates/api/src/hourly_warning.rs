//! Limits a warning to once an hour, because any client can cause it at will.

use std::time::Duration;

use parking_lot::Mutex;

use tokio::time::Instant;

const HOUR: Duration = Duration::from_secs(60 * 60);

/// When a warning was last logged.
#[derive(Default)]
pub(crate) struct HourlyWarning(Mutex<Option<Instant>>);

impl HourlyWarning {
    /// Whether to log the warning now; if so, it counts as logged.
    pub(crate) fn is_due(&self) -> bool {
        let (now, mut last) = (Instant::now(), self.0.lock());
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
    fn warning_is_logged_once_an_hour() {
        let warning = HourlyWarning::default();
        assert!(warning.is_due());
        assert!((0..1_000).all(|_| !warning.is_due()));
        *warning.0.lock() = Instant::now().checked_sub(HOUR);
        assert_eq!((warning.is_due(), warning.is_due()), (true, false));
    }
}
