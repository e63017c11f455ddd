//! The contract on SQLite, and tests of this engine only.

use std::{path::PathBuf, sync::Arc, time::Duration};

use crate::planned::Finish;
use recall_domain::{Page, SessionId};
use recall_ports::{CommitError, EventLog, MessageStore, SessionFilter, Store, StoreError};
use recall_store_sqlite::{SqliteConfig, SqliteStore};
use sqlx::{Connection, SqliteConnection};
use tempfile::TempDir;

use super::given::{World, at, fresh, new_message};

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("data").join("recall.sqlite")
    }

    async fn open(&self) -> Result<SqliteStore, StoreError> {
        SqliteStore::open(&self.path(), SqliteConfig { busy_timeout: Duration::from_millis(50), ..SqliteConfig::default() }, at(0)).await
    }

    async fn new_store(&self) -> Arc<dyn Store> {
        Arc::new(self.open().await.unwrap())
    }

    async fn store(&self) -> Option<Arc<dyn Store>> {
        Some(self.new_store().await)
    }

    /// Opens the file without the store, like another program.
    async fn other_program(&self) -> SqliteConnection {
        SqliteConnection::connect(&format!("sqlite:{}", self.path().display())).await.unwrap()
    }
}

mod contract {
    crate::contract::store::store_contract!(super::Folder::new());
}

#[tokio::test]
async fn reopened_database_keeps_everything() {
    let folder = Folder::new();
    let first = folder.new_store().await;
    let local = first.local_user().await.unwrap();
    let w = World::new(&first);
    let known = w.john_likes_mary().await;
    let log = first.log_state(&w.caller, known.session).await.unwrap();
    first.close().await;
    let refused = first.append(&w.caller, known.session, vec![new_message(known.session, "x")]).await;
    assert!(matches!(refused, Err(StoreError::Transient(_))), "a closed store does not report it");
    assert!(first.ping().await.is_err());

    let second = folder.new_store().await;
    assert_eq!(second.engine(), "sqlite");
    second.ping().await.unwrap();
    assert_eq!(second.local_user().await.unwrap(), local);
    assert_eq!(second.log_state(&w.caller, known.session).await.unwrap(), log);
    assert_eq!(second.facts_by_id(&w.caller, &[known.fact.id]).await.unwrap(), [known.fact]);
    assert_eq!(second.messages_by_id(&w.caller, &[known.message.id]).await.unwrap().len(), 1);
}

#[tokio::test]
async fn installations_have_different_local_users() {
    let (one, two) = (Folder::new(), Folder::new());
    assert_ne!(one.new_store().await.local_user().await.unwrap(), two.new_store().await.local_user().await.unwrap());
}

#[tokio::test]
async fn newer_database_is_refused_and_unchanged() {
    let folder = Folder::new();
    folder.new_store().await.close().await;
    let mut other = folder.other_program().await;
    sqlx::query(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9999, 'future', 1, x'00', 0)",
    )
    .execute(&mut other)
    .await
    .unwrap();
    other.close().await.unwrap();
    let Err(error) = folder.open().await else { panic!("a newer database was opened") };
    assert!(matches!(error, StoreError::Permanent(_)));
    assert!(error.to_string().contains("9999") && error.to_string().contains("newer version"), "{error}");
}

#[tokio::test]
async fn changed_migrations_are_refused() {
    let folder = Folder::new();
    folder.new_store().await.close().await;
    let mut other = folder.other_program().await;
    sqlx::query("UPDATE _sqlx_migrations SET checksum = x'00'").execute(&mut other).await.unwrap();
    other.close().await.unwrap();
    assert!(matches!(folder.open().await, Err(StoreError::Permanent(_))));
}

#[tokio::test]
async fn file_that_is_no_database_is_refused() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path().parent().unwrap()).unwrap();
    std::fs::write(folder.path(), "this is not a database, it is a text of some length".repeat(200)).unwrap();
    assert!(matches!(folder.open().await, Err(StoreError::Permanent(_))));
}

