//! The replies of `/v1/responses` of the model server.

use axum::body::Bytes;
use serde_json::{Value, json};

use super::server::MODEL;

/// The complete n-th response.
pub(crate) fn response(n: usize, text: &str) -> Value {
    let part = json!({ "type": "output_text", "text": text, "annotations": [] });
    let message = json!({ "type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [part] });
    let usage = json!({ "input_tokens": 7, "output_tokens": 3, "total_tokens": 10 });
    json!({ "id": format!("resp_{n}"), "object": "response", "created_at": 1, "model": MODEL, "status": "completed", "error": null,
        "output": [{ "type": "reasoning", "id": "rs_1", "summary": [] }, message], "usage": usage })
}

/// The events of the n-th response. The last one contains all of it.
pub(crate) fn events(n: usize, text: &str) -> Vec<Bytes> {
    let place = |kind: &str| json!({ "type": kind, "item_id": "msg_1", "output_index": 1, "content_index": 0 });
    let mut all = vec![json!({ "type": "response.created", "response": { "id": format!("resp_{n}"), "status": "in_progress" } })];
    for word in text.split_inclusive(' ') {
        let mut delta = place("response.output_text.delta");
        delta["delta"] = word.into();
        all.push(delta);
    }
    let mut done = place("response.output_text.done");
    done["text"] = text.into();
    all.extend([done, json!({ "type": "response.completed", "response": response(n, text) })]);
    let frame = |data: &Value| Bytes::from(format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap()));
    all.iter().map(frame).collect()
}
