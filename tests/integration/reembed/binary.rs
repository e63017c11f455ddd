//! The built server during a change of the embedding model, killed midway.

use std::{path::Path, process::Command, time::Duration};

use serde_json::{Value, json};

use crate::{
    models::server::{KEY, MODEL, ModelServer, Reaction},
    postgres::Schema,
    server::{Server, TIMEOUT, recall},
};

const MESSAGES: usize = 400;

fn text(n: usize) -> String {
    super::text(n)
}

pub(super) async fn recall_by_meaning(server: &Server, ids: &[String]) -> f64 {
    let query = "query($q: String!) { context(input: { query: $q, methods: [VECTOR] }) { messages { message { id } } } }";
    let (mut found, mut asked) = (0.0, 0.0);
    for (n, id) in ids.iter().enumerate().take(256).step_by(16) {
        let data = server.graphql(query, json!({ "q": text(n).replace("we saw a ", "") })).await;
        let messages = data["context"]["messages"].as_array().unwrap();
        found += f64::from(u8::from(messages.iter().any(|m| m["message"]["id"] == id.as_str())));
        asked += 1.0;
    }
    found / asked
}

pub(super) async fn import(server: &Server, count: usize) -> Vec<String> {
    let session = server.create_session().await;
    let messages: Vec<Value> = (0..count).map(|n| json!({ "text": text(n), "role": "ASSISTANT" })).collect();
    let query = "mutation($input: ImportMessagesInput!) { importMessages(input: $input) { messages { id } errors { message } } }";
    let data = server.graphql(query, json!({ "input": { "sessionId": session, "messages": messages } })).await;
    let messages = data["importMessages"]["messages"].as_array().unwrap_or_else(|| panic!("{data}"));
    messages.iter().map(|m| m["id"].as_str().unwrap().to_owned()).collect()
}

fn kill(server: Server) {
    assert!(Command::new("kill").args(["-9", &server.pid().to_string()]).status().unwrap().success());
    drop(server);
}

/// Returns what `recall check` reports about the vectors.
pub(super) fn checked(data: &Path, env: &[(&str, &str)]) -> String {
    let done = recall().arg("check").arg("--data").arg(data).envs(env.iter().copied()).output().unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success(), "{text} {}", String::from_utf8_lossy(&done.stderr));
    text.lines().find(|l| l.starts_with("vectors:")).unwrap_or_else(|| panic!("{text}")).to_owned()
}

async fn assert_change_survives_kills(url: Option<&str>) {
    let model = ModelServer::start(|_, request| {
        // A page of many texts takes time; a query does not.
        let many = request["input"].as_array().is_some_and(|texts| texts.len() > 8);
        Reaction::Late(Duration::from_millis(if many { 120 } else { 0 }), String::new())
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let mut local =
        vec![("RECALL_LEASE_SECONDS", "1"), ("RECALL_EMBEDDINGS_TIMEOUT_SECONDS", "1"), ("RECALL_DATABASE_STATEMENT_SECONDS", "2")];
    local.extend(url.map(|url| ("RECALL_DATABASE_URL", url)));
    let (address, mut served) = (model.url(), local.clone());
    served.extend([("RECALL_EMBEDDINGS_URL", address.as_str()), ("RECALL_EMBEDDINGS_MODEL", MODEL), ("RECALL_EMBEDDINGS_KEY", KEY)]);

    let server = Server::start_with(folder.path(), &local);
    let ids = import(&server, MESSAGES).await;
    let before = recall_by_meaning(&server, &ids).await;
    assert!(before >= 0.98, "{before}");
    assert!(server.stop().0);
    assert_eq!(checked(folder.path(), &local), "vectors: all are of minilm-static-256/1", "not the name of the built-in model");
    assert_eq!(
        checked(folder.path(), &served),
        format!("vectors: 1 users are not finished; {MESSAGES} of their messages have no vector of {MODEL}/384")
    );

    // Killed while vectors are made; each next process continues where the last one stopped. On a busy machine the last one may find nothing left.
    let counts = async |server: &Server| {
        let metrics = server.http.get(server.url("/metrics")).send().await.unwrap().text().await.unwrap();
        metrics.contains("recall_reembedded_messages_total")
    };
    let mut is_counted = false;
    for _ in 0..3 {
        let server = Server::start_with(folder.path(), &served);
        assert!(recall_by_meaning(&server, &ids).await >= before);
        tokio::time::sleep(Duration::from_millis(150)).await;
        is_counted |= counts(&server).await;
        kill(server);
    }
    let server = Server::start_with(folder.path(), &served);
    let started = std::time::Instant::now();
    while checked(folder.path(), &served) != format!("vectors: all are of {MODEL}/384") {
        let now = recall_by_meaning(&server, &ids).await;
        assert!(now >= before, "{now}");
        assert!(started.elapsed() < TIMEOUT, "{}", checked(folder.path(), &served));
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    assert!(recall_by_meaning(&server, &ids).await >= before);
    assert!(is_counted || counts(&server).await, "no server counted what it embedded");
    assert!(server.stop().0);
    // Each message was embedded once, except in pages that a kill interrupted.
    let embedded: usize = model.seen().iter().map(|(_, r)| r["input"].as_array().map_or(0, Vec::len)).filter(|n| *n > 8).sum();
    assert!((MESSAGES..=MESSAGES + 4 * 64).contains(&embedded), "{embedded}");

    // Changes back in the foreground.
    let done = recall().arg("embed").arg("--data").arg(folder.path()).envs(local.iter().copied()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.ends_with("0 messages of 0 users left\n"), "{text}");
    let server = Server::start_with(folder.path(), &local);
    assert!(recall_by_meaning(&server, &ids).await >= before);
    assert!(server.stop().0);
}

#[tokio::test(flavor = "multi_thread")]
async fn model_change_resumes_after_kill_nine_on_sqlite() {
    assert_change_survives_kills(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn model_change_resumes_after_kill_nine_on_postgres() {
    let Some(schema) = Schema::new().await else { return };
    assert_change_survives_kills(Some(&schema.url)).await;
}
