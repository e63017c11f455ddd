//! Tests of token buckets: burst and rate, separation of callers, and buckets that servers share.
#![allow(clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation, clippy::cast_sign_loss)]

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tokio::time::Instant;

use super::{
    callers::CallerLimits,
    limiter::{Limiter, REFUSAL_DELAY, delay_refusal},
    shared::{SharedBuckets, TakeOutcome},
};
use crate::{
    error::ApiError,
    limits::{Limits, RateLimit},
};
use recall_domain::{Caller, UserId, ViewerRole};
use recall_ports::{Allowances, BackgroundTasks, Bucket, DrawOutcome, StoreError};

fn user(n: u128) -> UserId {
    UserId(uuid::Uuid::from_u128(n))
}

#[test]
fn flood_does_not_use_up_tokens_of_others() {
    let limiter = Limiter::new(Some(RateLimit { per_second: 1.0, burst: 10 }));
    let now = Instant::now();
    assert_eq!((0..1000).filter(|_| limiter.take_at(user(1), 1, now).is_ok()).count(), 10);
    assert_eq!((0..10).filter(|_| limiter.take_at(user(2), 1, now).is_ok()).count(), 10);
    let wait = limiter.take_at(user(1), 1, now).unwrap_err();
    assert!(wait <= Duration::from_secs(1) && limiter.take_at(user(1), 1, now + wait).is_ok(), "the returned wait is exact");
    limiter.take_at(user(3), 1, now).unwrap();
    limiter.charge(&user(3), 5.0);
    limiter.charge(&user(4), 5.0);
    assert_eq!((0..10).filter(|_| limiter.take_at(user(3), 1, now).is_ok()).count(), 4);
    limiter.charge(&user(3), 1e9);
    assert!(limiter.take_at(user(3), 1, now).unwrap_err() <= Duration::from_secs(1), "no debt");
    assert!(Limiter::new(None).take_at(user(1), 1, now).is_ok());
}

proptest::proptest! {
    #[test]
    fn bucket_grants_at_most_burst_plus_rate(steps in proptest::collection::vec(0u64..2_000, 1..200), per_minute in 1u32..600, burst in 1u32..20) {
        let limiter = Limiter::new(Some(RateLimit { per_second: f64::from(per_minute) / 60.0, burst }));
        let start = Instant::now();
        let (mut now, mut granted) = (start, 0u32);
        for step in steps {
            now += Duration::from_millis(step);
            granted += u32::from(limiter.take_at(user(1), 1, now).is_ok());
        }
        let max = f64::from(burst) + (now - start).as_secs_f64() * f64::from(per_minute) / 60.0;
        proptest::prop_assert!(f64::from(granted) <= max + 1e-6, "{granted} of {max}");
    }
}

/// A store of buckets in memory that never refills and may time out or fail.
#[derive(Default)]
struct Store {
    left: Mutex<HashMap<UserId, f64>>,
    draws: AtomicU32,
    slow: AtomicBool,
}

#[async_trait]
impl Allowances for Store {
    async fn draw(&self, caller: &Caller, bucket: Bucket, least: u32, max: u32) -> Result<DrawOutcome, StoreError> {
        self.draws.fetch_add(1, Ordering::SeqCst);
        if self.slow.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        tokio::task::yield_now().await;
        let mut left = self.left.lock().unwrap();
        let left = left.entry(caller.user()).or_insert(f64::from(bucket.capacity));
        if *left < 1.0 {
            return Ok(DrawOutcome::Nothing(Duration::from_secs(60)));
        }
        let given = f64::from(max).min(left.floor()).max(f64::from(least));
        *left -= given;
        Ok(DrawOutcome::Tokens(given as u32))
    }

    async fn charge(&self, caller: &Caller, bucket: Bucket, tokens: u32) -> Result<(), StoreError> {
        if self.slow.load(Ordering::SeqCst) {
            return Err(StoreError::Permanent("away".into()));
        }
        *self.left.lock().unwrap().entry(caller.user()).or_insert(f64::from(bucket.capacity)) -= f64::from(tokens);
        Ok(())
    }
}

fn caller(n: u128) -> Caller {
    Caller::verified(user(n), ViewerRole::User)
}

/// A bucket that does not fill while a test runs.
const BUCKET: Bucket = Bucket { name: "requests", capacity: 100, per_second: 1e-3 };

#[tokio::test]
async fn servers_sharing_a_bucket_grant_at_most_its_capacity() {
    let store = Arc::new(Store::default());
    let servers = [0, 1, 2].map(|_| SharedBuckets::new(store.clone(), BUCKET, 10, BackgroundTasks::default()));
    let asked = (0..600).map(|i| {
        let server = servers[i % 3].clone();
        tokio::spawn(async move { server.take(caller(1), 1).await })
    });
    let mut given = 0;
    for taken in asked.collect::<Vec<_>>() {
        match taken.await.unwrap() {
            TakeOutcome::Granted => given += 1,
            TakeOutcome::Refused(wait) => assert!(wait > Duration::ZERO),
            TakeOutcome::Unknown => panic!("the store was available"),
        }
    }
    // Tokens that a server has drawn in advance but not spent are lost to the others: one slice at most.
    assert!((80..=100).contains(&given), "{given}");
    assert_eq!(servers[0].take(caller(2), 1).await, TakeOutcome::Granted, "another caller has another bucket");
}

