//! Chunks and messages are ordered by what they mean, also those that were stored before the server could do that.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection};

use crate::{
    postgres::Schema,
    server::{Server, TIMEOUT},
};

const MANUAL: &str = "Firewood\n========\n\nThe account of the firewood has one line for each log.\n\n\
    Signing in\n==========\n\nIf you forgot your password, ask for a link by mail and choose a new one.\n\n\
    Kitchen\n=======\n\nThe dishes are washed on Fridays, and the plants are watered on Mondays.\n";
const QUESTION: &str = "What can be done when I cannot log in to my account?";

/// Returns the headings of the chunks that a question finds, best first.
async fn headings(server: &Server) -> Vec<String> {
    let query = "query($q: String!) { context(input: { query: $q, sources: [DOCUMENTS] }) { chunks { score chunk { heading } } } }";
    let found = server.graphql(query, json!({ "q": QUESTION })).await["context"]["chunks"].as_array().unwrap().clone();
    assert!(found.is_sorted_by(|a, b| a["score"].as_f64() >= b["score"].as_f64()), "{found:?}");
    found.iter().map(|hit| hit["chunk"]["heading"].as_str().unwrap_or_default().to_owned()).collect()
}

async fn add_manual(server: &Server) {
    let body = format!("--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"manual.txt\"\r\n\r\n{MANUAL}\r\n--b--\r\n");
    let request = server.http.post(server.url("/documents")).header("content-type", "multipart/form-data; boundary=b").body(body);
    let added: Value = request.send().await.unwrap().json().await.unwrap();
    let started = Instant::now();
    loop {
        let url = server.url(&format!("/documents/{}", added["id"].as_str().unwrap()));
        let document: Value = server.http.get(url).send().await.unwrap().json().await.unwrap();
        if document["status"] == "completed" {
            return;
        }
        assert!(started.elapsed() < TIMEOUT, "{document}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn assert_chunks_are_ordered_by_meaning(database: Option<&str>) {
    let data = tempfile::tempdir().unwrap();
    let at = |encoder| database.map(|url| ("RECALL_DATABASE_URL", url)).into_iter().chain([("RECALL_DOCUMENTS_ENCODER", encoder)]);
    let server = Server::start_with(data.path(), &at("false").collect::<Vec<_>>());
    add_manual(&server).await;
    let by_words = headings(&server).await;
    assert_eq!(by_words[0], "Firewood", "{by_words:?}");
    assert!(server.stop().0);

    // The first question has the chunks encoded.
    let server = Server::start_with(data.path(), &at("true").collect::<Vec<_>>());
    let started = Instant::now();
    while headings(&server).await[0] != "Signing in" {
        assert!(started.elapsed() < TIMEOUT, "{:?}", headings(&server).await);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(server.stop().0);
}

#[tokio::test]
async fn chunks_are_ordered_by_meaning_on_sqlite() {
    assert_chunks_are_ordered_by_meaning(None).await;
}

#[tokio::test]
async fn chunks_are_ordered_by_meaning_on_postgres() {
    let Some(schema) = Schema::new().await else { return };
    assert_chunks_are_ordered_by_meaning(Some(&schema.url)).await;
}

#[tokio::test]
async fn new_document_is_ordered_by_meaning_when_it_is_completed() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    add_manual(&server).await;
    assert_eq!(headings(&server).await[0], "Signing in");
    assert!(server.stop().0);
}

const TOLD: [&str; 3] = [
    "The account of the firewood has one line for each log.",
    "If you forgot your password, ask for a link by mail and choose a new one.",
    "The plants are watered on Mondays.",
];

/// Returns the texts of the messages that a question finds, best first.
async fn found(server: &Server) -> Vec<String> {
    let query = "query($q: String!) { context(input: { query: $q }) { messages { score message { text } } } }";
    let found = server.graphql(query, json!({ "q": QUESTION })).await["context"]["messages"].as_array().unwrap().clone();
    assert!(found.is_sorted_by(|a, b| a["score"].as_f64() >= b["score"].as_f64()), "{found:?}");
    found.iter().map(|hit| hit["message"]["text"].as_str().unwrap().to_owned()).collect()
}

async fn tell(server: &Server, session: &str, text: &str) {
    server.send(json!({ "sessionId": session, "text": text })).await.unwrap();
}

/// Stores the messages as an earlier version did.
async fn tell_without_encoder(data: &Path) {
    let server = Server::start_with(data, &[("RECALL_DOCUMENTS_ENCODER", "false")]);
    let session = server.create_session().await;
    for text in TOLD {
        tell(&server, &session, text).await;
    }
    server.settle(&session).await;
    assert_eq!(found(&server).await[0], TOLD[0]);
    assert!(server.stop().0);
}

/// Returns the texts that are encoded.
async fn encoded(data: &Path) -> Vec<String> {
    let mut rows = SqliteConnection::connect(&format!("sqlite:{}", data.join("recall.db").display())).await.unwrap();
    let sql = "SELECT m.text FROM passage_vectors p JOIN messages m ON m.user_id = p.user_id AND m.id = p.message_id ORDER BY m.text";
    sqlx::query_scalar(sql).fetch_all(&mut rows).await.unwrap()
}

/// Waits until exactly these texts are encoded.
async fn wait_for_encoded(data: &Path, expected: &[&str]) {
    let started = Instant::now();
    while encoded(data).await != expected {
        assert!(started.elapsed() < TIMEOUT, "{:?}", encoded(data).await);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn imported_messages_are_encoded_when_no_job_is_left() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let session = server.create_session().await;
    let import =
        "mutation($s: ID!, $m: [ImportedMessage!]!) { importMessages(input: { sessionId: $s, messages: $m }) { errors { code } } }";
    let messages: Vec<Value> = TOLD.iter().map(|text| json!({ "text": text, "sentAt": "2026-03-01T10:00:00Z" })).collect();
    assert_eq!(server.graphql(import, json!({ "s": session, "m": messages })).await["importMessages"]["errors"], json!([]));
    wait_for_encoded(data.path(), &[TOLD[1], TOLD[0], TOLD[2]]).await;
    assert_eq!(found(&server).await[0], TOLD[1]);

    let delete = "mutation($s: ID!) { deleteSession(input: { id: $s }) { errors { code } } }";
    assert_eq!(server.graphql(delete, json!({ "s": session })).await["deleteSession"]["errors"], json!([]));
    assert!(encoded(data.path()).await.is_empty());
    assert!(server.stop().0);
}

#[tokio::test]
async fn messages_of_an_earlier_version_are_encoded_when_a_search_finds_them() {
    let data = tempfile::tempdir().unwrap();
    tell_without_encoder(data.path()).await;

    let server = Server::start(data.path());
    let started = Instant::now();
    while found(&server).await[0] != TOLD[1] {
        assert!(started.elapsed() < TIMEOUT, "{:?}", found(&server).await);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(server.stop().0);
}

#[tokio::test]
async fn messages_that_are_not_remembered_are_not_encoded() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let (paused, other) = (server.create_session().await, server.create_session().await);
    let pause = "mutation($s: ID!) { updateSession(input: { sessionId: $s, paused: true }) { errors { code } } }";
    assert_eq!(server.graphql(pause, json!({ "s": paused })).await["updateSession"]["errors"], json!([]));
    tell(&server, &paused, TOLD[0]).await;
    tell(&server, &other, TOLD[1]).await;
    server.settle(&paused).await;
    server.settle(&other).await;
    wait_for_encoded(data.path(), &[TOLD[1]]).await;
    assert!(server.stop().0);
}

#[tokio::test]
async fn what_an_answer_looks_at_is_encoded() {
    let data = tempfile::tempdir().unwrap();
    tell_without_encoder(data.path()).await;

    let server = Server::start(data.path());
    let session = server.create_session().await;
    tell(&server, &session, QUESTION).await;
    server.settle(&session).await;
    let texts = encoded(data.path()).await;
    assert!(TOLD.iter().all(|told| texts.iter().any(|text| text == told)), "{texts:?}");
    assert!(server.stop().0);
}
