//! One model server: sends requests, a bounded number at a time, waits when it is asked to, repeats what may pass, and
//! counts what it costs. What was begun to be streamed is never repeated.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_openai::{Client, config::Config, middleware::HttpRequestFactory};
use openai_http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
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
    tokens::Tokens,
    wire::{Chat, Usage, Vectors},
};
use recall_domain::TokenCount;

/// How often a request that may pass is made in all.
const ATTEMPTS: u32 = 3;
/// Wait before the second attempt; doubles.
const BACKOFF: Duration = Duration::from_millis(400);
/// How long after a piece of work was given up others are tried only once: whoever waits for them gets what there is without
/// the server, and soon.
const DOWN: Duration = Duration::from_secs(5);
/// Longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// Bytes of English text for one token, when the server does not count.
pub(super) const BYTES_PER_TOKEN: usize = 4;

/// A model on a server.
pub struct ModelClient {
    openai: Client<Server>,
    http: openai_http::Client,
    endpoint: Endpoint,
    slots: Arc<Semaphore>,
    dialect: Mutex<Dialect>,
    /// When the server wants to be asked again.
    rests_until: Mutex<Option<Instant>>,
    /// When a piece of work was last given up because the server could not be reached.
    gave_up: Mutex<Option<Instant>>,
}

/// What is asked of a model.
pub(super) struct Ask<'a> {
    /// For metrics: `extract`, `answer`, `probe`.
    pub(super) operation: &'static str,
    /// The instructions. Never holds text of users.
    pub(super) system: &'a str,
    /// Role and content, `user` first. Texts of users stand in it as JSON.
    pub(super) turns: Vec<(&'static str, String)>,
    /// Shape of the answer.
    pub(super) schema: Option<&'a Schema>,
    /// Bound of the answer.
    pub(super) max_tokens: u32,
}

impl Ask<'_> {
    pub(super) fn bytes(&self) -> usize {
        self.system.len() + self.turns.iter().map(|(_, t)| t.len()).sum::<usize>()
    }
}

/// What a model said, with what it cost.
pub(super) struct Reply {
    pub(super) said: Result<String, ModelError>,
    pub(super) tokens: TokenCount,
}

impl ModelClient {
    /// A client; asks nothing yet.
    ///
    /// # Errors
    /// When the address or a header cannot be used, or the machine has no certificates to trust.
    pub fn new(endpoint: Endpoint) -> Result<Arc<Self>, ModelError> {
        // Fails when a provider was installed already, which then serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let url = openai_http::Url::parse(&endpoint.url).map_err(|_| ModelError::Setup("the address is not a URL"))?;
        // A redirect would take the key elsewhere.
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
        // `build` takes a client of its own, which the service stands in for.
        let openai = Client::build(openai_http::Client::default(), Server::new(&endpoint)?).with_http_service(service);
        let slots = Arc::new(Semaphore::new(endpoint.concurrency.max(1)));
        Ok(Arc::new(Self {
            openai,
            http,
            endpoint,
            slots,
            dialect: Mutex::default(),
            rests_until: Mutex::default(),
            gave_up: Mutex::default(),
        }))
    }

    /// The model's name.
    pub fn model(&self) -> &str {
        &self.endpoint.model
    }

    /// What is known of the server's dialect so far.
    pub fn dialect(&self) -> Dialect {
        *self.dialect.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn speak(&self, dialect: Dialect) {
        *self.dialect.lock().unwrap_or_else(PoisonError::into_inner) = dialect;
    }

    /// Whether the server can be reached, without asking the model anything: `GET /models`, which not every server has, so any
    /// answer but a failure or a refused key will do.
    ///
    /// # Errors
    /// When it cannot be, or does not let us in.
    pub async fn reach(&self) -> Result<(), ModelError> {
        let server = self.openai.config();
        let request = self.http.get(server.url("/models")).headers(server.headers()).timeout(CONNECT);
        let response = request.send().await.map_err(|e| ModelError::of_transport(&e))?;
        let status = response.status();
        let fails = status.is_server_error() || matches!(status.as_u16(), 401 | 403);
        if fails { Err(ModelError::of_response(response).await) } else { Ok(()) }
    }

    /// When work that begins now has to be done.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.endpoint.timeout
    }

