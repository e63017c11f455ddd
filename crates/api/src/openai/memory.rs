//! `POST /v1/memory`: remembers a conversation and returns what is known about its last message.
//!
//! It is for programs that call their model themselves, such as a filter of Open WebUI. The body is a chat request; a model is not needed.

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::{
    Handlers,
    chat::{self, Purpose},
    keeper::source_object,
};
use crate::{auth::Writer, error::ApiError};
use recall_ports::ChatEndpoint;
use recall_usecases::Recollection;

/// Stores what is new in a conversation. Returns the block for the model if the last message is one of the user.
pub(super) async fn recollect(State(handlers): State<Handlers>, Writer(identity): Writer, request: Request) -> Result<Response, ApiError> {
    let headers = request.headers().clone();
    let (mut body, _reserved) = chat::read(&handlers, &headers, request, ChatEndpoint::Completions).await?;
    let caller = identity.caller;
    let _open = handlers.limits.stream(caller)?;
    let Purpose::Conversation(conversation) = Purpose::of(&handlers, &mut body, &headers) else {
        return Ok(write(Recollection::default()));
    };
    let stored = chat::remember(&handlers, &identity, &conversation).await?;
    let tokens = handlers.openai.settings.context_tokens;
    // An answer at the end shall only be stored.
    if tokens == 0 || body.ends_with_answer() {
        return Ok(write(Recollection::default()));
    }
    Ok(write(handlers.usecases.recollect(&caller, &conversation, &stored, tokens, true).await))
}

fn write(found: Recollection) -> Response {
    let sources: Vec<Value> = found.sources.iter().map(source_object).collect();
    Json(json!({ "object": "memory", "memory": found.block.as_ref().map(|block| block.as_str()), "sources": sources })).into_response()
}
