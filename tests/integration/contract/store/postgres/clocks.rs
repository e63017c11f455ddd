//! Servers with different clocks share one queue, which uses the database's time.

use std::time::Duration;

use crate::planned::Finish;
use recall_domain::Timestamp;
use recall_ports::{KnowledgeCommit, NewMessage};

use super::{LEASE, World, event, new_message, seen_through, two};
use crate::server::within;

const SKEW: i64 = 5 * 60 * 1_000;

/// The time on a server whose clock is this many milliseconds off.
fn clock(off: i64) -> Timestamp {
    super::at(off)
}

async fn say(w: &World, now: Timestamp) -> recall_domain::SessionId {
    let session = w.session().await;
    w.append(NewMessage { created_at: now, sent_at: now, ..new_message(session, "m") }).await;
    session
}

#[tokio::test]
async fn fast_clock_does_not_take_held_lease() {
    let Some((_schema, stores)) = two().await else { return };
    let [right, fast] = seen_through(&stores);
    say(&right, clock(0)).await;
    let held = right.store.claim(clock(0), LEASE, 1).await.unwrap().remove(0);
    for now in [SKEW, 100 * SKEW, -SKEW] {
        assert!(fast.store.claim(clock(now), LEASE, 1).await.unwrap().is_empty(), "a lease was taken at {now}");
    }
    assert!(fast.store.extend(&held.claim, clock(-SKEW), LEASE).await.unwrap());
    assert!(fast.store.claim(clock(SKEW), LEASE, 1).await.unwrap().is_empty(), "an extension by a slow clock shortened the lease");
    let left = right.store.next_due(clock(SKEW)).await.unwrap().unwrap();
    assert!(left <= LEASE && left > LEASE - Duration::from_secs(20), "{left:?}");
}

#[tokio::test]
async fn jobs_queued_by_fast_clock_are_due_at_once() {
    let Some((_schema, stores)) = two().await else { return };
    let [slow, fast] = seen_through(&stores);
    let session = say(&fast, clock(SKEW)).await;
    fast.append(NewMessage { created_at: clock(SKEW), ..new_message(session, "next") }).await;
    let first = slow.store.claim(clock(-SKEW), LEASE, 4).await.unwrap();
    assert_eq!(first.len(), 1, "a message waits for the clock of another server");
    // The server with the fast clock ends the job; the next job of the lane must be due at once, too.
    let plan = KnowledgeCommit { now: clock(SKEW), ..fast.plan(session).await };
    fast.store.finish(&fast.caller, &plan, &first[0]).await.unwrap();
    let second = slow.store.claim(clock(-SKEW), LEASE, 4).await.unwrap().remove(0);
    fast.store.retry(&second.claim, clock(SKEW), Duration::ZERO, "busy").await.unwrap();
    let third = slow.store.claim(clock(-SKEW), LEASE, 4).await.unwrap().remove(0);
    assert_eq!(third.attempts, 2);
    slow.store.retry(&third.claim, clock(-SKEW), LEASE, "busy").await.unwrap();
    assert!(fast.store.claim(clock(SKEW), LEASE, 4).await.unwrap().is_empty(), "a delay ended early");
    assert!(fast.store.next_due(clock(SKEW)).await.unwrap().unwrap() > LEASE / 2);
}

#[tokio::test]
async fn lease_expires_by_database_clock() {
    let Some((_schema, stores)) = two().await else { return };
    let [right, slow] = seen_through(&stores);
    let session = say(&right, clock(0)).await;
    let lost = right.store.claim(clock(SKEW), Duration::from_millis(20), 1).await.unwrap().remove(0);
    let expired = async {
        loop {
            if let Some(job) = slow.store.claim(clock(-SKEW), LEASE, 1).await.unwrap().pop() {
                break job;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let taken = within("the lease does not expire", expired).await;
    assert_eq!((taken.session, taken.claim.job, taken.attempts), (session, lost.claim.job, 2));
    assert!(right.store.bury(&right.caller, &lost.claim, &event(session), "late", clock(SKEW)).await.is_err());
}
