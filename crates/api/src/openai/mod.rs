//! The OpenAI protocol: chat completions and responses with memory, models and embeddings.
//!
//! A chat request is forwarded to the configured model server with what the memory knows, and the conversation is remembered. `wire`
//! and `parts` read requests, `conversation` finds the conversation in them, `chat` answers them, and `stream` passes streamed replies on.
//! `memory` does the same for programs that call a model themselves.

mod answer;
mod body;
mod chat;
mod conversation;
mod embeddings;
mod errors;
mod events;
mod keeper;
mod local;
mod memory;
mod models;
mod options;
mod parts;
mod reply;
mod responses;
mod stream;
mod wire;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware::from_fn_with_state,
    routing::{get, post},
};

use crate::{audit::Auditor, layers, rate::CallerLimits};
use recall_ports::{Answerer, ChatUpstream, Extractor};
use recall_usecases::UseCases;

pub(crate) use errors::use_openai_errors;
pub use options::Citations;

/// The routes, for clients that send a token under another host name. One that ends with a slash stands for all paths below it.
pub(crate) const PATHS: &[&str] = &["/v1/chat/completions", "/v1/responses", "/v1/models", "/v1/models/", "/v1/embeddings", "/v1/memory"];

/// The model that answers from the memory, without a model server.
const LOCAL_MODEL: &str = "recall";

/// What the OpenAI protocol needs from its host.
#[derive(Clone)]
pub struct OpenAi {
    /// The model server to which chat requests are forwarded, if one is configured.
    pub upstream: Option<Arc<dyn ChatUpstream>>,
    /// Answers for the model `recall`, without a model server.
    pub answerer: Arc<dyn Answerer>,
    /// Finds out whether a message for the model `recall` asks something, without a model server.
    pub extractor: Arc<dyn Extractor>,
    /// Settings.
    pub settings: OpenAiSettings,
}

/// Settings of the OpenAI protocol.
#[derive(Clone, Debug)]
pub struct OpenAiSettings {
    /// How answers show their sources, unless a request says otherwise.
    pub citations: Citations,
    /// Maximum tokens of the block of memory in a request.
    pub context_tokens: usize,
    /// How last user messages begin that a front end sends in the background, such as for titles.
    pub task_prompts: Vec<String>,
    /// Maximum time for a forwarded request.
    pub timeout: Duration,
    /// Maximum size of one chat request in bytes.
    pub body_bytes: usize,
    /// Maximum size of all large chat requests in progress in bytes.
    pub bodies_bytes: usize,
}

impl Default for OpenAiSettings {
    fn default() -> Self {
        Self {
            citations: Citations::None,
            context_tokens: 1_000,
            task_prompts: Vec::new(),
            timeout: Duration::from_secs(600),
            body_bytes: 20 * 1024 * 1024,
            bodies_bytes: 64 * 1024 * 1024,
        }
    }
}

/// What the handlers share.
#[derive(Clone)]
struct Handlers {
    usecases: UseCases,
    limits: Arc<CallerLimits>,
    auditor: Auditor,
    openai: Arc<OpenAi>,
    bodies: body::BodyMemory,
}

/// Builds the routes. `limit` is the maximum time of a request that is not forwarded.
pub(crate) fn routes(usecases: UseCases, (limits, auditor): (Arc<CallerLimits>, Auditor), openai: OpenAi, limit: Duration) -> Router {
    // The upstream ends a request in time. This ends one whose body arrives too slowly.
    let chat_limit = openai.settings.timeout + limit;
    let body_limit = DefaultBodyLimit::max(openai.settings.body_bytes);
    let bodies = body::BodyMemory::new(openai.settings.body_bytes, openai.settings.bodies_bytes);
    let handlers = Handlers { usecases, limits, auditor, openai: Arc::new(openai), bodies };
    let timed = Router::new()
        .route("/v1/models", get(models::list))
        .route("/v1/models/{*model}", get(models::get))
        .route("/v1/embeddings", post(embeddings::create))
        .merge(Router::new().route("/v1/memory", post(memory::recollect)).layer(body_limit))
        .layer(from_fn_with_state(limit, layers::enforce_timeout));
    // A stream goes on after its head, so this limit does not cut it.
    let chat = Router::new()
        .route("/v1/chat/completions", post(chat::complete))
        .route("/v1/responses", post(chat::respond))
        .layer(body_limit)
        .layer(from_fn_with_state(chat_limit, layers::enforce_timeout));
    timed.merge(chat).with_state(handlers)
}
