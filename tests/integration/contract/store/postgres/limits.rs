//! Rate limits that all servers share.

use std::time::{Duration, Instant};

use recall_domain::{Caller, UserId, ViewerRole};
use recall_ports::{Allowances, Bucket, DrawOutcome};
use sqlx::Executor;

use super::two;
use crate::contract::store::given::fresh;

const SLOW: Bucket = Bucket { name: "requests", capacity: 10, per_second: 1e-3 };

fn someone() -> Caller {
    Caller::verified(UserId(fresh()), ViewerRole::User)
}

#[tokio::test]
async fn bucket_is_shared_between_servers_only() {
    let Some((schema, [a, b])) = two().await else { return };
    let (anna, boris) = (someone(), someone());
    assert_eq!(a.draw(&anna, SLOW, 1, 4).await.unwrap(), DrawOutcome::Tokens(4));
    assert_eq!(b.draw(&anna, SLOW, 1, 4).await.unwrap(), DrawOutcome::Tokens(4));
    assert_eq!(a.draw(&anna, SLOW, 0, 4).await.unwrap(), DrawOutcome::Tokens(2), "not the rest of the bucket");
    let DrawOutcome::Nothing(wait) = b.draw(&anna, SLOW, 1, 4).await.unwrap() else { panic!("a bucket gave more than it held") };
    assert!(wait > Duration::from_secs(900) && wait <= Duration::from_secs(1_000), "{wait:?}");
    assert_eq!(a.draw(&boris, SLOW, 1, 100).await.unwrap(), DrawOutcome::Tokens(10), "more than the capacity was drawn");
    assert_eq!(a.draw(&anna, Bucket { name: "messages_day", ..SLOW }, 1, 1).await.unwrap(), DrawOutcome::Tokens(1));
    // The bucket refills up to its capacity.
    let earlier = "UPDATE allowances SET as_of = as_of - interval '5000 seconds'";
    schema.connection().await.execute(earlier).await.unwrap();
    assert_eq!(b.draw(&anna, SLOW, 1, 3).await.unwrap(), DrawOutcome::Tokens(3));
    schema.connection().await.execute("UPDATE allowances SET as_of = as_of - interval '1 year'").await.unwrap();
    assert_eq!(b.draw(&anna, SLOW, 1, 100).await.unwrap(), DrawOutcome::Tokens(10));
}

#[tokio::test]
async fn overdrawn_bucket_refills_before_next_draw() {
    let Some((schema, [a, _])) = two().await else { return };
    let anna = someone();
    assert_eq!(a.draw(&anna, SLOW, 30, 34).await.unwrap(), DrawOutcome::Tokens(30));
    assert!(matches!(a.draw(&anna, SLOW, 1, 1).await.unwrap(), DrawOutcome::Nothing(wait) if wait > Duration::from_secs(20_000)));
    // A clock that jumps back neither removes nor adds tokens.
    schema.connection().await.execute("UPDATE allowances SET as_of = as_of + interval '1 day'").await.unwrap();
    assert!(matches!(a.draw(&anna, SLOW, 1, 1).await.unwrap(), DrawOutcome::Nothing(_)));
    schema.connection().await.execute("UPDATE allowances SET as_of = as_of - interval '1 day 22000 seconds'").await.unwrap();
    assert_eq!(a.draw(&anna, SLOW, 1, 1).await.unwrap(), DrawOutcome::Tokens(1));
}

/// `cargo test --test integration concurrent_draws -- --nocapture` prints the cost of a draw; most requests need
/// none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_draws_never_exceed_capacity() {
    let Some((_schema, stores)) = two().await else { return };
    let anna = someone();
    let draws = (0..200).map(|i| {
        let store = stores[i % 2].clone();
        tokio::spawn(async move { store.draw(&anna, Bucket { capacity: 300, ..SLOW }, 1, 2).await.unwrap() })
    });
    let mut given = 0;
    for drawn in draws.collect::<Vec<_>>() {
        if let DrawOutcome::Tokens(n) = drawn.await.unwrap() {
            given += n;
        }
    }
    assert_eq!(given, 300);
    let begun = Instant::now();
    for _ in 0..300 {
        stores[0].draw(&anna, Bucket { per_second: 1e6, ..SLOW }, 1, 2).await.unwrap();
    }
    println!("a draw takes {:?}", begun.elapsed() / 300);
}
