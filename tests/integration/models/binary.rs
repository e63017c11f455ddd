//! The built binary with a model server.
//! Each test has several threads: starting the binary blocks one, and the binary talks to the model server at once.

use std::{
    io::Write,
    process::Stdio,
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::{Value, json};

use super::server::{Abilities, KEY, MODEL, ModelServer, Reaction};
use crate::server::{Server, TIMEOUT};

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

/// Extracts a fact from `I trust NAME with my orchids.`, and answers with a citation.
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

/// Waits for the answer to a question.
async fn answer(server: &Server, session: &str) -> Value {
    let started = std::time::Instant::now();
    loop {
        for event in server.events(session).await {
            if event["type"] == "answer_completed" || event["answerer"].is_string() {
                return event;
            }
        }
        assert!(started.elapsed() < TIMEOUT, "no answer: {:#?}", server.events(session).await);
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

async fn usecases(server: &Server, words: &[String]) -> (String, Value) {
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
async fn configured_model_extracts_embeds_and_answers() {
    let model = ModelServer::start(helpful).await;
    let folder = tempfile::tempdir().unwrap();
    let env = settings(&model);
    let server = Server::start_with(folder.path(), &borrowed(&env));
    let (session, answer) = usecases(&server, &said()).await;
    let text = answer.to_string();
    assert!(text.contains("You know Zebulon [1], they say.") && text.contains(MODEL), "{answer:#}");
    let facts = server.facts().await;
    assert!(facts.iter().any(|(words, ..)| words.contains("KNOWS Zebulon")), "{facts:?}");
    let usage =
        "{ viewer { usage { today { inputTokens outputTokens } total { inputTokens } days { date operation requests inputTokens } } } }";
    let usage = server.graphql(usage, json!({})).await["viewer"]["usage"].clone();
    let is_extraction = |request: &Value| request["messages"].is_array() && request["stream"] != true;
    let extractions = model.seen().iter().filter(|(_, request)| is_extraction(request)).count();
    let requests: Vec<_> = usage["days"].as_array().unwrap().iter().map(|d| (&d["operation"], &d["requests"])).collect();
    assert_eq!(requests, [(&json!("ANSWER"), &json!(1)), (&json!("EXTRACT"), &json!(extractions))], "{usage:#}");
    assert!(
        usage["today"]["outputTokens"].as_u64() > Some(0) && usage["today"]["inputTokens"] == usage["total"]["inputTokens"],
        "{usage:#}"
    );
    let messages = "query($id: ID!) { session(id: $id) { messages { nodes { role usage { inputTokens } } } } }";
    let messages = server.graphql(messages, json!({ "id": session })).await["session"]["messages"]["nodes"].clone();
    let used: u64 = messages.as_array().unwrap().iter().filter_map(|m| m["usage"]["inputTokens"].as_u64()).sum();
    assert_eq!(usage["total"]["inputTokens"], used, "tokens without a message: {messages:#}");
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
async fn failing_model_loses_no_data_and_logs_no_text() {
    let asked = AtomicUsize::new(0);
    let model = ModelServer::start(move |_, request| {
        if request["input"].is_array() {
            return Reaction::Say(String::new());
        }
        // Each failure quotes the request: for the statement, for the question, and in the middle of the answer.
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
    let (_, answer) = usecases(&server, &words).await;
    assert!(answer.to_string().contains("extractive"), "{answer:#}");
    assert_eq!(server.facts().await.len(), 1);
    assert!(server.stop().0);
    let log = std::fs::read_to_string(&log).unwrap();
    assert!(log.contains("the model was of no help") && log.contains("the model did not answer"), "the failures are not logged");
    let told: Vec<&str> = log.lines().filter(|l| l.to_lowercase().contains("xylophagia") || l.contains(KEY)).collect();
    assert!(told.is_empty(), "{}", told.iter().map(|l| l.chars().take(300).collect::<String>()).collect::<Vec<_>>().join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn check_reports_model_server_abilities() {
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
async fn check_fails_for_unusable_model_server() {
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
async fn search_survives_change_and_outage_of_embedder() {
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
    for text in ["Mary keeps bees in Ghent.", "Boris paints boats."] {
        assert!(found(&data, text).unwrap().contains(&"VECTOR".to_owned()), "not found by vectors of either model: {data:#}");
    }

    // When both messages have vectors of the server's model, search uses these.
    let left = || {
        let done = crate::server::recall().arg("check").arg("--data").arg(folder.path()).envs(borrowed(&env)).output().unwrap();
        String::from_utf8(done.stdout).unwrap()
    };
    let started = std::time::Instant::now();
    while !left().lines().any(|l| l.starts_with("vectors: ") && (l.contains(" 0 of their") || l.contains("all are"))) {
        assert!(started.elapsed() < TIMEOUT, "{}", left());
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    drop(model);
    let mut data = server.graphql(query, json!({ "q": "bees boats" })).await;
    while data["context"]["methodsUsed"].to_string().contains("VECTOR") {
        assert!(started.elapsed() < TIMEOUT, "{data:#}");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        data = server.graphql(query, json!({ "q": "bees boats" })).await;
    }
    assert!(found(&data, "Mary keeps bees in Ghent.").is_some() && found(&data, "Boris paints boats.").is_some(), "{data:#}");
    assert!(!data["context"]["methodsUsed"].to_string().contains("VECTOR"), "{data:#}");
    let send = "mutation($i: SendMessageInput!) { sendMessage(input: $i) { message { id } errors { code } } }";
    let answer = server.try_graphql(send, json!({ "i": { "sessionId": session, "text": "Not now." } })).await.unwrap();
    assert!(answer.to_string().contains("UNAVAILABLE"), "{answer}");
}

/// Runs `recall extract` on two messages and returns success, lines and stderr.
async fn extract(env: &[(&'static str, String)], args: &[&str]) -> (bool, Vec<Value>, String) {
    let mut command = crate::server::recall();
    command.arg("extract").args(args).envs(env.iter().map(|(k, v)| (*k, v.as_str())));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ended = tokio::task::spawn_blocking(move || {
        let mut child = command.spawn().unwrap();
        let lines = said().iter().map(|text| json!({ "id": text, "text": text }).to_string() + "\n").collect::<String>();
        // With refused settings the command does not read its input.
        let _ = child.stdin.take().unwrap().write_all(lines.as_bytes());
        child.wait_with_output().unwrap()
    });
    let ended = ended.await.unwrap();
    let lines = String::from_utf8(ended.stdout).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    (ended.status.success(), lines, String::from_utf8(ended.stderr).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn extract_command_follows_policy() {
    let model = ModelServer::start(helpful).await;
    let knows = json!({ "subject": "user", "relation": "KNOWS", "object": "Zebulon", "polarity": "affirmed" });
    let env = settings(&model);
    for (env, args, by_model) in [
        (&env[..], &[][..], true),
        (&env[..], &["--policy", "local"], false),
        // A configured model server is used unless the settings say otherwise.
        (&env[..6], &[], true),
        (&env[..6], &["--policy", "local"], false),
        (&env[..6], &["--policy", "hybrid"], true),
    ] {
        let before = model.seen().len();
        let (well, lines, err) = extract(env, args).await;
        assert!(well, "{err}");
        assert_eq!(err.contains("`hybrid` no longer exists"), args.contains(&"hybrid"), "{err}");
        assert_eq!(lines.iter().map(|l| l["id"].as_str().unwrap()).collect::<Vec<_>>(), said(), "not in order");
        assert_eq!(model.seen().len() > before, by_model, "{args:?}");
        assert_eq!(lines[0]["facts"].as_array().unwrap().contains(&knows), by_model, "{args:?} {lines:?}");
    }
    let (well, _, err) = extract(&[], &["--policy", "model"]).await;
    assert!(!well && err.contains("RECALL_MODEL_URL"), "{err}");
    // Without a usable model the built-in extractor's result remains, with a message.
    drop(model);
    let (well, lines, err) = extract(&env, &[]).await;
    assert!(well && lines.len() == 2 && err.contains("the model was of no help"), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_answer_ends_request_and_emits_event() {
    let model =
        ModelServer::start(|n, request| if request["stream"] == true { Reaction::Hang("You kn".to_owned()) } else { helpful(n, request) })
            .await;
    let folder = tempfile::tempdir().unwrap();
    let env = settings(&model);
    let server = Server::start_with(folder.path(), &borrowed(&env));
    let session = server.create_session().await;
    let [fact, question] = said();
    server.send(json!({ "sessionId": session, "text": fact })).await.unwrap();
    let id = server.send(json!({ "sessionId": session, "text": question })).await.unwrap()["id"].as_str().unwrap().to_owned();
    let started = std::time::Instant::now();
    while !model.seen().iter().any(|(_, request)| request["stream"] == true) {
        assert!(started.elapsed() < TIMEOUT);
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let cancel =
        "mutation($i: CancelAnswerInput!) { cancelAnswer(input: $i) { message { text answer { id } } cancelled errors { code path } } }";
    let done = server.graphql(cancel, json!({ "i": { "messageId": id } })).await;
    assert_eq!(done["cancelAnswer"], json!({ "message": { "text": question, "answer": null }, "cancelled": true, "errors": [] }));
    model.idle().await;
    let events = server.events(&session).await;
    let last = events.last().unwrap();
    assert_eq!((last["code"].as_str(), last["message_id"].as_str()), (Some("CANCELLED"), Some(id.as_str())), "{events:#?}");
    let again = server.graphql(cancel, json!({ "i": { "messageId": id } })).await;
    assert_eq!((&again["cancelAnswer"]["cancelled"], &again["cancelAnswer"]["errors"]), (&json!(false), &json!([])));
    let foreign = server.graphql(cancel, json!({ "i": { "messageId": session } })).await;
    assert_eq!(foreign["cancelAnswer"]["errors"], json!([{ "code": "NOT_FOUND", "path": ["input", "messageId"] }]));
}

#[tokio::test(flavor = "multi_thread")]
async fn imported_messages_are_extracted_in_batches() {
    let model = ModelServer::start(|_, request| {
        let shown: Value = serde_json::from_str(request["messages"][1]["content"].as_str().unwrap()).unwrap();
        let read = |message: &Value| {
            let name = message["message"].as_str().unwrap().split(' ').nth(2).unwrap();
            let fact = json!({ "quote": format!("trust {name}"), "subject": "SPEAKER", "relation": "KNOWS", "object": name, "polarity": "affirmed" });
            json!({ "n": message["n"], "kind": "statement", "entities": [{ "name": name, "type": "person" }], "facts": [fact] })
        };
        let said = match shown["messages"].as_array() {
            Some(all) => json!({ "messages": all.iter().map(read).collect::<Vec<_>>() }),
            None => read(&shown),
        };
        Reaction::Say(said.to_string())
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let env: Vec<_> = settings(&model).into_iter().filter(|(k, _)| !k.starts_with("RECALL_EMBEDDINGS_")).collect();
    let server = Server::start_with(folder.path(), &borrowed(&env));
    let session = server.create_session().await;
    let names = ["Zebulon", "Quirin", "Odalys", "Thaddeus", "Ignatz", "Wilhelmina", "Bartholomew", "Xaver", "Yolanda", "Leocadia"];
    let messages: Vec<Value> = names.iter().map(|n| json!({ "text": format!("I trust {n} with my orchids.") })).collect();
    let import = "mutation($i: ImportMessagesInput!) { importMessages(input: $i) { errors { code } } }";
    server.graphql(import, json!({ "i": { "sessionId": session, "messages": messages } })).await;
    server.settle(&session).await;
    let facts = server.facts().await;
    for name in names {
        assert!(facts.iter().any(|(words, ..)| words.ends_with(&format!("KNOWS {name}"))), "{name}: {facts:?}");
    }
    let about: Vec<usize> = (0..model.seen().len()).map(|n| model.shown(n)["messages"].as_array().map_or(1, Vec::len)).collect();
    assert_eq!(about, [8, 2]);
    let last = &model.shown(1)["messages"][1];
    assert_eq!((&last["message"], last["earlier"].as_array().map(Vec::len)), (&messages[9]["text"], Some(5)));
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_reports_unreachable_model_server() {
    let model = ModelServer::start(helpful).await;
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with(folder.path(), &borrowed(&settings(&model)));
    let ready = async |query: &str| {
        let answer = server.http.get(server.url(&format!("/readyz{query}"))).send().await.unwrap();
        let status = answer.status().as_u16();
        let body: Value = answer.json().await.unwrap();
        let is = |c: &Value| format!("{} {}", c["name"].as_str().unwrap(), c["ready"]);
        (status, body["status"].clone(), body["checks"].as_array().unwrap().iter().map(is).collect::<Vec<_>>())
    };
    let found = |it: bool| vec!["sqlite true".to_owned(), format!("embeddings {it}"), format!("model {it}")];
    assert_eq!(ready("").await, (200, json!("ready"), found(true)));
    drop(model);
    let started = std::time::Instant::now();
    while ready("").await != (503, json!("not_ready"), found(false)) {
        assert!(started.elapsed() < TIMEOUT, "{:?}", ready("").await);
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(ready("?exclude=model,embeddings").await, (200, json!("degraded"), found(false)));
    assert_eq!(ready("?exclude=model").await.0, 503);
    assert_eq!(ready("?exclude=optional").await.0, 200);
}