    /// One whole answer.
    pub(super) async fn complete(&self, ask: &Ask<'_>, deadline: Instant) -> Result<Reply, ModelError> {
        let mut attempt = self.attempts_made();
        loop {
            let dialect = self.dialect();
            let started = Instant::now();
            let request = self.request(ask, dialect, false);
            let _slot = self.slot(deadline).await?;
            let answer = timeout_at(deadline, self.openai.chat().create_byot::<_, Chat>(&request)).await;
            match answer.map_err(|_| ModelError::silent()).and_then(|a| Ok(a?)) {
                Ok(chat) => {
                    let usage = chat.usage;
                    let said = read(chat);
                    let size = said.as_ref().map_or(0, String::len);
                    let usage = usage.unwrap_or_else(|| estimate(ask.bytes(), size));
                    count(ask.operation, said.as_ref().err().map_or("ok", ModelError::label), usage, started);
                    return Ok(Reply { said, tokens: usage.tokens() });
                }
                Err(e) => {
                    count(ask.operation, e.label(), Usage::default(), started);
                    drop(_slot);
                    self.after(e, dialect, &mut attempt, deadline).await?;
                }
            }
        }
    }

    /// An answer piece by piece. Repeated until the first piece is there, and never after.
    pub(super) async fn stream(&self, ask: &Ask<'_>, deadline: Instant) -> Result<Tokens, ModelError> {
        let mut attempt = self.attempts_made();
        loop {
            let dialect = self.dialect();
            let started = Instant::now();
            let request = self.request(ask, dialect, true);
            let slot = self.slot(deadline).await?;
            match self.open(ask, &request, slot, deadline).await {
                Ok(tokens) => return Ok(tokens),
                Err(e) => {
                    count(ask.operation, e.label(), Usage::default(), started);
                    self.after(e, dialect, &mut attempt, deadline).await?;
                }
            }
        }
    }

    async fn open(&self, ask: &Ask<'_>, request: &Value, slot: OwnedSemaphorePermit, deadline: Instant) -> Result<Tokens, ModelError> {
        let soon = deadline.min(Instant::now() + self.endpoint.silence);
        let opened = timeout_at(soon, self.openai.chat().create_stream_byot::<_, Chat>(request)).await;
        let stream = opened.map_err(|_| ModelError::silent())??;
        let mut tokens = Tokens::new(stream, slot, ask.operation, ask.bytes(), self.endpoint.silence, deadline);
        tokens.await_first(soon).await?;
        Ok(tokens)
    }

    /// One vector per text, in order, as the server gave them.
    pub(super) async fn embed(&self, texts: &[&str], deadline: Instant) -> Result<Vec<Vec<f32>>, ModelError> {
        let request = json!({ "model": self.endpoint.model, "input": texts });
        let mut attempt = self.attempts_made();
        loop {
            let started = Instant::now();
            let _slot = self.slot(deadline).await?;
            let answer = timeout_at(deadline, self.openai.embeddings().create_byot::<_, Vectors>(&request)).await;
            match answer.map_err(|_| ModelError::silent()).and_then(|a| Ok(a?)).and_then(|v| in_order(v, texts.len())) {
                Ok((vectors, usage)) => {
                    let usage = usage.unwrap_or_else(|| estimate(texts.iter().map(|t| t.len()).sum(), 0));
                    count("embed", "ok", usage, started);
                    return Ok(vectors);
                }
                Err(e) => {
                    count("embed", e.label(), Usage::default(), started);
                    drop(_slot);
                    self.after(e, Dialect::default(), &mut attempt, deadline).await?;
                }
            }
        }
    }

    fn request(&self, ask: &Ask<'_>, dialect: Dialect, stream: bool) -> Value {
        let mut messages = vec![json!({ "role": "system", "content": ask.system })];
        messages.extend(ask.turns.iter().map(|(role, content)| json!({ "role": role, "content": content })));
        let mut request = Map::new();
        request.insert("model".to_owned(), json!(self.endpoint.model));
        request.insert("messages".to_owned(), Value::Array(messages));
        dialect.write(&mut request, ask.max_tokens, ask.schema, stream);
        Value::Object(request)
    }

