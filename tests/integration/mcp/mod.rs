//! The MCP endpoint and the bridge for desktop agents, with raw JSON-RPC.

mod isolation;
mod protocol;
mod stdio;
mod tools;

use serde_json::{Value, json};

use crate::{api, server};

/// A server that tests send messages to.
pub(crate) trait Target {
    /// Builds a request to the endpoint for a user.
    fn endpoint(&self, user: &str) -> reqwest::RequestBuilder;
}

impl Target for api::harness::Server {
    fn endpoint(&self, user: &str) -> reqwest::RequestBuilder {
        self.post(user, "/mcp")
    }
}

/// The built program without a login, which has one user.
impl Target for server::Server {
    fn endpoint(&self, _: &str) -> reqwest::RequestBuilder {
        self.http.post(self.url("/mcp"))
    }
}

/// Builds a request of a client that negotiated with `initialize`.
pub(crate) fn request(to: reqwest::RequestBuilder, method: &str, params: Value) -> reqwest::RequestBuilder {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    to.header("accept", "application/json, text/event-stream").header("mcp-protocol-version", "2025-11-25").json(&message)
}

/// Returns the whole response to a request.
pub(crate) async fn respond(server: &impl Target, user: &str, method: &str, params: Value) -> Value {
    let answer = request(server.endpoint(user), method, params).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), &answer.headers()["content-type"]), (200, &"application/json".parse().unwrap()));
    answer.json().await.unwrap()
}

/// Returns the result of a tool, whether it succeeded or not.
pub(crate) async fn call(server: &impl Target, user: &str, name: &str, arguments: Value) -> Value {
    respond(server, user, "tools/call", json!({ "name": name, "arguments": arguments })).await["result"].clone()
}

/// Returns the data of a tool that must succeed.
pub(crate) async fn data(server: &impl Target, user: &str, name: &str, arguments: Value) -> Value {
    let result = call(server, user, name, arguments).await;
    assert_eq!(result["isError"], false, "{name}: {result:#}");
    assert!(result["content"][0]["text"].as_str().is_some_and(|text| !text.is_empty()), "{name}: {result:#}");
    result["structuredContent"].clone()
}

/// Returns the code of a tool's refusal.
pub(crate) fn refusal(result: &Value) -> String {
    assert_eq!(result["isError"], true, "{result:#}");
    let code = result["_meta"]["recall/code"].as_str().unwrap();
    assert!(result["content"][0]["text"].as_str().unwrap().starts_with(&format!("{code}: ")), "{result:#}");
    code.to_owned()
}
