//! The system clock and the generator of random ids. No other module reads the clock or makes ids.

use parking_lot::Mutex;
use uuid::{ContextV7, Timestamp as UuidTime, Uuid};

use recall_domain::Timestamp;
use recall_ports::{Clock, Ids};

/// Reads the system clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "this is the clock")]
    fn now(&self) -> Timestamp {
        let now = chrono::Utc::now();
        Timestamp::from_timestamp_millis(now.timestamp_millis()).unwrap_or(now)
    }
}

/// Makes version 7 UUIDs in ascending order, also within one millisecond.
#[derive(Debug, Default)]
pub struct RandomIds {
    context: Mutex<ContextV7>,
}

impl Ids for RandomIds {
    fn fresh(&self) -> Uuid {
        let now = SystemClock.now();
        let (seconds, nanos) = (now.timestamp().max(0) as u64, now.timestamp_subsec_nanos());
        let context = self.context.lock();
        Uuid::new_v7(UuidTime::from_unix(&*context, seconds, nanos))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_ascending() {
        let ids = RandomIds::default();
        let all: Vec<Uuid> = (0..10_000).map(|_| ids.fresh()).collect();
        assert!(all.windows(2).all(|w| w[0] < w[1]));
    }
}
