//! The graph feed while several servers write.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use recall_domain::EntityId;
use recall_ports::{Change, ChangeFeed, CommitError, KnowledgeCommit, NodeId, NodeState, SessionStore, Store};
use recall_store_postgres::PostgresStore;
use sqlx::Row;

use super::{CONFIG, World, at, entity, event, new_message, seen_through, two};
use crate::postgres::Schema;

fn id(change: &Change) -> NodeId {
    change.thing.id()
}

/// Writes messages and entities in a new session and returns their ids.
async fn write(w: World, rounds: usize) -> BTreeSet<NodeId> {
    let session = w.session().await;
    let mut made = BTreeSet::from([NodeId::Session(session)]);
    for i in 0..rounds {
        made.insert(NodeId::Message(w.append(new_message(session, "words")).await.id));
        let new = entity(&format!("Thing {i}"));
        made.insert(NodeId::Entity(new.id));
        loop {
            let plan = KnowledgeCommit { entities: vec![new.clone()], events: vec![event(session)], ..w.plan(session).await };
            match w.store.commit(&w.caller, &plan).await {
                // Another writer of the same user was faster.
                Err(CommitError::Stale) => {}
                done => {
                    done.unwrap();
                    break;
                }
            }
        }
    }
    made
}

async fn everything(store: &PostgresStore, w: &World, from: u64) -> (BTreeSet<NodeId>, u64) {
    let (mut seen, mut position) = (BTreeSet::new(), from);
    loop {
        let changes = store.changes(&w.caller, position, 7).await.unwrap();
        let Some(last) = changes.last() else { return (seen, position) };
        assert!(changes.is_sorted_by(|a, b| a.number < b.number) && changes[0].number > position);
        position = last.number;
        seen.extend(changes.iter().map(id));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn graph_feed_reader_misses_no_change() {
    let Some((_schema, stores)) = two().await else { return };
    stores[0].start().await.unwrap();
    let sides = seen_through(&stores);
    let done = Arc::new(AtomicBool::new(false));
    let reader = {
        let (store, w, done) = (stores[0].clone(), sides[0].clone(), done.clone());
        tokio::spawn(async move {
            let (mut seen, mut position) = (BTreeSet::new(), 0);
            loop {
                let last = done.load(Ordering::SeqCst);
                let (news, next) = everything(&store, &w, position).await;
                seen.extend(news);
                position = next;
                if last {
                    return (seen, position);
                }
            }
        })
    };
    let writers = (0..6).map(|i| tokio::spawn(write(sides[i % 2].clone(), 8)));
    let mut made = BTreeSet::new();
    for writer in futures_util::future::join_all(writers).await {
        made.extend(writer.unwrap());
    }
    done.store(true, Ordering::SeqCst);
    let (seen, position) = reader.await.unwrap();
    assert_eq!(seen, made);
    assert_eq!(stores[1].head(&sides[1].caller).await.unwrap(), position);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn graph_feed_reader_misses_no_user() {
    let Some((_schema, stores)) = two().await else { return };
    stores[0].start().await.unwrap();
    let shared: [Arc<dyn Store>; 2] = stores.clone().map(|s| -> Arc<dyn Store> { s });
    let worlds: Vec<World> = (0..12).map(|i| World::new(&shared[i % 2])).collect();
    let done = Arc::new(AtomicBool::new(false));
    let reader = {
        let (store, done) = (stores[0].clone(), done.clone());
        tokio::spawn(async move {
            let (mut positions, mut mark) = (std::collections::HashMap::new(), 0);
            loop {
                let last = done.load(Ordering::SeqCst);
                let (users, next) = store.users_after(mark).await.unwrap();
                mark = next;
                for caller in users {
                    positions.insert(caller.user(), store.head(&caller).await.unwrap());
                }
                if last {
                    return positions;
                }
            }
        })
    };
    let writers = worlds.iter().map(|w| tokio::spawn(write(w.clone(), 4)));
    for writer in futures_util::future::join_all(writers).await {
        writer.unwrap();
    }
    done.store(true, Ordering::SeqCst);
    let positions = reader.await.unwrap();
    for w in &worlds {
        assert_eq!(positions.get(&w.caller.user()), Some(&stores[0].head(&w.caller).await.unwrap()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_during_feed_start_are_listed() {
    let Some((_schema, stores)) = two().await else { return };
    let sides = seen_through(&stores);
    let writers: Vec<_> = (0..4).map(|i| tokio::spawn(write(sides[i % 2].clone(), 6))).collect();
    tokio::time::sleep(std::time::Duration::from_millis(60)).await;
    let names = futures_util::future::join_all([&stores[0], &stores[1], &stores[0]].map(|s| s.start())).await;
    let names: BTreeSet<String> = names.into_iter().map(Result::unwrap).collect();
    assert_eq!(names.len(), 1, "the feed started twice");
    let mut made = BTreeSet::new();
    for writer in writers {
        made.extend(writer.await.unwrap());
    }
    assert_eq!(everything(&stores[0], &sides[0], 0).await.0, made);
}

#[tokio::test]
async fn item_gets_one_number_per_transaction() {
    let Some(schema) = Schema::new().await else { return };
    let store: Arc<PostgresStore> = Arc::new(schema.open(CONFIG(), at(0)).await.unwrap());
    store.start().await.unwrap();
    let shared: Arc<dyn Store> = store.clone();
    let w = World::new(&shared);
    let known = w.john_likes_mary().await;
    let before = store.head(&w.caller).await.unwrap();
    // One session and one message, two entities, a fact and its evidence, each numbered once.
    assert_eq!(before, 1 + 1 + 4);
    store.delete_session(&w.caller, known.session, at(9), &|_, _| None).await.unwrap();
    assert_eq!(store.head(&w.caller).await.unwrap(), before + 5);
    let gone = store.changes(&w.caller, before, 10).await.unwrap();
    assert!(gone.iter().any(|c| c.thing == NodeState::Gone(NodeId::Entity(EntityId(known.john.id.0)))));
}

#[tokio::test]
async fn unused_graph_feed_has_no_enabled_triggers() {
    let Some(schema) = Schema::new().await else { return };
    let store = schema.open(CONFIG(), at(0)).await.unwrap();
    let mut connection = schema.connection().await;
    let on = "SELECT count(*) FILTER (WHERE tgenabled <> 'D') AS enabled, count(*) AS every FROM pg_trigger t
              JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace = current_schema()::regnamespace AND tgname LIKE 'graph_%'";
    let row = sqlx::query(on).fetch_one(&mut connection).await.unwrap();
    assert_eq!((row.get::<i64, _>("enabled"), row.get::<i64, _>("every")), (0, 18));
    store.start().await.unwrap();
    let row = sqlx::query(on).fetch_one(&mut connection).await.unwrap();
    assert_eq!(row.get::<i64, _>("enabled"), 18);
}
