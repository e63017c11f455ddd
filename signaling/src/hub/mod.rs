//! Serves durable, numbered logs to any number of subscribers.
//!
//! Each active stream has one [`tailer`], which follows the log, a bounded [`ring`] of recent events,
//! and subscribers, which *pull*. An application that has the events that it just committed gives them
//! to [`Hub::deliver`], and the tailer has nothing to read. A subscriber has a position. It takes the next event from the ring,
//! or in pages from the log if the ring no longer has it. There is no queue per subscriber, so a slow
//! one costs only its own reads. Replay and live events need no merging: both are the entry after the
//! position.
//!
//! Invariant: a subscription delivers contiguous events. The next event is the position plus one, or a
//! [`Delivery::Gap`] says which events are missing.

mod cursor;
mod ephemeral;
mod ring;
mod stream;
mod subscription;
mod tailer;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

pub use cursor::{Cursor, CursorError, Resume};
pub use subscription::{Delivery, Subscription, Welcome};

use crate::frame::{Bye, ByeCode, GapReason, NotRecovered};
use crate::source::{EventSource, LogHead, NumberedEvent, SourceError};
use stream::ActiveStream;

/// Limits and intervals of a [`Hub`].
#[derive(Clone, Debug)]
pub struct HubConfig {
    /// Maximum number of recent events in memory per active stream.
    pub ring_events: usize,
    /// Maximum size of these events in bytes, as JSON.
    pub ring_bytes: usize,
    /// Entries per read of the log.
    pub page: usize,
    /// How often an active stream polls its log without a wake. It limits the delay after a lost wake,
    /// for example for a commit of another server.
    pub poll: Duration,
    /// How long a stream without subscribers stays in memory, for example during the reload of a page.
    pub linger: Duration,
    /// Timeout of one read of the log.
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

/// Counts of a hub.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HubStats {
    /// Number of streams in memory.
    pub streams: usize,
    /// Number of their subscriptions.
    pub subscribers: usize,
}

type Streams<S> = HashMap<<S as EventSource>::Stream, Arc<ActiveStream<S>>>;

/// Serves the logs of one [`EventSource`] to subscribers.
pub struct Hub<S: EventSource> {
    source: Arc<S>,
    config: HubConfig,
    streams: Mutex<Streams<S>>,
    stop: CancellationToken,
}

impl<S: EventSource> Hub<S> {
    /// Creates a hub over `source`. It starts no task before the first subscription.
    pub fn new(source: Arc<S>, config: HubConfig) -> Arc<Self> {
        let config = HubConfig { page: config.page.max(1), ..config };
        Arc::new(Self { source, config, streams: Mutex::default(), stop: CancellationToken::new() })
    }

    /// Announces that `stream` may have new entries. Call it after each commit whose entries [`Hub::deliver`] does not get.
    ///
    /// It never blocks. Several calls may be merged into one. Without subscribers it costs one table
    /// lookup.
    pub fn wake(&self, stream: &S::Stream) {
        if let Some(active) = self.streams.lock().get(stream) {
            active.wake();
        }
    }

    /// Delivers entries that were just committed, without a read of the log. Call it in the order of the commits.
    ///
    /// `epoch` is that of the log; `None` if it cannot have changed since the hub was made. `entries` are ascending, and are made only if
    /// the stream is active. The log is read instead if there are none, or if they do not continue what the stream has.
    pub fn deliver(&self, stream: &S::Stream, epoch: Option<&str>, entries: impl FnOnce() -> Option<Vec<NumberedEvent>>) {
        let Some(active) = self.streams.lock().get(stream).cloned() else { return };
        let is_same_log = epoch.is_none_or(|epoch| epoch == active.epoch());
        if !is_same_log || !entries().is_some_and(|entries| active.extend(entries)) {
            active.wake();
        }
    }

    /// Sends an ephemeral event to the current subscribers.
    ///
    /// A subscriber that is behind may miss it. No subscriber gets it after a numbered event that was
    /// committed later.
    pub fn ephemeral(&self, stream: &S::Stream, kind: &str, data: Value) {
        let active = self.streams.lock().get(stream).cloned();
        if let Some(active) = active {
            active.ephemeral(kind, data);
        }
    }

