//! Errors outside of GraphQL have one shape, and a server without login serves only local requests.

use serde_json::{Value, json};

use crate::server::Server;

#[tokio::test]
async fn refused_requests_have_a_code() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let session = server.create_session().await;
    for (path, status) in [
        (format!("/context/{session}?q=a&first=abc"), 400),
        ("/context/%FF?q=a".to_owned(), 400),
        (format!("/sessions/{session}/events?after=a&after=b"), 400),
        ("/chat".to_owned(), 405),
    ] {
        let answer = server.http.get(server.url(&path)).send().await.unwrap();
        assert_eq!(answer.status(), status, "{path}");
        assert_eq!(answer.headers()["content-type"], "application/problem+json", "{path}");
        let problem: Value = answer.json().await.unwrap();
        assert!(problem["code"].is_string(), "{path}: {problem}");
    }
    let events = server.http.get(server.url(&format!("/sessions/{session}/events"))).header("last-event-id", &b"\xff"[..]);
    let problem: Value = events.send().await.unwrap().json().await.unwrap();
    assert_eq!(problem["code"], "BAD_CURSOR");
}

#[tokio::test]
async fn proxied_request_is_not_the_local_user() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let body = json!({ "query": "{ viewer { role } }" });
    for name in ["x-forwarded-for", "forwarded", "via", "x-real-ip"] {
        let answer = server.http.post(server.url("/graphql")).header(name, "203.0.113.9").json(&body).send().await.unwrap();
        assert_eq!(answer.status(), 401, "{name}");
    }
}

#[tokio::test]
async fn arguments_with_default_accept_null() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let session = server.create_session().await;
    let query =
        "mutation($s: ID!, $r: MessageRole) { sendMessage(input: { sessionId: $s, text: \"Hi.\", role: $r }) { message { role } } }";
    let data = server.graphql(query, json!({ "s": session, "r": null })).await;
    assert_eq!(data["sendMessage"]["message"]["role"], "USER");
    let query = "query($n: Int, $s: ContextScope) { context(input: { query: \"John\", first: $n, scope: $s }) { methodsUsed } }";
    server.graphql(query, json!({})).await;
}
