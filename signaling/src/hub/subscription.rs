//! A subscription: a position in the log of one stream, and the next delivery after it.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::stream::{ActiveStream, Next};
use super::{Hub, Start};
use crate::frame::{Bye, ByeCode, GapReason, NotRecovered};
use crate::source::{EventSource, LogHead, LogPage, NumberedEvent, SourceError};

/// Number of consecutive failed reads after which the subscription ends with `unavailable`.
const MAX_FAILED_READS: u32 = 6;
const FIRST_RETRY: Duration = Duration::from_millis(50);

/// The state of a stream when a subscription starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Welcome {
    /// Epoch of the log.
    pub epoch: String,
    /// Highest sequence number at the start.
    pub head: u64,
    /// Whether everything after the resume point will follow.
    pub recovered: bool,
    /// Why not everything follows. The first delivery is then a gap.
    pub reason: Option<NotRecovered>,
}

/// A delivery of a subscription.
#[derive(Clone, Debug)]
pub enum Delivery {
    /// The next numbered event.
    Event(Arc<NumberedEvent>),
    /// An ephemeral event.
    Ephemeral {
        /// Its type.
        kind: String,
        /// Its content.
        data: Value,
    },
    /// Everything in the log has been delivered; live events follow.
    ///
    /// Delivered once after the start, and again each time the subscriber had fallen behind the ring.
    CaughtUp {
        /// The last delivered sequence number.
        seq: u64,
    },
    /// Events `from..=to` cannot be delivered. The client fetches its state again and continues after `to`.
    ///
    /// `to` is `from - 1` if the log is empty and the subscription cannot resume.
    Gap {
        /// First missing sequence number.
        from: u64,
        /// Last missing sequence number.
        to: u64,
        /// Why the events are missing.
        reason: GapReason,
    },
    /// The subscription has ended; nothing follows.
    End(Bye),
}

type PageRead = Pin<Box<dyn Future<Output = Result<LogPage, SourceError>> + Send>>;

/// A subscription to one stream, until it is dropped.
pub struct Subscription<S: EventSource> {
    source: Arc<S>,
    page: usize,
    read_timeout: Duration,
    stream: Arc<ActiveStream<S>>,
    welcome: Welcome,
    changes: watch::Receiver<u64>,
    /// Events up to this number were delivered or are in `ready`.
    position: u64,
    next_ephemeral: u64,
    ready: VecDeque<Delivery>,
    /// A read in progress. It is kept here, so that dropping the future of `next`, as `select!` does,
    /// neither repeats nor loses it.
    reading: Option<PageRead>,
    failed_reads: u32,
    /// Whether `CaughtUp` is still to be delivered.
    is_behind: bool,
    ended: bool,
}

impl<S: EventSource> Subscription<S> {
    pub(super) fn new(hub: &Arc<Hub<S>>, stream: Arc<ActiveStream<S>>, head: LogHead, start: Start) -> Self {
        if start.position < head.head {
            metrics::counter!("recall_stream_replays_total").increment(1);
        }
        let mut subscription = Self {
            source: hub.source.clone(),
            page: hub.config.page,
            read_timeout: hub.config.read_timeout,
            welcome: Welcome { epoch: head.epoch, head: head.head, recovered: start.not_recovered.is_none(), reason: start.not_recovered },
            changes: stream.changes(),
            position: start.position,
            next_ephemeral: stream.next_ephemeral(),
            ready: VecDeque::new(),
            reading: None,
            failed_reads: 0,
            is_behind: true,
            ended: false,
            stream,
        };
        if let Some((from, to, reason)) = start.gap {
            subscription.queue_gap(from, to, reason);
        }
        subscription
    }

    /// The state of the stream when the subscription started.
    pub fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// The highest known sequence number.
    pub fn head(&self) -> u64 {
        self.stream.head().max(self.position)
    }

