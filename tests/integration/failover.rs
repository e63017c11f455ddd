//! A PostgreSQL primary with a synchronous standby, and a server that knows both.

use std::{
    path::PathBuf,
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use sqlx::{Connection, Executor, PgConnection};

use crate::server::{Server, TIMEOUT};

/// A PostgreSQL server of this test.
struct Database {
    folder: PathBuf,
    url: String,
}

/// Runs `tests/services/postgres ACTION …` and returns its output.
fn service(arguments: &[&str]) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/services/postgres");
    let done = Command::new(script).args(arguments).output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

impl Database {
    /// Returns `None` where PostgreSQL is not available for tests.
    fn start() -> Option<Self> {
        std::env::var_os("RECALL_TEST_POSTGRES")?;
        let folder = Self::folder();
        let url = service(&["start", folder.to_str().unwrap()]);
        Some(Self { folder, url })
    }

    /// Starts a synchronous standby; without it the primary confirms nothing.
    async fn standby(&self) -> Self {
        let folder = Self::folder();
        let url = service(&["standby", folder.to_str().unwrap(), self.folder.to_str().unwrap()]);
        self.set("synchronous_standby_names", "standby").await;
        let mut connection = PgConnection::connect(&self.url).await.unwrap();
        let started = Instant::now();
        let state = || sqlx::query_scalar::<_, String>("SELECT sync_state FROM pg_stat_replication");
        while state().fetch_optional(&mut connection).await.unwrap().as_deref() != Some("sync") {
            assert!(started.elapsed() < TIMEOUT, "the standby does not follow");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Self { folder, url }
    }

    /// Not below a test's own folder, which only its user can read: PostgreSQL does not run as root.
    fn folder() -> PathBuf {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::SeqCst);
        std::env::temp_dir().join(format!("recall-failover-{}-{number}", std::process::id()))
    }

    async fn set(&self, name: &str, value: &str) {
        let mut connection = PgConnection::connect(&self.url).await.unwrap();
        connection.execute(sqlx::AssertSqlSafe(format!("ALTER SYSTEM SET {name} = '{value}'"))).await.unwrap();
        connection.execute("SELECT pg_reload_conf()").await.unwrap();
    }

    fn ask(&self, action: &str) {
        service(&[action, self.folder.to_str().unwrap()]);
    }

    fn address(&self) -> &str {
        self.url.split_once('@').unwrap().1.split_once('/').unwrap().0
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/services/postgres");
        let _ = Command::new(script).arg("stop").arg(&self.folder).status();
    }
}

async fn send(server: &Server, session: &str, n: usize) -> Option<Value> {
    let input = json!({ "sessionId": session, "text": format!("Person{n} likes Mary."), "clientMessageId": format!("m{n}") });
    let query = "mutation($input: SendMessageInput!) { sendMessage(input: $input) { message { id } errors { code } } }";
    let answer = server.try_graphql(query, json!({ "input": input })).await?;
    answer["data"]["sendMessage"]["message"]["id"].is_string().then_some(answer)
}

/// Sends until acknowledged, as a client does.
async fn send_until_acknowledged(server: &Server, session: &str, n: usize) {
    let started = Instant::now();
    while send(server, session, n).await.is_none() {
        assert!(started.elapsed() < TIMEOUT, "message {n} is not accepted");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn wait_until_ready(server: &Server, expected: u16) -> Value {
    let started = Instant::now();
    loop {
        let answer = server.http.get(server.url("/readyz")).send().await.unwrap();
        let status = answer.status().as_u16();
        let body = answer.json().await.unwrap();
        if status == expected {
            return body;
        }
        assert!(started.elapsed() < TIMEOUT, "{body}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn texts(server: &Server, session: &str) -> Vec<String> {
    let query = "query($id: ID!) { session(id: $id) { messages(first: 100) { nodes { text } } } }";
    let data = server.graphql(query, json!({ "id": session })).await;
    data["session"]["messages"]["nodes"].as_array().unwrap().iter().map(|m| m["text"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_messages_survive_failover_to_standby() {
    let Some(primary) = Database::start() else { return };
    let standby = primary.standby().await;
    let url = format!("postgres://recall@{},{}/recall?target_session_attrs=read-write", primary.address(), standby.address());
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with(folder.path(), &[("RECALL_DATABASE_URL", &url)]);
    let session = server.create_session().await;
    for n in 0..5 {
        send_until_acknowledged(&server, &session, n).await;
    }
    wait_until_ready(&server, 200).await;

    // The primary is killed with jobs in flight.
    primary.ask("kill");
    assert!(send(&server, &session, 5).await.is_none(), "a write was accepted without a primary");
    standby.ask("promote");
    for n in 5..10 {
        send_until_acknowledged(&server, &session, n).await;
    }
    server.settle(&session).await;
    let expected: Vec<_> = (0..10).map(|n| format!("Person{n} likes Mary.")).collect();
    assert_eq!(texts(&server, &session).await, expected);
    assert_eq!(server.facts().await.len(), 10);
    wait_until_ready(&server, 200).await;
    assert!(server.stop().0);

    // After a restart the server finds the remaining database, and its readiness probe reports a read-only one.
    let server = Server::start_with(folder.path(), &[("RECALL_DATABASE_URL", &url)]);
    assert_eq!(texts(&server, &session).await, expected);
    standby.set("default_transaction_read_only", "on").await;
    let body = wait_until_ready(&server, 503).await;
    assert!(body["checks"].as_array().unwrap().iter().any(|c| c["name"] == "postgres" && c["ready"] == false), "{body}");
    assert!(send(&server, &session, 10).await.is_none());
    standby.set("default_transaction_read_only", "off").await;
    send_until_acknowledged(&server, &session, 10).await;
    wait_until_ready(&server, 200).await;
    assert!(server.stop().0);
}

#[test]
fn refused_database_port_is_reported_once() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let folder = tempfile::tempdir().unwrap();
    let url = format!("postgres://u:geheim@127.0.0.1:{port}/d");
    let mut command = crate::server::recall();
    command.args(["check", "--data"]).arg(folder.path()).env("RECALL_DATABASE_URL", url).env("RECALL_DATABASE_CONNECT_SECONDS", "1");
    let done = command.output().unwrap();
    let words = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(!done.status.success() && !words.contains("geheim"), "{words}");
    assert_eq!((words.matches("refused").count(), words.matches("did not answer").count()), (1, 0), "{words}");
}
