//! Serves durable, numbered logs to any number of subscribers.
//!
//! Each stream that somebody listens to has one [`tailer`] that follows the log, a bounded
//! [`ring`] of recent events, and subscribers that *pull*: a subscriber owns a position, takes the
//! next event from the ring, and past it from the log in pages. There is no queue per subscriber,
//! so a slow one costs nothing but its own reads, and replay and live need no merging: both are
//! "the entry after my position".
//!
//! Invariant: what a subscription delivers is contiguous. The next event is the position plus one,
//! or a [`Delivery::Gap`] says which are missing.

mod cursor;
mod ephemeral;
mod ring;
mod stream;
mod subscription;
mod tailer;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

pub use cursor::{Cursor, CursorError, Resume};
pub use subscription::{Delivery, Subscription, Welcome};

use crate::frame::{Bye, ByeCode, GapReason, NotRecovered};
use crate::lock::lock;
use crate::source::{EventSource, LogHead, SourceError};
use stream::ActiveStream;

/// Bounds and intervals of a [`Hub`].
#[derive(Clone, Debug)]
pub struct HubConfig {
    /// Recent events kept in memory per active stream.
    pub ring_events: usize,
    /// Their size in bytes, as JSON.
    pub ring_bytes: usize,
    /// Entries per read from the log.
    pub page: usize,
    /// How often an active stream looks at its log without having been woken. A safety net for
    /// commits whose wake was lost, for example one of another server instance.
    pub poll: Duration,
    /// How long a stream without subscribers stays in memory, so that a reloaded page finds it.
    pub linger: Duration,
    /// Longest time one read of the log may take.
    pub read_timeout: Duration,
}

impl Default for HubConfig {
    fn default() -> Self {
        Self {
            ring_events: 1024,
            ring_bytes: 1024 * 1024,
            page: 256,
            poll: Duration::from_secs(10),
            linger: Duration::from_secs(30),
            read_timeout: Duration::from_secs(5),
        }
    }
}

/// What a hub holds now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HubStats {
    /// Streams in memory.
    pub streams: usize,
    /// Subscriptions to them.
    pub subscribers: usize,
}

type Streams<S> = HashMap<<S as EventSource>::Stream, Arc<ActiveStream<S>>>;

/// Serves the logs of one [`EventSource`]. See the module's page.
pub struct Hub<S: EventSource> {
    source: Arc<S>,
    config: HubConfig,
    streams: Mutex<Streams<S>>,
    stop: CancellationToken,
}

impl<S: EventSource> Hub<S> {
    /// A hub over `source`. It starts no task before somebody subscribes.
    pub fn new(source: Arc<S>, config: HubConfig) -> Arc<Self> {
        let config = HubConfig { page: config.page.max(1), ..config };
        Arc::new(Self { source, config, streams: Mutex::default(), stop: CancellationToken::new() })
    }

    /// Says that `stream` may have new entries. To be called after each commit: it never blocks,
    /// many calls count as one, and without listeners it is one look into a table.
    pub fn wake(&self, stream: &S::Stream) {
        if let Some(active) = lock(&self.streams).get(stream) {
            active.wake();
        }
    }

    /// Sends something that is not numbered to those who listen now. Whoever is behind may miss
    /// it; nobody gets it after a numbered event that was committed later.
    pub fn ephemeral(&self, stream: &S::Stream, kind: &str, data: Value) {
        let active = lock(&self.streams).get(stream).cloned();
        if let Some(active) = active {
            active.ephemeral(kind, data);
        }
    }

    /// Ends all subscriptions of a stream.
    pub fn end(&self, stream: &S::Stream, code: ByeCode) {
        let active = lock(&self.streams).remove(stream);
        if let Some(active) = active {
            active.end(Bye::from(code));
        }
    }

    /// Ends all subscriptions and refuses new ones.
    pub fn shutdown(&self, bye: Bye) {
        self.stop.cancel();
        let streams: Vec<_> = lock(&self.streams).drain().collect();
        for (_, active) in streams {
            active.end(bye);
        }
    }

    /// What is in memory now.
    pub fn stats(&self) -> HubStats {
        let streams = lock(&self.streams);
        HubStats { streams: streams.len(), subscribers: streams.values().map(|active| active.subscribers()).sum() }
    }

