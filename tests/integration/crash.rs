//! `kill -9` at random moments under load.
//! Acknowledged messages survive and are processed once, and the facts equal those of an undisturbed run.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection};

use crate::server::{Server, within};

pub(crate) const SESSIONS: usize = 4;
pub(crate) const MESSAGES: usize = 15;

/// Message `i` of session `s`. Facts repeat, contradict each other and end, across sessions.
fn text(s: usize, i: usize) -> String {
    let people = ["John", "Mary", "Dave", "Sarah"];
    let tools = ["React", "Vue", "Docker", "PostgreSQL", "Rust"];
    let (a, b, t) = (people[s % 4], people[(s + 1 + i % 3) % 4], tools[i % 5]);
    match i % 5 {
        0 => format!("{a} likes {b}."),
        1 => format!("I use {t}."),
        // Names in a fixed order: a symmetric fact keeps the direction of its first statement, and sessions run
        // concurrently.
        2 => format!("{} knows {}.", a.min(b), a.max(b)),
        3 => format!("I no longer use {t}."),
        _ => format!("{a} works on Project Apollo."),
    }
}

pub(crate) fn input(session: &str, s: usize, i: usize) -> Value {
    // Fixed times: weights must not depend on when the test runs, or on the order of the sessions.
    let sent_at = format!("2026-01-{:02}T{:02}:{:02}:00Z", 1 + i, s, i);
    json!({ "sessionId": session, "text": text(s, i), "sentAt": sent_at, "clientMessageId": format!("{s}-{i}") })
}

/// Sends all messages from several tasks until they are acknowledged or the server is gone. Records acknowledged
/// ones.
async fn load(server: &Arc<Server>, sessions: &[String], done: &mut BTreeMap<(usize, usize), String>) -> bool {
    let mut tasks = Vec::new();
    for (s, session) in sessions.iter().cloned().enumerate() {
        let (server, next) = (server.clone(), (0..MESSAGES).find(|i| !done.contains_key(&(s, *i))).unwrap_or(MESSAGES));
        tasks.push(tokio::spawn(async move {
            let mut acknowledged = Vec::new();
            for i in next..MESSAGES {
                match server.send(input(&session, s, i)).await {
                    Some(message) => acknowledged.push(((s, i), message["id"].as_str().unwrap().to_owned())),
                    None => break,
                }
            }
            acknowledged
        }));
    }
    for task in tasks {
        for (key, id) in task.await.unwrap() {
            let known = done.insert(key, id.clone());
            assert!(known.is_none_or(|k| k == id), "a repeated clientMessageId does not return the first message");
        }
    }
    done.len() == SESSIONS * MESSAGES
}

/// Several kills may hit one message, so the server gets enough attempts.
fn start(data: &std::path::Path) -> Server {
    Server::start_with(data, &[("RECALL_ATTEMPTS", "100")])
}

