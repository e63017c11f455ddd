//! Tests of the hub with paused time, which advances only when all tasks wait. So the results do not
//! depend on the speed of the machine.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use proptest::prelude::*;
use serde_json::{json, value::to_raw_value};
use tokio::time::sleep;

use super::*;
use crate::source::{LogPage, NumberedEvent};

/// A log with slow reads, so that other tasks run in between.
struct Log {
    state: Mutex<(String, u64, u64)>,
    failing: AtomicBool,
    reads: AtomicU64,
}

impl Log {
    fn new() -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(("e1".into(), 0, 1)), failing: AtomicBool::new(false), reads: AtomicU64::new(0) })
    }

    fn append(&self, count: u64) {
        self.state.lock().1 += count;
    }

    fn trim(&self, floor: u64) {
        let mut state = self.state.lock();
        state.2 = state.2.max(floor.min(state.1 + 1));
    }

    fn end(&self) -> u64 {
        self.state.lock().1
    }

    fn floor(&self) -> u64 {
        self.state.lock().2
    }

    async fn delay(&self) -> Result<(), SourceError> {
        let reads = self.reads.fetch_add(1, Ordering::Relaxed);
        sleep(Duration::from_millis(reads % 4)).await;
        match self.failing.load(Ordering::Relaxed) {
            true => Err(SourceError::Unavailable("switched off".into())),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl EventSource for Log {
    type Stream = u8;

    fn name(stream: &u8) -> String {
        stream.to_string()
    }

    async fn head(&self, stream: &u8) -> Result<LogHead, SourceError> {
        self.delay().await?;
        if *stream != 0 {
            return Err(SourceError::NotFound);
        }
        let (epoch, head, floor) = self.state.lock().clone();
        Ok(LogHead { epoch, head, floor })
    }

    async fn read(&self, _: &u8, after: u64, limit: usize) -> Result<LogPage, SourceError> {
        let (epoch, head, floor) = self.state.lock().clone();
        self.delay().await?;
        let events = (after.max(floor - 1) + 1..=head).take(limit).map(entry);
        Ok(LogPage { events: events.collect(), head: LogHead { epoch, head, floor } })
    }
}

fn entry(seq: u64) -> NumberedEvent {
    NumberedEvent { seq, id: seq.to_string(), kind: "test".into(), ts: String::new(), data: to_raw_value(&seq).unwrap() }
}

fn config() -> HubConfig {
    HubConfig { ring_events: 3, page: 2, ..HubConfig::default() }
}

fn from(seq: u64) -> Resume {
    Resume::From { epoch: "e1".into(), seq }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(future)
}

/// A subscriber that checks what it gets.
struct Reader {
    subscription: Subscription<Log>,
    position: u64,
    caught_up: bool,
    ephemeral: u64,
}

impl Reader {
    async fn new(hub: &Arc<Hub<Log>>, resume: Resume) -> Self {
        let subscription = hub.subscribe(0, resume.clone()).await.unwrap();
        let welcome = subscription.welcome();
        let position = match resume {
            Resume::Live => welcome.head,
            Resume::From { seq, .. } => match welcome.reason {
                None | Some(NotRecovered::Expired) => seq,
                Some(_) => 0,
            },
        };
        Self { subscription, position, caught_up: false, ephemeral: 0 }
    }

    fn check(&mut self, delivery: Option<Delivery>, log: &Log) {
        match delivery.unwrap() {
            Delivery::Event(event) => {
                assert_eq!(event.seq, self.position + 1, "events are in order, without loss or duplicate");
                assert_eq!(event.data.get(), event.seq.to_string());
                self.position = event.seq;
            }
            Delivery::Gap { from, to, .. } => {
                assert_eq!(from, self.position + 1);
                let never_continued = self.subscription.welcome().reason == Some(NotRecovered::AheadOfLog);
                assert!(to < log.floor() || never_continued, "only pruned events are a gap");
                self.position = to;
            }
            Delivery::CaughtUp { seq } => {
                assert_eq!(seq, self.position);
                self.caught_up = true;
            }
            Delivery::Ephemeral { data, .. } => {
                let number = data["number"].as_u64().unwrap();
                assert!(number > self.ephemeral, "ephemeral events are in order, without duplicate");
                assert!(data["after"].as_u64().unwrap() <= self.position);
                assert!(self.position <= data["before"].as_u64().unwrap(), "a fragment of an answer never comes after the answer");
                self.ephemeral = number;
            }
            Delivery::End(bye) => panic!("ended with {bye:?}"),
        }
    }

    /// Takes up to `count` deliveries and waits up to `patience` for each.
    async fn take(&mut self, count: usize, patience: Duration, log: &Log) {
        for _ in 0..count {
            if let Ok(delivery) = timeout(patience, self.subscription.next()).await {
                self.check(delivery, log);
            }
        }
    }

    async fn drain(&mut self, log: &Log) {
        while let Ok(delivery) = timeout(Duration::from_secs(60), self.subscription.next()).await {
            self.check(delivery, log);
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Append(u64),
    AppendUnwoken(u64),
    AppendDelivered(u64),
    Wake,
    Ephemeral,
    Subscribe(u64),
    SubscribeLive,
    Drop(usize),
    Take(usize, usize, u64),
    Trim(u64),
    Fail(u64),
    Pause(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1u64..6).prop_map(Step::Append),
        1 => (1u64..3).prop_map(Step::AppendUnwoken),
        4 => (1u64..6).prop_map(Step::AppendDelivered),
        1 => Just(Step::Wake),
        2 => Just(Step::Ephemeral),
        2 => (0u64..40).prop_map(Step::Subscribe),
        1 => Just(Step::SubscribeLive),
        1 => (0usize..8).prop_map(Step::Drop),
        6 => (0usize..8, 1usize..6, 0u64..6).prop_map(|(who, count, ms)| Step::Take(who, count, ms)),
        1 => (1u64..40).prop_map(Step::Trim),
        1 => (1u64..200).prop_map(Step::Fail),
        1 => (1u64..40).prop_map(Step::Pause),
    ]
}

async fn play(steps: Vec<Step>) {
    let log = Log::new();
    let hub = Hub::new(log.clone(), config());
    let mut readers: Vec<Reader> = vec![];
    let mut said = 0;
    for step in steps {
        match step {
            Step::Append(count) => {
                log.append(count);
                hub.wake(&0);
            }
            Step::AppendUnwoken(count) => log.append(count),
            Step::AppendDelivered(count) => {
                let known = log.end();
                log.append(count);
                hub.deliver(&0, Some("e1"), || Some((known + 1..=known + count).map(entry).collect()));
            }
            Step::Wake => hub.wake(&0),
            Step::Ephemeral => {
                said += 1;
                let after = hub.streams.lock().get(&0).map_or(0, |active| active.head());
                hub.ephemeral(&0, "delta", json!({"number": said, "after": after, "before": log.end()}));
            }
            Step::Subscribe(seq) => readers.push(Reader::new(&hub, from(seq)).await),
            Step::SubscribeLive => readers.push(Reader::new(&hub, Resume::Live).await),
            Step::Drop(who) if who < readers.len() => drop(readers.swap_remove(who)),
            Step::Take(who, count, ms) => {
                if let Some(reader) = readers.get_mut(who) {
                    reader.take(count, Duration::from_millis(ms), &log).await;
                }
            }
            Step::Trim(floor) => log.trim(floor),
            Step::Fail(ms) => {
                log.failing.store(true, Ordering::Relaxed);
                sleep(Duration::from_millis(ms)).await;
                log.failing.store(false, Ordering::Relaxed);
            }
            Step::Pause(ms) => sleep(Duration::from_millis(ms)).await,
            Step::Drop(_) => {}
        }
    }
    for reader in &mut readers {
        reader.drain(&log).await;
        assert_eq!(reader.position, log.end(), "all events arrive");
        assert!(reader.caught_up);
    }
    assert_eq!(hub.stats().subscribers, readers.len());
    drop(readers);
    sleep(Duration::from_secs(120)).await;
    assert_eq!(hub.stats(), HubStats::default(), "the hub is empty again");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn each_subscriber_gets_all_events_in_order(steps in proptest::collection::vec(step(), 0..80)) {
        run(play(steps));
    }
}

#[test]
fn log_head_decides_where_a_subscription_starts() {
    let head = LogHead { epoch: "e1".into(), head: 10, floor: 4 };
    let begin = |resume| {
        let start = Start::decide(resume, &head);
        (start.position, start.not_recovered, start.gap)
    };
    let expired = (3, 3, GapReason::Expired);
    assert_eq!(begin(Resume::Live), (10, None, None));
    assert_eq!(begin(from(10)), (10, None, None));
    assert_eq!(begin(from(3)), (3, None, None));
    assert_eq!(begin(from(2)), (3, Some(NotRecovered::Expired), Some(expired)));
    let whole_log = (1, 10, GapReason::AheadOfLog);
    assert_eq!(begin(from(11)), (10, Some(NotRecovered::AheadOfLog), Some(whole_log)));
    assert_eq!(begin(from(u64::MAX)), (10, Some(NotRecovered::AheadOfLog), Some(whole_log)));
    let other = Resume::From { epoch: "e0".into(), seq: 5 };
    let whole_log = (1, 10, GapReason::EpochChanged);
    assert_eq!(begin(other), (10, Some(NotRecovered::EpochChanged), Some(whole_log)));
}

#[test]
fn poll_delivers_events_after_a_lost_wake() {
    run(async {
        let log = Log::new();
        let hub = Hub::new(log.clone(), config());
        let mut reader = Reader::new(&hub, Resume::Live).await;
        log.append(5);
        reader.drain(&log).await;
        assert_eq!(reader.position, 5);
    });
}

#[test]
fn given_entries_are_delivered_without_a_read() {
    run(async {
        let log = Log::new();
        let hub = Hub::new(log.clone(), config());
        let mut reader = Reader::new(&hub, Resume::Live).await;
        reader.drain(&log).await;
        // Far from the next poll.
        hub.wake(&0);
        sleep(Duration::from_secs(1)).await;
        let reads = log.reads.load(Ordering::Relaxed);
        log.append(3);
        hub.deliver(&0, None, || Some((1..=3).map(entry).collect()));
        reader.take(3, Duration::ZERO, &log).await;
        assert_eq!((reader.position, log.reads.load(Ordering::Relaxed)), (3, reads));
    });
}

#[test]
fn log_is_read_if_given_entries_are_not_complete() {
    run(async {
        let log = Log::new();
        let hub = Hub::new(log.clone(), config());
        let mut reader = Reader::new(&hub, Resume::Live).await;
        reader.drain(&log).await;
        for given in [None, Some(vec![]), Some(vec![8]), Some(vec![10, 12])] {
            log.append(3);
            hub.deliver(&0, Some("e1"), || Some(given?.into_iter().map(entry).collect()));
            // Far from the next poll.
            reader.take(5, Duration::from_secs(1), &log).await;
            assert_eq!(reader.position, log.end());
        }
    });
}

#[test]
fn rebuilt_log_ends_subscriptions_with_restart() {
    rebuild(|hub| hub.wake(&0));
    rebuild(|hub| hub.deliver(&0, Some("e2"), || Some(vec![entry(4)])));
}

/// Checks that subscribers of a log that is replaced end, after `tell` tells the hub of new entries.
fn rebuild(tell: impl FnOnce(&Hub<Log>)) {
    run(async {
        let log = Log::new();
        log.append(3);
        let hub = Hub::new(log.clone(), config());
        let mut reader = Reader::new(&hub, from(0)).await;
        reader.drain(&log).await;
        // The new log is longer: by numbers alone it would look like a continuation.
        *log.state.lock() = ("e2".into(), 9, 1);
        tell(&hub);
        let Some(Delivery::End(bye)) = reader.subscription.next().await else {
            panic!("not ended");
        };
        assert_eq!((bye.code, bye.reconnect), (ByeCode::Restart, true));
        assert!(reader.subscription.next().await.is_none());
        let mut again = hub.subscribe(0, from(3)).await.unwrap();
        assert_eq!(again.welcome().reason, Some(NotRecovered::EpochChanged));
        assert!(matches!(again.next().await, Some(Delivery::Gap { from: 1, to: 9, .. })));
    });
}

#[test]
fn unavailable_log_ends_replays_but_not_live_subscriptions() {
    run(async {
        let log = Log::new();
        log.append(30);
        let hub = Hub::new(log.clone(), config());
        let mut live = Reader::new(&hub, Resume::Live).await;
        let mut replay = hub.subscribe(0, from(0)).await.unwrap();
        log.failing.store(true, Ordering::Relaxed);
        let Some(Delivery::End(bye)) = replay.next().await else {
            panic!("not ended");
        };
        assert_eq!((bye.code, bye.reconnect), (ByeCode::Unavailable, true));
        assert!(matches!(hub.subscribe(0, from(0)).await, Err(SourceError::Unavailable(_))));
        log.append(1);
        log.failing.store(false, Ordering::Relaxed);
        live.drain(&log).await;
        assert_eq!(live.position, 31);
    });
}

#[test]
fn end_of_a_stream_reaches_all_subscribers() {
    run(async {
        let log = Log::new();
        let hub = Hub::new(log.clone(), config());
        assert!(matches!(hub.subscribe(1, Resume::Live).await, Err(SourceError::NotFound)));
        let mut first = hub.subscribe(0, Resume::Live).await.unwrap();
        hub.end(&0, ByeCode::AuthExpired);
        assert!(matches!(first.next().await, Some(Delivery::End(bye)) if bye.code == ByeCode::AuthExpired));
        assert!(first.next().await.is_none());
        let mut second = hub.subscribe(0, Resume::Live).await.unwrap();
        hub.shutdown(Bye::from(ByeCode::Restart));
        assert!(matches!(second.next().await, Some(Delivery::End(bye)) if bye.code == ByeCode::Restart));
        assert!(hub.subscribe(0, Resume::Live).await.is_err());
    });
}

#[test]
fn ephemeral_events_are_ordered_and_bounded() {
    run(async {
        let log = Log::new();
        let hub = Hub::new(log.clone(), config());
        let mut reader = Reader::new(&hub, Resume::Live).await;
        let mut slow = hub.subscribe(0, Resume::Live).await.unwrap();
        for number in 1..=5000 {
            hub.ephemeral(&0, "delta", json!({"number": number, "after": 0, "before": 0}));
        }
        log.append(1);
        hub.wake(&0);
        reader.drain(&log).await;
        assert_eq!((reader.position, reader.ephemeral), (1, 5000));
        let mut seen = 0;
        loop {
            match slow.next().await.unwrap() {
                Delivery::Ephemeral { .. } => seen += 1,
                Delivery::Event(_) => break,
                _ => {}
            }
        }
        assert!(seen > 0 && seen < 300, "{seen} events kept for a slow subscriber");
        let mut late = hub.subscribe(0, from(0)).await.unwrap();
        assert!(matches!(late.next().await, Some(Delivery::Event(_))), "a late subscriber gets no older ephemeral event");
    });
}
