//! Replies of `/v1/responses`: objects and events.

use axum::{
    Json,
    body::{Body, Bytes},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::{
    events,
    reply::{self, Names},
};

/// Returns the last text of a response.
pub(super) fn last_text(response: &mut Value) -> Option<&mut Value> {
    let items = response.get_mut("output")?.as_array_mut()?.iter_mut().filter(|item| item["type"] == "message");
    let mut parts = items.filter_map(|item| item.get_mut("content")?.as_array_mut()).flatten();
    parts.rfind(|part| part["type"] == "output_text")?.get_mut("text")
}

/// Writes an event with more text, before the event that ends the text.
pub(super) fn further_text(end: &[u8], text: &str) -> Option<Bytes> {
    let end = events::data(end).and_then(|data| serde_json::from_str::<Value>(&data).ok())?;
    Some(event(&json!({
        "type": "response.output_text.delta", "item_id": end["item_id"], "output_index": end["output_index"],
        "content_index": end["content_index"], "sequence_number": end["sequence_number"], "delta": text, "logprobs": [],
    })))
}

/// Writes an event of a response, which has its name twice.
fn event(data: &Value) -> Bytes {
    let name = data["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n").into()
}

/// Writes a whole response, with the tokens of request and answer.
pub(super) fn write(names: Names<'_>, text: &str, sources: Vec<Value>, tokens: (usize, usize), is_streamed: bool) -> Response {
    let part = json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] });
    let item_id = names.id.replace("resp_", "msg_");
    let item = |status: &str, content: Value| json!({ "type": "message", "id": item_id, "status": status, "role": "assistant", "content": content });
    let done = item("completed", json!([part]));
    let (input, output) = tokens;
    let usage = json!({
        "input_tokens": input, "input_tokens_details": { "cached_tokens": 0 }, "output_tokens": output,
        "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": input + output,
    });
    let response = |status: &str, output: Value, usage: Value| {
        json!({
            "id": names.id, "object": "response", "created_at": names.created, "model": names.model, "status": status, "output": output,
            "usage": usage, "error": null, "incomplete_details": null, "instructions": null, "metadata": {}, "parallel_tool_calls": false,
            "temperature": null, "tool_choice": "none", "tools": [], "top_p": null,
        })
    };
    let mut complete = response("completed", json!([done]), usage);
    if !sources.is_empty() {
        complete["sources"] = Value::Array(sources);
    }
    if !is_streamed {
        return Json(complete).into_response();
    }
    let place = |mut event: Value| {
        event["item_id"] = item_id.as_str().into();
        (event["output_index"], event["content_index"]) = (0.into(), 0.into());
        event
    };
    let empty = json!({ "type": "output_text", "text": "", "annotations": [], "logprobs": [] });
    let open = response("in_progress", json!([]), Value::Null);
    let mut parts = vec![
        json!({ "type": "response.created", "response": open }),
        json!({ "type": "response.output_item.added", "output_index": 0, "item": item("in_progress", json!([])) }),
        place(json!({ "type": "response.content_part.added", "part": empty })),
    ];
    // The client can show the text before it has all of it.
    let deltas = text.split_inclusive(' ').map(|delta| json!({ "type": "response.output_text.delta", "delta": delta, "logprobs": [] }));
    parts.extend(deltas.map(place));
    parts.extend([
        place(json!({ "type": "response.output_text.done", "text": text, "logprobs": [] })),
        place(json!({ "type": "response.content_part.done", "part": part })),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": done }),
        json!({ "type": "response.completed", "response": complete }),
    ]);
    let mut stream = Vec::new();
    for (n, mut part) in parts.into_iter().enumerate() {
        part["sequence_number"] = n.into();
        stream.extend_from_slice(&event(&part));
    }
    reply::event_stream(Body::from(stream))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_added_to_the_last_text() {
        let text = |text: &str| json!({ "type": "output_text", "text": text });
        let mut response = json!({ "output": [
            { "type": "message", "content": [text("a"), text("b")] },
            { "type": "function_call" },
        ] });
        assert_eq!(*last_text(&mut response).unwrap(), "b");
        assert!(last_text(&mut json!({ "output": [{ "type": "reasoning" }] })).is_none());
        let end =
            b"event: response.output_text.done\ndata: {\"type\":\"response.output_text.done\",\"item_id\":\"m\",\"output_index\":1}\n\n";
        let more = String::from_utf8(further_text(end, "\nSources").unwrap().to_vec()).unwrap();
        assert!(more.starts_with("event: response.output_text.delta\ndata: {") && more.ends_with("}\n\n"), "{more}");
        assert!(more.contains("\"item_id\":\"m\"") && more.contains("\"delta\":\"\\nSources\""), "{more}");
    }
}
