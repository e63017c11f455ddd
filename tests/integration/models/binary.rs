//! The built binary with a model server. Each test has several threads: starting the binary blocks one, and it talks to the
//! model server at once.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::server::{Abilities, KEY, MODEL, ModelServer, Reaction};
use crate::server::{PATIENCE, Server};

fn settings(server: &ModelServer) -> Vec<(&'static str, String)> {
    vec![
        ("RECALL_MODEL_URL", server.url()),
        ("RECALL_MODEL_NAME", MODEL.to_owned()),
        ("RECALL_MODEL_KEY", KEY.to_owned()),
        ("RECALL_EMBEDDINGS_URL", server.url()),
        ("RECALL_EMBEDDINGS_MODEL", MODEL.to_owned()),
        ("RECALL_EMBEDDINGS_KEY", KEY.to_owned()),
        ("RECALL_EXTRACTION", "model".to_owned()),
    ]
}

fn borrowed<'a>(env: &'a [(&'static str, String)]) -> Vec<(&'static str, &'a str)> {
    env.iter().map(|(k, v)| (*k, v.as_str())).collect()
}

/// Reads `I trust NAME with my orchids.` as a fact, and answers with a citation.
fn helpful(_: usize, request: &Value) -> Reaction {
    if request["input"].is_array() {
        return Reaction::Say(String::new());
    }
    if request["stream"] == true {
        return Reaction::Say("You know Zebulon [1], they say [44].".to_owned());
    }
    let shown: Value = serde_json::from_str(request["messages"][1]["content"].as_str().unwrap()).unwrap();
    let asks = shown["message"].as_str().unwrap().ends_with('?');
    let fact = json!({ "quote": "trust Zebulon", "subject": "SPEAKER", "relation": "KNOWS", "object": "Zebulon", "polarity": "affirmed" });
    let facts = if asks { json!([]) } else { json!([fact]) };
    let kind = if asks { "question" } else { "statement" };
    Reaction::Say(json!({ "kind": kind, "entities": [{ "name": "Zebulon", "type": "person" }], "facts": facts }).to_string())
}

/// The answer to a question, once it is there.
async fn answer(server: &Server, session: &str) -> Value {
    let started = std::time::Instant::now();
    loop {
        for event in server.events(session).await {
            if event["type"] == "answer_completed" || event["answerer"].is_string() {
                return event;
            }
        }
        assert!(started.elapsed() < PATIENCE, "no answer: {:#?}", server.events(session).await);
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

async fn conversation(server: &Server, words: &[String]) -> (String, Value) {
    let session = server.create_session().await;
    for text in words {
        server.send(json!({ "sessionId": session, "text": text })).await.unwrap();
        server.settle(&session).await;
    }
    let answer = answer(server, &session).await;
    (session, answer)
}

fn said() -> [String; 2] {
    ["I trust Zebulon with my orchids.".to_owned(), "Whom do I trust with my orchids?".to_owned()]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configured_model_extracts_embeds_and_answers() {
    let model = ModelServer::start(helpful).await;
    let folder = tempfile::tempdir().unwrap();
    let env = settings(&model);
    let server = Server::start_with(folder.path(), &borrowed(&env));
    let (_, answer) = conversation(&server, &said()).await;
    let text = answer.to_string();
    assert!(text.contains("You know Zebulon [1], they say.") && text.contains(MODEL), "{answer:#}");
    let facts = server.facts().await;
    assert!(facts.iter().any(|(words, ..)| words.contains("KNOWS Zebulon")), "{facts:?}");
    let metrics = server.http.get(server.url("/metrics")).send().await.unwrap().text().await.unwrap();
    for line in [
        "recall_model_tokens_total{operation=\"extract\",direction=\"input\"}",
        "recall_model_tokens_total{operation=\"answer\",direction=\"output\"}",
        "recall_model_tokens_total{operation=\"embed\",direction=\"input\"}",
        "recall_model_requests_total{operation=\"answer\",outcome=\"ok\"} 1",
        "recall_answer_citations_dropped_total 1",
        "recall_extractions_total{by=\"model\"} 2",
    ] {
        assert!(metrics.contains(line), "{line} is missing in\n{metrics}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_model_fails_nothing_is_lost_and_nothing_is_told_to_the_log() {
    let asked = AtomicUsize::new(0);
    let model = ModelServer::start(move |_, request| {
        if request["input"].is_array() {
            return Reaction::Say(String::new());
        }
        // Each quotes the request: the statement is read in vain, then the question; then the answer breaks off.
        match (asked.fetch_add(1, Ordering::SeqCst), request["stream"] == true) {
            (0, _) | (_, true) => Reaction::Garbage,
            (1, _) => Reaction::Fail(400),
            _ => Reaction::Fail(500),
        }
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let mut env = settings(&model);
    env.push(("RECALL_LOG_FORMAT", "json".to_owned()));
    let server = Server::start_logging_with(&folder.path().join("data"), &log, "trace", &borrowed(&env));
    let words = ["Xylophagia likes Mary.".to_owned(), "Who does Xylophagia like?".to_owned()];
    let (_, answer) = conversation(&server, &words).await;
    assert!(answer.to_string().contains("extractive"), "{answer:#}");
    assert_eq!(server.facts().await.len(), 1);
    assert!(server.stop().0);
    let log = std::fs::read_to_string(&log).unwrap();
    assert!(log.contains("the model was of no help") && log.contains("the model did not answer"), "the failures are told");
    let told: Vec<&str> = log.lines().filter(|l| l.to_lowercase().contains("xylophagia") || l.contains(KEY)).collect();
    assert!(told.is_empty(), "{}", told.iter().map(|l| l.chars().take(300).collect::<String>()).collect::<Vec<_>>().join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_check_says_what_the_servers_understand() {
    for (json_schema, json_object, says) in [
        (Some(true), Some(true), "structured output: json_schema"),
        (None, Some(true), "structured output: json_object"),
        (Some(false), None, "structured output: neither json_schema nor json_object"),
    ] {
        let model = ModelServer::with(Abilities { json_schema, json_object, ..Default::default() }, helpful).await;
        let folder = tempfile::tempdir().unwrap();
        let (ended, out, err) = check(folder.path(), &settings(&model)).await;
        assert!(ended, "{err}");
        assert!(out.contains(&format!("model: {MODEL} answers; {says}\n")), "{out}");
        assert!(out.contains(&format!("embeddings: {MODEL}/384, 384 dimensions\n")), "{out}");
        assert!(!out.contains(KEY));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_check_fails_when_a_server_cannot_be_used() {
    let model = ModelServer::start(helpful).await;
    let folder = tempfile::tempdir().unwrap();
    for (key, value, says) in [
        ("RECALL_MODEL_KEY", "wrong", "RECALL_MODEL_URL"),
        ("RECALL_EMBEDDINGS_KEY", "wrong", "RECALL_EMBEDDINGS_URL"),
        ("RECALL_EMBEDDINGS_URL", "http://127.0.0.1:9", "cannot be connected to"),
    ] {
        let mut env = settings(&model);
        env.retain(|(k, _)| *k != key);
        env.push((key, value.to_owned()));
        let (ended, out, err) = check(folder.path(), &env).await;
        assert!(!ended && err.contains(says) && !err.contains("wrong") && !err.contains(KEY), "{key}: {out}\n{err}");
    }
}

async fn check(data: &std::path::Path, env: &[(&'static str, String)]) -> (bool, String, String) {
    let mut command = crate::server::recall();
    command.args(["check", "--data"]).arg(data).envs(env.iter().map(|(k, v)| (*k, v.as_str())));
    let done = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (done.status.success(), text(done.stdout), text(done.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn another_embedder_and_one_that_is_down_leave_words_and_facts() {
    let folder = tempfile::tempdir().unwrap();
    let before = Server::start(folder.path());
    let session = before.create_session().await;
    before.send(json!({ "sessionId": session, "text": "Mary keeps bees in Ghent." })).await.unwrap();
    before.settle(&session).await;
    assert!(before.stop().0);

    let model = ModelServer::start(helpful).await;
    let env: Vec<_> = settings(&model).into_iter().filter(|(k, _)| k.starts_with("RECALL_EMBEDDINGS_")).collect();
    let server = Server::start_with(folder.path(), &borrowed(&env));
    server.send(json!({ "sessionId": session, "text": "Boris paints boats." })).await.unwrap();
    let query = "query($q: String!) { context(input: { query: $q }) { methodsUsed messages { message { text } methods } } }";
    let found = |data: &Value, text: &str| {
        let hits = data["context"]["messages"].as_array().unwrap();
        let hit = hits.iter().find(|m| m["message"]["text"] == text);
        hit.map(|m| m["methods"].as_array().unwrap().iter().map(|x| x.as_str().unwrap().to_owned()).collect::<Vec<_>>())
    };
    let data = server.graphql(query, json!({ "q": "bees boats" })).await;
    assert_eq!(found(&data, "Mary keeps bees in Ghent."), Some(vec!["KEYWORD".to_owned()]), "{data:#}");
    assert!(found(&data, "Boris paints boats.").unwrap().contains(&"VECTOR".to_owned()), "{data:#}");

    drop(model);
    let data = server.graphql(query, json!({ "q": "bees boats" })).await;
    assert!(found(&data, "Mary keeps bees in Ghent.").is_some() && found(&data, "Boris paints boats.").is_some(), "{data:#}");
    assert!(!data["context"]["methodsUsed"].to_string().contains("VECTOR"), "{data:#}");
    let send = "mutation($i: SendMessageInput!) { sendMessage(input: $i) { message { id } errors { code } } }";
    let answer = server.try_graphql(send, json!({ "i": { "sessionId": session, "text": "Not now." } })).await.unwrap();
    assert!(answer.to_string().contains("UNAVAILABLE"), "{answer}");
}
