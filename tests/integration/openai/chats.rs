//! Conversations are remembered once, and what is known is added to requests.

use serde_json::{Value, json};

use super::{ask, request, seen, settle, start, stored, texts, turns};
use crate::models::server::{KEY, MODEL, ModelServer, Reaction};

async fn agreeable() -> ModelServer {
    ModelServer::start(|n, _| Reaction::Say(format!("Answer {n} [1]."))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn chat_is_remembered_and_known_in_the_next_one() {
    let (model, folder) = (agreeable().await, tempfile::tempdir().unwrap());
    let server = start(folder.path(), &model, &[]);
    assert_eq!(ask(&server, Some("one"), &["My sister Maren lives in Ghent."]).await, "Answer 0 [1].");
    assert_eq!(seen(&model, 0), turns(&["My sister Maren lives in Ghent."]).as_array().unwrap().clone(), "a block without memory");
    settle(&server).await;
    let system = json!({ "role": "system", "content": "Be kind." });
    let question = json!({ "role": "user", "content": "Where does my sister live?" });
    let body = json!({ "model": MODEL, "messages": [system, question], "temperature": 0.7, "unknown": { "x": [1, null] } });
    let reply: Value =
        request(&server, Some("two"), &body).header("x-recall-citations", "text").send().await.unwrap().json().await.unwrap();
    let answer = reply["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(answer.starts_with("Answer 1 [1].\n\nSources:\n[1] “") && answer.contains("Maren"), "{answer}");
    let sent = seen(&model, 1);
    assert_eq!((&sent[0], &sent[2], sent.len()), (&system, &question, 3));
    let block = sent[1]["content"].as_str().unwrap();
    assert!(sent[1]["role"] == "system" && block.starts_with("Memory:") && block.contains("Ghent") && block.contains("\n[1] "), "{block}");
    assert_eq!(model.seen()[1].1["unknown"], body["unknown"]);
    // What this server added is not learned.
    let all = stored(&server).await;
    let answers: Vec<&Value> = all.iter().filter(|m| m["role"] == "ASSISTANT").map(|m| &m["text"]).collect();
    assert!(answers.iter().all(|text| !text.as_str().unwrap().contains("Sources")) && answers.len() == 2, "{answers:?}");
    assert!(all.iter().all(|m| !m["text"].as_str().unwrap().contains("Memory:") && m["text"] != "Be kind."));
    assert!(all.iter().any(|m| m["title"] == "Where does my sister live?"), "{all:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unrelated_message_gets_no_block() {
    let (model, folder) = (agreeable().await, tempfile::tempdir().unwrap());
    let server = start(folder.path(), &model, &[]);
    ask(&server, Some("one"), &["The boiler pressure is 1.4 bar."]).await;
    settle(&server).await;
    ask(&server, Some("two"), &["Translate cheese into French."]).await;
    assert_eq!(seen(&model, 1).len(), 1, "{:#?}", seen(&model, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_is_passed_on_unchanged() {
    let model = ModelServer::start(|_, _| Reaction::Say("Hello to you.".to_owned())).await;
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &model, &[]);
    let body = json!({ "model": MODEL, "messages": turns(&["Hello"]), "stream": true, "stream_options": { "include_usage": true } });
    let through = request(&server, Some("one"), &body).send().await.unwrap();
    assert_eq!(through.headers()["content-type"], "text/event-stream; charset=utf-8");
    let through = through.text().await.unwrap();
    // The end arrives after the answer is stored.
    assert_eq!(texts(&server).await, ["Hello", "Hello to you."]);
    let direct = server.http.post(format!("{}/chat/completions", model.url())).bearer_auth(KEY).json(&body).send().await.unwrap();
    assert_eq!(through, direct.text().await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn streamed_sources_come_before_the_end() {
    let (model, folder) = (agreeable().await, tempfile::tempdir().unwrap());
    let server = start(folder.path(), &model, &[]);
    ask(&server, Some("one"), &["My sister Maren lives in Ghent."]).await;
    settle(&server).await;
    let body = json!({ "model": MODEL, "messages": turns(&["Where does my sister live?"]), "stream": true });
    let stream = async |mode: &str| {
        let reply = request(&server, Some(mode), &body).header("x-recall-citations", mode).send().await.unwrap();
        let text = reply.text().await.unwrap();
        text.lines().filter_map(|line| line.strip_prefix("data: ")).map(str::to_owned).collect::<Vec<_>>()
    };
    let text = stream("text").await;
    let source = text.iter().position(|event| event.contains("Sources:")).expect("no sources");
    let finish = text.iter().position(|event| event.contains("\"finish_reason\":\"stop\"")).unwrap();
    assert!(source < finish && text.last().unwrap() == "[DONE]");
    let events = stream("openwebui").await;
    let event: Value = events.iter().filter_map(|e| serde_json::from_str(e).ok()).find(|e: &Value| e["event"]["type"] == "source").unwrap();
    let data = &event["event"]["data"];
    assert!(data["document"][0].as_str().unwrap().contains("Maren") && data["metadata"][0]["source"].is_string(), "{event:#}");
    assert_eq!((&event["choices"], events.last().unwrap().as_str()), (&json!([]), "[DONE]"));
    assert!(stream("none").await.iter().all(|event| !event.contains("Maren")));
}

#[tokio::test(flavor = "multi_thread")]
async fn whole_history_is_stored_once_in_order() {
    let (model, folder) = (agreeable().await, tempfile::tempdir().unwrap());
    let server = start(folder.path(), &model, &[("RECALL_FRONTEND_CONTEXT_TOKENS", "0")]);
    let all: Vec<String> = (0..399).map(|n| format!("Text {n} of the conversation.")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    // Begun elsewhere, then sent whole each time, with an answer that the client altered.
    for upto in [201, 203, 399, 399] {
        let mut sent = all[..upto].to_vec();
        sent[1] = "An altered answer.";
        ask(&server, Some("one"), &sent).await;
    }
    let found = stored(&server).await;
    let of = |role: &str| found.iter().filter(|m| m["role"] == role).map(|m| m["text"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(of("USER"), all.iter().step_by(2).copied().collect::<Vec<_>>());
    // Answers of this server were recorded, so those of the client are not.
    let answers = of("ASSISTANT");
    assert_eq!(answers.len(), 200 + 1, "{answers:?}");
    assert_eq!((answers[0], answers[100], answers[101]), ("An altered answer.", "Answer 0 [1].", "Answer 1 [1]."));
}

#[tokio::test(flavor = "multi_thread")]
async fn edited_message_is_deleted_and_regenerated_answer_follows() {
    let (model, folder) = (agreeable().await, tempfile::tempdir().unwrap());
    let server = start(folder.path(), &model, &[]);
    ask(&server, Some("one"), &["Hello", "Hi", "My dog is called Rex."]).await;
    ask(&server, Some("one"), &["Hello", "Hi", "My dog is called Rex."]).await;
    assert_eq!(texts(&server).await, ["Hello", "Hi", "My dog is called Rex.", "Answer 0 [1].", "Answer 1 [1]."]);
    let before = stored(&server).await;
    ask(&server, Some("one"), &["Hello", "Hi", "My dog is called Max."]).await;
    let found = stored(&server).await;
    let edited = found.iter().find(|m| m["text"] == "My dog is called Max.").unwrap();
    assert_eq!(edited["sourceMetadata"], json!({ "edits": before[2]["id"] }));
    assert!(found.iter().all(|m| m["id"] != before[2]["id"]), "{found:#?}");
    // The first version again.
    ask(&server, Some("one"), &["Hello", "Hi", "My dog is called Rex."]).await;
    let found = texts(&server).await;
    assert!(found.iter().any(|t| t == "My dog is called Rex.") && found.iter().all(|t| t != "My dog is called Max."), "{found:?}");
    // The first message of a client that sends the history, edited twice: each names the one before it, and all stay.
    ask(&server, Some("two"), &["One", "A", "More"]).await;
    ask(&server, Some("two"), &["Two"]).await;
    ask(&server, Some("two"), &["Three"]).await;
    let found = stored(&server).await;
    let of = |text: &str| found.iter().find(|m| m["text"] == text).unwrap();
    assert_eq!(of("Two")["sourceMetadata"]["edits"], of("One")["id"]);
    assert_eq!(of("Three")["sourceMetadata"]["edits"], of("Two")["id"]);
    let log = server.graphql("{ auditLog(first: 10) { nodes { action target } } }", json!({})).await;
    let deleted = json!({ "action": "message.deleted", "target": before[2]["id"] });
    assert!(log["auditLog"]["nodes"].as_array().unwrap().contains(&deleted), "{log:#}");
    // Without an id of the conversation, another message is not an edit.
    ask(&server, None, &["Same start", "A", "One way"]).await;
    ask(&server, None, &["Same start", "A", "Another way"]).await;
    let found = stored(&server).await;
    let of = |text: &str| found.iter().find(|m| m["text"] == text).unwrap();
    assert_eq!(of("Another way")["sourceMetadata"], Value::Null);
    assert_eq!(of("Another way")["session"], of("One way")["session"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_a_client_without_history_are_appended() {
    let (model, folder) = (agreeable().await, tempfile::tempdir().unwrap());
    let server = start(folder.path(), &model, &[]);
    let said = ["Hello", "My dog is called Rex.", "yes", "He is two.", "yes", "yes"];
    for text in said {
        ask(&server, Some("one"), &[text]).await;
    }
    let users: Vec<Value> = stored(&server).await.into_iter().filter(|m| m["role"] == "USER").collect();
    // The last one is the same question again.
    assert_eq!(users.iter().map(|m| m["text"].as_str().unwrap()).collect::<Vec<_>>(), said[..5]);
    assert!(users.iter().all(|m| m["sourceMetadata"].is_null()), "{users:#?}");
    assert_eq!(texts(&server).await.len(), 5 + 6, "an answer is missing");
    // It was the first message of another branch: the history continues it.
    ask(&server, Some("two"), &["One"]).await;
    ask(&server, Some("two"), &["Two"]).await;
    ask(&server, Some("two"), &["Two", "Answer", "More"]).await;
    let all: Vec<String> = texts(&server).await;
    for text in ["One", "Two", "More"] {
        assert_eq!(all.iter().filter(|t| *t == text).count(), 1, "{text}: {all:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn message_without_an_answer_stays_next_to_its_edit() {
    let failing = ModelServer::start(|n, _| if n == 0 { Reaction::Say("Hi".to_owned()) } else { Reaction::Fail(500) }).await;
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &failing, &[]);
    ask(&server, Some("one"), &["Hello"]).await;
    for text in ["From the phone.", "From the desk."] {
        let body = json!({ "model": MODEL, "messages": turns(&["Hello", "Hi", text]) });
        assert_eq!(request(&server, Some("one"), &body).send().await.unwrap().status(), 500);
    }
    assert_eq!(texts(&server).await, ["Hello", "Hi", "From the phone.", "From the desk."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn shortened_history_continues_the_conversation() {
    let (model, folder) = (agreeable().await, tempfile::tempdir().unwrap());
    let server = start(folder.path(), &model, &[]);
    ask(&server, Some("one"), &["a", "A", "b", "B", "c"]).await;
    ask(&server, Some("one"), &["b", "B", "c", "C", "d"]).await;
    ask(&server, Some("one"), &["c", "C", "d", "D", "e"]).await;
    let users: Vec<Value> = stored(&server).await.into_iter().filter(|m| m["role"] == "USER").collect();
    assert_eq!(users.iter().map(|m| m["text"].as_str().unwrap()).collect::<Vec<_>>(), ["a", "b", "c", "d", "e"]);
    assert!(users.iter().all(|m| m["sourceMetadata"].is_null()), "{users:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn background_tasks_are_forwarded_but_not_remembered() {
    let (model, folder) = (agreeable().await, tempfile::tempdir().unwrap());
    let server = start(folder.path(), &model, &[]);
    ask(&server, Some("one"), &["My sister Maren lives in Ghent."]).await;
    settle(&server).await;
    let before = texts(&server).await;
    let body = |text: &str| json!({ "model": MODEL, "messages": turns(&[text]) });
    let named = request(&server, Some("one"), &body("Where does my sister live?")).header("x-openwebui-task", "title_generation");
    let by_text = request(&server, Some("one"), &body("### Task:\nGenerate a title for: My sister Maren lives in Ghent."));
    for (n, task) in [named, by_text].into_iter().enumerate() {
        assert_eq!(task.send().await.unwrap().status(), 200);
        assert_eq!(seen(&model, n + 1).len(), 1, "a task gets memory");
    }
    assert_eq!(texts(&server).await, before);
}
