//! The OpenAI protocol against a scripted model server.

mod chats;
mod failures;
mod local;
mod people;
mod resources;
mod responses;
mod webui;

use std::path::Path;

use serde_json::{Value, json};

use crate::{
    models::server::{KEY, MODEL, ModelServer},
    server::{Server, TIMEOUT},
};

/// Starts the binary in front of a model server.
fn start(data: &Path, model: &ModelServer, more: &[(&str, &str)]) -> Server {
    let url = model.url();
    // The scripts of these tests answer chats only.
    let model = [("RECALL_MODEL_URL", url.as_str()), ("RECALL_MODEL_NAME", MODEL), ("RECALL_MODEL_KEY", KEY)];
    let env = [&model[..], &[("RECALL_EXTRACTION", "local")]].concat();
    Server::start_with(data, &[env.as_slice(), more].concat())
}

/// Builds a chat request in a conversation.
fn request(server: &Server, chat: Option<&str>, body: &Value) -> reqwest::RequestBuilder {
    let request = server.http.post(server.url("/v1/chat/completions")).bearer_auth("any key").json(body);
    match chat {
        Some(chat) => request.header("x-openwebui-chat-id", chat),
        None => request,
    }
}

/// Builds the messages of a conversation: user and assistant take turns.
fn turns(texts: &[&str]) -> Value {
    let message = |(n, text): (usize, &&str)| json!({ "role": if n % 2 == 0 { "user" } else { "assistant" }, "content": text });
    texts.iter().enumerate().map(message).collect()
}

/// Sends a conversation and returns the answer.
async fn ask(server: &Server, chat: Option<&str>, texts: &[&str]) -> String {
    let reply = request(server, chat, &json!({ "model": MODEL, "messages": turns(texts) })).send().await.unwrap();
    assert_eq!(reply.status(), 200);
    let reply: Value = reply.json().await.unwrap();
    reply["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
}

/// Returns all messages of all sessions as (session, role, text), in order within each session.
async fn stored(server: &Server) -> Vec<Value> {
    let query = "query($after: String) { sessions(first: 50, after: $after) { nodes { id title messages(first: 100) { nodes { id role text status sourceMetadata }
        pageInfo { hasNextPage endCursor } } } pageInfo { hasNextPage endCursor } } }";
    let (mut found, mut after) = (Vec::new(), Value::Null);
    loop {
        let data = server.graphql(query, json!({ "after": after })).await;
        for session in data["sessions"]["nodes"].as_array().unwrap() {
            let mut messages = session["messages"]["nodes"].as_array().unwrap().clone();
            let mut page = session["messages"]["pageInfo"].clone();
            while page["hasNextPage"] == true {
                let query = "query($id: ID!, $after: String) { session(id: $id) { messages(first: 100, after: $after) { nodes { id role text status sourceMetadata }
                    pageInfo { hasNextPage endCursor } } } }";
                let more = server.graphql(query, json!({ "id": session["id"], "after": page["endCursor"] })).await;
                messages.extend(more["session"]["messages"]["nodes"].as_array().unwrap().clone());
                page = more["session"]["messages"]["pageInfo"].clone();
            }
            found.extend(messages.into_iter().map(|mut message| {
                message["session"] = session["id"].clone();
                message["title"] = session["title"].clone();
                message
            }));
        }
        if data["sessions"]["pageInfo"]["hasNextPage"] != true {
            return found;
        }
        after = data["sessions"]["pageInfo"]["endCursor"].clone();
    }
}

/// Returns the texts of all stored messages.
async fn texts(server: &Server) -> Vec<String> {
    stored(server).await.iter().map(|m| m["text"].as_str().unwrap().to_owned()).collect()
}

/// Waits until the facts of all messages are known.
async fn settle(server: &Server) {
    let started = std::time::Instant::now();
    while stored(server).await.iter().any(|m| m["status"] == "PROCESSING") {
        assert!(started.elapsed() < TIMEOUT, "messages are still being processed");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// Returns the messages that the model server got in its n-th request.
fn seen(model: &ModelServer, n: usize) -> Vec<Value> {
    model.seen()[n].1["messages"].as_array().unwrap().clone()
}
