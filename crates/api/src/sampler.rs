//! Limits how many log lines of one kind clients can cause.

use std::time::Duration;

use parking_lot::Mutex;

use tokio::time::Instant;

/// Maximum number of lines in one window.
const LINES: u32 = 20;
/// Length of a window.
const WINDOW: Duration = Duration::from_secs(10);

/// Allows the first lines of each window and counts the others.
pub(crate) struct Sampler(Mutex<Option<Window>>);

struct Window {
    begun: Instant,
    lines: u32,
    left_out: u64,
}

impl Sampler {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Whether a line may be written now: `Some` with the number left out since the last line.
    pub(crate) fn line(&self, now: Instant) -> Option<u64> {
        let mut window = self.0.lock();
        let window = window.get_or_insert(Window { begun: now, lines: 0, left_out: 0 });
        if now.saturating_duration_since(window.begun) >= WINDOW {
            (window.begun, window.lines) = (now, 0);
        }
        if window.lines >= LINES {
            window.left_out += 1;
            return None;
        }
        window.lines += 1;
        Some(std::mem::take(&mut window.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flood_of_lines_is_sampled_and_counted() {
        let (sampler, start) = (Sampler::new(), Instant::now());
        let written = (0..10_000).filter(|_| sampler.line(start).is_some()).count();
        assert_eq!(written, LINES as usize);
        let left_out = 10_000 - u64::from(LINES);
        assert_eq!(sampler.line(start + WINDOW), Some(left_out), "the first line of the next window tells how many are missing");
        assert_eq!(sampler.line(start + WINDOW), Some(0));
    }
}