    /// Waits for a turn: for the server's rest to be over, and for one of the requests that run to end.
    async fn slot(&self, deadline: Instant) -> Result<OwnedSemaphorePermit, ModelError> {
        loop {
            let rest = *self.rests_until.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(until) = rest.filter(|until| *until > Instant::now()) else { break };
            if until >= deadline {
                return Err(ModelError::Busy { retry_after: Some(until - Instant::now()) });
            }
            sleep_until(until).await;
        }
        let slot = timeout_at(deadline, self.slots.clone().acquire_owned()).await;
        slot.ok().and_then(Result::ok).ok_or(ModelError::Busy { retry_after: None })
    }

    /// How many of its attempts a piece of work that begins now is taken to have made.
    fn attempts_made(&self) -> u32 {
        let gave_up = *self.gave_up.lock().unwrap_or_else(PoisonError::into_inner);
        if gave_up.is_some_and(|at| at.elapsed() < DOWN) { ATTEMPTS - 1 } else { 0 }
    }

    /// What to do after a failure: returns when the request should be made again, and the failure when it should not.
    async fn after(&self, e: ModelError, dialect: Dialect, attempt: &mut u32, deadline: Instant) -> Result<(), ModelError> {
        if let ModelError::Rejected { about, .. } = e
            && let Some(next) = dialect.without(about)
        {
            self.speak(next);
            return Ok(());
        }
        *attempt += 1;
        let asked_for = if let ModelError::Busy { retry_after } = e { retry_after } else { None };
        let wait = asked_for.unwrap_or(BACKOFF * 2u32.saturating_pow(attempt.saturating_sub(1)));
        let again = Instant::now() + wait;
        if asked_for.is_some() {
            // Whoever else wants something of this server waits as well, also after this piece of work was given up.
            *self.rests_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(again);
        }
        if !e.may_pass() || *attempt >= ATTEMPTS || again >= deadline {
            if matches!(e, ModelError::Unreachable(_)) {
                *self.gave_up.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
            }
            return Err(e);
        }
        sleep_until(again).await;
        Ok(())
    }
}

/// Text of an answer, if it is one.
fn read(chat: Chat) -> Result<String, ModelError> {
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

fn in_order(vectors: Vectors, expected: usize) -> Result<(Vec<Vec<f32>>, Option<Usage>), ModelError> {
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

/// Tokens by length, for servers that do not count.
pub(super) fn estimate(sent: usize, got: usize) -> Usage {
    Usage { prompt_tokens: sent.div_ceil(BYTES_PER_TOKEN) as u64, completion_tokens: got.div_ceil(BYTES_PER_TOKEN) as u64 }
}

/// Counts one request.
pub(super) fn count(operation: &'static str, outcome: &'static str, usage: Usage, started: Instant) {
    metrics::counter!("recall_model_requests_total", "operation" => operation, "outcome" => outcome).increment(1);
    metrics::histogram!("recall_model_request_seconds", "operation" => operation).record(started.elapsed().as_secs_f64());
    for (direction, n) in [("input", usage.prompt_tokens), ("output", usage.completion_tokens)] {
        metrics::counter!("recall_model_tokens_total", "operation" => operation, "direction" => direction).increment(n);
    }
}

async fn send(http: &openai_http::Client, request: HttpRequestFactory) -> Result<openai_http::Response, ModelError> {
    let request = request.build().await?;
    let response = http.execute(request).await.map_err(|e| ModelError::of_transport(&e))?;
    // Here and not in the library, which writes what it cannot read to the log, and that may quote the request.
    if response.status().is_success() { Ok(response) } else { Err(ModelError::of_response(response).await) }
}

/// Whether a name means this machine, which no proxy can reach.
fn is_local(host: &str) -> bool {
    host == "localhost" || host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// The library's idea of a server. Its own type would also read `OPENAI_…` from the environment and send what it finds.
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
