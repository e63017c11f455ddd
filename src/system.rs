//! The machine's clock and random ids. The only place that reads either.

use std::sync::Mutex;

use uuid::{ContextV7, Timestamp as UuidTime, Uuid};

use recall_domain::Timestamp;
use recall_ports::{Clock, Ids};

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "this is the clock")]
    fn now(&self) -> Timestamp {
        let now = chrono::Utc::now();
        Timestamp::from_timestamp_millis(now.timestamp_millis()).unwrap_or(now)
    }
}

/// Version 7 ids that grow even within one millisecond.
#[derive(Debug, Default)]
pub struct RandomIds {
    context: Mutex<ContextV7>,
}

impl Ids for RandomIds {
    fn fresh(&self) -> Uuid {
        let now = SystemClock.now();
        let (seconds, nanos) = (now.timestamp().max(0) as u64, now.timestamp_subsec_nanos());
        // A poisoned lock only means that another thread panicked between two ids; the counter is still sound.
        let context = self.context.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Uuid::new_v7(UuidTime::from_unix(&*context, seconds, nanos))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_grow() {
        let ids = RandomIds::default();
        let made: Vec<Uuid> = (0..10_000).map(|_| ids.fresh()).collect();
        assert!(made.windows(2).all(|w| w[0] < w[1]));
    }
}
