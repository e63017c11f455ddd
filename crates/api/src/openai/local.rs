//! Answers for the model `recall`: from the memory, without a model server.

use axum::{
    Json,
    body::Body,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::{
    Handlers, LOCAL_MODEL,
    keeper::source_entry,
    options::Citations,
    reply::{self, DONE, Names},
    responses,
};
use crate::error::ApiError;
use recall_domain::{Caller, Citation, CitedChunk};
use recall_ports::{AnswerDraft, ChatEndpoint};
use recall_usecases::{Conversation, Remembered, WrittenAnswer, write_sources};

/// Estimated bytes of English text per token.
const BYTES_PER_TOKEN: usize = 4;

/// The reply in a chat that is not remembered.
pub(super) const FORGETFUL: &str = "Nothing of this chat is remembered, and it gets nothing from the memory. Ask in a chat that is kept.";

/// How a reply is written.
#[derive(Clone, Copy)]
pub(super) struct Form {
    pub(super) endpoint: ChatEndpoint,
    pub(super) is_streamed: bool,
    pub(super) wants_usage: bool,
    pub(super) citations: Citations,
    /// Bytes of the texts in the request.
    pub(super) sent: usize,
}

/// Answers the last message of a stored conversation, and stores the answer.
pub(super) async fn answer(
    handlers: &Handlers,
    caller: &Caller,
    conversation: &Conversation,
    stored: &Remembered,
    form: Form,
) -> Result<Response, ApiError> {
    let openai = &handlers.openai;
    let draft = handlers.usecases.answer_conversation(caller, conversation, stored, openai.answerer.as_ref(), openai.extractor.as_ref());
    let draft = draft.await?;
    let (citations, nearest) = (draft.citations.clone(), draft.nearest.clone());
    let written = WrittenAnswer { text: draft.text.as_str(), citations, nearest, model: LOCAL_MODEL };
    handlers.usecases.remember_answer(caller, stored, written).await?;
    Ok(write(handlers, &draft, form))
}

/// Returns a fixed answer, for requests that are neither remembered nor answered from the memory.
pub(super) fn say(handlers: &Handlers, text: &str, form: Form) -> Response {
    write(handlers, &AnswerDraft::ungrounded(text), form)
}

fn write(handlers: &Handlers, draft: &AnswerDraft, form: Form) -> Response {
    let now = handlers.usecases.now();
    let prefix = match form.endpoint {
        ChatEndpoint::Completions => "chatcmpl-",
        ChatEndpoint::Responses => "resp_",
    };
    let id = format!("{prefix}{:x}", now.timestamp_micros());
    let names = Names { id: &id, created: now.timestamp().unsigned_abs(), model: LOCAL_MODEL };
    let mut text = draft.text.as_str().to_owned();
    if form.citations == Citations::Text {
        text.push_str(&write_sources(
            draft.citations.iter().map(|c| (c.index as usize, &c.excerpt, c.chunk.as_ref().map(CitedChunk::place))),
        ));
    }
    let sources: Vec<Value> = match form.citations {
        Citations::OpenWebUi => draft.citations.iter().map(source_object).collect(),
        _ => Vec::new(),
    };
    let (input, output) = (form.sent.div_ceil(BYTES_PER_TOKEN), text.len().div_ceil(BYTES_PER_TOKEN));
    if form.endpoint == ChatEndpoint::Responses {
        return responses::write(names, &text, sources, (input, output), form.is_streamed);
    }
    let usage = json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output });
    if form.is_streamed {
        stream(names, &text, &sources, form.wants_usage.then_some(&usage))
    } else {
        complete(names, &text, sources, &usage)
    }
}

fn complete(names: Names<'_>, text: &str, sources: Vec<Value>, usage: &Value) -> Response {
    let mut reply = json!({
        "id": names.id, "object": "chat.completion", "created": names.created, "model": names.model, "usage": usage,
        "choices": [{ "index": 0, "message": { "role": "assistant", "content": text }, "logprobs": null, "finish_reason": "stop" }],
    });
    if !sources.is_empty() {
        reply["sources"] = Value::Array(sources);
    }
    Json(reply).into_response()
}

fn stream(names: Names<'_>, text: &str, sources: &[Value], usage: Option<&Value>) -> Response {
    let mut events = reply::chunk(names, &json!({ "role": "assistant", "content": "" }), None).to_vec();
    // The client can show the text before it has all of it.
    for part in text.split_inclusive(' ') {
        events.extend_from_slice(&reply::chunk(names, &json!({ "content": part }), None));
    }
    events.extend_from_slice(&reply::chunk(names, &json!({}), Some("stop")));
    for source in sources {
        events.extend_from_slice(&reply::source_event(names, source));
    }
    if let Some(usage) = usage {
        let end = json!({ "id": names.id, "object": "chat.completion.chunk", "created": names.created, "model": names.model, "choices": [], "usage": usage });
        events.extend_from_slice(&reply::event(&end));
    }
    events.extend_from_slice(DONE);
    reply::event_stream(Body::from(events))
}

fn source_object(citation: &Citation) -> Value {
    let chunk = citation.chunk.as_ref();
    let passage = citation.message_id.or(chunk.map(|cited| cited.chunk_id));
    let id = citation.fact_id.map(|id| id.to_string()).or_else(|| passage.map(|id| id.to_string())).unwrap_or_default();
    source_entry((citation.index as usize, chunk), &id, citation.excerpt.as_str())
}
