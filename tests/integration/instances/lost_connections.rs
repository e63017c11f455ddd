//! Servers whose database connections are cut, lose answers, or fall silent under load.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

use super::{Instances, follower::follow_all};
use crate::{
    postgres::Schema,
    proxy::{Lost, Proxy},
};

/// Starts servers, each with its own proxy to the database.
async fn start_behind_proxies(schema: &Schema, count: usize) -> (Vec<Proxy>, Arc<Instances>) {
    let (mut proxies, mut urls) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let (proxy, url) = Proxy::to(&schema.url).await;
        proxies.push(proxy);
        urls.push(url);
    }
    let all = tokio::task::spawn_blocking(move || Instances::start_at(urls)).await.unwrap();
    (proxies, all)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broken_database_connections_lose_and_duplicate_nothing() {
    let Some(schema) = Schema::new().await else { return };
    let (proxies, all) = start_behind_proxies(&schema, 3).await;
    let sessions = all.sessions().await;
    let talk = all.talk(&sessions);
    let over = AtomicBool::new(false);
    let cutting = async {
        for round in 0.. {
            tokio::time::sleep(Duration::from_millis(25)).await;
            if over.load(SeqCst) {
                return;
            }
            let proxy = &proxies[round % 3];
            match round % 4 {
                0 => proxy.cut(),
                // One at a time: if commits are rarer than this loop, none would succeed.
                _ if proxy.commits_left_to_lose() > 0 => {}
                n => proxy.lose_commits(&[if n == 2 { Lost::Request } else { Lost::Answer }]),
            }
        }
    };
    let talking = async {
        let done = talk.await.unwrap();
        over.store(true, SeqCst);
        done
    };
    let (done, ()) = tokio::join!(talking, cutting);
    all.check(&sessions, &done).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitioned_server_is_covered_and_recovers() {
    let Some(schema) = Schema::new().await else { return };
    let (proxies, all) = start_behind_proxies(&schema, 3).await;
    let sessions = all.sessions().await;
    // Followers stay at their server: those at the partitioned one receive the rest when it is back.
    let followers = follow_all(&all, &sessions).await;
    let talk = all.talk(&sessions);
    tokio::time::sleep(Duration::from_millis(100)).await;
    proxies[0].part();
    let seconds = std::env::var("PARTITION_SECONDS").ok().and_then(|v| v.parse().ok()).unwrap_or(4);
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    proxies[0].heal();
    let done = talk.await.unwrap();
    all.check(&sessions, &done).await;
    for follower in followers {
        let seen = follower.await.unwrap();
        assert!(seen.numbers.iter().copied().eq(1..=seen.numbers.len() as u64), "{seen:?}");
    }
}