    /// Waits for the next delivery; `None` after the end. The future may be dropped at any time.
    pub async fn next(&mut self) -> Option<Delivery> {
        loop {
            if self.ended {
                return None;
            }
            // Before the read of the stream, so that any later change ends the wait below.
            self.changes.mark_unchanged();
            let next = self.stream.next(self.position, self.next_ephemeral);
            if let Next::Ended(bye) = next {
                return Some(self.end(bye));
            }
            if let Some(delivery) = self.ready.pop_front() {
                self.ended = matches!(delivery, Delivery::End(_));
                return Some(delivery);
            }
            match next {
                Next::Ended(_) => {}
                Next::Event(event) => {
                    self.reading = None;
                    self.position = event.seq;
                    return Some(Delivery::Event(event));
                }
                Next::Ephemeral(number, ephemeral) => {
                    self.next_ephemeral = number + 1;
                    return Some(Delivery::Ephemeral { kind: ephemeral.kind.clone(), data: ephemeral.data.clone() });
                }
                Next::AtHead(head) => {
                    self.reading = None;
                    if self.is_behind && self.position >= head.max(self.welcome.head) {
                        self.is_behind = false;
                        return Some(Delivery::CaughtUp { seq: self.position });
                    }
                    // Cannot fail, because `self.stream` owns the sender.
                    let _ = self.changes.changed().await;
                }
                Next::InLog => {
                    self.is_behind = true;
                    let reading = match self.reading.take() {
                        Some(reading) => reading,
                        None => self.read_page(),
                    };
                    let reading = self.reading.insert(reading);
                    tokio::select! {
                        page = reading => {
                            self.reading = None;
                            self.queue_page(page);
                        }
                        _ = self.changes.changed() => {}
                    }
                }
            }
        }
    }

    /// Returns a future that reads the page after the position, after a pause if reads have failed.
    fn read_page(&self) -> PageRead {
        let source = self.source.clone();
        let key = self.stream.key.clone();
        let (after, page, limit) = (self.position, self.page, self.read_timeout);
        let pause = match self.failed_reads {
            0 => None,
            failed => Some(FIRST_RETRY * 2u32.pow(failed - 1)),
        };
        Box::pin(async move {
            if let Some(pause) = pause {
                sleep(pause).await;
            }
            match timeout(limit, source.read(&key, after, page)).await {
                Ok(result) => result,
                Err(elapsed) => Err(SourceError::Unavailable(Box::new(elapsed))),
            }
        })
    }

    /// Queues the result of a read.
    fn queue_page(&mut self, page: Result<LogPage, SourceError>) {
        let page = match page {
            Ok(page) => page,
            Err(SourceError::NotFound) => return self.queue_end(ByeCode::Deleted),
            Err(SourceError::Unavailable(_)) => return self.count_failed_read(),
        };
        if page.head.epoch != self.welcome.epoch {
            return self.queue_end(ByeCode::Restart);
        }
        if page.events.is_empty() {
            if page.head.floor > self.position + 1 {
                let (from, to) = (self.position + 1, page.head.floor - 1);
                self.position = to;
                self.queue_gap(from, to, GapReason::Expired);
                self.position_moved();
            } else {
                // By the head the entry exists, but it cannot be read.
                self.count_failed_read();
            }
            return;
        }
        let before = self.position;
        for event in page.events {
            if event.seq <= self.position {
                continue;
            }
            let expected = self.position + 1;
            if event.seq > expected {
                let reason = match event.seq <= page.head.floor {
                    true => GapReason::Expired,
                    false => GapReason::Missing,
                };
                self.queue_gap(expected, event.seq - 1, reason);
            }
            self.position = event.seq;
            self.ready.push_back(Delivery::Event(Arc::new(event)));
        }
        match self.position > before {
            true => self.position_moved(),
            false => self.count_failed_read(),
        }
    }

    /// Updates the state after the position has moved. Ephemeral events from before it are skipped.
    fn position_moved(&mut self) {
        self.failed_reads = 0;
        self.next_ephemeral = self.stream.ephemerals_from(self.position, self.next_ephemeral);
    }

    fn count_failed_read(&mut self) {
        self.failed_reads += 1;
        if self.failed_reads >= MAX_FAILED_READS {
            self.queue_end(ByeCode::Unavailable);
        }
    }

    fn queue_gap(&mut self, from: u64, to: u64, reason: GapReason) {
        metrics::counter!("recall_stream_gaps_total").increment(1);
        self.ready.push_back(Delivery::Gap { from, to, reason });
    }

    fn queue_end(&mut self, code: ByeCode) {
        self.ready.push_back(Delivery::End(Bye::from(code)));
    }

    fn end(&mut self, bye: Bye) -> Delivery {
        self.ended = true;
        self.ready.clear();
        self.reading = None;
        Delivery::End(bye)
    }
}

impl<S: EventSource> Drop for Subscription<S> {
    fn drop(&mut self) {
        self.stream.leave();
    }
}
