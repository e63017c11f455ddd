//! The contract on PostgreSQL, and tests of several servers with one database.

mod cancelled;
mod clocks;
mod graph;
mod limits;
mod lost_connections;
mod memory_events;
mod notifications;
mod row_security;
mod schema;
mod statistics;

use std::{collections::HashSet, sync::Arc, time::Duration};

use crate::planned::Finish;
use recall_ports::{CommitError, EntityFilter, Inspect, JobQueue, KnowledgeCommit, SessionFilter, Store, StoreError};
use recall_store_postgres::{PostgresConfig, PostgresStore};
use sqlx::Executor;
use tokio::sync::OnceCell;

use super::given::{LEASE, MODEL, World, at, entity, event, new_message};
use crate::postgres::{Schema, as_role, patient};

/// A schema that is created at the first use.
struct Database(OnceCell<Option<Schema>>);

impl Database {
    fn new() -> Self {
        Self(OnceCell::new())
    }

    /// Opens the database again at each call, like another process.
    async fn store(&self) -> Option<Arc<dyn Store>> {
        let config = PostgresConfig { connections: 8, ..patient() };
        let made = async {
            let schema = Schema::new().await?;
            schema.open(config.clone(), at(0)).await.unwrap().close().await;
            schema.use_callers_time().await;
            Some(schema)
        };
        let schema = self.0.get_or_init(|| made).await.as_ref()?;
        Some(Arc::new(schema.open(config, at(0)).await.unwrap()))
    }
}

mod contract {
    crate::contract::store::store_contract!(super::Database::new());
}

const CONFIG: fn() -> PostgresConfig = || PostgresConfig { connections: 6, ..PostgresConfig::default() };

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn export_may_outlast_statement_timeout() {
    let Some(schema) = Schema::new().await else { return };
    let config = PostgresConfig { statement_timeout: Duration::from_millis(500), ..CONFIG() };
    let store = Arc::new(schema.open(config, at(0)).await.unwrap());
    super::archive::snapshot_survives_a_pause(store, Duration::from_millis(1_500)).await;
}

/// Opens two stores on one database, like two servers.
async fn two() -> Option<(Schema, [Arc<PostgresStore>; 2])> {
    let schema = Schema::new().await?;
    let one = Arc::new(schema.open(CONFIG(), at(0)).await.unwrap());
    let other = Arc::new(schema.open(CONFIG(), at(0)).await.unwrap());
    Some((schema, [one, other]))
}

/// Returns the same user on both stores.
fn seen_through(stores: &[Arc<PostgresStore>; 2]) -> [World; 2] {
    let [one, other] = stores.clone().map(|s| -> Arc<dyn Store> { s });
    let first = World::new(&one);
    [first.clone(), World { store: other, ..first }]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_starts_create_one_schema_and_installation() {
    let Some(schema) = Schema::new().await else { return };
    let opened = futures_util::future::join_all((0..6).map(|_| schema.open(CONFIG(), at(0)))).await;
    let mut users = HashSet::new();
    for store in opened {
        users.insert(store.unwrap().local_user().await.unwrap());
    }
    assert_eq!(users.len(), 1);
    let other = Schema::new().await.unwrap().open(CONFIG(), at(0)).await.unwrap();
    assert!(!users.contains(&other.local_user().await.unwrap()), "two installations have one local user");
}

#[tokio::test]
async fn unknown_or_changed_migrations_are_refused() {
    let Some(schema) = Schema::new().await else { return };
    let unmigrated = schema.open(PostgresConfig { migrate: false, ..CONFIG() }, at(0)).await;
    assert!(unmigrated.err().unwrap().to_string().contains("recall migrate"));
    schema.open(CONFIG(), at(0)).await.unwrap().close().await;
    schema.open(PostgresConfig { migrate: false, ..CONFIG() }, at(0)).await.unwrap().close().await;
    let mut other = schema.connection().await;
    other
        .execute(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9999, 'future', true, '', 0)",
        )
        .await
        .unwrap();
    for migrate in [true, false] {
        let error = schema.open(PostgresConfig { migrate, ..CONFIG() }, at(0)).await.err().unwrap();
        assert!(matches!(error, StoreError::Permanent(_)) && error.to_string().contains("9999"), "{error}");
    }
    other.execute("DELETE FROM _sqlx_migrations WHERE version = 9999; UPDATE _sqlx_migrations SET checksum = ''").await.unwrap();
    assert!(matches!(schema.open(CONFIG(), at(0)).await, Err(StoreError::Permanent(_))), "a changed migration was accepted");
}

