//! Images and recordings in chats: they pass through, and are resources of the message.

use serde_json::{Value, json};

use super::{request, seen, settle, start, stored};
use crate::{
    models::server::{MODEL, ModelServer, Reaction},
    server::Server,
};

/// "Hello World!" and its name by RFC 6920.
const HELLO: &str = "data:image/png;base64,SGVsbG8gV29ybGQh";
const HELLO_URI: &str = "ni:///sha-256;f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk";

fn image(url: &str) -> Value {
    json!({ "type": "image_url", "image_url": { "url": url } })
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn user(parts: &[Value]) -> Value {
    json!({ "role": "user", "content": parts })
}

/// Sends a conversation of user messages with an answer between each, and returns the status.
async fn send(server: &Server, chat: Option<&str>, users: &[Value]) -> u16 {
    let mut messages = Vec::new();
    for (n, message) in users.iter().enumerate() {
        if n > 0 {
            messages.push(json!({ "role": "assistant", "content": "Nice." }));
        }
        messages.push(message.clone());
    }
    request(server, chat, &json!({ "model": MODEL, "messages": messages })).send().await.unwrap().status().as_u16()
}

/// Returns the resources of all user messages, each as [uri, mediaType, bytes, origin], with the text.
async fn resources(server: &Server) -> Vec<Value> {
    let query = "{ sessions { nodes { messages(first: 50) { nodes { text role resources { uri mediaType bytes sha256 origin } } } } } }";
    let data = server.graphql(query, json!({})).await;
    let messages = data["sessions"]["nodes"].as_array().unwrap().iter().flat_map(|s| s["messages"]["nodes"].as_array().unwrap());
    let users = messages.filter(|m| m["role"] == "USER");
    let of = |r: &Value| json!([r["uri"], r["mediaType"], r["bytes"], r["sha256"].is_string(), r["origin"]]);
    users.map(|m| json!([m["text"], m["resources"].as_array().unwrap().iter().map(of).collect::<Vec<_>>()])).collect()
}

async fn nice() -> ModelServer {
    ModelServer::start(|_, _| Reaction::Say("Nice.".to_owned())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn attachments_and_links_become_resources_of_their_message() {
    let (model, folder) = (nice().await, tempfile::tempdir().unwrap());
    let server = start(folder.path(), &model, &[]);
    let audio = json!({ "type": "input_audio", "input_audio": { "data": "SGk=", "format": "wav" } });
    let first = user(&[text("My dog Rex, see HTTPS://Example.com/rex"), image(HELLO), image("https://example.com/rex.png"), audio]);
    assert_eq!(send(&server, Some("one"), std::slice::from_ref(&first)).await, 200);
    assert_eq!(seen(&model, 0), [first.clone()], "the request was changed");
    let hi = "ni:///sha-256;Nja3gQKh_k9KoGrtjWxpR7vQb3Xqr7ChuFDMd7MGDQM";
    let expected = json!([
        "My dog Rex, see HTTPS://Example.com/rex",
        [
            [HELLO_URI, "image/png", 12, true, "PART"],
            ["https://example.com/rex.png", null, null, false, "PART"],
            [hi, "audio/wav", 2, true, "PART"],
            ["https://example.com/rex", null, null, false, "LINK"],
        ]
    ]);
    let found = resources(&server).await;
    assert_eq!(found[0][1][0], expected[1][0]);
    assert_eq!((&found[0][1][1], &found[0][1][3]), (&expected[1][1], &expected[1][3]));
    assert_eq!((found[0][1].as_array().unwrap().len(), &found[0][1][2][1]), (4, &json!("audio/wav")));
    // The client sends the history again.
    assert_eq!(send(&server, Some("one"), &[first, user(&[text("Good.")])]).await, 200);
    assert_eq!(resources(&server).await, [found[0].clone(), json!(["Good.", []])]);

    let session = stored(&server).await[0]["session"].as_str().unwrap().to_owned();
    let listed: Value = server.http.get(server.url(&format!("/sessions/{session}/messages"))).send().await.unwrap().json().await.unwrap();
    let rest = &listed["items"][0]["resources"];
    assert_eq!((&rest[0]["uri"], &rest[0]["origin"], &rest[3]["origin"]), (&json!(HELLO_URI), &json!("part"), &json!("link")), "{listed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn image_without_a_text_is_stored_once() {
    let (model, folder) = (nice().await, tempfile::tempdir().unwrap());
    let server = start(folder.path(), &model, &[]);
    let (one, other) = (user(&[image(HELLO)]), user(&[image("data:image/png;base64,AAAA")]));
    let alone = json!({ "model": "recall", "messages": [one] });
    assert_eq!(request(&server, Some("local"), &alone).send().await.unwrap().status(), 200);
    for chat in [Some("named"), None] {
        assert_eq!(send(&server, chat, std::slice::from_ref(&one)).await, 200);
        assert_eq!(send(&server, chat, &[one.clone(), user(&[text("What is it?")])]).await, 200);
    }
    assert_eq!(send(&server, None, std::slice::from_ref(&other)).await, 200);
    // Not readable, so nothing of it is stored; the conversation goes on.
    assert_eq!(send(&server, Some("broken"), &[user(&[image("data:image/png;base64,A")])]).await, 200);
    settle(&server).await;
    let texts: Vec<Value> = resources(&server).await.iter().map(|m| json!([m[0], m[1].as_array().unwrap().len()])).collect();
    let (shown, question) = (json!(["", 1]), json!(["What is it?", 0]));
    assert_eq!(texts.iter().filter(|m| **m == shown).count(), 4, "{texts:?}");
    assert_eq!(texts.iter().filter(|m| **m == question).count(), 2, "{texts:?}");
    assert_eq!(texts.len(), 6, "{texts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn large_bodies_are_accepted_up_to_their_limit() {
    let (model, folder) = (nice().await, tempfile::tempdir().unwrap());
    let server = start(folder.path(), &model, &[("RECALL_FRONTEND_BODY_MEGABYTES", "3"), ("RECALL_FRONTEND_BODIES_MEGABYTES", "3")]);
    let of = |bytes: usize| user(&[text("See"), image(&format!("data:image/png;base64,{}", "A".repeat(bytes / 4 * 4)))]);
    let big = of(2_500_000);
    // Both do not fit at once: one waits for the other.
    let (one, two) =
        tokio::join!(send(&server, Some("1"), std::slice::from_ref(&big)), send(&server, Some("2"), std::slice::from_ref(&big)));
    assert_eq!((one, two), (200, 200));
    assert_eq!(send(&server, Some("3"), &[of(3_200_000)]).await, 413);
    let other = server.http.post(server.url("/v1/embeddings")).bearer_auth("k").json(&json!({ "input": "x".repeat(1_100_000) }));
    assert_eq!(other.send().await.unwrap().status(), 413);
    assert_eq!(resources(&server).await.len(), 2);
}
