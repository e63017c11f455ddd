//! Client of one model server: bounds concurrent requests, obeys `Retry-After`, retries and records usage.
//!
//! A stream is never retried after its first token.

use std::{sync::Arc, time::Duration};

use async_openai::{Client, config::Config, middleware::HttpRequestFactory};
use openai_http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use parking_lot::Mutex;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep_until, timeout_at},
};

use super::{
    Endpoint,
    dialect::{Dialect, Schema},
    failure::ModelError,
    token_stream::TokenStream,
    usage::{estimate, record_request},
    wire::{ChatResponse, Usage, Vectors},
};
use recall_domain::TokenCount;

/// Most attempts for a request whose failure may be temporary.
const ATTEMPTS: u32 = 3;
/// Wait before the second attempt; doubles with each further one.
const BACKOFF: Duration = Duration::from_millis(400);
/// How long operations get one attempt only after the server was unreachable, so that callers fall back soon.
const DOWN: Duration = Duration::from_secs(5);
/// Longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// Client of one model on one server.
pub struct ModelClient {
    openai: Client<Server>,
    http: openai_http::Client,
    endpoint: Endpoint,
    slots: Arc<Semaphore>,
    dialect: Mutex<Dialect>,
    /// End of the pause that the server asked for.
    paused_until: Mutex<Option<Instant>>,
    /// When an operation last failed because the server was unreachable.
    unreachable_since: Mutex<Option<Instant>>,
}

/// One request for a chat completion.
pub(super) struct ChatRequest<'a> {
    /// Label for metrics: `extract`, `answer`, `probe`.
    pub(super) operation: &'static str,
    /// The instructions. They never contain text of users.
    pub(super) system: &'a str,
    /// Role and content of each message, `user` first. Texts of users are JSON in them.
    pub(super) conversation: Vec<(&'static str, String)>,
    /// JSON schema of the reply.
    pub(super) schema: Option<&'a Schema>,
    /// Most tokens of the reply.
    pub(super) max_tokens: u32,
}

impl ChatRequest<'_> {
    pub(super) fn bytes(&self) -> usize {
        self.system.len() + self.conversation.iter().map(|(_, t)| t.len()).sum::<usize>()
    }
}

/// The reply of a model, with its tokens.
pub(super) struct ChatReply {
    pub(super) said: Result<String, ModelError>,
    pub(super) tokens: TokenCount,
}

impl ModelClient {
    /// Makes a client without sending a request.
    ///
    /// # Errors
    /// If the URL or a header is invalid, or the machine has no trusted certificates.
    pub fn new(endpoint: Endpoint) -> Result<Arc<Self>, ModelError> {
        // This fails if a provider is installed already, which then is used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let url = openai_http::Url::parse(&endpoint.url).map_err(|_| ModelError::Setup("the address is not a URL"))?;
        // A redirect would send the key to another server.
        let mut http = openai_http::Client::builder().connect_timeout(CONNECT).redirect(openai_http::redirect::Policy::none());
        if url.host_str().is_some_and(is_local) {
            http = http.no_proxy();
        }
        let http = http.build().map_err(|_| ModelError::Setup("the HTTP client cannot be made; are certificates installed?"))?;
        let sender = http.clone();
        let service = tower::service_fn(move |request: HttpRequestFactory| {
            let http = sender.clone();
            async move { send(&http, request).await.map_err(tower::BoxError::from) }
        });
        // `build` requires a client, but the service replaces it.
        let openai = Client::build(openai_http::Client::default(), Server::new(&endpoint)?).with_http_service(service);
        let slots = Arc::new(Semaphore::new(endpoint.concurrency.max(1)));
        Ok(Arc::new(Self {
            openai,
            http,
            endpoint,
            slots,
            dialect: Mutex::default(),
            paused_until: Mutex::default(),
            unreachable_since: Mutex::default(),
        }))
    }

    /// Returns the name of the model.
    pub fn model(&self) -> &str {
        &self.endpoint.model
    }

    /// Returns the dialect of the server as known so far.
    pub fn dialect(&self) -> Dialect {
        *self.dialect.lock()
    }

    /// Returns the HTTP client.
    pub(super) fn http(&self) -> &openai_http::Client {
        &self.http
    }

    /// Returns the address and the headers of the server.
    pub(super) fn server(&self) -> &impl Config {
        self.openai.config()
    }

    pub(super) fn set_dialect(&self, dialect: Dialect) {
        *self.dialect.lock() = dialect;
    }

    /// Checks with `GET /models` that the server is reachable.
    ///
    /// Not every server has this path, so any status counts except server errors and a rejected key.
    ///
    /// # Errors
    /// If the server is unreachable, fails, or rejects the key.
    pub async fn reach(&self) -> Result<(), ModelError> {
        let server = self.openai.config();
        let request = self.http.get(server.url("/models")).headers(server.headers()).timeout(CONNECT);
        let response = request.send().await.map_err(|e| ModelError::of_transport(&e))?;
        let status = response.status();
        let fails = status.is_server_error() || matches!(status.as_u16(), 401 | 403);
        if fails { Err(ModelError::of_response(response).await) } else { Ok(()) }
    }

