//! The model `recall`, the list of models, and embeddings.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{request, settle, texts, turns};
use crate::{
    api::harness::{ANNA, Server as Harness},
    server::Server,
    stored::Stored,
};

#[tokio::test(flavor = "multi_thread")]
async fn model_recall_answers_without_a_model_server() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let ask = async |chat: &str, text: &str, more: Value| {
        let mut body = json!({ "model": "recall", "messages": turns(&[text]) });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let reply = request(&server, Some(chat), &body).header("x-recall-citations", "text").send().await.unwrap();
        assert_eq!(reply.status(), 200);
        reply.text().await.unwrap()
    };
    let noted: Value = serde_json::from_str(&ask("one", "John likes Mary.", json!({})).await).unwrap();
    assert_eq!(noted["choices"][0]["message"]["content"], "Noted. I will remember that.");
    settle(&server).await;
    let answer: Value = serde_json::from_str(&ask("two", "Who does John like?", json!({})).await).unwrap();
    let text = answer["choices"][0]["message"]["content"].as_str().unwrap();
    assert_eq!(text, "John likes Mary [1].\n\nSources:\n[1] “John likes Mary”");
    assert_eq!((&answer["model"], &answer["object"]), (&json!("recall"), &json!("chat.completion")));
    let stream = ask("three", "Who does John like?", json!({ "stream": true, "stream_options": { "include_usage": true } })).await;
    let events: Vec<&str> = stream.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    let chunks: Vec<Value> = events.iter().filter_map(|event| serde_json::from_str(event).ok()).collect();
    let said: String = chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!((said.as_str(), *events.last().unwrap()), (text, "[DONE]"));
    assert!(chunks.last().unwrap()["usage"]["total_tokens"].as_u64() > Some(0));
    assert!(texts(&server).await.contains(&"John likes Mary [1].".to_owned()));
    let unknown = request(&server, None, &json!({ "model": "gpt-4o", "messages": turns(&["Hello"]) })).send().await.unwrap();
    assert_eq!(unknown.status(), 404);
    let error: Value = unknown.json().await.unwrap();
    assert_eq!((&error["error"]["code"], &error["error"]["param"]), (&json!("model_not_found"), &json!("model")));
    let models: Value = server.http.get(server.url("/v1/models")).send().await.unwrap().json().await.unwrap();
    assert_eq!(models["data"].as_array().unwrap().iter().map(|m| &m["id"]).collect::<Vec<_>>(), ["recall"]);
    let model: Value = server.http.get(server.url("/v1/models/recall")).send().await.unwrap().json().await.unwrap();
    assert_eq!((&model, &model["object"]), (&models["data"][0], &json!("model")));
    for unknown in ["gpt-4o", "openai/gpt-4o", "openai%2Fgpt-4o"] {
        let refused = server.http.get(server.url(&format!("/v1/models/{unknown}"))).send().await.unwrap();
        assert_eq!(refused.status(), 404, "{unknown}");
        let error: Value = refused.json().await.unwrap();
        assert_eq!((&error["error"]["code"], &error["error"]["param"]), (&json!("model_not_found"), &json!("model")));
        assert!(error["error"]["message"].as_str().unwrap().contains(&unknown.replace("%2F", "/")), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn command_to_forget_is_carried_out_and_answers_vanish_with_their_sources() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let say = async |chat: &str, text: &str| {
        let body = json!({ "model": "recall", "messages": turns(&[text]) });
        let reply: Value = request(&server, Some(chat), &body).send().await.unwrap().json().await.unwrap();
        settle(&server).await;
        reply["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
    };
    say("one", "John likes Mary.").await;
    say("one", "My oven broke yesterday.").await;
    assert_eq!(say("two", "Who does John like?").await, "John likes Mary [1].");
    let answers = async || {
        let data = server
            .graphql(
                "{ sessions(first: 9) { nodes { messages(first: 9) { nodes { text answer { text citations { excerpt } } } } } } }",
                json!({}),
            )
            .await;
        data.to_string()
    };
    assert!(answers().await.contains("John likes Mary [1]"), "the question has an answer");
    assert!(say("three", "Forget that John likes Mary.").await.starts_with("Done. I forgot 1 fact"));
    assert!(!answers().await.contains("John likes Mary"), "the answer stayed");
    assert!(say("four", "Who does John like?").await.starts_with("I don't know"));
    let reply = say("five", "Forget that my oven broke.").await;
    // These clients show nothing but the text.
    assert!(reply.starts_with("Done. I forgot") && reply.contains("1 message") && reply.contains("with the token"), "{reply}");
}

#[tokio::test(flavor = "multi_thread")]
async fn embeddings_have_both_formats() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let embed = async |body: Value| {
        let reply = server.http.post(server.url("/v1/embeddings")).json(&body).send().await.unwrap();
        (reply.status().as_u16(), reply.json::<Value>().await.unwrap())
    };
    let (status, one) = embed(json!({ "model": "any", "input": "A walk by the sea." })).await;
    let (_, two) = embed(json!({ "model": "any", "input": ["Cheese.", "A walk by the sea."], "encoding_format": "base64" })).await;
    assert_eq!((status, one["data"].as_array().unwrap().len(), two["data"].as_array().unwrap().len()), (200, 1, 2));
    let floats: Vec<f32> = serde_json::from_value(one["data"][0]["embedding"].clone()).unwrap();
    let bytes = STANDARD.decode(two["data"][1]["embedding"].as_str().unwrap()).unwrap();
    let decoded: Vec<f32> = bytes.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!((floats, &two["data"][1]["index"]), (decoded, &json!(1)));
    assert!(two["usage"]["total_tokens"].as_u64() > Some(0));
    for (body, code) in [
        (json!({ "input": [] }), "INVALID_INPUT"),
        (json!({ "input": " " }), "INVALID_INPUT"),
        (json!({ "input": [[1, 2]] }), "INVALID_INPUT"),
        (json!({ "input": vec!["x"; 501] }), "INVALID_INPUT"),
        (json!({ "input": "x", "encoding_format": "hex" }), "INVALID_ENCODING_FORMAT"),
        (json!({ "input": "x", "dimensions": 7 }), "INVALID_DIMENSIONS"),
    ] {
        let (status, error) = embed(body.clone()).await;
        assert_eq!((status, error["error"]["code"].as_str()), (400, Some(code)), "{body}");
    }
}

#[tokio::test]
async fn long_history_costs_few_statements() {
    for stored in Stored::all().await {
        let server = Harness::start_on(stored).await;
        let all: Vec<String> = (0..401).map(|n| format!("Text {n} of the conversation.")).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let ask = async |upto: usize| {
            let body = json!({ "model": "recall", "messages": turns(&all[..upto]) });
            let before = server.stored.statements().await;
            let reply = server.post(ANNA, "/v1/chat/completions").header("x-openwebui-chat-id", "one").json(&body).send().await.unwrap();
            assert_eq!(reply.status(), 200);
            server.stored.statements().await - before
        };
        ask(1).await;
        let short = ask(3).await;
        ask(399).await;
        let long = ask(401).await;
        assert!(long <= short + 5, "{long} statements for a long history, {short} for a short one");
    }
}
