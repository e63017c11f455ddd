//! `POST /v1/chat/completions` and `POST /v1/responses`: remembers the conversation, adds what is known, and forwards the request.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    extract::{Request, State},
    http::HeaderMap,
    response::Response,
};
use serde_json::value::RawValue;

use super::{
    Handlers, LOCAL_MODEL,
    answer::AnswerCollector,
    body::Reserved,
    conversation::{conversation_of, own_words},
    errors::unknown_model,
    keeper::{Keeper, Remembering},
    local::{self, Form},
    options::{self, Citations},
    reply, stream,
    wire::ChatBody,
};
use crate::{
    auth::{Identity, Writer},
    body,
    error::ApiError,
    rate::OpenStream,
};
use recall_domain::AuditAction;
use recall_ports::{ChatEndpoint, ChatReply, ChatRequest, ChatUpstream};
use recall_usecases::{Conversation, Recollection, Remembered};

/// New messages that count as one more request of the caller.
const MESSAGES_PER_REQUEST: usize = 50;

/// Answers a request of chat completions.
pub(super) async fn complete(State(handlers): State<Handlers>, Writer(identity): Writer, request: Request) -> Result<Response, ApiError> {
    chat(&handlers, &identity, request, ChatEndpoint::Completions).await
}

/// Answers a request of responses.
pub(super) async fn respond(State(handlers): State<Handlers>, Writer(identity): Writer, request: Request) -> Result<Response, ApiError> {
    chat(&handlers, &identity, request, ChatEndpoint::Responses).await
}

/// Answers a chat request.
async fn chat(handlers: &Handlers, identity: &Identity, request: Request, endpoint: ChatEndpoint) -> Result<Response, ApiError> {
    let headers = request.headers().clone();
    // Reserved until the reply begins: then the request is forwarded.
    let (body, _reserved) = read(handlers, &headers, request, endpoint).await?;
    let citations = Citations::of(&headers, handlers.openai.settings.citations)?;
    // Counted until the reply has ended, like an event stream.
    let open = handlers.limits.stream(identity.caller)?;
    let model = body.model.as_deref();
    match handlers.openai.upstream.clone() {
        _ if model == Some(LOCAL_MODEL) => answer(handlers, identity, body, &headers, citations).await,
        Some(upstream) => forward(handlers, identity, upstream, body, &headers, citations, open).await,
        // Without a model server, a request without a model can only mean this one.
        None if model.is_none() => answer(handlers, identity, body, &headers, citations).await,
        None => Err(unknown_model(model.unwrap_or_default())),
    }
}

/// Reads a chat request. Keep the second result until the request is dropped.
pub(super) async fn read(
    handlers: &Handlers,
    headers: &HeaderMap,
    request: Request,
    endpoint: ChatEndpoint,
) -> Result<(ChatBody, Reserved), ApiError> {
    let (bytes, reserved) = handlers.bodies.read(request).await?;
    let body = ChatBody::read(endpoint, body::json::<BTreeMap<String, Box<RawValue>>>(headers, bytes)?)?;
    Ok((body, reserved))
}

/// What a request is about.
pub(super) enum Purpose {
    /// A conversation that is to be remembered.
    Conversation(Conversation),
    /// Something that the front end wants for itself. It quotes the conversation, and asks for something that nobody said.
    Task {
        /// The chat that gets a title.
        titled: Option<String>,
    },
    /// A chat that is neither remembered nor gets anything from the memory.
    Forgetful,
}

impl Purpose {
    pub(super) fn of(handlers: &Handlers, body: &mut ChatBody, headers: &HeaderMap) -> Self {
        let chat = options::chat_id(headers, body.chat_id.as_deref());
        let is_forgetful = chat.as_deref().is_some_and(options::is_not_remembered);
        let last = body.last_user_text();
        if options::is_task(headers, last.as_deref().map(own_words), &handlers.openai.settings.task_prompts) {
            return Self::Task { titled: chat.filter(|_| !is_forgetful && options::is_title_task(headers)) };
        }
        match conversation_of(body, chat) {
            _ if is_forgetful => Self::Forgetful,
            Some(conversation) => Self::Conversation(conversation),
            None => Self::Task { titled: None },
        }
    }
}

