//! One reader of one stream: a position in the log, and the next thing to deliver after it.

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
use crate::source::{EventSource, LogHead, NumberedEvent, SourceError};

/// How often in a row the log may fail before the subscription ends with `unavailable`.
const MAX_FAILED_READS: u32 = 6;
const FIRST_RETRY: Duration = Duration::from_millis(50);

/// How a subscription begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Welcome {
    /// Epoch of the log.
    pub epoch: String,
    /// Highest sequence number at the time.
    pub head: u64,
    /// Whether everything after the resume point will follow.
    pub recovered: bool,
    /// Why not. The first delivery is then a gap.
    pub reason: Option<NotRecovered>,
}

/// What a subscription delivers.
#[derive(Clone, Debug)]
pub enum Delivery {
    /// The next numbered event.
    Event(Arc<NumberedEvent>),
    /// An event without number.
    Ephemeral {
        /// Its type.
        kind: String,
        /// Its content.
        data: Value,
    },
    /// All that the log held has been delivered; what follows is live. Said once after the
    /// beginning, and again each time the subscriber had fallen out of the recent events.
    CaughtUp {
        /// The last delivered number.
        seq: u64,
    },
    /// Events `from..=to` cannot be delivered: refetch, go on after `to`.
    /// `to` is `from - 1` when a log that cannot be continued is empty.
    Gap {
        /// First missing number.
        from: u64,
        /// Last missing number.
        to: u64,
        /// Why.
        reason: GapReason,
    },
    /// The subscription has ended; nothing follows.
    End(Bye),
}

type PageRead = Pin<Box<dyn Future<Output = Result<Page, SourceError>> + Send>>;

struct Page {
    events: Vec<NumberedEvent>,
    head: LogHead,
}

/// One reader of one stream. Dropping it ends it.
pub struct Subscription<S: EventSource> {
    source: Arc<S>,
    page: usize,
    read_timeout: Duration,
    stream: Arc<ActiveStream<S>>,
    welcome: Welcome,
    changes: watch::Receiver<u64>,
    /// Everything up to here was delivered or is in `ready`.
    position: u64,
    next_ephemeral: u64,
    ready: VecDeque<Delivery>,
    /// A read under way. Kept here and not in `next`, so that dropping the future of `next` (as
    /// `select!` does) neither repeats nor loses it.
    reading: Option<PageRead>,
    failed_reads: u32,
    /// Whether `CaughtUp` is owed.
    behind: bool,
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
            behind: true,
            ended: false,
            stream,
        };
        if let Some((from, to, reason)) = start.gap {
            subscription.queue_gap(from, to, reason);
        }
        subscription
    }

    /// How the subscription begins.
    pub fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// The highest number known to exist.
    pub fn head(&self) -> u64 {
        self.stream.head().max(self.position)
    }

    /// The next delivery, or `None` after the end. May be dropped and called again at any time.
    pub async fn next(&mut self) -> Option<Delivery> {
        loop {
            if self.ended {
                return None;
            }
            // Before looking: what changes after the look then ends the wait below.
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
                    if self.behind && self.position >= head.max(self.welcome.head) {
                        self.behind = false;
                        return Some(Delivery::CaughtUp { seq: self.position });
                    }
                    // The sender lives in `stream`, so this cannot fail while we hold it.
                    let _ = self.changes.changed().await;
                }
                Next::InLog => {
                    self.behind = true;
                    let reading = match self.reading.take() {
                        Some(reading) => reading,
                        None => self.read_page(),
                    };
                    let reading = self.reading.insert(reading);
                    tokio::select! {
                        page = reading => {
                            self.reading = None;
                            self.take(page);
                        }
                        _ = self.changes.changed() => {}
                    }
                }
            }
        }
    }

    /// A read of the page after the position. It owns what it needs, and does nothing before it is
    /// polled.
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
            let read = async {
                let events = source.read(&key, after, page).await?;
                // After the read, as in the tailer: it tells of which epoch the entries are.
                let head = source.head(&key).await?;
                Ok(Page { events, head })
            };
            match timeout(limit, read).await {
                Ok(result) => result,
                Err(elapsed) => Err(SourceError::Unavailable(Box::new(elapsed))),
            }
        })
    }

    /// Queues what a read gave.
    fn take(&mut self, page: Result<Page, SourceError>) {
        let page = match page {
            Ok(page) => page,
            Err(SourceError::NotFound) => return self.queue_end(ByeCode::Deleted),
            Err(SourceError::Unavailable(_)) => return self.failed(),
        };
        if page.head.epoch != self.welcome.epoch {
            return self.queue_end(ByeCode::Restart);
        }
        if page.events.is_empty() {
            if page.head.floor > self.position + 1 {
                let (from, to) = (self.position + 1, page.head.floor - 1);
                self.position = to;
                self.queue_gap(from, to, GapReason::Expired);
                self.advanced();
            } else {
                // The entry exists, says the head, but cannot be read.
                self.failed();
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
            true => self.advanced(),
            false => self.failed(),
        }
    }

    /// What comes up to the position is queued. Ephemeral events said before it have lost their place.
    fn advanced(&mut self) {
        self.failed_reads = 0;
        self.next_ephemeral = self.stream.ephemerals_from(self.position, self.next_ephemeral);
    }

    fn failed(&mut self) {
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