    /// Where the log of `stream` stands, within the read timeout.
    pub async fn head(&self, stream: &S::Stream) -> Result<LogHead, SourceError> {
        match timeout(self.config.read_timeout, self.source.head(stream)).await {
            Ok(result) => result,
            Err(elapsed) => Err(SourceError::Unavailable(Box::new(elapsed))),
        }
    }

    /// Subscribes to a stream, from a resume point or live.
    ///
    /// # Errors
    /// [`SourceError::NotFound`] without such a stream, [`SourceError::Unavailable`] when its log
    /// cannot be read or the hub has shut down.
    pub async fn subscribe(self: &Arc<Self>, stream: S::Stream, resume: Resume) -> Result<Subscription<S>, SourceError> {
        let head = self.head(&stream).await?;
        let start = Start::decide(resume, &head);
        let active = self.join(&stream, &head)?;
        if active.head() < head.head {
            active.wake();
        }
        Ok(Subscription::new(self, active, head, start))
    }

    /// The active stream of a key with one more subscriber, made when there is none.
    fn join(self: &Arc<Self>, stream: &S::Stream, head: &LogHead) -> Result<Arc<ActiveStream<S>>, SourceError> {
        let mut streams = lock(&self.streams);
        // Under the lock, so that a shutdown sees either the flag in here or the stream in there.
        if self.stop.is_cancelled() {
            return Err(SourceError::Unavailable("the server shuts down".into()));
        }
        if let Some(active) = streams.get(stream) {
            if active.epoch() == head.epoch {
                active.join();
                return Ok(active.clone());
            }
            // The log was rebuilt and the tailer has not noticed yet.
            active.end(Bye::from(ByeCode::Restart));
        }
        let active = Arc::new(ActiveStream::new(stream.clone(), head, &self.config, self.stop.child_token()));
        active.join();
        tailer::spawn(self, active.clone());
        streams.insert(stream.clone(), active.clone());
        Ok(active)
    }

    /// Takes a stream out of memory unless somebody subscribed meanwhile.
    fn retire(&self, active: &Arc<ActiveStream<S>>) -> bool {
        let mut streams = lock(&self.streams);
        if active.subscribers() > 0 {
            return false;
        }
        if streams.get(&active.key).is_some_and(|current| Arc::ptr_eq(current, active)) {
            streams.remove(&active.key);
        }
        true
    }

    /// Ends a stream whose log was rebuilt, so that its clients come back and learn the new epoch.
    fn replace(&self, active: &Arc<ActiveStream<S>>, code: ByeCode) {
        {
            let mut streams = lock(&self.streams);
            if streams.get(&active.key).is_some_and(|current| Arc::ptr_eq(current, active)) {
                streams.remove(&active.key);
            }
        }
        active.end(Bye::from(code));
    }
}

impl<S: EventSource> Drop for Hub<S> {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Where a new subscription begins.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Start {
    /// Everything up to here counts as delivered.
    position: u64,
    not_recovered: Option<NotRecovered>,
    /// What to report as missing first, `from..=to`; `to` may be `from - 1` for an empty log.
    gap: Option<(u64, u64, GapReason)>,
}

impl Start {
    /// Decides what a resume point means for a log. When it cannot be continued there is always a
    /// gap, so that a client needs one rule only: refetch, go on after `to`.
    fn decide(resume: Resume, head: &LogHead) -> Self {
        let anew =
            |not_recovered, reason| Self { position: head.head, not_recovered: Some(not_recovered), gap: Some((1, head.head, reason)) };
        match resume {
            Resume::Live => Self { position: head.head, not_recovered: None, gap: None },
            Resume::From { epoch, .. } if epoch != head.epoch => anew(NotRecovered::EpochChanged, GapReason::EpochChanged),
            Resume::From { seq, .. } if seq > head.head => anew(NotRecovered::AheadOfLog, GapReason::AheadOfLog),
            Resume::From { seq, .. } if seq.saturating_add(1) < head.floor => Self {
                position: head.floor - 1,
                not_recovered: Some(NotRecovered::Expired),
                gap: Some((seq + 1, head.floor - 1, GapReason::Expired)),
            },
            Resume::From { seq, .. } => Self { position: seq, not_recovered: None, gap: None },
        }
    }
}

#[cfg(test)]
mod tests;
