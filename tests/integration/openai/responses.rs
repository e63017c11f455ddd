//! `/v1/responses`: remembered, with memory, and passed on unchanged.

use serde_json::{Value, json};

use super::{settle, start, stored, texts};
use crate::{
    models::{
        responses::{events, response},
        server::{MODEL, ModelServer, Reaction},
    },
    server::Server,
};

fn post(server: &Server, chat: &str, body: &Value) -> reqwest::RequestBuilder {
    server.http.post(server.url("/v1/responses")).bearer_auth("any key").header("x-openwebui-chat-id", chat).json(body)
}

async fn agreeable() -> ModelServer {
    ModelServer::start(|n, _| Reaction::Say(format!("Answer {n} [1]."))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn response_is_remembered_and_known_in_the_next_one() {
    let (model, folder) = (agreeable().await, tempfile::tempdir().unwrap());
    let server = start(folder.path(), &model, &[]);
    let told = json!({ "model": MODEL, "input": "My sister Maren lives in Ghent.", "store": false });
    let reply: Value = post(&server, "one", &told).send().await.unwrap().json().await.unwrap();
    assert_eq!(reply, response(0, "Answer 0 [1]."));
    let sent = &model.seen()[0].1;
    assert_eq!((&sent["store"], &sent["instructions"]), (&json!(false), &Value::Null), "a block without memory");
    settle(&server).await;
    let input = json!([
        { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Where does my sister live?" },
            { "type": "input_image", "image_url": "https://example.com/a.png" }] },
        { "type": "function_call_output", "call_id": "c", "output": "x" },
    ]);
    let asked = json!({ "model": MODEL, "input": input, "instructions": "Be kind.", "tools": [{ "type": "web_search" }] });
    let reply = post(&server, "two", &asked).header("x-recall-citations", "text").send().await.unwrap();
    let reply: Value = reply.json().await.unwrap();
    let text = reply["output"][1]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("Answer 1 [1].\n\nSources:\n[1] “") && text.contains("Maren"), "{text}");
    let sent = &model.seen()[1].1;
    assert_eq!((&sent["input"], &sent["tools"]), (&input, &asked["tools"]));
    let instructions = sent["instructions"].as_str().unwrap();
    assert!(instructions.starts_with("Be kind.\n\nMemory:") && instructions.contains("Ghent"), "{instructions}");
    let all = texts(&server).await;
    assert_eq!(all.len(), 4, "{all:?}");
    assert!(all.iter().all(|text| !text.contains("Sources") && !text.contains("Memory:") && text != "Be kind."), "{all:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn streamed_response_is_passed_on_unchanged_and_stored_before_its_end() {
    let (model, folder) = (agreeable().await, tempfile::tempdir().unwrap());
    let server = start(folder.path(), &model, &[]);
    let body = json!({ "model": MODEL, "input": "Hello", "stream": true });
    let streamed = post(&server, "one", &body).send().await.unwrap();
    assert_eq!(streamed.headers()["content-type"], "text/event-stream; charset=utf-8");
    let streamed = streamed.text().await.unwrap();
    assert_eq!(streamed.as_bytes(), events(0, "Answer 0 [1].").concat());
    assert_eq!(texts(&server).await, ["Hello", "Answer 0 [1]."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn sources_of_a_stream_are_a_further_part_of_the_text() {
    let (model, folder) = (agreeable().await, tempfile::tempdir().unwrap());
    let server = start(folder.path(), &model, &[]);
    post(&server, "one", &json!({ "model": MODEL, "input": "My sister Maren lives in Ghent." })).send().await.unwrap();
    settle(&server).await;
    let body = json!({ "model": MODEL, "input": "Where does my sister live?", "stream": true });
    let text = post(&server, "two", &body).header("x-recall-citations", "text").send().await.unwrap().text().await.unwrap();
    let kinds: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    let done = kinds.iter().position(|kind| *kind == "response.output_text.done").unwrap();
    assert_eq!((kinds[done - 1], *kinds.last().unwrap()), ("response.output_text.delta", "response.completed"));
    assert!(text.contains("Sources:"), "{text}");
    assert_eq!(stored(&server).await.iter().filter(|m| m["text"].as_str().unwrap().contains("Sources")).count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn unfinished_and_refused_responses_are_not_stored() {
    let model = ModelServer::start(|n, _| if n == 0 { Reaction::Stop("Half".to_owned()) } else { Reaction::Fail(400) }).await;
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &model, &[]);
    post(&server, "one", &json!({ "model": MODEL, "input": "Hello", "stream": true })).send().await.unwrap().text().await.unwrap();
    let refused = post(&server, "two", &json!({ "model": MODEL, "input": "Hi" })).send().await.unwrap();
    assert_eq!(refused.status(), 400);
    assert_eq!(refused.json::<Value>().await.unwrap()["error"]["code"], "it_failed");
    let mut all = texts(&server).await;
    all.sort();
    assert_eq!(all, ["Hello", "Hi"]);
    for (body, path) in [(json!({ "model": MODEL }), "input"), (json!({ "model": MODEL, "input": [1] }), "input")] {
        let wrong: Value = post(&server, "x", &body).send().await.unwrap().json().await.unwrap();
        assert_eq!(wrong["error"]["param"], path, "{wrong}");
    }
    let wrong: Value = post(&server, "x", &json!({ "model": MODEL })).send().await.unwrap().json().await.unwrap();
    assert_eq!(wrong["error"]["message"], "The field `input` is missing or is not a text or a list.");
}
