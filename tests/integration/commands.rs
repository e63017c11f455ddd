//! Commands of the built program that talk to a running server.

use recall::system::SystemClock;
use recall_ports::Clock;
use serde_json::json;
use sqlx::{Connection, Executor};

use super::server::{Server, recall};

#[test]
fn health_command_reports_server_readiness() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let health = || recall().args(["health", "--listen", &server.address]).output().unwrap();
    let ready = health();
    assert!(ready.status.success(), "{}", String::from_utf8_lossy(&ready.stderr));
    assert_eq!(String::from_utf8_lossy(&ready.stdout), "ready\n");

    let address = server.address.clone();
    server.stop();
    let gone = recall().args(["health", "--listen", &address]).output().unwrap();
    assert!(!gone.status.success());
    assert!(String::from_utf8_lossy(&gone.stderr).contains(&format!("nothing answers on {address}")));
}

/// Follows `promtool check metrics`. `metrics::every_server_metric_is_described` checks that the code describes each.
#[tokio::test]
async fn every_shown_metric_has_help_text() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let session = server.create_session().await;
    server.send(json!({ "sessionId": session, "text": "John likes Mary." })).await.unwrap();
    server.settle(&session).await;
    assert!(!server.events(&session).await.is_empty());
    let offer = server.http.post(server.url(&format!("/signaling/{session}"))).header("content-type", "application/sdp").body("v=0\r\n");
    assert_eq!(offer.send().await.unwrap().status(), 400);
    let text = server.http.get(server.url("/metrics")).send().await.unwrap().text().await.unwrap();
    let words = |start: &'static str| text.lines().filter_map(move |line| line.strip_prefix(start)).filter_map(|l| l.split_once(' '));
    let shown: Vec<_> = words("# TYPE ").map(|(name, _)| name).collect();
    for name in ["recall_messages_total", "recall_stream_offers_total", "recall_stream_replays_total"] {
        assert!(shown.contains(&name), "{name} is missing in\n{text}");
    }
    let helped: std::collections::HashMap<_, _> = words("# HELP ").collect();
    let bare: Vec<_> = shown.iter().filter(|name| helped.get(*name).is_none_or(|help| help.is_empty())).collect();
    assert!(bare.is_empty(), "{bare:?}");
}

/// Runs `recall user …` on a folder and returns success and output.
fn user(folder: &std::path::Path, args: &[&str]) -> (bool, String) {
    let done = recall().arg("user").args(args).arg("--data").arg(folder).output().unwrap();
    (done.status.success(), String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned())
}

