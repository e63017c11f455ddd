//! Texts of users never reach a log, at any level and with any error.

use serde_json::json;

use crate::server::Server;

/// Looks like a log entry in both formats, and changes terminal colours.
const INJECTED: &str = "a\r\n2026-01-01T00:00:00Z ERROR injected: \u{1b}[35;5mall is lost\n{\"level\":\"ERROR\",\"message\":\"injected\"}";

#[tokio::test]
async fn user_text_is_in_no_log() {
    const SECRET: &str = "Xylophagia";
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let server = Server::start_logging(&folder.path().join("data"), &log, "trace");
    let session = server.create_session().await;
    for text in [format!("{SECRET} likes Mary."), format!("Who does {SECRET} like?")] {
        let input = json!({ "sessionId": session, "text": text, "clientMessageId": format!("id {SECRET} {}", text.len()) });
        server.send(input).await.unwrap();
    }
    server.settle(&session).await;
    let query = "query($q: String!) { context(input: { query: $q }) { facts { score } messages { score } } }";
    server.graphql(query, json!({ "q": format!("What about {SECRET}?") })).await;
    // Refused input is the most likely to be quoted.
    let broken = format!("{{ session(id: \"{SECRET}\") {{ id }} }} {SECRET} {{{{");
    server.try_graphql(&broken, json!({ SECRET: SECRET })).await.unwrap();
    server
        .try_graphql(
            "mutation($i: SendMessageInput!) { sendMessage(input: $i) { errors { code } } }",
            json!({ "i": { "sessionId": session, "text": format!("{SECRET}\u{0}") } }),
        )
        .await
        .unwrap();
    let tool = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "recall", "arguments": { "query": SECRET, SECRET: 1 } } });
    let called =
        server.http.post(server.url("/mcp")).header("accept", "application/json, text/event-stream").json(&tool).send().await.unwrap();
    assert_eq!(called.status(), 200);
    let url = server.url(&format!("/context/{session}?q={SECRET}"));
    assert!(server.http.get(url).send().await.unwrap().status().is_success());
    server
        .http
        .post(server.url("/chat"))
        .body(format!("{{\"message\": \"{SECRET}\""))
        .header("content-type", "application/json")
        .send()
        .await
        .unwrap();
    let (well, _) = server.stop();
    assert!(well);
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(text.len() > 1000, "the log must have been written");
    let found: Vec<_> = text
        .lines()
        .filter(|l| l.to_lowercase().contains(&SECRET.to_lowercase()))
        .map(|l| l.chars().take(400).collect::<String>())
        .collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[tokio::test]
async fn clients_cannot_inject_log_entries() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    for format in ["json", "text"] {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let server = Server::start_logging_with(&folder.path().join("data"), &log, "trace", &[("RECALL_LOG_FORMAT", format)]);
        let session = server.create_session().await;
        let input = json!({ "sessionId": session, "text": "Hello.", "clientMessageId": INJECTED, "speaker": INJECTED });
        server.try_graphql("mutation($i: SendMessageInput!) { sendMessage(input: $i) { errors { code } } }", json!({ "i": input })).await;
        server.try_graphql(INJECTED, json!({ INJECTED: INJECTED })).await.unwrap();
        let named = "query Injected($q: String!) { context(input: { query: $q }) { methodsUsed } }";
        server.try_graphql(named, json!({ "q": INJECTED })).await.unwrap();
        let escaped: String = form_urlencoded::byte_serialize(INJECTED.as_bytes()).collect();
        for path in [format!("/{escaped}"), format!("/context/{escaped}?q={escaped}"), format!("/graphql?query={escaped}")] {
            let request = server.http.get(server.url(&path)).header("user-agent", "injected").header("x-request-id", "injected entry");
            request.send().await.unwrap();
        }
        // Requests that no client library sends.
        for line in
            ["GET /\u{1b}[35;5minjected HTTP/1.1", "INJECTED\n / HTTP/1.1", "GET / HTTP/1.1\r\nx-request-id: a\u{1b}[35;5m\ninjected"]
        {
            let mut socket = tokio::net::TcpStream::connect(&server.address).await.unwrap();
            let request = format!("{line}\r\nhost: {}\r\nconnection: close\r\n\r\n", server.address);
            socket.write_all(request.as_bytes()).await.unwrap();
            let _ = socket.read_to_end(&mut Vec::new()).await;
        }
        server.stop();
        let text = std::fs::read_to_string(&log).unwrap();
        assert!(text.len() > 1000, "the log must have been written");
        assert!(!text.contains('\u{1b}') || format == "text", "an escape sequence in a JSON log");
        for line in text.lines() {
            let plain = !line.contains("[35;5m") && !line.starts_with("2026-01-01T00:00:00Z");
            let whole = format == "text" || serde_json::from_str::<serde_json::Value>(line).is_ok_and(|v| v["message"] != "injected");
            assert!(plain && whole && !line.starts_with("{\"level\":\"ERROR\",\"message\":\"injected\"}"), "{line}");
        }
    }
}
