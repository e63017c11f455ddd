//! Several servers on one PostgreSQL share the work, notify each other, and lose nothing when a server or the
//! database dies.
//! In the end their data equals that of one undisturbed server on SQLite.

mod follower;
mod lost_connections;
mod rolling;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;

use crate::{
    crash::{MESSAGES, SESSIONS, check_log, check_memory, input, undisturbed},
    postgres::Schema,
    server::{Server, TIMEOUT},
};

/// Servers on one database, each with its own folder, port and database URL.
struct Instances {
    urls: Vec<String>,
    data: TempDir,
    running: Vec<Mutex<Arc<Server>>>,
    /// Whether the last message of each session may be sent.
    last_words: watch::Sender<bool>,
}

impl Instances {
    fn start(url: &str, count: usize) -> Arc<Self> {
        Self::start_at(vec![url.to_owned(); count])
    }

    fn start_at(urls: Vec<String>) -> Arc<Self> {
        let data = TempDir::new().unwrap();
        let running = urls.iter().enumerate().map(|(i, url)| Mutex::new(Arc::new(Self::one(url, data.path(), i)))).collect();
        Arc::new(Self { urls, data, running, last_words: watch::Sender::new(true) })
    }

    fn one(url: &str, data: &Path, i: usize) -> Server {
        // Jobs of a dead server wait for the end of their lease, and several kills may hit one message.
        // Silent connections time out after five seconds.
        let env = [
            ("RECALL_DATABASE_URL", url),
            ("RECALL_LEASE_SECONDS", "1"),
            ("RECALL_ATTEMPTS", "100"),
            ("RECALL_DATABASE_STATEMENT_SECONDS", "3"),
            ("RECALL_DATABASE_CONNECT_SECONDS", "5"),
        ];
        Server::start_with(&data.join(i.to_string()), &env)
    }