#[tokio::test]
async fn operator_manages_users_next_to_running_server() {
    let folder = tempfile::tempdir().unwrap();
    assert!(user(folder.path(), &["list"]).1.contains("does not exist"));
    let server = Server::start(folder.path());
    let session = server.create_session().await;
    server.send(json!({ "sessionId": session, "text": "John likes Xylophagia." })).await.unwrap();
    server.settle(&session).await;
    let id = server.graphql("{ viewer { id } }", json!({})).await["viewer"]["id"].as_str().unwrap().to_owned();

    let (well, listed) = user(folder.path(), &["list"]);
    assert!(well && listed.contains(&format!("{id}  1 sessions, 1 messages, 1 facts")), "{listed}");
    let (well, shown) = user(folder.path(), &["show", "local"]);
    assert!(well && shown.contains("messages 1") && !shown.contains("Xylophagia"), "{shown}");
    let (well, refused) = user(folder.path(), &["delete", &id]);
    assert!(!well && refused.contains("--yes"), "{refused}");
    let (well, deleted) = user(folder.path(), &["delete", &id, "--yes"]);
    assert!(well && deleted.contains("sessions 1") && deleted.contains("messages 1"), "{deleted}");
    assert_eq!(user(folder.path(), &["show", &id]).1.lines().count(), 2, "more than the time of the deletion is left");
    let (well, tokens) = user(folder.path(), &["tokens", "revoke", &id]);
    assert!(well && tokens.contains("0 access tokens"), "{tokens}");
    for stranger in ["00000000-0000-4000-8000-000000000001", "nobody"] {
        assert!(!user(folder.path(), &["delete", stranger, "--yes"]).0);
    }

    // The running server sees it at once, also in its index.
    let found = server
        .graphql(
            "{ sessions { totalCount } context(input: { query: \"What does John like?\" }) { messages { score } facts { score } } }",
            json!({}),
        )
        .await;
    assert_eq!(found, json!({ "sessions": { "totalCount": 0 }, "context": { "messages": [], "facts": [] } }));
    let log = server.graphql("{ auditLog(everybody: true) { nodes { actorId action target instance } } }", json!({})).await;
    let told: Vec<_> = log["auditLog"]["nodes"].as_array().unwrap().iter().filter(|n| n["instance"] == "command line").collect();
    let actions: Vec<_> = told.iter().map(|n| n["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["user.shown", "data.deleted", "user.shown"]);
    assert!(told.iter().all(|n| n["actorId"].is_null() && n["target"] == id.as_str()));
}

/// As `recall user list | head -1` with a reader that has already closed the pipe.
#[tokio::test]
async fn commands_end_quietly_on_closed_pipe() {
    let folder = tempfile::tempdir().unwrap();
    // Creates data, so that there is something to print.
    let server = Server::start(folder.path());
    server.create_session().await;
    assert!(server.stop().0);
    for args in [
        &["user", "list"][..],
        &["user", "show", "local"],
        &["check"],
        &["migrate"],
        &["embed"],
        &["graph", "check"],
        &["schema"],
        &["schema", "--settings"],
        &["schema", "--events"],
        &["extract"],
        &["--help"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = recall();
        command.args(args).arg("--data").arg(folder.path()).stdin(std::process::Stdio::piped()).stdout(writer);
        let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
        let line = b"{\"id\":\"1\",\"speaker\":null,\"text\":\"John likes Mary.\"}\n";
        let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), line);
        let done = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        let expected = if args == ["--help"] { 0 } else { 141 };
        assert_eq!(done.status.code(), Some(expected), "{args:?}: {said}");
        assert_eq!(said, "", "{args:?}");
    }
}

/// Two servers on one SQLite file would process each other's jobs and miss each other's events.
#[tokio::test]
async fn second_server_on_sqlite_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let session = server.create_session().await;
    let second = || recall().args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(folder.path()).output().unwrap();
    for _ in 0..2 {
        let refused = second();
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && refused.stdout.is_empty(), "{said}");
        assert!(said.contains(&format!("another server (process {})", server.pid())) && said.contains("--data"), "{said}");
    }
    // Commands other than `serve` work next to the server.
    for args in [&["user", "list"][..], &["export"], &["check"], &["migrate"], &["graph", "check"], &["embed"]] {
        let done = recall().args(args).arg("--data").arg(folder.path()).output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    }
    server.send(json!({ "sessionId": session, "text": "John likes Mary." })).await.unwrap();
    server.settle(&session).await;

    // After a kill the lock file stays, but nothing holds the lock.
    drop(server);
    let server = Server::start(folder.path());
    assert_eq!(server.facts().await.len(), 1);
    assert!(server.stop().0);
    assert!(Server::start(folder.path()).stop().0);
}

