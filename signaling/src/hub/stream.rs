//! An active stream: the state that its tailer and its subscribers share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::HubConfig;
use super::ephemeral::{Ephemeral, EphemeralLog};
use super::ring::Ring;
use crate::frame::Bye;
use crate::source::{EventSource, LogHead, NumberedEvent};

pub(super) struct ActiveStream<S: EventSource> {
    pub(super) key: S::Stream,
    /// Never changes: a stream whose log is rebuilt ends, and a new one replaces it.
    epoch: String,
    shared: Mutex<Shared>,
    /// Counts changes of `shared`. A subscriber marks the count as seen before it reads `shared`. So a
    /// change between its read and its wait wakes it.
    version: watch::Sender<u64>,
    wake: Notify,
    subscribers: AtomicUsize,
    /// Cancelled to end the tailer.
    pub(super) stop: CancellationToken,
}

#[derive(Debug)]
struct Shared {
    head: u64,
    ring: Ring,
    ephemerals: EphemeralLog,
    ended: Option<Bye>,
    idle_since: Instant,
}

impl Shared {
    fn append(&mut self, events: Vec<NumberedEvent>) {
        for event in events {
            if event.seq > self.head {
                self.head = event.seq;
                self.ring.push(Arc::new(event));
            }
        }
    }
}

/// The next delivery after a position.
pub(super) enum Next {
    /// The stream has ended.
    Ended(Bye),
    /// An ephemeral event with its number.
    Ephemeral(u64, Arc<Ephemeral>),
    /// An event from the ring.
    Event(Arc<NumberedEvent>),
    /// The next event exists, but only in the log.
    InLog,
    /// The position is at or after this head.
    AtHead(u64),
}

impl<S: EventSource> ActiveStream<S> {
    pub(super) fn new(key: S::Stream, head: &LogHead, config: &HubConfig, stop: CancellationToken) -> Self {
        Self {
            key,
            epoch: head.epoch.clone(),
            shared: Mutex::new(Shared {
                head: head.head,
                ring: Ring::new(config.ring_events, config.ring_bytes),
                ephemerals: EphemeralLog::default(),
                ended: None,
                idle_since: Instant::now(),
            }),
            version: watch::Sender::new(0),
            wake: Notify::new(),
            subscribers: AtomicUsize::new(0),
            stop,
        }
    }

    pub(super) fn epoch(&self) -> &str {
        &self.epoch
    }

    pub(super) fn head(&self) -> u64 {
        self.shared.lock().head
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    fn changed(&self) {
        self.version.send_modify(|version| *version += 1);
    }

    // Subscribers

    pub(super) fn subscribers(&self) -> usize {
        self.subscribers.load(Ordering::Acquire)
    }

    /// Adds a subscriber. Call it only under the lock of the hub's table, so that the stream cannot be
    /// retired at the same time.
    pub(super) fn join(&self) {
        self.subscribers.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn leave(&self) {
        let mut shared = self.shared.lock();
        if self.subscribers.fetch_sub(1, Ordering::AcqRel) == 1 {
            shared.idle_since = Instant::now();
            shared.ephemerals.clear();
        }
    }

    /// Since when the stream has no subscribers, if it has none.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let shared = self.shared.lock();
        (self.subscribers() == 0).then_some(shared.idle_since)
    }

    /// The number that the next ephemeral event will get.
    pub(super) fn next_ephemeral(&self) -> u64 {
        self.shared.lock().ephemerals.next()
    }

    /// The number of the first ephemeral event from `ephemeral` on that was sent at `position` or later.
    pub(super) fn ephemerals_from(&self, position: u64, ephemeral: u64) -> u64 {
        self.shared.lock().ephemerals.skip_before(position, ephemeral)
    }

    /// Returns the next delivery after `position` and from ephemeral number `ephemeral` on.
    pub(super) fn next(&self, position: u64, ephemeral: u64) -> Next {
        let shared = self.shared.lock();
        if let Some(bye) = shared.ended {
            return Next::Ended(bye);
        }
        if let Some((number, found)) = shared.ephemerals.get(ephemeral)
            && found.after <= position
        {
            return Next::Ephemeral(number, found.clone());
        }
        if position >= shared.head {
            return Next::AtHead(shared.head);
        }
        match shared.ring.get(position + 1) {
            Some(event) => Next::Event(event.clone()),
            None => Next::InLog,
        }
    }

    // Writers

    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    pub(super) async fn wait_for_wake(&self) {
        self.wake.notified().await;
    }

    pub(super) fn ephemeral(&self, kind: &str, data: Value) {
        if self.subscribers() == 0 {
            return;
        }
        {
            let mut shared = self.shared.lock();
            let after = shared.head;
            shared.ephemerals.push(Ephemeral { kind: kind.to_owned(), data, after });
        }
        self.changed();
    }

    /// Appends entries that the tailer has read. Ignores entries up to the head, which are known.
    pub(super) fn append(&self, events: Vec<NumberedEvent>) {
        self.shared.lock().append(events);
        self.changed();
    }

    /// Appends entries that follow the head, and ignores known ones. Returns false, and appends nothing, if one is missing or there are none.
    pub(super) fn extend(&self, events: Vec<NumberedEvent>) -> bool {
        let continues = {
            let mut shared = self.shared.lock();
            let has_hole = events.windows(2).any(|pair| pair[0].seq + 1 != pair[1].seq);
            let continues = !has_hole && events.first().is_some_and(|first| first.seq <= shared.head + 1);
            if continues {
                shared.append(events);
            }
            continues
        };
        if continues {
            self.changed();
        }
        continues
    }

    /// Moves the head past entries that were pruned before they were read.
    pub(super) fn skip_to(&self, head: u64) {
        {
            let mut shared = self.shared.lock();
            if head > shared.head {
                shared.head = head;
                shared.ring.clear();
            }
        }
        self.changed();
    }

    /// Ends all subscriptions and the tailer. If called again, the first reason stays.
    pub(super) fn end(&self, bye: Bye) {
        self.shared.lock().ended.get_or_insert(bye);
        self.stop.cancel();
        self.changed();
    }
}