#[cfg(unix)]
#[tokio::test]
async fn database_files_are_readable_by_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let store = folder.new_store().await;
    World::new(&store).session().await;
    for name in ["recall.sqlite", "recall.sqlite-wal", "recall.sqlite-shm"] {
        let mode = std::fs::metadata(folder.path().with_file_name(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_see_whole_transactions_during_writes() {
    let folder = Folder::new();
    let store = folder.new_store().await;
    let w = World::new(&store);
    let session = w.session().await;
    w.say(session, "first").await;
    let writer = {
        let w = w.clone();
        tokio::spawn(async move {
            for _ in 0..20 {
                w.store.append(&w.caller, session, (0..50).map(|_| new_message(session, "m")).collect()).await.unwrap();
            }
        })
    };
    let readers: Vec<_> = (0..12)
        .map(|_| {
            let w = w.clone();
            tokio::spawn(async move {
                let mut last = 0;
                for _ in 0..30 {
                    // A reader never sees older data again, and only whole transactions.
                    let stored = w.store.sessions_by_id(&w.caller, &[session]).await.unwrap().remove(0);
                    assert!(stored.head >= last && (stored.head - 1).is_multiple_of(50));
                    last = stored.head;
                    let page = w.store.list_messages(&w.caller, session, &Page::first(1), true).await.unwrap();
                    assert!(page.items[0].1.position >= last);
                }
            })
        })
        .collect();
    for reader in readers {
        reader.await.unwrap();
    }
    writer.await.unwrap();
    assert_eq!(store.log_state(&w.caller, session).await.unwrap().head, 1_001);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelled_append_leaves_writer_usable() {
    let folder = Folder::new();
    let store = folder.new_store().await;
    let w = World::new(&store);
    let session = w.session().await;
    for polls in 0..40 {
        let mut append = store.append(&w.caller, session, vec![new_message(session, "cut"), new_message(session, "off")]);
        // Polled a few times, then dropped midway.
        for _ in 0..polls % 4 {
            let _ = futures_util::poll!(&mut append);
            tokio::task::yield_now().await;
        }
        drop(append);
    }
    let last = w.say(session, "after").await;
    let stored = store.sessions_by_id(&w.caller, &[session]).await.unwrap().remove(0);
    assert_eq!(last.position, stored.message_count);
    assert_eq!(stored.message_count % 2, 1, "a message was stored without its pair");
    assert_eq!(stored.head, stored.message_count);
}

#[tokio::test]
async fn locked_database_is_transient_and_recovers() {
    let folder = Folder::new();
    let store = folder.new_store().await;
    let w = World::new(&store);
    let session = w.session().await;
    let mut other = folder.other_program().await;
    sqlx::query("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let refused = store.append(&w.caller, session, vec![new_message(session, "x")]).await;
    assert!(matches!(refused, Err(StoreError::Transient(_))), "{refused:?}");
    assert_eq!(store.count_sessions(&w.caller, &SessionFilter::ALL).await.unwrap(), 1, "readers are blocked");
    sqlx::query("ROLLBACK").execute(&mut other).await.unwrap();
    assert_eq!(w.say(session, "x").await.position, 1);
}

#[tokio::test]
async fn statement_count_per_message_is_known() {
    let folder = Folder::new();
    let store = Arc::new(folder.open().await.unwrap());
    let shared: Arc<dyn Store> = store.clone();
    let w = World::new(&shared);
    let session = w.session().await;
    let message = w.say(session, "m").await;
    store.messages_by_id(&w.caller, &[message.id]).await.unwrap();
    let before = store.statements();
    store.messages_by_id(&w.caller, &[message.id]).await.unwrap();
    assert_eq!(store.statements() - before, 1);
    let before = store.statements();
    store.append(&w.caller, session, (0..100).map(|_| new_message(session, "m")).collect()).await.unwrap();
    let batch = store.statements() - before;
    let before = store.statements();
    store.append(&w.caller, session, (0..200).map(|_| new_message(session, "m")).collect()).await.unwrap();
    // The message, its index terms, its event and its job.
    assert_eq!(store.statements() - before, batch + 400);
    assert!(matches!(store.log_state(&w.caller, SessionId(fresh())).await, Err(StoreError::NotFound)));
}

#[tokio::test]
async fn jobs_of_dead_process_are_due_at_once() {
    let folder = Folder::new();
    let store = folder.new_store().await;
    let w = World::new(&store);
    let session = w.session().await;
    w.say(session, "m").await;
    let held = w.claim(0).await.remove(0);
    assert!(w.claim(1).await.is_empty());
    assert_eq!(store.recover(at(1)).await.unwrap(), 1);
    let job = w.claim(1).await.remove(0);
    assert_eq!(job.claim.job, held.claim.job);
    let late = store.finish(&w.caller, &w.plan(session).await, &held).await;
    assert!(matches!(late, Err(CommitError::NotOurs)), "a process that is still alive committed twice");
}