/// Unused sessions come from an archive, because a test cannot wait for them to age.
#[tokio::test]
async fn unused_sessions_are_deleted_after_configured_days() {
    let folder = tempfile::tempdir().unwrap();
    let user = uuid::Uuid::from_u128(1);
    let now = SystemClock.now().timestamp_millis();
    let session = |n: u128, days: i64| {
        let at = now - days * 86_400_000;
        json!({ "type": "session", "id": uuid::Uuid::from_u128(n), "created_at": at - 1_000, "updated_at": at, "message_count": 0 })
    };
    let lines = [
        json!({ "format": "recall-archive", "version": 1, "program": "x", "exported_at": 1, "local_user": user }),
        json!({ "type": "user", "id": user, "feed_head": 0, "knowledge_version": 0 }),
        session(2, 31),
        session(3, 29),
        session(4, 400),
        json!({ "type": "end", "records": 4 }),
    ];
    let archive: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let mut import = recall();
    import.arg("import").arg("--data").arg(folder.path()).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
    let mut import = import.spawn().unwrap();
    std::io::Write::write_all(&mut import.stdin.take().unwrap(), archive.as_bytes()).unwrap();
    assert!(import.wait().unwrap().success());
    let titles = async |server: &Server| {
        let data = server.graphql("{ sessions { nodes { id } } }", json!({})).await;
        data["sessions"]["nodes"].as_array().unwrap().iter().map(|n| n["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let server = Server::start(folder.path());
    assert_eq!(titles(&server).await.len(), 3, "sessions are deleted by default");
    server.stop();

    let server = Server::start_with(folder.path(), &[("RECALL_SESSION_DAYS", "30")]);
    let started = std::time::Instant::now();
    while titles(&server).await.len() > 1 {
        assert!(started.elapsed() < super::server::TIMEOUT, "the sessions are not deleted");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(titles(&server).await, [uuid::Uuid::from_u128(3).to_string()]);
    let log = "{ auditLog(everybody: true, first: 5) { nodes { actorId action target } } }";
    let noted = json!({ "actorId": null, "action": "sessions.expired", "target": "2" });
    while !server.graphql(log, json!({})).await["auditLog"]["nodes"].as_array().unwrap().contains(&noted) {
        assert!(started.elapsed() < super::server::TIMEOUT, "the deletion is not in the audit log");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn shared_memory_outlives_retention_and_is_listed_separately() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let made = server.graphql("mutation { createSession(input: { shared: true }) { session { id } } }", json!({})).await;
    let handbook = made["createSession"]["session"]["id"].as_str().unwrap().to_owned();
    let own = server.create_session().await;
    for (session, text) in [(&handbook, "Mary lives in Ghent."), (&own, "Mary lives in Lyon.")] {
        server.send(json!({ "sessionId": session, "text": text })).await.unwrap();
        server.settle(session).await;
    }
    let asked = server.send(json!({ "sessionId": own, "text": "Where does Mary live?" })).await.unwrap();
    let query = "query($id: ID!) { message(id: $id) { answer { text citations { shared fact { id shared } message { shared } } } } }";
    let started = std::time::Instant::now();
    // The answer comes after the question is processed.
    let answer = loop {
        let answer = server.graphql(query, json!({ "id": asked["id"] })).await["message"]["answer"].clone();
        if !answer.is_null() {
            break answer;
        }
        assert!(started.elapsed() < super::server::TIMEOUT, "no answer");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    let text = answer["text"].as_str().unwrap();
    assert!(text.contains("Lyon") && text.contains("Ghent"), "the answer does not name both, or weighs one against the other: {answer}");
    let mut shared: Vec<bool> = answer["citations"].as_array().unwrap().iter().map(|c| c["shared"] == true).collect();
    shared.sort_unstable();
    assert_eq!(shared, [false, true], "{answer}");
    assert!(answer["citations"].as_array().unwrap().iter().all(|c| c["fact"]["shared"] == c["shared"]), "{answer}");

    let (well, listed) = user(folder.path(), &["list"]);
    assert!(well && listed.contains("(shared memory)  1 sessions, 1 messages, 1 facts"), "{listed}");
    assert!(user(folder.path(), &["show", "shared"]).1.contains("messages 1"));
    let archive = recall().args(["export", "--user", "shared", "--data"]).arg(folder.path()).output().unwrap();
    let archive = String::from_utf8_lossy(&archive.stdout).into_owned();
    assert!(archive.contains("Ghent") && !archive.contains("Lyon"), "{archive}");
    server.stop();

    let file = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().path()).find(|p| p.extension().is_some_and(|e| e == "db"));
    let mut store = sqlx::SqliteConnection::connect(&format!("sqlite:{}", file.unwrap().display())).await.unwrap();
    store.execute("UPDATE sessions SET updated_at = 1").await.unwrap();
    store.close().await.unwrap();
    let server = Server::start_with(folder.path(), &[("RECALL_SESSION_DAYS", "1")]);
    let count = "{ own: sessions { totalCount } shared: sessions(shared: true) { totalCount } }";
    let started = std::time::Instant::now();
    let left = loop {
        let left = server.graphql(count, json!({})).await;
        if left["own"]["totalCount"] == 0 {
            break left;
        }
        assert!(started.elapsed() < super::server::TIMEOUT, "the old own session is still there");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    };
    assert_eq!(left["shared"]["totalCount"], 1, "shared memory expired, although it is still read");
}
