//! Database connections that are cut or fall silent at the worst moment.

use std::{sync::Arc, time::Duration};

use crate::planned::Finish;
use recall_ports::{Appended, CommitError, KnowledgeCommit, NewMessage, SessionFilter, Store, StoreError};
use recall_store_postgres::{PostgresConfig, PostgresStore};

use super::{CONFIG, World, at, entity, event, new_message};
use crate::{
    postgres::Schema,
    proxy::{Lost, Proxy},
    server::TIMEOUT,
};

async fn store_behind_proxy(config: PostgresConfig) -> Option<(Schema, Proxy, Arc<dyn Store>)> {
    let schema = Schema::new().await?;
    let (proxy, url) = Proxy::to(&schema.url).await;
    let store = Arc::new(PostgresStore::open(&url, config, at(0)).await.unwrap());
    Some((schema, proxy, store))
}

async fn append(w: &World, message: &NewMessage) -> Result<Appended, StoreError> {
    Ok(w.store.append(&w.caller, message.session, vec![message.clone()]).await?.remove(0))
}

#[tokio::test]
async fn retried_append_after_lost_commit_stores_once() {
    let Some((_schema, proxy, store)) = store_behind_proxy(CONFIG()).await else { return };
    let w = World::new(&store);
    let session = w.session().await;
    for (i, lost) in [Lost::Request, Lost::Answer, Lost::Answer, Lost::Request].into_iter().enumerate() {
        let message = NewMessage { external_id: Some(format!("client-{i}")), ..new_message(session, "m") };
        proxy.lose_commits(&[lost]);
        let unsure = append(&w, &message).await;
        assert!(matches!(unsure, Err(StoreError::Transient(_))), "an unconfirmed commit was reported as {unsure:?}");
        assert_eq!(proxy.commits_left_to_lose(), 0);
        // The client tries again; the server generates another id.
        let again = NewMessage { id: super::super::given::new_message(session, "m").id, ..message.clone() };
        let stored = append(&w, &again).await.unwrap();
        assert_eq!(stored.message.position, i as u64 + 1, "after {lost:?}");
        assert_eq!(stored.message.id, if lost == Lost::Answer { message.id } else { again.id });
    }
    assert_eq!(store.sessions_by_id(&w.caller, &[session]).await.unwrap()[0].message_count, 4);
    let log = store.events_after(&w.caller, session, 0, 100).await.unwrap();
    assert!(log.iter().map(|e| e.seq).eq(1..=4));
}

#[tokio::test]
async fn retried_plan_after_lost_commit_applies_once() {
    let Some((_schema, proxy, store)) = store_behind_proxy(CONFIG()).await else { return };
    let w = World::new(&store);
    let session = w.session().await;
    for lost in [Lost::Answer, Lost::Request] {
        w.say(session, "m").await;
        let job = w.claim(0).await.remove(0);
        let plan = KnowledgeCommit { entities: vec![entity("x")], events: vec![event(session)], ..w.plan(session).await };
        proxy.lose_commits(&[lost]);
        let unsure = store.finish(&w.caller, &plan, &job).await;
        assert!(matches!(unsure, Err(CommitError::Store(StoreError::Transient(_)))), "{unsure:?}");
        let again = store.finish(&w.caller, &plan, &job).await;
        match lost {
            Lost::Answer => assert!(matches!(again, Err(CommitError::NotOurs | CommitError::Stale)), "{again:?}"),
            Lost::Request => drop(again.unwrap()),
        }
    }
    assert_eq!(store.knowledge_version(&w.caller).await.unwrap(), 2);
    assert_eq!(store.depth().await.unwrap(), (0, 0));
    let log = store.events_after(&w.caller, session, 0, 100).await.unwrap();
    assert!(log.iter().map(|e| e.seq).eq(1..=4));
}

#[tokio::test]
async fn write_is_retried_when_connection_breaks_before_commit() {
    let Some((_schema, proxy, store)) = store_behind_proxy(CONFIG()).await else { return };
    let w = World::new(&store);
    let session = w.session().await;
    for i in 1..=10 {
        proxy.cut();
        assert_eq!(w.say(session, "m").await.position, i);
    }
}

#[tokio::test]
async fn silent_connections_time_out_and_are_replaced() {
    // The kernel alone would wait for a quarter of an hour.
    let config = PostgresConfig { connections: 2, statement_timeout: Duration::from_millis(100), ..CONFIG() };
    let Some((_schema, proxy, store)) = store_behind_proxy(config).await else { return };
    let w = World::new(&store);
    let session = w.session().await;
    for round in 0..3 {
        // All connections are in use when they fall silent, and one caller cancels.
        let writes = futures_util::future::join_all((0..4).map(|_| async { append(&w, &new_message(session, "m")).await.err() }));
        let reads =
            futures_util::future::join_all((0..4).map(|_| async { store.count_sessions(&w.caller, &SessionFilter::ALL).await.err() }));
        let silencing = async {
            tokio::time::sleep(Duration::from_millis(round)).await;
            proxy.silence();
        };
        let ended = tokio::time::timeout(TIMEOUT, async { tokio::join!(writes, reads, silencing) });
        let (writes, reads, ()) = ended.await.expect("a caller waits forever");
        for e in writes.into_iter().chain(reads).flatten() {
            assert!(matches!(e, StoreError::Transient(_)), "{e:?}");
        }
        let mut abandoned = w.store.count_sessions(&w.caller, &SessionFilter::ALL);
        assert!(futures_util::poll!(&mut abandoned).is_pending());
        proxy.silence();
        drop(abandoned);
    }
    let recovered = async {
        while store.count_sessions(&w.caller, &SessionFilter::ALL).await.is_err() {}
        // Both connections of the pool are free again.
        tokio::join!(store.count_sessions(&w.caller, &SessionFilter::ALL), store.count_sessions(&w.caller, &SessionFilter::ALL))
    };
    let (one, other) = tokio::time::timeout(TIMEOUT, recovered).await.expect("the pool does not recover");
    assert_eq!((one.unwrap(), other.unwrap()), (1, 1));
}

#[tokio::test]
async fn unreachable_database_is_transient_and_recovers() {
    let config = PostgresConfig { acquire_timeout: Duration::from_millis(200), statement_timeout: Duration::from_millis(100), ..CONFIG() };
    let Some((_schema, proxy, store)) = store_behind_proxy(config).await else { return };
    let w = World::new(&store);
    let session = w.session().await;
    proxy.part();
    for _ in 0..2 {
        let refused = append(&w, &new_message(session, "m")).await;
        assert!(matches!(refused, Err(StoreError::Transient(_))), "{refused:?}");
    }
    proxy.heal();
    let stored = async {
        loop {
            if let Ok(stored) = append(&w, &new_message(session, "m")).await {
                return stored;
            }
        }
    };
    let stored = tokio::time::timeout(TIMEOUT, stored).await.expect("the database is not found again");
    assert_eq!(stored.message.position, 1, "a refused message was stored");
}