#[tokio::test]
async fn most_requests_and_all_refused_ones_skip_the_store() {
    let store = Arc::new(Store::default());
    let server = SharedBuckets::new(store.clone(), BUCKET, 10, BackgroundTasks::default());
    for _ in 0..100 {
        assert_eq!(server.take(caller(1), 1).await, TakeOutcome::Granted);
        tokio::task::yield_now().await;
    }
    let draws = store.draws.load(Ordering::SeqCst);
    assert!(draws <= 15, "{draws} draws for 100 requests");
    for _ in 0..100 {
        assert!(matches!(server.take(caller(1), 1).await, TakeOutcome::Refused(_)));
    }
    assert!(store.draws.load(Ordering::SeqCst) <= draws + 1, "a flood that is refused reaches the store");
}

#[tokio::test]
async fn several_tokens_are_granted_together_into_a_debt() {
    let store = Arc::new(Store::default());
    let server = SharedBuckets::new(store.clone(), BUCKET, 0, BackgroundTasks::default());
    assert_eq!(server.take(caller(1), 500).await, TakeOutcome::Granted, "a cost above the capacity is granted");
    let left = store.left.lock().unwrap()[&user(1)];
    assert!(left <= -400.0, "{left}");
    assert!(matches!(server.take(caller(1), 1).await, TakeOutcome::Refused(_)));
}

#[tokio::test]
async fn slow_store_delays_one_request_then_own_buckets_apply() {
    let store = Arc::new(Store { slow: true.into(), ..Store::default() });
    let limits = Limits { requests: Some(RateLimit { per_second: 1e-3, burst: 5 }), ..Limits::default() };
    let limits = CallerLimits::new(&limits, Some(&(store.clone() as Arc<dyn Allowances>)), &BackgroundTasks::default());
    let mut taken = 0;
    for _ in 0..20 {
        taken += u32::from(limits.request(caller(1)).await.is_ok());
    }
    assert_eq!(taken, 5, "the server's own limit applies");
    assert_eq!(store.draws.load(Ordering::SeqCst), 1, "the store is not called again for a while");
}

#[tokio::test]
async fn adopted_messages_are_counted_even_beyond_the_limit() {
    let limits = Limits { messages_by_day: Some(RateLimit { per_second: 1e-3, burst: 10 }), ..Limits::default() };
    for (shares, slow) in [(false, false), (true, false), (true, true)] {
        let store = Arc::new(Store { slow: slow.into(), ..Store::default() });
        let shared: Arc<dyn Allowances> = store.clone();
        let limits = CallerLimits::new(&limits, shares.then_some(&shared), &BackgroundTasks::default());
        limits.charge_adopted_messages(caller(1), 7).await;
        for n in 0..4 {
            assert_eq!(limits.messages(caller(1), 1).await.is_ok(), n < 3, "{shares} {slow} {n}");
        }
        limits.charge_adopted_messages(caller(1), 50).await;
        limits.charge_adopted_messages(caller(2), 0).await;
        assert!(limits.messages(caller(1), 1).await.is_err() && limits.messages(caller(2), 10).await.is_ok());
        if shares && !slow {
            let owed = store.left.lock().unwrap()[&user(1)];
            assert!((-50.0..-49.0).contains(&owed), "{owed}");
        }
    }
    let limiter = Limiter::new(limits.messages_by_day);
    limiter.force_charge(user(1), 60);
    assert!(limiter.take_at(user(1), 1, Instant::now()).unwrap_err() > Duration::from_secs(50_000), "the caller waits for the whole debt");
}

#[tokio::test]
async fn stream_is_counted_while_it_is_open() {
    let limits = CallerLimits::new(&Limits { streams_per_caller: Some(2), ..Limits::default() }, None, &BackgroundTasks::default());
    let open = [limits.stream(caller(1)).unwrap(), limits.stream(caller(1)).unwrap()];
    assert_eq!(limits.stream(caller(1)).err().unwrap().code(), "TOO_MANY_STREAMS");
    assert!(limits.stream(caller(2)).is_ok());
    drop(open);
    assert!(limits.stream(caller(1)).is_ok());
}

proptest::proptest! {
    #[test]
    fn batched_tokens_cost_as_much_as_single_ones(costs in proptest::collection::vec(1u32..50, 1..100)) {
        let limiter = Limiter::new(Some(RateLimit { per_second: 1.0, burst: 10 }));
        let start = Instant::now();
        let (mut now, mut taken, mut last) = (start, 0, 0);
        for cost in costs {
            now += match limiter.take_at(user(1), cost, now) {
                Ok(()) => { (taken, last) = (taken + cost, cost); Duration::from_millis(100) }
                Err(wait) => wait,
            };
        }
        let max = 10.0 + (now - start).as_secs_f64() + f64::from(last);
        proptest::prop_assert!(f64::from(taken) <= max + 1e-6, "{taken} of {max}");
    }
}

#[tokio::test]
async fn concurrent_requests_of_one_caller_delay_no_other() {
    let limits = CallerLimits::new(&Limits { requests_at_once: Some(2), ..Limits::default() }, None, &BackgroundTasks::default());
    let mut held = vec![limits.acquire_slot(caller(1)).await, limits.acquire_slot(caller(1)).await];
    assert!(tokio::time::timeout(Duration::from_millis(50), limits.acquire_slot(caller(1))).await.is_err(), "a third waits");
    assert!(limits.acquire_slot(caller(2)).await.is_some(), "another caller does not wait");
    held.pop();
    assert!(limits.acquire_slot(caller(1)).await.is_some());
    let free = CallerLimits::new(&Limits::default(), None, &BackgroundTasks::default());
    assert!(free.acquire_slot(caller(1)).await.is_none(), "without a limit there are no slots");
}

#[tokio::test]
async fn refusal_is_delayed() {
    let begun = Instant::now();
    let _ = delay_refusal(ApiError::rate_limited(Duration::from_secs(1))).await;
    assert!(begun.elapsed() >= REFUSAL_DELAY);
}
