//! How fast frames of one connection are read. Operations are counted by caller; what is said besides (pings, and what is not
//! understood) costs little, but somebody could say it without end.

use std::time::Duration;

use tokio::time::Instant;

use crate::RateLimit;

/// The pace of somebody who is not the only one.
pub const WEBSOCKET_FRAMES: RateLimit = RateLimit { per_second: 100.0, burst: 500 };

/// A bucket of frames.
pub(super) struct Pace {
    limit: Option<RateLimit>,
    left: f64,
    at: Instant,
}

impl Pace {
    pub(super) fn new(limit: Option<RateLimit>) -> Self {
        Self { limit, left: limit.map_or(0.0, |limit| f64::from(limit.burst)), at: Instant::now() }
    }

    /// How long the frame that has come has to wait. Meanwhile no further one is read, and the network holds them back.
    pub(super) fn wait(&mut self) -> Duration {
        let Some(limit) = self.limit else { return Duration::ZERO };
        let now = Instant::now();
        let gained = now.saturating_duration_since(self.at).as_secs_f64() * limit.per_second;
        self.left = (self.left + gained).min(f64::from(limit.burst)) - 1.0;
        self.at = now;
        Duration::try_from_secs_f64(-self.left / limit.per_second).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_without_end_are_read_at_a_pace() {
        let mut pace = Pace::new(Some(WEBSOCKET_FRAMES));
        let waits: Vec<Duration> = (0..2_000).map(|_| pace.wait()).collect();
        assert!(waits.iter().take(500).all(Duration::is_zero), "a burst is read at once");
        // Nobody has waited in between, so the last one would have to wait for all before it.
        let last = waits.last().copied().unwrap_or_default();
        assert!(last > Duration::from_secs(10) && last <= Duration::from_secs(15), "{last:?}");
        let mut free = Pace::new(None);
        assert!((0..2_000).all(|_| free.wait().is_zero()), "the only user of a machine is not held back");
    }
}
