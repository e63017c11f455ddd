//! The log of the counter, in memory. Event n records when the counter reached n.

use std::collections::VecDeque;
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use parking_lot::Mutex;
use signaling::{EventSource, LogHead, LogPage, NumberedEvent, SourceError};

/// The name of the only stream.
pub(crate) const STREAM: &str = "counter";
/// Number of counts kept for clients that resume.
const KEPT: usize = 200_000;

/// The times of the last counts in microseconds since 1970, the number of the first, and the epoch.
pub(crate) struct CounterLog(Mutex<(VecDeque<u64>, u64)>, String);

impl Default for CounterLog {
    fn default() -> Self {
        // A restarted counter begins at 1 again, so its log needs a new epoch.
        Self(Mutex::new((VecDeque::new(), 1)), format!("e{}", now_us()))
    }
}

pub(crate) fn now_us() -> u64 {
    #[allow(clippy::disallowed_methods, reason = "an example is its own clock")]
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

impl CounterLog {
    pub(crate) fn count(&self) {
        let mut log = self.0.lock();
        log.0.push_back(now_us());
        if log.0.len() > KEPT {
            log.0.pop_front();
            log.1 += 1;
        }
    }
}

#[async_trait]
impl EventSource for CounterLog {
    type Stream = String;

    fn name(stream: &String) -> String {
        stream.clone()
    }

    async fn head(&self, stream: &String) -> Result<LogHead, SourceError> {
        if stream != STREAM {
            return Err(SourceError::NotFound);
        }
        let log = self.0.lock();
        let head = log.1 - 1 + log.0.len() as u64;
        Ok(LogHead { epoch: self.1.clone(), head, floor: log.1 })
    }

    async fn read(&self, _: &String, after: u64, limit: usize) -> Result<LogPage, SourceError> {
        let log = self.0.lock();
        let head = LogHead { epoch: self.1.clone(), head: log.1 - 1 + log.0.len() as u64, floor: log.1 };
        let first = (after + 1).max(log.1);
        let skip = usize::try_from(first - log.1).unwrap_or(usize::MAX);
        let counts = (first..).zip(log.0.iter().skip(skip)).take(limit);
        let events = counts.map(|(seq, at_us)| NumberedEvent {
            seq,
            id: format!("count-{seq}"),
            kind: "counted".to_owned(),
            ts: String::new(),
            data: serde_json::value::to_raw_value(&serde_json::json!({"count": seq, "at_us": at_us})).unwrap_or_default(),
        });
        Ok(LogPage { events: events.collect(), head })
    }
}