    /// Returns the deadline of an operation that begins now.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.endpoint.timeout
    }

    /// Requests a complete reply.
    pub(super) async fn complete(&self, ask: &ChatRequest<'_>, deadline: Instant) -> Result<ChatReply, ModelError> {
        let mut attempt = self.attempts_made();
        loop {
            let dialect = self.dialect();
            let started = Instant::now();
            let request = self.request(ask, dialect, false);
            let _slot = self.slot(deadline).await?;
            let answer = timeout_at(deadline, self.openai.chat().create_byot::<_, ChatResponse>(&request)).await;
            match answer.map_err(|_| ModelError::silent()).and_then(|a| Ok(a?)) {
                Ok(chat) => {
                    let usage = chat.usage;
                    let said = answer_text(chat);
                    let size = said.as_ref().map_or(0, String::len);
                    let usage = usage.unwrap_or_else(|| estimate(ask.bytes(), size));
                    record_request(ask.operation, said.as_ref().err().map_or("ok", ModelError::label), usage, started);
                    return Ok(ChatReply { said, tokens: usage.tokens() });
                }
                Err(e) => {
                    record_request(ask.operation, e.label(), Usage::default(), started);
                    drop(_slot);
                    self.wait_or_fail(e, dialect, &mut attempt, deadline).await?;
                }
            }
        }
    }

    /// Requests a streamed reply. Retries until the first token arrives, never after it.
    pub(super) async fn stream(&self, ask: &ChatRequest<'_>, deadline: Instant) -> Result<TokenStream, ModelError> {
        let mut attempt = self.attempts_made();
        loop {
            let dialect = self.dialect();
            let started = Instant::now();
            let request = self.request(ask, dialect, true);
            let slot = self.slot(deadline).await?;
            match self.open(ask, &request, slot, deadline).await {
                Ok(tokens) => return Ok(tokens),
                Err(e) => {
                    record_request(ask.operation, e.label(), Usage::default(), started);
                    self.wait_or_fail(e, dialect, &mut attempt, deadline).await?;
                }
            }
        }
    }

    async fn open(
        &self,
        ask: &ChatRequest<'_>,
        request: &Value,
        slot: OwnedSemaphorePermit,
        deadline: Instant,
    ) -> Result<TokenStream, ModelError> {
        let soon = deadline.min(Instant::now() + self.endpoint.silence);
        let opened = timeout_at(soon, self.openai.chat().create_stream_byot::<_, ChatResponse>(request)).await;
        let stream = opened.map_err(|_| ModelError::silent())??;
        let mut tokens = TokenStream::new(stream, slot, ask.operation, ask.bytes(), self.endpoint.silence, deadline);
        tokens.await_first(soon).await?;
        Ok(tokens)
    }

    /// Requests one vector per text and returns them in order, unchanged.
    pub(super) async fn embed(&self, texts: &[&str], deadline: Instant) -> Result<Vec<Vec<f32>>, ModelError> {
        let request = json!({ "model": self.endpoint.model, "input": texts });
        let mut attempt = self.attempts_made();
        loop {
            let started = Instant::now();
            let _slot = self.slot(deadline).await?;
            let answer = timeout_at(deadline, self.openai.embeddings().create_byot::<_, Vectors>(&request)).await;
            match answer.map_err(|_| ModelError::silent()).and_then(|a| Ok(a?)).and_then(|v| order_vectors(v, texts.len())) {
                Ok((vectors, usage)) => {
                    let usage = usage.unwrap_or_else(|| estimate(texts.iter().map(|t| t.len()).sum(), 0));
                    record_request("embed", "ok", usage, started);
                    return Ok(vectors);
                }
                Err(e) => {
                    record_request("embed", e.label(), Usage::default(), started);
                    drop(_slot);
                    self.wait_or_fail(e, Dialect::default(), &mut attempt, deadline).await?;
                }
            }
        }
    }

    fn request(&self, ask: &ChatRequest<'_>, dialect: Dialect, stream: bool) -> Value {
        let mut messages = vec![json!({ "role": "system", "content": ask.system })];
        messages.extend(ask.conversation.iter().map(|(role, content)| json!({ "role": role, "content": content })));
        let mut request = Map::new();
        request.insert("model".to_owned(), json!(self.endpoint.model));
        request.insert("messages".to_owned(), Value::Array(messages));
        dialect.write(&mut request, ask.max_tokens, ask.schema, stream);
        Value::Object(request)
    }

    /// Waits for the end of the server's pause and for a free request slot.
    async fn slot(&self, deadline: Instant) -> Result<OwnedSemaphorePermit, ModelError> {
        loop {
            let rest = *self.paused_until.lock();
            let Some(until) = rest.filter(|until| *until > Instant::now()) else { break };
            if until >= deadline {
                return Err(ModelError::Busy { retry_after: Some(until - Instant::now()) });
            }
            sleep_until(until).await;
        }
        let slot = timeout_at(deadline, self.slots.clone().acquire_owned()).await;
        slot.ok().and_then(Result::ok).ok_or(ModelError::Busy { retry_after: None })
    }

    /// Returns the number of attempts that a new operation starts with.
    fn attempts_made(&self) -> u32 {
        let unreachable_since = *self.unreachable_since.lock();
        if unreachable_since.is_some_and(|at| at.elapsed() < DOWN) { ATTEMPTS - 1 } else { 0 }
    }

    /// Returns when the request should be retried, or returns the failure if it should not.
    async fn wait_or_fail(&self, e: ModelError, dialect: Dialect, attempt: &mut u32, deadline: Instant) -> Result<(), ModelError> {
        if let ModelError::Rejected { about, .. } = e
            && let Some(next) = dialect.without(about)
        {
            self.set_dialect(next);
            return Ok(());
        }
        *attempt += 1;
        let asked_for = if let ModelError::Busy { retry_after } = e { retry_after } else { None };
        let wait = asked_for.unwrap_or(BACKOFF * 2u32.saturating_pow(attempt.saturating_sub(1)));
        let again = Instant::now() + wait;
        if asked_for.is_some() {
            // All other requests to this server wait too, even if this operation fails.
            *self.paused_until.lock() = Some(again);
        }
        if !e.may_pass() || *attempt >= ATTEMPTS || again >= deadline {
            if matches!(e, ModelError::Unreachable(_)) {
                *self.unreachable_since.lock() = Some(Instant::now());
            }
            return Err(e);
        }
        sleep_until(again).await;
        Ok(())
    }
}

