//! Forwards chat requests of clients to the model server, as they are.
//!
//! It shares address, key and headers with the other adapters, but no retries: a client repeats a request itself.

use std::{sync::Arc, time::Duration};

use async_openai::config::Config;
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use openai_http::{RequestBuilder, Response, header::CONTENT_TYPE};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout, timeout_at},
};

use super::{Budget, ModelClient, usage::record_request, wire::Usage};
use recall_domain::{Caller, MessageId, ModelOperation, TokenCount};
use recall_ports::{ChatEndpoint, ChatFailure, ChatReply, ChatRequest, ChatUpstream};

/// Label of forwarded requests in metrics.
const OPERATION: &str = "chat";
/// Longest wait for a free place among the open requests.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// Longest time for the list of models.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);
/// The headers of a reply that clients get, besides those that begin with `x-ratelimit-`.
const HEADERS: [&str; 3] = ["content-type", "retry-after", "retry-after-ms"];

/// Limits of forwarded requests.
#[derive(Clone, Copy, Debug)]
pub struct UpstreamLimits {
    /// Longest time for one request.
    pub timeout: Duration,
    /// Longest wait for the head of a streamed reply and between its parts.
    pub silence: Duration,
    /// Most requests at the same time.
    pub concurrency: usize,
}

/// [`ChatUpstream`] on a model server.
pub struct ModelUpstream {
    client: Arc<ModelClient>,
    budget: Arc<Budget>,
    limits: UpstreamLimits,
    slots: Arc<Semaphore>,
}

impl ModelUpstream {
    /// Makes the adapter for the server of `client`. Forwarded requests count against `budget`.
    pub fn new(client: Arc<ModelClient>, budget: Arc<Budget>, limits: UpstreamLimits) -> Self {
        Self { client, budget, limits, slots: Arc::new(Semaphore::new(limits.concurrency.max(1))) }
    }

    async fn slot(&self) -> Result<OwnedSemaphorePermit, ChatFailure> {
        let slot = timeout(MAX_WAIT, self.slots.clone().acquire_owned()).await;
        slot.ok().and_then(Result::ok).ok_or(ChatFailure::Busy)
    }

    fn request(&self, request: RequestBuilder) -> RequestBuilder {
        request.headers(self.client.server().headers())
    }
}

#[async_trait]
impl ChatUpstream for ModelUpstream {
    fn model(&self) -> &str {
        self.client.model()
    }

    async fn chat(&self, caller: &Caller, request: ChatRequest) -> Result<ChatReply, ChatFailure> {
        if !self.budget.allows(caller).await {
            return Err(ChatFailure::OverBudget);
        }
        let slot = self.slot().await?;
        let started = Instant::now();
        let deadline = started + self.limits.timeout;
        let path = match request.endpoint {
            ChatEndpoint::Completions => "/chat/completions",
            ChatEndpoint::Responses => "/responses",
        };
        let post = self.client.http().post(self.client.server().url(path));
        let sent = self.request(post).header(CONTENT_TYPE, "application/json").body(request.body).send();
        // A complete reply has no head before the model has written all of it.
        let head_by = if request.is_streamed { deadline.min(started + self.limits.silence) } else { deadline };
        let outcome = match timeout_at(head_by, sent).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(failure(&error)),
            Err(_) => Err(ChatFailure::Timeout),
        };
        let label = match &outcome {
            Ok(response) if response.status().is_success() => "ok",
            Ok(_) => "rejected",
            Err(error) => error.into(),
        };
        record_request(OPERATION, label, Usage::default(), started);
        let response = outcome?;
        Ok(reply(response, Some(slot), self.limits.silence, deadline))
    }

    async fn models(&self) -> Result<ChatReply, ChatFailure> {
        let deadline = Instant::now() + LIST_TIMEOUT;
        let get = self.request(self.client.http().get(self.client.server().url("/models"))).send();
        let response = timeout_at(deadline, get).await.map_err(|_| ChatFailure::Timeout)?.map_err(|error| failure(&error))?;
        Ok(reply(response, None, LIST_TIMEOUT, deadline))
    }

    async fn spend(&self, caller: &Caller, tokens: TokenCount, message: Option<MessageId>) {
        for (direction, n) in [("input", tokens.input), ("output", tokens.output)] {
            metrics::counter!("recall_model_tokens_total", "operation" => OPERATION, "direction" => direction).increment(n);
        }
        self.budget.spend(caller, ModelOperation::Answer, tokens, message.as_slice()).await;
    }
}

fn reply(response: Response, slot: Option<OwnedSemaphorePermit>, silence: Duration, deadline: Instant) -> ChatReply {
    let passes = |name: &str| HEADERS.contains(&name) || name.starts_with("x-ratelimit-");
    let headers = response.headers().iter().filter(|(name, _)| passes(name.as_str()));
    let headers = headers.filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))).collect();
    ChatReply { status: response.status().as_u16(), headers, body: parts(response, slot, silence, deadline) }
}

/// Returns the body part by part. After a failure it ends.
fn parts(
    response: Response,
    slot: Option<OwnedSemaphorePermit>,
    silence: Duration,
    deadline: Instant,
) -> BoxStream<'static, Result<Bytes, ChatFailure>> {
    stream::unfold(Some((response, slot)), move |open| async move {
        let (mut response, slot) = open?;
        match timeout_at(deadline.min(Instant::now() + silence), response.chunk()).await {
            Ok(Ok(Some(part))) => Some((Ok(part), Some((response, slot)))),
            Ok(Ok(None)) => None,
            Ok(Err(error)) => Some((Err(failure(&error)), None)),
            Err(_) => Some((Err(ChatFailure::Timeout), None)),
        }
    })
    .boxed()
}

fn failure(error: &openai_http::Error) -> ChatFailure {
    if error.is_timeout() { ChatFailure::Timeout } else { ChatFailure::Unreachable }
}