#[tokio::test]
async fn unreachable_server_is_transient_and_wrong_password_permanent() {
    let Some(schema) = Schema::new().await else { return };
    let config = PostgresConfig { acquire_timeout: Duration::from_millis(200), ..CONFIG() };
    let nobody = PostgresStore::open("postgres://recall@127.0.0.1:1/recall", config.clone(), at(0)).await;
    assert!(matches!(nobody, Err(StoreError::Transient(_))), "{:?}", nobody.err());
    let stranger = as_role(&schema.url, "stranger");
    assert!(matches!(PostgresStore::open(&stranger, config, at(0)).await, Err(StoreError::Permanent(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_plans_of_two_servers_are_serialized() {
    let Some((_schema, stores)) = two().await else { return };
    let [a, b] = seen_through(&stores);
    let session = a.session().await;
    let tasks: Vec<_> = [&a, &b]
        .into_iter()
        .cycle()
        .take(8)
        .cloned()
        .map(|w| {
            tokio::spawn(async move {
                let mut stale = 0;
                for _ in 0..5 {
                    loop {
                        let plan = KnowledgeCommit { entities: vec![entity("x")], events: vec![event(session)], ..w.plan(session).await };
                        match w.store.commit(&w.caller, &plan).await {
                            Ok(_) => break,
                            Err(CommitError::Stale) => stale += 1,
                            Err(e) => panic!("{e}"),
                        }
                    }
                }
                stale
            })
        })
        .collect();
    let mut stale = 0;
    for task in tasks {
        stale += task.await.unwrap();
    }
    assert!(stale > 0, "no plan was stale");
    assert_eq!(b.store.knowledge_version(&b.caller).await.unwrap(), 40);
    assert_eq!(b.store.count_entities(&b.caller, &EntityFilter::default()).await.unwrap(), 40);
    let log = b.store.events_after(&b.caller, session, 0, 100).await.unwrap();
    assert!(log.iter().map(|e| e.seq).eq(1..=40));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn index_misses_no_message_of_two_servers() {
    let Some((_schema, stores)) = two().await else { return };
    let worlds = seen_through(&stores);
    let shared = worlds[0].session().await;
    let writers: Vec<_> = (0..8)
        .map(|i| {
            let w = worlds[i % 2].clone();
            tokio::spawn(async move {
                for n in 0..10 {
                    let session = if n % 2 == 0 { shared } else { w.session().await };
                    w.say(session, "m").await;
                }
            })
        })
        .collect();
    let (mut seen, mut count) = (0, 0);
    loop {
        let over = writers.iter().all(tokio::task::JoinHandle::is_finished);
        let rows = worlds[1].store.feed(&worlds[1].caller, MODEL, seen, 100).await.unwrap();
        // Numbers have no gaps: a row that became visible late would be missing here and never be read.
        assert!(rows.iter().map(|r| r.row).eq(seen + 1..=seen + rows.len() as u64));
        count += rows.len();
        seen = rows.last().map_or(seen, |r| r.row);
        if over && rows.is_empty() {
            break;
        }
    }
    assert_eq!(count, 80);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lane_always_has_a_claimable_head() {
    // Its last job ends on one server while the next is queued on the other.
    let Some((_schema, stores)) = two().await else { return };
    let [a, b] = seen_through(&stores);
    let sessions = [a.session().await, a.session().await];
    let writing = {
        let a = a.clone();
        tokio::spawn(async move {
            for i in 0..60 {
                a.say(sessions[i % 2], "m").await;
            }
        })
    };
    let (mut done, mut claimed) = (0, HashSet::new());
    while done < 60 {
        // Checked before the claim, because a job can be queued after an empty claim.
        let all_queued = writing.is_finished();
        let jobs = b.store.claim(at(done), LEASE, 2).await.unwrap();
        assert!(!(jobs.is_empty() && all_queued), "{} of 60 jobs wait and cannot be claimed", 60 - done);
        assert!(jobs.iter().all(|job| claimed.insert(job.claim.job)), "a job was claimed twice");
        for job in jobs {
            b.store.finish(&b.caller, &b.plan(job.session).await, &job).await.unwrap();
            done += 1;
        }
    }
    writing.await.unwrap();
    assert_eq!(a.store.depth().await.unwrap(), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_deletion_during_writes_causes_no_deadlock() {
    let Some((_schema, stores)) = two().await else { return };
    let worlds = seen_through(&stores);
    for round in 0..5 {
        let known = worlds[0].john_likes_mary().await;
        worlds[0].say(known.session, "with a job").await;
        let jobs = worlds[1].claim(round).await;
        let ending = jobs.into_iter().map(|job| {
            let w = worlds[1].clone();
            async move {
                let plan = w.plan(job.session).await;
                match w.store.finish(&w.caller, &plan, &job).await {
                    Ok(_) | Err(CommitError::Stale | CommitError::NotOurs | CommitError::Store(StoreError::NotFound)) => {}
                    Err(e) => panic!("{e}"),
                }
            }
        });
        let saying = async {
            match worlds[1].store.append(&worlds[1].caller, known.session, vec![new_message(known.session, "m")]).await {
                Ok(_) | Err(StoreError::NotFound) => {}
                Err(e) => panic!("{e}"),
            }
        };
        let deleting = worlds[0].store.delete_session(&worlds[0].caller, known.session, at(9), &|_, _| None);
        let (deleted, (), _) = tokio::join!(deleting, saying, futures_util::future::join_all(ending));
        deleted.unwrap();
    }
    assert_eq!(worlds[0].store.count_sessions(&worlds[0].caller, &SessionFilter::ALL).await.unwrap(), 0);
    assert_eq!(worlds[0].store.depth().await.unwrap(), (0, 0));
}

#[tokio::test]
async fn lock_timeout_is_transient_and_store_recovers() {
    let Some(schema) = Schema::new().await else { return };
    let config = PostgresConfig { lock_timeout: Duration::from_millis(50), ..CONFIG() };
    let store: Arc<dyn Store> = Arc::new(schema.open(config, at(0)).await.unwrap());
    let w = World::new(&store);
    let session = w.session().await;
    let mut other = schema.connection().await;
    other.execute("BEGIN; SELECT * FROM users FOR UPDATE").await.unwrap();
    let refused = store.append(&w.caller, session, vec![new_message(session, "x")]).await;
    assert!(matches!(refused, Err(StoreError::Transient(_))), "{refused:?}");
    assert_eq!(store.count_sessions(&w.caller, &SessionFilter::ALL).await.unwrap(), 1, "readers are blocked");
    other.execute("ROLLBACK").await.unwrap();
    assert_eq!(w.say(session, "x").await.position, 1);
}

#[tokio::test]
async fn lost_connections_are_replaced_and_writes_retried() {
    let Some(schema) = Schema::new().await else { return };
    let url = format!("{}&application_name={}", schema.url, schema.name);
    let store: Arc<dyn Store> = Arc::new(PostgresStore::open(&url, CONFIG(), at(0)).await.unwrap());
    let w = World::new(&store);
    let session = w.session().await;
    let mut other = schema.connection().await;
    for i in 1..=5 {
        let ended: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM (SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = $1) AS t",
        )
        .bind(&schema.name)
        .fetch_one(&mut other)
        .await
        .unwrap();
        assert!(ended > 0);
        assert_eq!(w.say(session, "m").await.position, i);
    }
}

#[tokio::test]
async fn cancelled_append_leaves_store_usable() {
    let Some(schema) = Schema::new().await else { return };
    let config = PostgresConfig { connections: 2, acquire_timeout: Duration::from_secs(30), ..CONFIG() };
    let store: Arc<dyn Store> = Arc::new(schema.open(config, at(0)).await.unwrap());
    let w = World::new(&store);
    let session = w.session().await;
    for polls in 0..40 {
        let pair = vec![new_message(session, "cut"), new_message(session, "off")];
        let mut append = store.append(&w.caller, session, pair);
        for _ in 0..polls % 8 {
            if futures_util::poll!(&mut append).is_ready() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        drop(append);
    }
    let last = w.say(session, "after").await;
    let stored = store.sessions_by_id(&w.caller, &[session]).await.unwrap().remove(0);
    assert_eq!((stored.message_count, stored.head), (last.position, last.position));
    assert_eq!(stored.message_count % 2, 1, "a message was stored without its pair");
}

#[tokio::test]
async fn lease_can_be_extended_during_commit() {
    // A committing worker waits for its own heartbeat: if that waited for the commit, both would block.
    let Some(schema) = Schema::new().await else { return };
    let config = PostgresConfig { lock_timeout: Duration::from_millis(50), ..CONFIG() };
    let store: Arc<dyn Store> = Arc::new(schema.open(config, at(0)).await.unwrap());
    let w = World::new(&store);
    w.say(w.session().await, "m").await;
    let job = w.claim(0).await.remove(0);
    let mut committing = schema.connection().await;
    committing.execute("BEGIN; SELECT * FROM jobs FOR UPDATE").await.unwrap();
    assert!(store.extend(&job.claim, at(1), LEASE).await.unwrap());
    committing.execute("DELETE FROM jobs; COMMIT").await.unwrap();
    assert!(!store.extend(&job.claim, at(2), LEASE).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_never_claim_same_job() {
    let Some((_schema, stores)) = two().await else { return };
    let [a, _] = seen_through(&stores);
    for round in 0..10 {
        for _ in 0..10 {
            let session = a.session().await;
            a.say(session, "m").await;
        }
        // More claims than jobs, at once through both servers.
        let claims = (0..10).map(|i| stores[i % 2].claim(at(round), LEASE, 3));
        let mut taken = Vec::new();
        for jobs in futures_util::future::join_all(claims).await {
            taken.extend(jobs.unwrap().into_iter().map(|job| (job.claim.job, job.attempts)));
        }
        taken.extend(a.claim(round).await.into_iter().map(|job| (job.claim.job, job.attempts)));
        assert_eq!(taken.iter().map(|t| t.0).collect::<HashSet<_>>().len(), 10);
        assert!(taken.len() == 10 && taken.iter().all(|t| t.1 == 1), "a job was claimed twice: {taken:?}");
    }
}
