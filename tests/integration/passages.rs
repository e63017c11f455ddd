//! Chunks are ordered by what they mean, also those that were stored before the server could do that.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

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