pub(crate) async fn undisturbed() -> Vec<(String, f64, f64, String)> {
    let data = tempfile::tempdir().unwrap();
    let server = Arc::new(Server::start(data.path()));
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        sessions.push(server.create_session().await);
    }
    assert!(load(&server, &sessions, &mut BTreeMap::new()).await);
    for session in &sessions {
        server.settle(session).await;
    }
    let facts = server.facts().await;
    assert!(facts.len() > 10, "the load must state facts: {facts:?}");
    facts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_nine_under_load_loses_and_duplicates_nothing() {
    let kills: usize = std::env::var("CRASH_KILLS").ok().and_then(|v| v.parse().ok()).unwrap_or(20);
    let expected = undisturbed().await;
    let mut state = std::time::Instant::now().elapsed().as_nanos() as u64 ^ u64::from(std::process::id()) ^ 0x9e37_79b9_7f4a_7c15;
    let mut random = move |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut killed = 0;
    while killed < kills {
        let data = tempfile::tempdir().unwrap();
        let mut server = Arc::new(start(data.path()));
        let mut sessions = Vec::new();
        for _ in 0..SESSIONS {
            sessions.push(server.create_session().await);
        }
        let mut done = BTreeMap::new();
        // Several kills per database, so that later ones meet leases and unfinished work of earlier ones.
        for _ in 0..5.min(kills - killed) {
            let loader = {
                let server = server.clone();
                let sessions = sessions.clone();
                let mut done = done.clone();
                tokio::spawn(async move {
                    load(&server, &sessions, &mut done).await;
                    done
                })
            };
            tokio::time::sleep(Duration::from_millis(random(250))).await;
            let pid = server.pid();
            assert!(std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
            done = loader.await.unwrap();
            drop(server);
            killed += 1;
            server = Arc::new(start(data.path()));
        }
        assert!(load(&server, &sessions, &mut done).await);
        for (s, session) in sessions.iter().enumerate() {
            server.settle(session).await;
            check_log(&server, session, s, &done).await;
        }
        check_memory(&server, &sessions).await;
        let facts = server.facts().await;
        assert_eq!(facts.len(), expected.len(), "{facts:#?}\n{expected:#?}");
        for (got, want) in facts.iter().zip(&expected) {
            let close = (got.1 - want.1).abs() < 1e-3 && (got.2 - want.2).abs() < 1e-3;
            assert!(got.0 == want.0 && got.3 == want.3 && close, "{got:?} should be {want:?}");
        }
    }
}

/// Checks that the log has no gaps and contains each message once as stored and once as processed.
pub(crate) async fn check_log(server: &Server, session: &str, s: usize, done: &BTreeMap<(usize, usize), String>) {
    let events = server.events(session).await;
    let numbers: Vec<u64> = events.iter().map(|e| e["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    for i in 0..MESSAGES {
        let id = &done[&(s, i)];
        for kind in ["message_stored", "message_processed"] {
            let n = events.iter().filter(|e| e["type"] == kind && e["message_id"] == id.as_str()).count();
            assert_eq!(n, 1, "{kind} of message {i} of session {s}");
        }
    }
    let stored = events.iter().filter(|e| e["type"] == "message_stored").count();
    assert_eq!(stored, MESSAGES, "a message was duplicated");
}

/// Checks that the log of the memory has no gaps, and has the events of each session in their order, and nothing twice.
pub(crate) async fn check_memory(server: &Server, sessions: &[String]) {
    let events = server.memory_events().await;
    let numbers: Vec<u64> = events.iter().map(|e| e["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    let unnumbered = |mut event: Value| {
        event.as_object_mut().unwrap().remove("seq");
        event
    };
    for session in sessions {
        let of_session = |e: &&Value| e["session_id"] == session.as_str() && e["type"] != "session_update";
        let placed: Vec<Value> = events.iter().filter(of_session).cloned().map(unnumbered).collect();
        let own: Vec<Value> = server.events(session).await.into_iter().map(unnumbered).collect();
        assert_eq!(placed, own, "session {session}");
    }
    assert_eq!(events.iter().filter(|e| e["type"] == "session_update").count(), sessions.len());
}

#[tokio::test]
async fn stopped_server_exits_cleanly_and_resumes_later() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let session = server.create_session().await;
    for i in 0..10 {
        server.send(input(&session, 0, i)).await.unwrap();
    }
    let (well, _) = server.stop();
    assert!(well, "the exit status reports a failure");
    let server = Server::start(data.path());
    server.settle(&session).await;
    let events = server.events(&session).await;
    assert_eq!(events.iter().filter(|e| e["type"] == "message_processed").count(), 10);
}

/// A deletion of all data that was killed continues after the next start and counts each row once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_deletion_resumes_after_kill_nine() {
    interrupt_data_deletion("-9").await;
}

/// Like all work that outlives its request, the deletion stops before the process ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_deletion_stops_with_server_and_resumes() {
    interrupt_data_deletion("-TERM").await;
}

/// Imports this many messages, 500 at a time.
async fn import_sentences(server: &Server, session: &str, count: usize) {
    for chunk in 0..count / 500 {
        let messages: Vec<Value> = (0..500).map(|i| json!({ "text": format!("Sentence {chunk} {i}.") })).collect();
        let query = "mutation($input: ImportMessagesInput!) { importMessages(input: $input) { errors { code } } }";
        let done = server.graphql(query, json!({ "input": { "sessionId": session, "messages": messages } })).await;
        assert_eq!(done["importMessages"]["errors"], json!([]));
    }
}

