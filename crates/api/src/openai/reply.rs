//! Writes replies of the protocol, and passes complete replies of the model server on.

use axum::{
    body::{Body, Bytes},
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::{
    answer::{AnswerCollector, Chunk},
    keeper::Keeper,
    responses,
};
use crate::error::ApiError;
use recall_ports::{ChatEndpoint, ChatFailure, ChatReply};

/// Longest complete reply that is read.
const MAX_REPLY_BYTES: usize = 16 * 1024 * 1024;

/// Names of a reply: its id, its time in seconds since 1970, and its model.
#[derive(Clone, Copy)]
pub(super) struct Names<'n> {
    pub(super) id: &'n str,
    pub(super) created: u64,
    pub(super) model: &'n str,
}

impl<'n> From<&'n AnswerCollector> for Names<'n> {
    fn from(answer: &'n AnswerCollector) -> Self {
        Self { id: &answer.id, created: answer.created, model: &answer.model }
    }
}

/// Writes a chunk of a streamed reply as an event.
pub(super) fn chunk(names: Names<'_>, delta: &Value, finish: Option<&str>) -> Bytes {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
    event(
        &json!({ "id": names.id, "object": "chat.completion.chunk", "created": names.created, "model": names.model, "choices": [choice] }),
    )
}

/// Writes a source as the event that Open WebUI expects from servers of the protocol.
pub(super) fn source_event(names: Names<'_>, source: &Value) -> Bytes {
    event(&json!({
        "id": names.id, "object": "chat.completion.chunk", "created": names.created, "model": names.model, "choices": [],
        "event": { "type": "source", "data": source },
    }))
}

/// Writes an event.
pub(super) fn event(data: &Value) -> Bytes {
    format!("data: {data}\n\n").into()
}

/// The last event of a stream.
pub(super) const DONE: &[u8] = b"data: [DONE]\n\n";

/// Returns the response for a stream of events.
pub(super) fn event_stream(body: Body) -> Response {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    // Otherwise a buffering proxy would hold back every event.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Passes a reply on as it is.
pub(super) fn pass(reply: ChatReply) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::BAD_GATEWAY);
    for (name, value) in &reply.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    *response.body_mut() = Body::from_stream(reply.body);
    response
}

/// Reads the body of a reply.
///
/// # Errors
/// If the reply breaks off or is too long.
pub(super) async fn read(reply: &mut ChatReply) -> Result<Bytes, ApiError> {
    let mut body = Vec::new();
    while let Some(part) = reply.body.next().await {
        body.extend_from_slice(&part?);
        if body.len() > MAX_REPLY_BYTES {
            return Err(ChatFailure::Unreachable.into());
        }
    }
    Ok(body.into())
}

/// Stores the answer of a complete reply, and passes the reply on with its sources.
pub(super) async fn keep_complete(mut reply: ChatReply, mut keeper: Keeper) -> Response {
    let body = match read(&mut reply).await {
        Ok(body) => body,
        Err(error) => return error.into_response(),
    };
    if let Ok(chunk) = serde_json::from_slice::<Chunk>(&body) {
        keeper.answer.take(chunk);
        keeper.store().await;
    }
    let (text, sources) = (keeper.text_sources(), keeper.source_objects());
    let body =
        if text.is_empty() && sources.is_empty() { body } else { with_sources(keeper.endpoint, &body, &text, sources).unwrap_or(body) };
    let part = futures_util::stream::once(std::future::ready(Ok(body))).boxed();
    pass(ChatReply { body: part, ..reply })
}

/// Adds sources to a complete reply; `None` if it has no answer.
fn with_sources(endpoint: ChatEndpoint, body: &[u8], text: &str, sources: Vec<Value>) -> Option<Bytes> {
    let mut reply: Value = serde_json::from_slice(body).ok()?;
    if !text.is_empty() {
        let content = match endpoint {
            ChatEndpoint::Completions => reply.pointer_mut("/choices/0/message/content")?,
            ChatEndpoint::Responses => responses::last_text(&mut reply)?,
        };
        *content = format!("{}{text}", content.as_str()?).into();
    }
    if !sources.is_empty() {
        reply.as_object_mut()?.insert("sources".to_owned(), Value::Array(sources));
    }
    serde_json::to_vec(&reply).ok().map(Bytes::from)
}
