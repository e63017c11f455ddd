//! Pausing: messages are stored and answered, and nothing is learned from them or found in them.

use serde_json::{Value, json};

use super::harness::{ANNA, BORIS, Server, text};
use crate::server::within;

const MESSAGES: &str = "query($id: ID!) { session(id: $id) { paused messages(first: 50) { nodes { role text kind status remembered } } } }";
const PAUSE: &str = "mutation($id: ID!, $paused: Boolean!) {
    updateSession(input: { sessionId: $id, paused: $paused }) { session { paused } errors { code } } }";
const PAUSE_ALL: &str = "mutation($paused: Boolean!) { updateViewer(input: { paused: $paused }) { viewer { paused } errors { code } } }";
const KNOWN: &str = "{ facts(first: 50) { nodes { relation object { name } } } entities(first: 50) { nodes { name } } }";

/// Waits until all messages of a session are processed and the last one is an answer, if one is expected. Returns the messages.
async fn settled(server: &Server, session: &str, answered: bool) -> Vec<Value> {
    let messages = async || {
        let data = server.data(ANNA, MESSAGES, json!({ "id": session })).await;
        data["session"]["messages"]["nodes"].as_array().unwrap().clone()
    };
    within("the messages were not processed", async {
        loop {
            let messages = messages().await;
            let done = messages.iter().all(|m| m["status"] == "PROCESSED");
            if done && (!answered || messages.last().is_some_and(|m| m["role"] == "ASSISTANT")) {
                return messages;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await
}

async fn found(server: &Server, words: &str) -> Vec<String> {
    let query = "query($q: String!) { context(input: { query: $q, first: 20 }) { messages { message { text } } } }";
    let data = server.data(ANNA, query, json!({ "q": words })).await;
    data["context"]["messages"].as_array().unwrap().iter().map(|m| text(&m["message"]["text"])).collect()
}

#[tokio::test]
async fn nothing_is_learned_while_a_session_is_paused() {
    let server = Server::start().await;
    let work = server.work();
    let session = server.session(ANNA).await;
    server.say(ANNA, &session, "I live in Porto.").await;
    settled(&server, &session, false).await;
    let paused = server.data(ANNA, PAUSE, json!({ "id": session, "paused": true })).await;
    assert_eq!(paused["updateSession"]["session"]["paused"], true, "{paused:#}");
    server.say(ANNA, &session, "My sister Maren works at Siemens.").await;
    server.say(ANNA, &session, "Where do I live?").await;
    let messages = settled(&server, &session, true).await;
    let remembered: Vec<_> = messages.iter().map(|m| m["remembered"].as_bool().unwrap()).collect();
    assert_eq!(remembered, [true, false, false, false], "{messages:#?}");
    assert!(text(&messages[3]["text"]).contains("Porto"), "{messages:#?}");
    let known = server.data(ANNA, KNOWN, json!({})).await.to_string();
    assert!(known.contains("Porto") && !known.contains("Siemens") && !known.contains("Maren"), "{known}");
    assert_eq!(found(&server, "Where does my sister Maren work? Siemens?").await, ["I live in Porto."]);

    // What was said in the pause is no background of later messages either.
    server.data(ANNA, PAUSE, json!({ "id": session, "paused": false })).await;
    server.say(ANNA, &session, "She lives in Ghent.").await;
    settled(&server, &session, false).await;
    let known = server.data(ANNA, KNOWN, json!({})).await.to_string();
    assert!(!known.contains("Maren"), "{known}");
    drop(work);
    server.stop().await;
}

#[tokio::test]
async fn pause_of_the_viewer_concerns_all_own_sessions_only() {
    let server = Server::start().await;
    let work = server.work();
    let (one, other) = (server.session(ANNA).await, server.session(BORIS).await);
    assert_eq!(server.data(ANNA, "{ viewer { paused } }", json!({})).await["viewer"]["paused"], false);
    let paused = server.data(ANNA, PAUSE_ALL, json!({ "paused": true })).await;
    assert_eq!(paused["updateViewer"]["viewer"]["paused"], true, "{paused:#}");
    server.say(ANNA, &one, "I live in Porto.").await;
    server.say(BORIS, &other, "I live in Oslo.").await;
    assert_eq!(settled(&server, &one, false).await[0]["remembered"], false);
    let known = server.data(ANNA, KNOWN, json!({})).await.to_string();
    assert!(!known.contains("Porto"), "{known}");
    within("the message of another user was not learned", async {
        while !server.data(BORIS, KNOWN, json!({})).await.to_string().contains("Oslo") {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
    // What is stated as a fact is remembered.
    server.fact(ANNA, &one, ["John", "LIKES", "Mary"]).await;
    let known = server.data(ANNA, KNOWN, json!({})).await.to_string();
    assert!(known.contains("Mary"), "{known}");
    drop(work);
    server.stop().await;
}

#[tokio::test]
async fn sessions_are_updated_and_listed_by_flags() {
    let server = Server::start().await;
    let (one, two) = (server.session(ANNA).await, server.session(ANNA).await);
    let update = async |session: &str, input: Value| {
        let query = "mutation($input: UpdateSessionInput!) { updateSession(input: $input) {
            session { id title pinned archived paused } errors { code path } } }";
        let mut input = input;
        input["sessionId"] = json!(session);
        server.data(ANNA, query, json!({ "input": input })).await["updateSession"].clone()
    };
    assert_eq!(update(&one, json!({})).await["session"]["title"], Value::Null);
    assert_eq!(update(&one, json!({ "title": " " })).await["session"], Value::Null);
    let session = update(&one, json!({ "title": "Plans", "pinned": true })).await["session"].clone();
    assert_eq!(session, json!({ "id": one, "title": "Plans", "pinned": true, "archived": false, "paused": false }));
    update(&two, json!({ "archived": true })).await;
    let listed = async |filter: Value| {
        let query = "query($filter: SessionFilter) { sessions(filter: $filter) { totalCount nodes { id } } }";
        let data = server.data(ANNA, query, json!({ "filter": filter })).await;
        let ids: Vec<String> = data["sessions"]["nodes"].as_array().unwrap().iter().map(|s| text(&s["id"])).collect();
        assert_eq!(data["sessions"]["totalCount"], ids.len());
        ids
    };
    assert_eq!(listed(Value::Null).await.len(), 2);
    assert_eq!(listed(json!({ "pinned": true })).await, std::slice::from_ref(&one));
    assert_eq!(listed(json!({ "archived": true })).await, [two]);
    assert_eq!(listed(json!({ "text": "plan", "archived": false })).await, [one]);
    server.stop().await;
}
