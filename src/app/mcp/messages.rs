//! The messages that pass the bridge: JSON-RPC on lines, and the HTTP headers that belong to each.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

/// The key of a request's `_meta` with its protocol version, from version 2026-07-28 on.
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// A line from the agent.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    /// Expects a response.
    Request {
        /// Its id, as sent.
        id: Value,
        /// The whole message.
        message: Value,
    },
    /// The agent gives up on the request with this id.
    Cancelled(Value),
    /// Any other message without an id. It expects nothing, and the endpoint keeps no state that it could change.
    Ignored,
    /// Not a message of the protocol; the response to send.
    Malformed(Value),
}

impl Line {
    /// Reads a line.
    pub(super) fn read(line: &str) -> Self {
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            return Self::Malformed(error(&Value::Null, -32700, "The line is not JSON.", None));
        };
        let (id, method) = (message.get("id"), message.get("method").and_then(Value::as_str));
        match (id, method) {
            (Some(id @ (Value::String(_) | Value::Number(_))), Some(_)) => Self::Request { id: id.clone(), message },
            (None, Some("notifications/cancelled")) => Self::Cancelled(message["params"]["requestId"].clone()),
            (None, Some(_)) => Self::Ignored,
            // A response: the endpoint sends no requests.
            (Some(_), None) if message.get("result").is_some() || message.get("error").is_some() => Self::Ignored,
            _ => Self::Malformed(error(&Value::Null, -32600, "The line is not one JSON-RPC message.", None)),
        }
    }
}

/// Returns the headers of the protocol for a request. `negotiated` is the version that `initialize` agreed on.
pub(super) fn headers(message: &Value, negotiated: Option<&str>) -> Vec<(&'static str, String)> {
    let (method, params) = (message["method"].as_str().unwrap_or_default(), &message["params"]);
    let Some(version) = params["_meta"][META_VERSION].as_str() else {
        // The version of `initialize` is in its body.
        let version = negotiated.filter(|_| method != "initialize");
        return version.map(|v| ("mcp-protocol-version", header_value(v))).into_iter().collect();
    };
    let mut headers = vec![("mcp-protocol-version", header_value(version)), ("mcp-method", header_value(method))];
    let name = match method {
        "tools/call" | "prompts/get" => params["name"].as_str(),
        "resources/read" => params["uri"].as_str(),
        _ => None,
    };
    headers.extend(name.map(|name| ("mcp-name", header_value(name))));
    headers
}

/// Encodes a text that is no plain header value, as the protocol describes.
fn header_value(text: &str) -> String {
    let is_plain = text.bytes().all(|b| (0x20..0x7f).contains(&b)) && text.trim() == text && !text.starts_with("=?base64?");
    if is_plain { text.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(text)) }
}

/// Builds an error response.
pub(super) fn error(id: &Value, code: i32, message: &str, data: Option<Value>) -> Value {
    let mut error = json!({ "code": code, "message": message });
    if let Some(data) = data {
        error["data"] = data;
    }
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}

/// Turns the answer of the endpoint into the response to a request. A refusal by HTTP becomes an error response.
pub(super) fn response(id: &Value, status: u16, body: &[u8]) -> Value {
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    let is_response = answer["jsonrpc"] == "2.0" && (answer.get("result").is_some() || answer.get("error").is_some());
    if is_response {
        let mut answer = answer;
        // A refusal before the message was read has no id.
        answer["id"] = id.clone();
        return answer;
    }
    let sentence = match status {
        401 => "The server requires a token. Set RECALL_MCP_TOKEN to a personal access token.".to_owned(),
        _ => answer["detail"].as_str().map_or_else(|| format!("The server answered with the HTTP status {status}."), str::to_owned),
    };
    error(id, -32603, &sentence, Some(json!({ "status": status, "code": answer["code"] })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_apart() {
        let request = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
        assert!(matches!(Line::read(request), Line::Request { id, .. } if id == 7));
        let cancelled = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}"#;
        assert_eq!(Line::read(cancelled), Line::Cancelled(json!("a")));
        assert_eq!(Line::read(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#), Line::Ignored);
        assert_eq!(Line::read(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#), Line::Ignored);
        for (bad, code) in [("{", -32700), ("[]", -32600), ("7", -32600), (r#"{"id":{},"method":"ping"}"#, -32600)] {
            assert!(matches!(Line::read(bad), Line::Malformed(answer) if answer["error"]["code"] == code), "{bad}");
        }
    }

    #[test]
    fn headers_follow_the_version_of_the_request() {
        let call = json!({ "method": "tools/call", "params": { "name": "recall" } });
        assert_eq!(headers(&call, Some("2025-11-25")), [("mcp-protocol-version", "2025-11-25".to_owned())]);
        assert!(headers(&json!({ "method": "initialize" }), Some("2025-11-25")).is_empty());
        let read = json!({ "method": "resources/read", "params": { "uri": "recall://entity/ä", "_meta": { META_VERSION: "2026-07-28" } } });
        let expected =
            [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "resources/read"), ("mcp-name", "=?base64?cmVjYWxsOi8vZW50aXR5L8Ok?=")];
        assert_eq!(headers(&read, Some("2025-11-25")), expected.map(|(name, value)| (name, value.to_owned())));
        let broken = json!({ "method": "ping\n", "params": { "_meta": { META_VERSION: "x\r\ny" } } });
        assert!(headers(&broken, None).iter().all(|(_, value)| !value.contains(['\r', '\n'])));
    }

    #[test]
    fn refusals_become_error_responses_with_the_id() {
        let id = json!(7);
        let done = response(&id, 200, br#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
        assert_eq!(done, json!({ "jsonrpc": "2.0", "id": 7, "result": {} }));
        let unread = response(&id, 400, br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"No."}}"#);
        assert_eq!((&unread["id"], &unread["error"]["message"]), (&id, &json!("No.")));
        let problem = response(&id, 429, br#"{"code":"RATE_LIMITED","detail":"Too many requests."}"#);
        assert_eq!(
            problem["error"],
            json!({ "code": -32603, "message": "Too many requests.", "data": { "status": 429, "code": "RATE_LIMITED" } })
        );
        assert!(response(&id, 401, b"").to_string().contains("RECALL_MCP_TOKEN"));
        assert!(response(&id, 502, b"<html>").to_string().contains("502"));
    }
}
