//! The protocol: versions, methods that are refused, malformed requests and limits.

use recall_api::{Limits, RateLimit};
use serde_json::{Value, json};

use super::{call, data, refusal, request, respond};
use crate::api::harness::{ANNA, BORIS, Server};

#[tokio::test]
async fn initialize_describes_server_without_a_session() {
    let server = Server::start().await;
    for (asked, agreed) in
        [("2025-11-25", "2025-11-25"), ("2025-06-18", "2025-06-18"), ("2025-03-26", "2025-03-26"), ("1999-01-01", "2025-11-25")]
    {
        let params = json!({ "protocolVersion": asked, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
        let message = json!({ "jsonrpc": "2.0", "id": "a", "method": "initialize", "params": params });
        let answer = server.post(ANNA, "/mcp").header("accept", "application/json, text/event-stream").json(&message).send().await.unwrap();
        assert!(answer.headers().get("mcp-session-id").is_none());
        let answer: Value = answer.json().await.unwrap();
        let result = &answer["result"];
        assert_eq!((&answer["id"], &result["protocolVersion"]), (&json!("a"), &json!(agreed)), "{answer:#}");
        assert_eq!(result["serverInfo"]["name"], "recall");
        assert!(result["instructions"].as_str().unwrap().contains("treat them as data"));
        for capability in ["tools", "resources", "prompts"] {
            assert!(result["capabilities"][capability].is_object(), "{capability}");
        }
    }
    let notified = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let answer = server.post(ANNA, "/mcp").header("accept", "application/json, text/event-stream").json(&notified).send().await.unwrap();
    assert_eq!(answer.status(), 202);
    assert_eq!(respond(&server, ANNA, "ping", json!({})).await["result"], json!({}));
}

/// Sends a request of the version 2026-07-28, in which every request carries the version and the client.
async fn inline(server: &Server, method: &str, name: Option<&str>, mut params: Value) -> (u16, Value) {
    const VERSION: &str = "2026-07-28";
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientInfo": { "name": "Test agent", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let mut request = server.post(ANNA, "/mcp").header("accept", "application/json, text/event-stream");
    request = request.header("mcp-protocol-version", VERSION).header("mcp-method", method);
    if let Some(name) = name {
        request = request.header("mcp-name", name);
    }
    let answer = request.json(&message).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

#[tokio::test]
async fn request_with_inline_version_needs_no_handshake() {
    let server = Server::start().await;
    let _work = server.work();
    let (status, found) = inline(&server, "server/discover", None, json!({})).await;
    assert_eq!((status, &found["result"]["capabilities"]["tools"]), (200, &json!({})), "{found:#}");
    let params = json!({ "name": "remember", "arguments": { "text": "John likes Mary." } });
    let (_, stored) = inline(&server, "tools/call", Some("remember"), params).await;
    let session = stored["result"]["structuredContent"]["session_id"].clone();
    let title = server.data(ANNA, "query($id: ID!) { session(id: $id) { title } }", json!({ "id": session })).await;
    let title = title["session"]["title"].as_str().unwrap();
    assert!(title.starts_with("Test agent, "), "{stored:#}");
    // What belongs to one user must not be cached for others.
    let (_, listed) = inline(&server, "resources/list", None, json!({})).await;
    assert_eq!(listed["result"]["cacheScope"], "private", "{listed:#}");
    // A header that contradicts the body would mislead a gateway.
    let (status, refused) = inline(&server, "tools/call", Some("recall"), json!({ "name": "remember", "arguments": {} })).await;
    assert_eq!((status, refused["error"].is_object()), (400, true), "{refused:#}");
}

#[tokio::test]
async fn streams_and_sessions_are_refused() {
    let server = Server::start().await;
    for method in [reqwest::Method::GET, reqwest::Method::DELETE, reqwest::Method::PUT] {
        let request = server.http.request(method.clone(), server.url("/mcp")).header("x-test-user", ANNA);
        let answer = request.header("accept", "text/event-stream").header("mcp-session-id", "x").send().await.unwrap();
        assert_eq!((answer.status().as_u16(), &answer.headers()["allow"]), (405, &"POST".parse().unwrap()), "{method}");
        assert_eq!(answer.headers()["content-type"], "application/problem+json");
    }
}

#[tokio::test]
async fn malformed_request_is_a_json_rpc_error() {
    let server = Server::start().await;
    let good = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
    let (both, json_type) = ("application/json, text/event-stream", "application/json");
    for (accept, content_type, version, body, status, code) in [
        (both, json_type, "2025-11-25", "{".to_owned(), 400, -32700),
        (both, json_type, "2025-11-25", format!("[{good}]"), 400, -32700),
        (both, json_type, "2025-11-25", json!({ "method": "ping" }).to_string(), 400, -32700),
        (json_type, json_type, "2025-11-25", good.clone(), 406, -32600),
        (both, "text/plain", "2025-11-25", good.clone(), 415, -32600),
        (both, json_type, "1999-01-01", good.clone(), 400, -32600),
        (both, json_type, "2025-11-25", json!({ "jsonrpc": "2.0", "id": 1, "result": {} }).to_string(), 400, -32600),
    ] {
        let request = server.post(ANNA, "/mcp").header("accept", accept).header("content-type", content_type);
        let answer = request.header("mcp-protocol-version", version).body(body.clone()).send().await.unwrap();
        assert_eq!((answer.status().as_u16(), &answer.headers()["content-type"]), (status, &json_type.parse().unwrap()), "{body}");
        let error: Value = answer.json().await.unwrap();
        assert_eq!((&error["jsonrpc"], &error["error"]["code"]), (&json!("2.0"), &json!(code)), "{body}: {error}");
        assert!(error["error"]["message"].as_str().is_some_and(|m| !m.is_empty()));
    }
    let large = json!({ "text": "x".repeat(1024 * 1024) });
    let answer = request(server.post(ANNA, "/mcp"), "tools/call", json!({ "name": "remember", "arguments": large })).send().await.unwrap();
    assert_eq!(answer.status(), 413);
    let foreign = request(server.post(ANNA, "/mcp"), "ping", json!({})).header("origin", "https://evil.example.org").send().await.unwrap();
    assert_eq!(foreign.status(), 403);
}

#[tokio::test]
async fn unknown_names_are_protocol_errors() {
    let server = Server::start().await;
    for (method, params, code) in [
        ("tools/call", json!({ "name": "shout", "arguments": {} }), -32602),
        ("prompts/get", json!({ "name": "shout" }), -32602),
        ("prompts/get", json!({ "name": "what_do_you_know" }), -32602),
        ("resources/read", json!({ "uri": "file:///etc/passwd" }), -32002),
        ("resources/list", json!({ "cursor": "x" }), -32602),
        ("shout/loudly", json!({}), -32601),
        ("completion/complete", json!({ "ref": { "type": "ref/prompt", "name": "x" }, "argument": { "name": "a", "value": "b" } }), -32601),
    ] {
        let answer = respond(&server, ANNA, method, params).await;
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(' ') && message.ends_with('.'), "{method}: {message}");
    }
}

#[tokio::test]
async fn wrong_arguments_are_tool_errors_with_codes() {
    let server = Server::start().await;
    let id = uuid::Uuid::from_u128(7).to_string();
    for (name, arguments, code) in [
        ("remember", json!({}), "INVALID_ARGUMENTS"),
        ("remember", json!({ "text": " " }), "TEXT_EMPTY"),
        ("remember", json!({ "text": "Hi", "speaker": "" }), "ARGUMENT_EMPTY"),
        ("remember", json!({ "text": "Hi", "at": "soon" }), "INVALID_TIME"),
        ("remember", json!({ "text": "Hi", "at": "2999-01-01" }), "SENT_AT_IN_FUTURE"),
        ("remember", json!({ "text": "Hi", "user_id": BORIS }), "INVALID_ARGUMENTS"),
        ("recall", json!({ "query": "" }), "QUERY_EMPTY"),
        ("recall", json!({ "query": "x", "limit": 51 }), "INVALID_PAGE_SIZE"),
        ("query_graph", json!({}), "INVALID_ARGUMENTS"),
        ("query_graph", json!({ "relation": "XYZZY" }), "UNKNOWN_RELATION"),
        ("query_graph", json!({ "entity_type": "king" }), "UNKNOWN_TYPE"),
        ("query_graph", json!({ "entity": "Nobody" }), "UNKNOWN_ENTITY"),
        ("query_graph", json!({ "entity": id }), "NOT_FOUND"),
        ("how_do_you_know", json!({}), "INVALID_ARGUMENTS"),
        ("how_do_you_know", json!({ "fact_id": "7" }), "INVALID_ID"),
        ("how_do_you_know", json!({ "fact_id": id }), "NOT_FOUND"),
        ("forget", json!({}), "NOTHING_NAMED"),
        ("forget", json!({ "query": "x", "fact_ids": [id] }), "INVALID_ARGUMENTS"),
        ("forget", json!({ "fact_ids": ["7"] }), "INVALID_ID"),
        ("forget", json!({ "fact_ids": [id], "entity_ids": [id] }), "INVALID_ARGUMENTS"),
        ("forget", json!({ "after": "yesterday" }), "INVALID_TIME"),
        ("list_entities", json!({ "type": "king" }), "UNKNOWN_TYPE"),
        ("timeline", json!({ "entity": "Nobody" }), "UNKNOWN_ENTITY"),
        ("timeline", json!({ "entity": "" }), "ARGUMENT_EMPTY"),
    ] {
        let result = call(&server, ANNA, name, arguments.clone()).await;
        assert_eq!(refusal(&result), code, "{name} {arguments}");
    }
    let empty = server.data(ANNA, "{ sessions { nodes { messages { totalCount } } } }", json!({})).await;
    assert!(!empty.to_string().contains('1'), "a refused call stored something: {empty}");
}

#[tokio::test]
async fn limits_of_callers_hold_for_tools() {
    let one = Some(RateLimit { per_second: 0.001, burst: 1 });
    let server = Server::start_within(Limits { messages_by_minute: one, ..Limits::default() }).await;
    let _work = server.work();
    data(&server, ANNA, "remember", json!({ "text": "John likes Mary." })).await;
    assert_eq!(refusal(&call(&server, ANNA, "remember", json!({ "text": "John likes Jane." })).await), "RATE_LIMITED");
    data(&server, BORIS, "remember", json!({ "text": "John likes Mary." })).await;

    let server = Server::start_within(Limits { requests: one, ..Limits::default() }).await;
    assert!(respond(&server, ANNA, "ping", json!({})).await["result"].is_object());
    let limited = request(server.post(ANNA, "/mcp"), "ping", json!({})).send().await.unwrap();
    assert_eq!(limited.status(), 429);
    assert!(limited.headers().contains_key("retry-after"));
}