    fn get(&self, i: usize) -> Arc<Server> {
        self.running[i % self.running.len()].lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Kills a server with SIGKILL and starts another in its place.
    fn replace(&self, i: usize) {
        let old = self.get(i);
        assert!(Command::new("kill").args(["-9", &old.pid().to_string()]).status().unwrap().success());
        self.begin(i);
    }

    /// Stops a server and starts another in its place; returns whether it exited cleanly.
    fn restart(&self, i: usize) -> bool {
        let status = self.get(i).interrupt();
        self.begin(i);
        status
    }

    fn begin(&self, i: usize) {
        let new = Arc::new(Self::one(&self.urls[i], self.data.path(), i));
        *self.running[i].lock().unwrap() = new;
    }

    /// Sends until a server acknowledges the message, and returns its id.
    async fn send(&self, first: usize, input: Value) -> String {
        const SEND: &str = "mutation($input: SendMessageInput!) { sendMessage(input: $input) { message { id } errors { code } } }";
        let started = Instant::now();
        for attempt in first.. {
            let answer = self.get(attempt).try_graphql(SEND, json!({ "input": input })).await;
            let id = answer.as_ref().and_then(|a| a["data"]["sendMessage"]["message"]["id"].as_str());
            if let Some(id) = id {
                return id.to_owned();
            }
            assert!(started.elapsed() < TIMEOUT, "no server accepts the message: {answer:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        unreachable!()
    }

    /// Sends in all sessions at once, each message to another server, until all are acknowledged.
    fn talk(self: &Arc<Self>, sessions: &[String]) -> tokio::task::JoinHandle<BTreeMap<(usize, usize), String>> {
        let (all, sessions) = (self.clone(), sessions.to_vec());
        tokio::spawn(async move {
            let talks = sessions.into_iter().enumerate().map(|(s, session)| {
                let all = all.clone();
                tokio::spawn(async move {
                    let mut ids = Vec::new();
                    for i in 0..MESSAGES {
                        if i + 1 == MESSAGES {
                            all.last_words.subscribe().wait_for(|may| *may).await.unwrap();
                        }
                        ids.push(((s, i), all.send(s + i, input(&session, s, i)).await));
                    }
                    ids
                })
            });
            let mut done = BTreeMap::new();
            for talk in talks.collect::<Vec<_>>() {
                done.extend(talk.await.unwrap());
            }
            done
        })
    }

    /// Checks that every server returns all messages once, logs without gaps, and the facts of an undisturbed run.
    async fn check(&self, sessions: &[String], done: &BTreeMap<(usize, usize), String>) {
        let expected = undisturbed().await;
        for server in (0..self.running.len()).map(|i| self.get(i)) {
            for (s, session) in sessions.iter().enumerate() {
                server.settle(session).await;
                check_log(&server, session, s, done).await;
            }
            check_memory(&server, sessions).await;
            let facts = server.facts().await;
            assert_eq!(facts.len(), expected.len(), "{facts:#?}\n{expected:#?}");
            for (got, want) in facts.iter().zip(&expected) {
                let close = (got.1 - want.1).abs() < 1e-3 && (got.2 - want.2).abs() < 1e-3;
                assert!(got.0 == want.0 && got.3 == want.3 && close, "{got:?} should be {want:?}");
            }
        }
    }

    async fn sessions(&self) -> Vec<String> {
        let mut sessions = Vec::new();
        for s in 0..SESSIONS {
            sessions.push(self.get(s).create_session().await);
        }
        sessions
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_servers_lose_and_duplicate_nothing() {
    let kills: usize = std::env::var("INSTANCE_KILLS").ok().and_then(|v| v.parse().ok()).unwrap_or(5);
    let Some(schema) = Schema::new().await else { return };
    let all = Instances::start(&schema.url, 3);
    let sessions = all.sessions().await;
    let followers = follower::follow_all(&all, &sessions).await;
    // No session ends before the last kill.
    all.last_words.send_replace(false);
    let talk = all.talk(&sessions);
    for kill in 0..kills {
        tokio::time::sleep(Duration::from_millis(37 * (kill as u64 % 5 + 1))).await;
        let all = all.clone();
        tokio::task::spawn_blocking(move || all.replace(kill % 3)).await.unwrap();
    }
    all.last_words.send_replace(true);
    let done = talk.await.unwrap();
    all.check(&sessions, &done).await;
    let mut connections = 0;
    for follower in followers {
        let seen = follower.await.unwrap();
        assert!(seen.numbers.iter().copied().eq(1..=seen.numbers.len() as u64), "{seen:?}");
        connections += seen.connections;
    }
    assert!(connections > SESSIONS, "no follower had to change servers");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn follower_receives_events_of_other_server() {
    let Some(schema) = Schema::new().await else { return };
    let all = Instances::start(&schema.url, 2);
    let (here, there) = (all.get(0), all.get(1));
    let session = here.create_session().await;
    let data = there.graphql("query($id: ID!) { session(id: $id) { head } }", json!({ "id": session })).await;
    let head = data["session"]["head"].as_str().unwrap();
    let mut stream = there.http.get(there.url(&format!("/sessions/{session}/events?after={head}"))).send().await.unwrap();
    let mut text = String::new();
    for i in 0..5 {
        let said = here.send(json!({ "sessionId": session, "text": format!("I like tea number {i}.") })).await.unwrap();
        let processed = |text: &str| {
            let of_message = |line: &&str| line.contains(said["id"].as_str().unwrap());
            text.lines().filter(of_message).filter(|l| l.contains("message_stored") || l.contains("message_processed")).count() >= 2
        };
        while !processed(&text) {
            let chunk = tokio::time::timeout(TIMEOUT, stream.chunk()).await.expect("no event arrives").unwrap();
            text.push_str(std::str::from_utf8(&chunk.expect("the stream ended")).unwrap());
        }
    }
}

/// A PostgreSQL server of this test, which can be crashed.
struct Cluster {
    folder: PathBuf,
    _parent: TempDir,
    url: String,
}

impl Cluster {
    fn script(action: &str, folder: &Path) -> std::process::Output {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/services/postgres");
        // Confirmed commits must survive, hence fsync.
        Command::new(script).arg(action).arg(folder).env("FSYNC", "on").output().unwrap()
    }

    fn start() -> Self {
        let parent = TempDir::new().unwrap();
        #[cfg(unix)]
        std::fs::set_permissions(parent.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let folder = parent.path().join("cluster");
        let started = Self::script("start", &folder);
        assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
        Self { folder, _parent: parent, url: String::from_utf8(started.stdout).unwrap().trim().to_owned() }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        Self::script("stop", &self.folder);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn database_crash_loses_no_acknowledged_message() {
    if std::env::var("RECALL_TEST_POSTGRES").is_err() {
        return eprintln!("skipped: RECALL_TEST_POSTGRES names no server");
    }
    let cluster = Cluster::start();
    let all = Instances::start(&cluster.url, 2);
    let sessions = all.sessions().await;
    let talk = all.talk(&sessions);
    for crash in 0..3 {
        tokio::time::sleep(Duration::from_millis(100 * (crash + 1))).await;
        let folder = cluster.folder.clone();
        let crashed = tokio::task::spawn_blocking(move || Cluster::script("crash", &folder)).await.unwrap();
        assert!(crashed.status.success(), "{}", String::from_utf8_lossy(&crashed.stderr));
    }
    let done = talk.await.unwrap();
    all.check(&sessions, &done).await;
}