/// Stores what is new in a conversation.
pub(super) async fn remember(handlers: &Handlers, identity: &Identity, conversation: &Conversation) -> Result<Remembered, ApiError> {
    let caller = &identity.caller;
    // One message at least: the answer.
    handlers.limits.messages(*caller, 1).await?;
    let recognised = handlers.usecases.recognise(caller, conversation).await?;
    let new = recognised.new_messages();
    if new > 1 {
        handlers.limits.messages(*caller, new - 1).await?;
        handlers.limits.charge_extra(*caller, u32::try_from(new / MESSAGES_PER_REQUEST).unwrap_or(u32::MAX)).await?;
    }
    let stored = handlers.usecases.remember(caller, recognised).await?;
    if let Some(deleted) = stored.deleted() {
        let (now, target) = (handlers.usecases.now(), Some(deleted.to_string()));
        handlers.auditor.note_request(now, identity, AuditAction::MessageDeleted, target).await;
    }
    Ok(stored)
}

/// Answers for the model `recall`.
async fn answer(
    handlers: &Handlers,
    identity: &Identity,
    mut body: ChatBody,
    headers: &HeaderMap,
    citations: Citations,
) -> Result<Response, ApiError> {
    // A model server checks the messages that are forwarded to it, and may know more roles.
    if body.endpoint == ChatEndpoint::Completions {
        body.check_messages()?;
    }
    let sent = body.messages.iter().map(|message| message.text().len()).sum();
    let form = Form { endpoint: body.endpoint, is_streamed: body.is_streamed, wants_usage: body.wants_usage, citations, sent };
    let conversation = match Purpose::of(handlers, &mut body, headers) {
        Purpose::Conversation(conversation) => conversation,
        Purpose::Task { .. } => return Ok(local::say(handlers, "", form)),
        Purpose::Forgetful => return Ok(local::say(handlers, local::FORGETFUL, form)),
    };
    let stored = remember(handlers, identity, &conversation).await?;
    local::answer(handlers, &identity.caller, &conversation, &stored, form).await
}

/// Forwards a request to the model server.
async fn forward(
    handlers: &Handlers,
    identity: &Identity,
    upstream: Arc<dyn ChatUpstream>,
    mut body: ChatBody,
    headers: &HeaderMap,
    citations: Citations,
    open: OpenStream,
) -> Result<Response, ApiError> {
    let caller = identity.caller;
    let mut titled = None;
    let remembering = match Purpose::of(handlers, &mut body, headers) {
        Purpose::Conversation(conversation) => {
            let stored = remember(handlers, identity, &conversation).await?;
            let tokens = handlers.openai.settings.context_tokens;
            let recollection = match tokens {
                0 => Recollection::default(),
                _ => handlers.usecases.recollect(&caller, &conversation, &stored, tokens, citations != Citations::None).await,
            };
            Some(Remembering { stored, recollection })
        }
        Purpose::Task { titled: chat } => {
            titled = chat;
            None
        }
        Purpose::Forgetful => None,
    };
    let block = remembering.as_ref().and_then(|remembering| remembering.recollection.block.clone());
    let (endpoint, is_streamed) = (body.endpoint, body.is_streamed);
    let body = body.forwarded(upstream.model(), block.as_ref().map(|block| block.as_str()));
    let body = body.map_err(|error| ApiError::internal(Arc::new(error) as Arc<_>))?;
    let sent = body.len();
    let reply = upstream.chat(&caller, ChatRequest { endpoint, body, is_streamed }).await?;
    if !(200..300).contains(&reply.status) {
        return Ok(reply::pass(reply));
    }
    let keeper = Keeper {
        handlers: handlers.clone(),
        upstream,
        endpoint,
        caller,
        remembering,
        titled,
        citations,
        sent,
        answer: AnswerCollector::default(),
        _open: open,
    };
    // A server may ignore the wish for a stream.
    if is_event_stream(&reply) { Ok(stream::relay(reply, keeper)) } else { Ok(reply::keep_complete(reply, keeper).await) }
}

fn is_event_stream(reply: &ChatReply) -> bool {
    reply.headers.iter().any(|(name, value)| name == "content-type" && value.trim_start().starts_with("text/event-stream"))
}
