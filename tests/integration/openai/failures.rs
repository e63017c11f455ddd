//! Failures of the model server, clients that hang up, and a killed server.

use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Value, json};

use super::{ask, request, start, texts, turns};
use crate::{
    models::server::{MODEL, ModelServer, Reaction},
    server::{Server, within},
};

fn streamed(text: &str) -> Value {
    json!({ "model": MODEL, "messages": turns(&[text]), "stream": true })
}

/// Reads a stream until it contains a text.
async fn read_until(reply: reqwest::Response, wanted: &str) -> reqwest::Response {
    let (mut reply, mut heard) = (reply, String::new());
    let reading = async {
        while !heard.contains(wanted) {
            heard.push_str(&String::from_utf8_lossy(&reply.chunk().await.unwrap().expect("the stream ended")));
        }
    };
    within("the text does not arrive", reading).await;
    reply
}

#[tokio::test(flavor = "multi_thread")]
async fn refusal_of_the_model_server_arrives_as_it_is() {
    let model = ModelServer::start(|n, _| if n == 0 { Reaction::Fail(422) } else { Reaction::Wait("7") }).await;
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &model, &[]);
    let refused = request(&server, Some("one"), &streamed("Hello")).send().await.unwrap();
    assert_eq!(refused.status(), 422);
    let error: Value = refused.json().await.unwrap();
    assert_eq!(error["error"]["code"], "it_failed");
    let busy = request(&server, Some("one"), &streamed("Hello")).send().await.unwrap();
    assert_eq!((busy.status().as_u16(), busy.headers()["retry-after"].to_str().unwrap()), (429, "7"));
    assert_eq!(model.seen().len(), 2, "a forwarded request was repeated");
    assert_eq!(texts(&server).await, ["Hello"]);
    let unknown = request(&server, None, &json!({ "model": "other", "messages": turns(&["Hello"]) })).send().await.unwrap();
    assert_eq!(unknown.status(), 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn unreachable_model_server_is_an_error_of_the_protocol() {
    let folder = tempfile::tempdir().unwrap();
    let env = [("RECALL_MODEL_URL", "http://127.0.0.1:9/v1"), ("RECALL_MODEL_NAME", "m"), ("RECALL_EXTRACTION", "local")];
    let server = Server::start_with(folder.path(), &env);
    let reply = request(&server, None, &streamed("Hello")).send().await.unwrap();
    assert_eq!((reply.status().as_u16(), reply.headers()["content-type"].to_str().unwrap()), (502, "application/json"));
    let error: Value = reply.json().await.unwrap();
    assert_eq!((&error["error"]["code"], &error["error"]["type"]), (&json!("UPSTREAM_UNAVAILABLE"), &json!("server_error")));
    let models: Value = server.http.get(server.url("/v1/models")).send().await.unwrap().json().await.unwrap();
    assert_eq!(models["data"].as_array().unwrap().iter().map(|m| &m["id"]).collect::<Vec<_>>(), ["m", "recall"]);
    let model: Value = server.http.get(server.url("/v1/models/m")).send().await.unwrap().json().await.unwrap();
    assert_eq!(model, models["data"][0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn incomplete_answer_is_not_stored() {
    let model = ModelServer::start(|n, _| match n {
        0 => Reaction::Break("Half an".to_owned()),
        1 => Reaction::Stop("Half an".to_owned()),
        2 => Reaction::Complain("Half an".to_owned()),
        3 => Reaction::Hang("Half an".to_owned()),
        _ => Reaction::Length("Cut".to_owned()),
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &model, &[("RECALL_FRONTEND_SILENCE_SECONDS", "1")]);
    for (code, way) in
        [(Some("UPSTREAM_UNAVAILABLE"), "broken"), (None, "stopped"), (None, "complaint"), (Some("UPSTREAM_TIMEOUT"), "silent")]
    {
        let reply = request(&server, Some("one"), &streamed("Hello")).send().await.unwrap().text().await.unwrap();
        assert!(reply.contains("Hal") && !reply.contains("[DONE]"), "{way}: {reply}");
        assert!(code.is_none_or(|code| reply.contains(code)), "{way}: {reply}");
    }
    assert_eq!(texts(&server).await, ["Hello"]);
    request(&server, Some("one"), &streamed("Hello")).send().await.unwrap().text().await.unwrap();
    assert_eq!(texts(&server).await, ["Hello", "Cut"], "an answer of limited length is an answer");
}

#[tokio::test(flavor = "multi_thread")]
async fn hanging_up_ends_the_request_to_the_model_server() {
    let model =
        ModelServer::start(|n, _| if n == 0 { Reaction::Hang("Once upon".to_owned()) } else { Reaction::Say("Hi.".to_owned()) }).await;
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &model, &[]);
    let reply = request(&server, Some("one"), &streamed("Tell me a story.")).send().await.unwrap();
    let reply = read_until(reply, "Onc").await;
    assert_eq!(model.open(), 1);
    drop(reply);
    model.idle().await;
    assert_eq!(texts(&server).await, ["Tell me a story."]);
    // The part that the client shows comes back with its next request.
    ask(&server, Some("one"), &["Tell me a story.", "Once upon", "Go on."]).await;
    assert_eq!(texts(&server).await, ["Tell me a story.", "Once upon", "Go on.", "Hi."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_nine_during_a_stream_loses_no_message() {
    let model =
        ModelServer::start(|n, _| if n < 2 { Reaction::Hang("Once upon".to_owned()) } else { Reaction::Say("Hi.".to_owned()) }).await;
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let server = start(folder.path(), &model, &[]);
        let reply = request(&server, Some("one"), &streamed("John likes Mary.")).send().await.unwrap();
        let mut reply = read_until(reply, "Onc").await;
        assert!(std::process::Command::new("kill").args(["-9", &server.pid().to_string()]).status().unwrap().success());
        while let Ok(Some(_)) = reply.chunk().await {}
        model.idle().await;
    }
    let server = start(folder.path(), &model, &[]);
    ask(&server, Some("one"), &["John likes Mary."]).await;
    assert_eq!(texts(&server).await, ["John likes Mary.", "Hi."]);
    super::settle(&server).await;
    assert_eq!(server.facts().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_requests_are_refused_in_the_shape_of_the_protocol() {
    let model = ModelServer::start(|_, _| Reaction::Say("Hi.".to_owned())).await;
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &model, &[("RECALL_FRONTEND_BODY_MEGABYTES", "1")]);
    let post =
        |body: &str| server.http.post(server.url("/v1/chat/completions")).header("content-type", "application/json").body(body.to_owned());
    for (body, status, code) in [
        ("[]", 400, "BAD_JSON"),
        ("{", 400, "BAD_JSON"),
        ("{}", 400, "BAD_REQUEST_FIELD"),
        (r#"{"messages":[{"role":1}]}"#, 400, "BAD_REQUEST_FIELD"),
        (r#"{"model":"recall","messages":[]}"#, 400, "BAD_REQUEST_FIELD"),
        (r#"{"model":"recall","messages":[{"role":"user"}]}"#, 400, "BAD_REQUEST_FIELD"),
        (r#"{"model":"recall","messages":[{"role":"user","content":5}]}"#, 400, "BAD_REQUEST_FIELD"),
        (r#"{"model":"recall","messages":[{"role":"alien","content":"Hi"}]}"#, 400, "BAD_REQUEST_FIELD"),
    ] {
        let reply = post(body).send().await.unwrap();
        assert_eq!(reply.status(), status, "{body}");
        let error: Value = reply.json().await.unwrap();
        assert_eq!((&error["error"]["code"], &error["error"]["type"]), (&json!(code), &json!("invalid_request_error")), "{body}");
    }
    let reply: Value = post(r#"{"model":"recall","messages":[{"role":"user","content":"Hi"},{"role":"user"}]}"#)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(reply["error"]["param"], "messages.1.content", "{reply}");
    let too_large = post(&format!(r#"{{"messages":[{{"role":"user","content":"{}"}}]}}"#, "x".repeat(20 * 1024 * 1024)));
    let reply: Value = too_large.send().await.unwrap().json().await.unwrap();
    assert_eq!(reply["error"]["code"], "BODY_TOO_LARGE");
    let odd = request(&server, None, &streamed("Hello")).header("x-recall-citations", "html").send().await.unwrap();
    assert_eq!(odd.json::<Value>().await.unwrap()["error"]["code"], "INVALID_CITATIONS");
    assert!(texts(&server).await.is_empty() && model.seen().is_empty());
    let forwarded = post(r#"{"messages":[{"role":"observation","content":"Hi"}]}"#).send().await.unwrap();
    assert_eq!(forwarded.status(), 200, "a model server may know more roles");
}

#[tokio::test(flavor = "multi_thread")]
async fn simultaneous_requests_store_a_message_once() {
    let model = ModelServer::start(|_, _| Reaction::Late(Duration::from_millis(50), "Hi.".to_owned())).await;
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &model, &[]);
    let asked = futures_util::stream::iter(0..8).map(|_| ask(&server, Some("one"), &["John likes Mary."])).buffer_unordered(8);
    assert_eq!(asked.collect::<Vec<_>>().await.len(), 8);
    let found = texts(&server).await;
    assert_eq!(found.iter().filter(|text| *text == "John likes Mary.").count(), 1, "{found:?}");
}
