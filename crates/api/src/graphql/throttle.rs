//! Limits how fast frames of one connection are read.
//!
//! Operations are counted by caller. Other frames, such as pings and invalid messages, are cheap, but a client could send them endlessly.

use std::time::Duration;

use tokio::time::Instant;

use crate::limits::RateLimit;

/// The limit for connections to a server with several users.
pub const WEBSOCKET_FRAMES: RateLimit = RateLimit { per_second: 100.0, burst: 500 };

/// A token bucket for frames.
pub(super) struct FrameThrottle {
    limit: Option<RateLimit>,
    left: f64,
    at: Instant,
}

impl FrameThrottle {
    pub(super) fn new(limit: Option<RateLimit>) -> Self {
        Self { limit, left: limit.map_or(0.0, |limit| f64::from(limit.burst)), at: Instant::now() }
    }

    /// Returns how long to wait before handling a received frame. No further frame is read meanwhile, so the network holds them back.
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
    fn endless_frames_are_read_at_the_limit() {
        let mut throttle = FrameThrottle::new(Some(WEBSOCKET_FRAMES));
        let waits: Vec<Duration> = (0..2_000).map(|_| throttle.wait()).collect();
        assert!(waits.iter().take(500).all(Duration::is_zero), "a burst is read at once");
        // The test does not wait, so the last frame has to wait for all frames before it.
        let last = waits.last().copied().unwrap_or_default();
        assert!(last > Duration::from_secs(10) && last <= Duration::from_secs(15), "{last:?}");
        let mut unlimited = FrameThrottle::new(None);
        assert!((0..2_000).all(|_| unlimited.wait().is_zero()), "there is no limit for the only user of a machine");
    }
}
