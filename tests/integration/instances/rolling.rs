//! A rolling restart of all servers under load, as in an upgrade.

use std::time::Duration;

use super::{Instances, follower::follow_all};
use crate::postgres::Schema;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rolling_restart_under_load_loses_nothing() {
    let Some(schema) = Schema::new().await else { return };
    let all = Instances::start(&schema.url, 3);
    let sessions = all.sessions().await;
    let followers = follow_all(&all, &sessions).await;
    // No session ends before all servers are restarted.
    all.last_words.send_replace(false);
    let talk = all.talk(&sessions);
    for i in 0..3 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let all = all.clone();
        let well = tokio::task::spawn_blocking(move || all.restart(i)).await.unwrap();
        assert!(well, "the server did not exit cleanly");
    }
    all.last_words.send_replace(true);
    let done = talk.await.unwrap();
    all.check(&sessions, &done).await;
    let mut moved = 0;
    for follower in followers {
        let seen = follower.await.unwrap();
        assert!(seen.numbers.iter().copied().eq(1..=seen.numbers.len() as u64), "{seen:?}");
        assert!(seen.goodbyes.iter().all(|code| code == "restart"), "{seen:?}");
        moved += seen.goodbyes.len();
    }
    assert!(moved > 0, "no follower received a bye");
}