/// Returns the text of a reply.
fn answer_text(chat: ChatResponse) -> Result<String, ModelError> {
    let choice = chat.choices.into_iter().next().ok_or(ModelError::Malformed("no choice"))?;
    let said = choice.message.unwrap_or_default();
    if said.refusal.is_some_and(|r| !r.is_empty()) {
        return Err(ModelError::Declined);
    }
    match choice.finish_reason.as_deref() {
        Some("content_filter") => Err(ModelError::Declined),
        Some("length") => Err(ModelError::Truncated),
        _ => said.content.filter(|c| !c.trim().is_empty()).ok_or(ModelError::Malformed("no text")),
    }
}

fn order_vectors(vectors: Vectors, expected: usize) -> Result<(Vec<Vec<f32>>, Option<Usage>), ModelError> {
    let mut placed: Vec<Option<Vec<f32>>> = vec![None; expected];
    for (i, v) in vectors.data.into_iter().enumerate() {
        let place = placed.get_mut(v.index.unwrap_or(i)).ok_or(ModelError::Malformed("a vector for no text"))?;
        if place.replace(v.embedding).is_some() {
            return Err(ModelError::Malformed("two vectors for one text"));
        }
    }
    let all: Option<Vec<_>> = placed.into_iter().collect();
    Ok((all.ok_or(ModelError::Malformed("a text without vector"))?, vectors.usage))
}

async fn send(http: &openai_http::Client, request: HttpRequestFactory) -> Result<openai_http::Response, ModelError> {
    let request = request.build().await?;
    let response = http.execute(request).await.map_err(|e| ModelError::of_transport(&e))?;
    // The library would log responses that it cannot parse, and they may quote the request.
    if response.status().is_success() { Ok(response) } else { Err(ModelError::of_response(response).await) }
}

/// Whether a host is this machine, which no proxy can reach.
fn is_local(host: &str) -> bool {
    host == "localhost" || host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Server settings for the library. Its own type would also read and send `OPENAI_…` environment variables.
#[derive(Clone)]
struct Server {
    url: String,
    key: SecretString,
    headers: HeaderMap,
}

impl Server {
    fn new(endpoint: &Endpoint) -> Result<Self, ModelError> {
        let mut headers = HeaderMap::new();
        let secret = |text: &str| {
            let mut value =
                HeaderValue::from_str(text).map_err(|_| ModelError::Setup("a key or header holds characters that it cannot"))?;
            value.set_sensitive(true);
            Ok::<_, ModelError>(value)
        };
        if let Some(key) = &endpoint.key {
            headers.insert(AUTHORIZATION, secret(&format!("Bearer {}", key.expose_secret()))?);
        }
        for (name, value) in &endpoint.headers {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| ModelError::Setup("a header's name is not one"))?;
            headers.insert(name, secret(value.expose_secret())?);
        }
        let key = endpoint.key.clone().unwrap_or_default();
        Ok(Self { url: endpoint.url.trim_end_matches('/').to_owned(), key, headers })
    }
}

impl Config for Server {
    fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    fn query(&self) -> Vec<(&str, &str)> {
        Vec::new()
    }

    fn api_base(&self) -> &str {
        &self.url
    }

    fn api_key(&self) -> &SecretString {
        &self.key
    }
}