    /// Ends all subscriptions of a stream.
    pub fn end(&self, stream: &S::Stream, code: ByeCode) {
        let active = self.streams.lock().remove(stream);
        if let Some(active) = active {
            active.end(Bye::from(code));
        }
    }

    /// Ends all subscriptions and refuses new ones.
    pub fn shutdown(&self, bye: Bye) {
        self.stop.cancel();
        let streams: Vec<_> = self.streams.lock().drain().collect();
        for (_, active) in streams {
            active.end(bye);
        }
    }

    /// Returns the current counts.
    pub fn stats(&self) -> HubStats {
        let streams = self.streams.lock();
        HubStats { streams: streams.len(), subscribers: streams.values().map(|active| active.subscribers()).sum() }
    }

    /// Returns the current state of the log of `stream`.
    ///
    /// # Errors
    /// The error of the source, or [`SourceError::Unavailable`] after the read timeout.
    pub async fn head(&self, stream: &S::Stream) -> Result<LogHead, SourceError> {
        match timeout(self.config.read_timeout, self.source.head(stream)).await {
            Ok(result) => result,
            Err(elapsed) => Err(SourceError::Unavailable(Box::new(elapsed))),
        }
    }

    /// Subscribes to a stream, from a resume point or live.
    ///
    /// # Errors
    /// [`SourceError::NotFound`] if the stream does not exist. [`SourceError::Unavailable`] if its log
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

    /// Adds a subscriber to the active stream of a key. Creates the stream if needed.
    fn join(self: &Arc<Self>, stream: &S::Stream, head: &LogHead) -> Result<Arc<ActiveStream<S>>, SourceError> {
        let mut streams = self.streams.lock();
        // Checked under the lock: either this call sees the shutdown, or the shutdown sees the new stream.
        if self.stop.is_cancelled() {
            return Err(SourceError::Unavailable("the server is shutting down".into()));
        }
        if let Some(active) = streams.get(stream) {
            if active.epoch() == head.epoch {
                active.join();
                return Ok(active.clone());
            }
            // The log was rebuilt, and the tailer has not noticed it yet.
            active.end(Bye::from(ByeCode::Restart));
        }
        let active = Arc::new(ActiveStream::new(stream.clone(), head, &self.config, self.stop.child_token()));
        active.join();
        tailer::spawn(self, active.clone());
        streams.insert(stream.clone(), active.clone());
        Ok(active)
    }

    /// Removes a stream from memory, unless it has a new subscriber. Returns whether it was removed.
    fn retire(&self, active: &Arc<ActiveStream<S>>) -> bool {
        let mut streams = self.streams.lock();
        if active.subscribers() > 0 {
            return false;
        }
        if streams.get(&active.key).is_some_and(|current| Arc::ptr_eq(current, active)) {
            streams.remove(&active.key);
        }
        true
    }

    /// Removes a stream from memory and ends its subscriptions, so that clients reconnect to the new log.
    fn end_active(&self, active: &Arc<ActiveStream<S>>, code: ByeCode) {
        {
            let mut streams = self.streams.lock();
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

/// The start of a new subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Start {
    /// Events up to this number count as delivered.
    position: u64,
    /// Why the subscription cannot resume, if so.
    not_recovered: Option<NotRecovered>,
    /// The gap `from..=to` to report first. `to` is `from - 1` for an empty log.
    gap: Option<(u64, u64, GapReason)>,
}

impl Start {
    /// Decides where a subscription starts in a log.
    ///
    /// If it cannot resume, there is always a gap. So a client needs only one rule: fetch again and
    /// continue after `to`.
    fn decide(resume: Resume, head: &LogHead) -> Self {
        let from_head =
            |not_recovered, reason| Self { position: head.head, not_recovered: Some(not_recovered), gap: Some((1, head.head, reason)) };
        match resume {
            Resume::Live => Self { position: head.head, not_recovered: None, gap: None },
            Resume::From { epoch, .. } if epoch != head.epoch => from_head(NotRecovered::EpochChanged, GapReason::EpochChanged),
            Resume::From { seq, .. } if seq > head.head => from_head(NotRecovered::AheadOfLog, GapReason::AheadOfLog),
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
