//! Notifications between servers.

use std::sync::{Arc, Mutex};

use recall_domain::{Caller, SessionId, UserId};
use recall_ports::{CommitListener, Inspect, LogEntry};
use recall_store_postgres::PostgresStore;
use tokio::sync::Notify;

use super::{CONFIG, at, event, seen_through, two};
use crate::server::TIMEOUT;

/// Records notifications for one user, because other tests use the same database.
#[derive(Default)]
struct Recorder {
    user: Mutex<Option<UserId>>,
    heard: Mutex<Vec<(&'static str, SessionId)>>,
    wake: Arc<Notify>,
    news: Notify,
}

impl Recorder {
    fn note(&self, what: &'static str, caller: &Caller, session: SessionId) {
        if *self.user.lock().unwrap() == Some(caller.user()) {
            self.heard.lock().unwrap().push((what, session));
            self.news.notify_one();
        }
    }

    fn forget_if_heard(&self, wanted: (&'static str, SessionId)) -> bool {
        let mut heard = self.heard.lock().unwrap();
        let there = heard.contains(&wanted);
        if there {
            heard.clear();
        }
        there
    }

    /// Waits for `wanted`, and forgets everything recorded.
    async fn hears(&self, wanted: (&'static str, SessionId)) {
        let heard = async {
            while !self.forget_if_heard(wanted) {
                self.news.notified().await;
            }
        };
        tokio::time::timeout(TIMEOUT, heard).await.unwrap_or_else(|_| panic!("{wanted:?} was not announced"));
    }
}

impl CommitListener for Recorder {
    fn deliver(&self, _: &[LogEntry]) {}

    fn committed(&self, caller: &Caller, session: Option<SessionId>) {
        session.into_iter().for_each(|session| self.note("committed", caller, session));
    }

    fn deleted(&self, caller: &Caller, session: SessionId) {
        self.note("deleted", caller, session);
    }
}

/// Writes until a notification arrives: only then do both listen.
async fn wait_until_listening(speaker: &super::World, ear: &Recorder) {
    *ear.user.lock().unwrap() = Some(speaker.caller.user());
    let session = speaker.session().await;
    loop {
        speaker.store.append_events(&speaker.caller, session, &[event(session)], at(0)).await.unwrap();
        let heard = ear.hears(("committed", session));
        if tokio::time::timeout(std::time::Duration::from_millis(200), heard).await.is_ok() {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_jobs_and_deletions_notify_other_servers_only() {
    let Some((_schema, stores)) = two().await else { return };
    let [a, _] = seen_through(&stores);
    let (own, others) = (Arc::new(Recorder::default()), Arc::new(Recorder::default()));
    stores[0].follow(own.clone(), own.wake.clone());
    stores[1].follow(others.clone(), others.wake.clone());
    wait_until_listening(&a, &others).await;

    let session = a.session().await;
    a.store.append_events(&a.caller, session, &[event(session)], at(0)).await.unwrap();
    others.hears(("committed", session)).await;
    // A stored wake-up from before must not count.
    let _ = futures_util::poll!(std::pin::pin!(others.wake.notified()));
    a.say(session, "with a job").await;
    others.hears(("committed", session)).await;
    tokio::time::timeout(TIMEOUT, others.wake.notified()).await.expect("a queued job did not wake the other server");
    a.store.delete_session(&a.caller, session, at(9), &|_, _| None).await.unwrap();
    others.hears(("deleted", session)).await;
    let session = a.session().await;
    a.store.begin_erasure(&a.caller, at(0)).await.unwrap();
    while a.store.erase(&a.caller, at(0), 5).await.unwrap().erasure.ended_at.is_none() {}
    others.hears(("deleted", session)).await;
    assert!(own.heard.lock().unwrap().is_empty(), "a server received its own notification");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notification_listener_reconnects_after_lost_connection() {
    let Some((schema, stores)) = two().await else { return };
    let [a, _] = seen_through(&stores);
    let url = format!("{}&application_name={}", schema.url, schema.name);
    let listener = PostgresStore::open(&url, CONFIG(), at(0)).await.unwrap();
    let ear = Arc::new(Recorder::default());
    listener.follow(ear.clone(), ear.wake.clone());
    wait_until_listening(&a, &ear).await;
    let mut other = schema.connection().await;
    for _ in 0..3 {
        let ended: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM (SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
             WHERE application_name = $1 AND query ILIKE 'listen%') AS t",
        )
        .bind(&schema.name)
        .fetch_one(&mut other)
        .await
        .unwrap();
        assert_eq!(ended, 1, "not exactly one connection listens");
        wait_until_listening(&a, &ear).await;
    }
    listener.close().await;
}
