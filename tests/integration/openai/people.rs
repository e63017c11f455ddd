//! Front ends that serve many people with one key.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use futures_util::StreamExt;
use recall::system::SystemClock;
use recall_ports::Clock;
use ring::hmac;
use serde_json::{Value, json};

use super::{start, turns};
use crate::{
    models::server::{MODEL, ModelServer, Reaction},
    server::Server,
};

const KEY: &str = "the-key-of-the-front-end-0123456789abcdef";
const SECRET: &str = "the-secret-of-the-front-end-0123456789ab";
const ENV: [(&str, &str); 2] = [("RECALL_FRONTEND_KEY", KEY), ("RECALL_FRONTEND_USER_SECRET", SECRET)];

/// Signs a person as Open WebUI does.
fn signed(id: &str) -> String {
    let now = SystemClock.now().timestamp();
    let claims =
        json!({ "sub": id, "email": "x@example.org", "name": "X", "role": "admin", "iss": "open-webui", "iat": now, "exp": now + 300 });
    let content = [json!({ "alg": "HS256", "typ": "JWT" }), claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes()), content.as_bytes());
    format!("{content}.{}", URL_SAFE_NO_PAD.encode(signature))
}

async fn say(server: &Server, person: &str, chat: &str, text: &str) -> Value {
    let body = json!({ "model": MODEL, "messages": turns(&[text]) });
    let request = server.http.post(server.url("/v1/chat/completions")).bearer_auth(KEY).header("x-openwebui-user-jwt", signed(person));
    let reply = request.header("x-openwebui-chat-id", chat).json(&body).send().await.unwrap();
    assert_eq!(reply.status(), 200);
    reply.json().await.unwrap()
}

async fn messages(server: &Server, person: &str) -> Value {
    let query = json!({ "query": "{ viewer { id role } sessions(first: 50) { nodes { id messages(first: 50) { nodes { text } } } } }" });
    let request = server.http.post(server.url("/graphql")).bearer_auth(KEY).header("x-openwebui-user-jwt", signed(person));
    request.json(&query).send().await.unwrap().json().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn people_behind_one_key_have_separate_memories() {
    let model = ModelServer::start(|_, _| Reaction::Say("Fine.".to_owned())).await;
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &model, &ENV);
    // The same chat id: it names a session of each.
    say(&server, "anna", "chat", "My sister Xylophagia lives in Ghent.").await;
    say(&server, "boris", "chat", "My brother Peter lives in Lyon.").await;
    say(&server, "boris", "other", "Where does my sister Xylophagia live?").await;
    let asked = &model.seen()[2].1["messages"];
    assert!(!asked.to_string().contains("Ghent"), "{asked:#}");
    let (anna, boris) = (messages(&server, "anna").await, messages(&server, "boris").await);
    assert!(anna.to_string().contains("Ghent") && !anna.to_string().contains("Lyon"), "{anna:#}");
    assert!(boris.to_string().contains("Lyon") && !boris.to_string().contains("Ghent"), "{boris:#}");
    assert_eq!((&anna["data"]["viewer"]["role"], &boris["data"]["viewer"]["role"]), (&json!("USER"), &json!("USER")));
    assert_ne!(anna["data"]["viewer"]["id"], boris["data"]["viewer"]["id"]);
    assert_ne!(anna["data"]["sessions"]["nodes"][0]["id"], boris["data"]["sessions"]["nodes"][1]["id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_people_chat_at_the_same_time() {
    let model = ModelServer::start(|_, _| Reaction::Say("Fine.".to_owned())).await;
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &model, &ENV);
    let people: Vec<String> = (0..50).map(|n| format!("person-{n}")).collect();
    let chats = futures_util::stream::iter(&people).map(async |person| {
        say(&server, person, "chat", &format!("My code word is {person}-secret.")).await;
        messages(&server, person).await
    });
    let found: Vec<Value> = chats.buffered(50).collect().await;
    for (person, own) in people.iter().zip(&found) {
        let all = own["data"]["sessions"].to_string();
        assert_eq!(all.matches("-secret").count(), 1, "{person}: {all}");
        assert!(all.contains(&format!("{person}-secret")), "{person}: {all}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn key_without_a_person_and_unknown_keys_are_refused() {
    let model = ModelServer::start(|_, _| Reaction::Say("Fine.".to_owned())).await;
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &model, &ENV);
    let body = json!({ "model": MODEL, "messages": turns(&["Hello"]) });
    let post = || server.http.post(server.url("/v1/chat/completions")).json(&body);
    for (request, code) in [
        (post().bearer_auth(KEY), "FRONTEND_USER_REQUIRED"),
        (post().bearer_auth(KEY).header("x-openwebui-user-id", "anna"), "FRONTEND_USER_REQUIRED"),
        (post().bearer_auth(KEY).header("x-openwebui-user-jwt", "a.b.c"), "UNAUTHENTICATED"),
        (post().bearer_auth("another key"), "UNAUTHENTICATED"),
        (post(), "UNAUTHENTICATED"),
        (post().header("x-openwebui-user-jwt", signed("anna")), "UNAUTHENTICATED"),
    ] {
        let reply = request.send().await.unwrap();
        assert_eq!(reply.status(), 401, "{code}");
        let error: Value = reply.json().await.unwrap();
        assert_eq!((&error["error"]["code"], &error["error"]["type"]), (&json!(code), &json!("authentication_error")));
    }
    // A container reaches the server under another host name than browsers do; it needs the key for that.
    let elsewhere = post().bearer_auth(KEY).header("x-openwebui-user-jwt", signed("anna")).header("host", "recall:8080");
    assert_eq!(elsewhere.send().await.unwrap().status(), 200);
    assert_eq!(post().header("host", "recall:8080").send().await.unwrap().status(), 403);
    assert_eq!(model.seen().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn unsigned_people_need_a_setting() {
    let model = ModelServer::start(|_, _| Reaction::Say("Fine.".to_owned())).await;
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &model, &[("RECALL_FRONTEND_KEY", KEY), ("RECALL_FRONTEND_UNSIGNED_USER", "true")]);
    let body = json!({ "model": MODEL, "messages": turns(&["Hello"]) });
    let post = || server.http.post(server.url("/v1/chat/completions")).bearer_auth(KEY).json(&body);
    assert_eq!(post().header("x-openwebui-user-id", "anna").send().await.unwrap().status(), 200);
    assert_eq!(post().send().await.unwrap().status(), 401);
}
