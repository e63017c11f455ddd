//! What Open WebUI sends besides plain conversations, as recorded with version 0.12.

use serde_json::{Value, json};

use super::{ask, request, seen, settle, start, stored, texts, turns};
use crate::{
    models::server::{MODEL, ModelServer, Reaction},
    server::Server,
};

/// The ids of chats that Open WebUI does not keep, and of a channel.
const FORGETFUL: [&str; 3] =
    ["temporary:025Bzc_kuBk47AlbAAAJ", "local:025Bzc_kuBk47AlbAAAJ", "channel:8b1f8f0e-5b0c-4f0e-9a57-8e0b7d6f1c22"];

async fn titles(server: &Server) -> Value {
    let data = server.graphql("{ sessions(first: 50) { nodes { title } } }", json!({})).await;
    data["sessions"]["nodes"].as_array().unwrap().iter().map(|session| session["title"].clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn temporary_chats_and_channels_have_no_memory() {
    let model = ModelServer::start(|_, _| Reaction::Say("Fine.".to_owned())).await;
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &model, &[]);
    ask(&server, Some("kept"), &["My sister Maren lives in Ghent."]).await;
    settle(&server).await;
    let before = texts(&server).await;
    for chat in FORGETFUL {
        let n = model.seen().len();
        let sent = ["I moved to Lyon.", "Fine.", "Where does my sister Maren live?"];
        ask(&server, Some(chat), &sent).await;
        assert_eq!(seen(&model, n), turns(&sent).as_array().unwrap().clone(), "{chat} gets memory");
        for is_streamed in [false, true] {
            let body = json!({ "model": "recall", "messages": turns(&sent), "stream": is_streamed });
            let reply = request(&server, Some(chat), &body).send().await.unwrap();
            assert_eq!(reply.status(), 200);
            let reply = reply.text().await.unwrap();
            assert!(reply.contains("remembered") && !reply.contains("Ghent"), "{chat}: {reply}");
        }
        // Without the header, the body may name the chat.
        let body = json!({ "model": MODEL, "messages": turns(&sent[..1]), "metadata": { "chat_id": chat } });
        assert_eq!(request(&server, None, &body).header("x-recall-citations", "none").send().await.unwrap().status(), 200);
        let title = request(&server, Some(chat), &body).header("x-openwebui-task", "title_generation");
        assert_eq!(title.send().await.unwrap().status(), 200);
        assert_eq!(texts(&server).await, before, "{chat} is remembered");
        assert_eq!(titles(&server).await.as_array().unwrap().len(), 1, "{chat} has a session");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn title_of_the_front_end_becomes_that_of_the_session() {
    let model = ModelServer::start(|n, _| {
        Reaction::Say(match n {
            0 => "Here it is: { \"title\": \"🌊 Moving to Ghent\" }".to_owned(),
            3 => "{\"title\": \"Maren\"}".to_owned(),
            _ => "I cannot find a title.".to_owned(),
        })
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &model, &[]);
    let text = "My sister Maren lives in Ghent.";
    let task = async |name: &str| {
        let body = json!({ "model": MODEL, "messages": turns(&["### Task:\nGenerate a concise title"]), "stream": false });
        let reply = request(&server, Some("one"), &body).header("x-openwebui-task", name).send().await.unwrap();
        assert_eq!(reply.status(), 200);
    };
    // Open WebUI asks for the title before it sends the message.
    task("title_generation").await;
    ask(&server, Some("one"), &[text]).await;
    assert_eq!(titles(&server).await, json!(["🌊 Moving to Ghent"]));
    task("title_generation").await;
    assert_eq!(titles(&server).await, json!(["🌊 Moving to Ghent"]), "a reply without a title");
    task("title_generation").await;
    assert_eq!(titles(&server).await, json!(["Maren"]));
    task("tags_generation").await;
    assert_eq!(stored(&server).await.iter().filter(|m| m["role"] == "USER").count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn photo_passes_and_longer_requests_are_refused() {
    let model = ModelServer::start(|_, _| Reaction::Say("A photo.".to_owned())).await;
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &model, &[("RECALL_FRONTEND_BODY_MEGABYTES", "2")]);
    let photo = |bytes: usize| {
        let image = json!({ "type": "image_url", "image_url": { "url": format!("data:image/jpeg;base64,{}", "A".repeat(bytes)) } });
        let files = "<attached_files>\n<file type=\"file\" id=\"1\" url=\"1\" content_type=\"image/jpeg\" name=\"photo.jpg\"/>\n</attached_files>\n\n";
        let text = |text: &str| json!({ "type": "text", "text": text });
        json!([{ "role": "user", "content": [text(files), text("My garden in Ghent."), image] }])
    };
    let sent = photo(1_900_000);
    let reply = request(&server, Some("one"), &json!({ "model": MODEL, "messages": sent })).send().await.unwrap();
    assert_eq!(reply.status(), 200);
    assert_eq!(Value::from(seen(&model, 0)), sent);
    assert_eq!(texts(&server).await, ["My garden in Ghent.", "A photo."]);
    let refused = request(&server, Some("one"), &json!({ "model": MODEL, "messages": photo(2_100_000) })).send().await.unwrap();
    assert_eq!(refused.status(), 413);
    let error: Value = refused.json().await.unwrap();
    assert_eq!(error["error"]["code"], "BODY_TOO_LARGE");
}

/// Open WebUI saves a changed message without sending it, and deletes one with its answer. The next request shows the new history.
#[tokio::test(flavor = "multi_thread")]
async fn messages_behind_a_changed_or_deleted_one_are_stored_once() {
    let model = ModelServer::start(|_, _| Reaction::Say("Fine.".to_owned())).await;
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &model, &[]);
    let users = async || {
        let all = stored(&server).await.into_iter().filter(|m| m["role"] == "USER");
        all.map(|m| m["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    ask(&server, Some("one"), &["a", "Fine.", "b", "Fine.", "c", "Fine.", "d"]).await;
    // Without b.
    ask(&server, Some("one"), &["a", "Fine.", "c", "Fine.", "d", "Fine.", "e"]).await;
    assert_eq!(users().await, ["a", "b", "c", "d", "e"], "what the front end deletes stays");
    // With another c: it replaces the first one.
    ask(&server, Some("one"), &["a", "Fine.", "b", "Fine.", "c, changed", "Fine.", "d", "Fine.", "e", "Fine.", "f"]).await;
    assert_eq!(users().await, ["a", "b", "d", "e", "c, changed", "f"]);
    ask(&server, Some("one"), &["a", "Fine.", "b", "Fine.", "c, changed", "Fine.", "d", "Fine.", "e", "Fine.", "f", "Fine.", "g"]).await;
    assert_eq!(users().await, ["a", "b", "d", "e", "c, changed", "f", "g"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn program_with_its_own_model_gets_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let recollect = async |chat: &str, messages: Value, task: &str| {
        let body = json!({ "messages": messages });
        let request = server.http.post(server.url("/v1/memory")).header("x-openwebui-chat-id", chat).header("x-openwebui-task", task);
        let reply = request.json(&body).send().await.unwrap();
        assert_eq!(reply.status(), 200);
        reply.json::<Value>().await.unwrap()
    };
    let nothing = json!({ "object": "memory", "memory": null, "sources": [] });
    assert_eq!(recollect("one", turns(&["My sister Maren lives in Ghent."]), "").await, nothing);
    settle(&server).await;
    let question = "Where does my sister Maren live?";
    let found = recollect("two", turns(&[question]), "").await;
    let block = found["memory"].as_str().unwrap();
    assert!(block.starts_with("Memory:") && block.contains("\n[1] ") && block.contains("Ghent"), "{block}");
    let sources = found["sources"].as_array().unwrap();
    assert_eq!(sources.len(), block.matches("\n[").count(), "each entry has a source");
    assert!(sources.iter().any(|source| source["document"][0].as_str().unwrap().contains("Maren lives in Ghent")), "{found:#}");
    // The answer is stored once.
    for _ in 0..2 {
        assert_eq!(recollect("two", turns(&[question, "In Ghent [1]."]), "").await, nothing);
    }
    let all = ["My sister Maren lives in Ghent.", question, "In Ghent [1]."];
    let mut found = texts(&server).await;
    found.sort_by_key(|text| all.iter().position(|t| t == text));
    assert_eq!(found, all);
    for (chat, task) in FORGETFUL.map(|chat| (chat, "")).into_iter().chain([("three", "title_generation")]) {
        assert_eq!(recollect(chat, turns(&[question]), task).await, nothing, "{chat} {task}");
    }
    assert_eq!(texts(&server).await.len(), all.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_was_told_several_times_is_one_entry_of_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let recollect = async |chat: &str, messages: Value| {
        let request = server.http.post(server.url("/v1/memory")).header("x-openwebui-chat-id", chat);
        request.json(&json!({ "messages": messages })).send().await.unwrap().json::<Value>().await.unwrap()
    };
    for chat in ["one", "two", "three"] {
        recollect(chat, turns(&["My sister Maren lives in Ghent.", "Maren lives in Ghent [1].", "Thanks."])).await;
    }
    settle(&server).await;
    let found = recollect("four", turns(&["Where does my sister Maren live?"])).await;
    let block = found["memory"].as_str().unwrap();
    for entry in [r#"the user said: "My sister Maren lives in Ghent.""#, r#"the assistant said: "Maren lives in Ghent.""#] {
        assert_eq!(block.matches(entry).count(), 1, "{block}");
    }
}

/// Once a document is attached to a chat, Open WebUI puts it before each new message.
#[tokio::test(flavor = "multi_thread")]
async fn message_with_documents_is_remembered_without_them() {
    let model = ModelServer::start(|_, _| Reaction::Say("Fine.".to_owned())).await;
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &model, &[]);
    let files = "<attached_files>\n<file type=\"file\" id=\"1\" url=\"1\" name=\"boiler.txt\"/>\n</attached_files>\n\n";
    let with = |text: &str| {
        format!(
            "### Task:\nRespond to the user query using the provided context.\n\n<context>\n<source id=\"1\">I live in Oslo.</source>\n</context>\n\n{text}"
        )
    };
    let first = "My cat is called Tom.";
    ask(&server, Some("one"), &[&with(&format!("{files}{first}"))]).await;
    ask(&server, Some("one"), &[&format!("{files}{first}"), "Fine.", &with("My dog is called Rex.")]).await;
    assert_eq!(texts(&server).await, [first, "Fine.", "My dog is called Rex.", "Fine."]);
    settle(&server).await;
    ask(&server, Some("two"), &[&with("What is my cat called?")]).await;
    let sent = seen(&model, 2);
    assert!(sent[0]["content"].as_str().unwrap().contains("Tom"), "no memory: {sent:#?}");
    assert_eq!(sent[1]["content"], with("What is my cat called?"), "the model gets the documents");
}