async fn interrupt_data_deletion(signal: &str) {
    const SENTENCES: usize = 2_000;
    let data = tempfile::tempdir().unwrap();
    let server = Arc::new(Server::start(data.path()));
    let session = server.create_session().await;
    import_sentences(&server, &session, SENTENCES).await;
    let deleting = {
        let server = server.clone();
        tokio::spawn(async move {
            server.try_graphql("mutation { deleteMyData(input: { confirm: \"DELETE\" }) { errors { code } } }", json!({})).await
        })
    };
    let shown = "{ viewer { deletion { begunAt endedAt deleted { kind count } } } }";
    // Waits until the deletion is in progress.
    let begun = async || {
        let deletion = server.graphql(shown, json!({})).await["viewer"]["deletion"].clone();
        deletion["deleted"].as_array().is_some_and(|d| !d.is_empty())
    };
    within("the deletion does not begin", async { while !begun().await {} }).await;
    assert!(std::process::Command::new("kill").args([signal, &server.pid().to_string()]).status().unwrap().success());
    deleting.await.unwrap();
    if signal == "-TERM" {
        assert!(server.wait(), "the server does not exit cleanly");
    }
    drop(server);

    let server = Server::start(data.path());
    let begun = server.graphql(shown, json!({})).await["viewer"]["deletion"].clone();
    assert!(begun["begunAt"].is_string() && begun["endedAt"].is_null(), "the deletion ended before the signal: {begun}");
    let ended = async {
        loop {
            let state = server.graphql(shown, json!({})).await;
            if state["viewer"]["deletion"]["endedAt"].is_string() {
                break state;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    let state = within("the deletion does not continue", ended).await;
    let count = |kind: &str| {
        let rows = state["viewer"]["deletion"]["deleted"].as_array().unwrap();
        rows.iter().find(|r| r["kind"] == kind).map_or(0, |r| r["count"].as_u64().unwrap())
    };
    assert_eq!((count("messages"), count("message_index"), count("sessions")), (SENTENCES as u64, SENTENCES as u64, 1));
    let left = server.graphql("{ sessions { totalCount } facts { totalCount } entities { totalCount } }", json!({})).await;
    for list in ["sessions", "facts", "entities"] {
        assert_eq!(left[list]["totalCount"], 0, "{list}");
    }
    let again =
        server.graphql("mutation { deleteMyData(input: { confirm: \"DELETE\" }) { receipt { deleted { count } } } }", json!({})).await;
    assert_eq!(again["deleteMyData"]["receipt"]["deleted"], json!([]));
}

/// A large session whose deletion was killed stays hidden, and the next process deletes the rest.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_deletion_resumes_after_kill_nine() {
    const SENTENCES: usize = 3_000;
    let data = tempfile::tempdir().unwrap();
    let server = Arc::new(Server::start(data.path()));
    let session = server.create_session().await;
    import_sentences(&server, &session, SENTENCES).await;
    let deleting = {
        let (server, session) = (server.clone(), session.clone());
        tokio::spawn(async move {
            let query = "mutation($id: ID!) { deleteSession(input: { id: $id }) { errors { code } } }";
            server.try_graphql(query, json!({ "id": session })).await
        })
    };
    let count = "{ sessions { totalCount } }";
    let hidden = async { while server.graphql(count, json!({})).await["sessions"]["totalCount"] != 0 {} };
    within("the session is not hidden", hidden).await;
    assert!(std::process::Command::new("kill").args(["-9", &server.pid().to_string()]).status().unwrap().success());
    let _ = deleting.await;
    drop(server);
    let rows = async || {
        let mut c = SqliteConnection::connect(&format!("sqlite:{}", data.path().join("recall.db").display())).await.unwrap();
        let rows: i64 = sqlx::query_scalar("SELECT count(*) FROM messages").fetch_one(&mut c).await.unwrap();
        rows
    };
    assert!(rows().await > 0, "the deletion ended before the signal");

    let server = Server::start(data.path());
    assert_eq!(server.graphql(count, json!({})).await["sessions"]["totalCount"], 0);
    let deleted = async {
        while rows().await > 0 {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    within("the deletion does not continue", deleted).await;
}
