//! A model server with the OpenAI protocol: as strict as the original, with faults on demand.

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::post,
};
use futures_util::{Stream, StreamExt, stream};
use serde_json::{Value, json};

/// The accepted key.
pub(crate) const KEY: &str = "test-key-7f3a";
/// The only model.
pub(crate) const MODEL: &str = "test-model";
/// The length of its vectors.
pub(crate) const DIMENSION: usize = 384;
/// The longest accepted text, in words.
const MAX_WORDS: usize = 200;

/// The reaction to a completion request.
#[derive(Clone, Debug)]
pub(crate) enum Reaction {
    /// Answers this text; streamed on request.
    Say(String),
    /// Answers this text after a delay.
    Late(Duration, String),
    /// Fails with this status; the message quotes the request, as real servers do.
    Fail(u16),
    /// Refuses with 429 and this `Retry-After` in seconds.
    Wait(&'static str),
    /// Streams this text, then breaks the connection.
    Break(String),
    /// Streams this text, then ends without a finish reason.
    Stop(String),
    /// Streams this text, then nothing more, without an end.
    Hang(String),
    /// Streams this text, then an error object.
    Complain(String),
    /// Refuses by content.
    Refuse,
    /// Answers this text with finish reason `length`.
    Length(String),
    /// Answers with a body that is not JSON and quotes the request.
    Garbage,
}

type Script = dyn Fn(usize, &Value) -> Reaction + Send + Sync;

/// A running server. Dropping it stops it.
pub(crate) struct ModelServer {
    address: std::net::SocketAddr,
    state: Arc<ServerState>,
    serving: tokio::task::JoinHandle<()>,
}

struct ServerState {
    script: Box<Script>,
    /// The supported features besides plain completions.
    abilities: Abilities,
    seen: Mutex<Vec<(Instant, Value)>>,
    open: Arc<AtomicUsize>,
}

/// The supported features of a model server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Abilities {
    /// Enforces `json_schema`; otherwise refuses it (`Some(false)`) or ignores it (`None`).
    pub(crate) json_schema: Option<bool>,
    /// Like `json_schema`, for `json_object`.
    pub(crate) json_object: Option<bool>,
    /// Supports `max_completion_tokens`, `temperature` and `stream_options`; otherwise refuses them.
    pub(crate) modern: bool,
    /// Returns vectors of another length from the second request on.
    pub(crate) dimension_changes: bool,
}

impl Default for Abilities {
    fn default() -> Self {
        Self { json_schema: Some(true), json_object: Some(true), modern: true, dimension_changes: false }
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl ModelServer {
    /// Starts a server that answers the n-th completion, from 0, with the script; it answers the start-up probe
    /// itself.
    pub(crate) async fn start(script: impl Fn(usize, &Value) -> Reaction + Send + Sync + 'static) -> Self {
        Self::with(Abilities::default(), script).await
    }

    pub(crate) async fn with(abilities: Abilities, script: impl Fn(usize, &Value) -> Reaction + Send + Sync + 'static) -> Self {
        let open = Arc::new(AtomicUsize::new(0));
        let state = Arc::new(ServerState { script: Box::new(script), abilities, seen: Mutex::default(), open });
        let router = Router::new().route("/v1/chat/completions", post(chat)).route("/v1/embeddings", post(embed)).with_state(state.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, state, serving }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns the requests so far with their times, without the start-up probe.
    pub(crate) fn seen(&self) -> Vec<(Instant, Value)> {
        self.state.seen.lock().unwrap().clone()
    }

    /// Returns the content of the `user` message of the n-th request.
    pub(crate) fn shown(&self, n: usize) -> Value {
        let seen = self.seen();
        let messages = seen[n].1["messages"].as_array().unwrap();
        assert_eq!(messages[0]["role"], "system");
        assert_eq!(messages[1]["role"], "user");
        serde_json::from_str(messages[1]["content"].as_str().unwrap()).expect("the content is not JSON")
    }

    /// Waits until no stream is open.
    pub(crate) async fn idle(&self) {
        let started = Instant::now();
        while self.state.open.load(Ordering::SeqCst) > 0 {
            assert!(started.elapsed() < Duration::from_secs(30), "an unread stream is still open");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Returns the number of open streams.
    pub(crate) fn open(&self) -> usize {
        self.state.open.load(Ordering::SeqCst)
    }
}

fn complain(status: u16, code: &str, message: &str) -> Response {
    let body = json!({ "error": { "message": message, "type": "invalid_request_error", "param": null, "code": code } });
    (StatusCode::from_u16(status).unwrap(), Json(body)).into_response()
}

fn refusal(headers: &HeaderMap, request: &Value) -> Option<Response> {
    if headers.get("authorization").and_then(|v| v.to_str().ok()) != Some(&format!("Bearer {KEY}")) {
        return Some(complain(401, "invalid_api_key", "Incorrect API key provided."));
    }
    (request["model"] != MODEL).then(|| complain(404, "model_not_found", "The model does not exist."))
}

async fn chat(State(state): State<Arc<ServerState>>, headers: HeaderMap, Json(request): Json<Value>) -> Response {
    if let Some(refused) = refusal(&headers, &request) {
        return refused;
    }
    let old_fashioned = ["max_completion_tokens", "temperature", "stream_options"];
    if let Some(field) = old_fashioned.into_iter().find(|f| !state.abilities.modern && request.get(f).is_some()) {
        return complain(400, "unsupported_parameter", &format!("Unsupported parameter: '{field}'."));
    }
    let messages = request["messages"].as_array().expect("messages are a list");
    let has_content = |m: &Value| m["content"].is_string() || m["content"].is_array();
    assert!(messages.iter().all(|m| m["role"].is_string() && has_content(m)), "messages have role and content");
    let format = request["response_format"]["type"].as_str();
    let heeded = match format {
        Some("json_schema") => {
            let schema = &request["response_format"]["json_schema"];
            assert_eq!(schema["strict"], true);
            strict(&schema["schema"]);
            state.abilities.json_schema
        }
        Some("json_object") => state.abilities.json_object,
        Some(other) => panic!("response_format {other} does not exist"),
        None => None,
    };
    if heeded == Some(false) {
        return complain(400, "invalid_request", "'response_format' of this type is not supported.");
    }
    if messages[0]["content"] == "You check a connection." {
        let text = if heeded == Some(true) { "{\"awake\": true}" } else { "Yes." };
        return said(&request, text, "stop");
    }
    let n = {
        let mut seen = state.seen.lock().unwrap();
        seen.push((Instant::now(), request.clone()));
        seen.len() - 1
    };
    let streamed = request["stream"] == true;
    match (state.script)(n, &request) {
        Reaction::Say(text) if streamed => events(&state, &request, pieces(&text).chain(ending(&request, "stop"))),
        Reaction::Say(text) => said(&request, &text, "stop"),
        Reaction::Late(wait, text) => {
            tokio::time::sleep(wait).await;
            if streamed { events(&state, &request, pieces(&text).chain(ending(&request, "stop"))) } else { said(&request, &text, "stop") }
        }
        Reaction::Fail(status) => complain(status, "it_failed", &format!("I cannot do: {request}")),
        Reaction::Wait(seconds) => {
            let mut response = complain(429, "rate_limit_exceeded", "Slow down.");
            response.headers_mut().insert("retry-after", seconds.parse().unwrap());
            response
        }
        Reaction::Break(text) => {
            let broken = stream::iter([Err(std::io::Error::other("cut"))]);
            body(&state, pieces(&text).map(Ok::<_, std::io::Error>).chain(broken))
        }
        Reaction::Stop(text) => body(&state, pieces(&text).map(Ok::<_, Infallible>)),
        Reaction::Hang(text) => body(&state, pieces(&text).map(Ok::<_, Infallible>).chain(stream::pending())),
        Reaction::Complain(text) => {
            let complaint = frame(&json!({ "error": { "message": format!("failed over {request}") } }));
            body(&state, pieces(&text).chain(stream::iter([complaint])).map(Ok::<_, Infallible>))
        }
        Reaction::Refuse if streamed => {
            let refusal = chunk(json!({ "refusal": "I can't help with that." }), None);
            events(&state, &request, stream::iter([refusal]).chain(ending(&request, "stop")))
        }
        Reaction::Refuse => {
            let message = json!({ "role": "assistant", "content": null, "refusal": "I can't help with that." });
            Json(json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }] })).into_response()
        }
        Reaction::Length(text) if streamed => events(&state, &request, pieces(&text).chain(ending(&request, "length"))),
        Reaction::Length(text) => said(&request, &text, "length"),
        Reaction::Garbage if streamed => {
            body(&state, pieces("A").chain(stream::iter([Bytes::from(format!("data: {{broken {request}\n\n"))])).map(Ok::<_, Infallible>))
        }
        Reaction::Garbage => (StatusCode::OK, format!("<html>{request}</html>")).into_response(),
    }
}

/// Asserts what the original demands of a strict schema.
fn strict(schema: &Value) {
    match schema["type"].as_str() {
        Some("object") => {
            assert_eq!(schema["additionalProperties"], false, "{schema}");
            let properties = schema["properties"].as_object().unwrap();
            let required: Vec<&str> = schema["required"].as_array().unwrap().iter().map(|r| r.as_str().unwrap()).collect();
            assert_eq!(required.len(), properties.len(), "{schema}");
            for (name, inner) in properties {
                assert!(required.contains(&name.as_str()), "{name}");
                strict(inner);
            }
        }
        Some("array") => strict(&schema["items"]),
        Some("string" | "boolean" | "number" | "integer") => {}
        other => panic!("{other:?} is not allowed in a strict schema"),
    }
}

fn usage(request: &Value, text: &str) -> Value {
    let (prompt, completion) = (request["messages"].to_string().len() / 4, text.len() / 4 + 1);
    json!({ "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion })
}

fn said(request: &Value, text: &str, why: &str) -> Response {
    Json(json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": MODEL, "usage": usage(request, text),
        "choices": [{ "index": 0, "message": { "role": "assistant", "content": text, "refusal": null }, "logprobs": null, "finish_reason": why }],
    }))
    .into_response()
}

fn frame(value: &Value) -> Bytes {
    Bytes::from(format!("data: {value}\n\n"))
}

fn chunk(delta: Value, why: Option<&str>) -> Bytes {
    frame(&json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": MODEL,
        "choices": [{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": why }] }))
}

/// Splits a text into pieces of three characters, across marks and words.
fn pieces(text: &str) -> impl Stream<Item = Bytes> + Send + 'static {
    let chars: Vec<char> = text.chars().collect();
    let mut all = vec![Bytes::from(": a comment\n\n"), chunk(json!({ "role": "assistant", "content": "" }), None)];
    all.extend(chars.chunks(3).map(|c| chunk(json!({ "content": c.iter().collect::<String>() }), None)));
    stream::iter(all).then(|b| async {
        tokio::task::yield_now().await;
        b
    })
}

fn ending(request: &Value, why: &str) -> impl Stream<Item = Bytes> + Send + 'static {
    let mut all = vec![chunk(json!({}), Some(why))];
    if request["stream_options"]["include_usage"] == true {
        all.push(frame(&json!({ "id": "chatcmpl-1", "choices": [], "usage": usage(request, "") })));
    }
    all.push(Bytes::from("data: [DONE]\n\n"));
    stream::iter(all)
}

fn events(state: &ServerState, _request: &Value, parts: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    body(state, parts.map(Ok::<_, Infallible>))
}

/// A stream that counts as open until it is sent or its reader is gone.
fn body<E: Into<axum::BoxError> + Send + 'static>(
    state: &ServerState,
    parts: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
) -> Response {
    struct Open(Arc<AtomicUsize>);
    impl Drop for Open {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
    state.open.fetch_add(1, Ordering::SeqCst);
    let open = Open(state.open.clone());
    let counted = parts.map(move |p| {
        let _open = &open;
        p.map_err(Into::into)
    });
    ([("content-type", "text/event-stream")], Body::from_stream(counted)).into_response()
}

async fn embed(State(state): State<Arc<ServerState>>, headers: HeaderMap, Json(request): Json<Value>) -> Response {
    if let Some(refused) = refusal(&headers, &request) {
        return refused;
    }
    let n = {
        let mut seen = state.seen.lock().unwrap();
        seen.push((Instant::now(), request.clone()));
        seen.len() - 1
    };
    match (state.script)(n, &request) {
        Reaction::Fail(status) => return complain(status, "it_failed", &format!("I cannot do: {request}")),
        Reaction::Garbage => return (StatusCode::OK, format!("<html>{request}</html>")).into_response(),
        Reaction::Wait(seconds) => {
            let mut response = complain(429, "rate_limit_exceeded", "Slow down.");
            response.headers_mut().insert("retry-after", seconds.parse().unwrap());
            return response;
        }
        Reaction::Late(silence, _) => tokio::time::sleep(silence).await,
        _ => {}
    }
    let texts: Vec<&str> = request["input"].as_array().expect("a list").iter().map(|t| t.as_str().expect("of texts")).collect();
    if texts.is_empty() || texts.len() > 2048 || texts.iter().any(|t| t.is_empty()) {
        return complain(400, "invalid_request", "'$.input' is invalid.");
    }
    if texts.iter().any(|t| t.split_whitespace().count() > MAX_WORDS) {
        return complain(400, "context_length_exceeded", &format!("too long: {texts:?}"));
    }
    let dimension = if state.abilities.dimension_changes && n > 0 { DIMENSION / 2 } else { DIMENSION };
    let mut data: Vec<Value> =
        texts.iter().enumerate().map(|(i, t)| json!({ "object": "embedding", "index": i, "embedding": vector(t, dimension) })).collect();
    // The protocol contains the index of each vector and does not promise an order.
    data.reverse();
    let tokens: usize = texts.iter().map(|t| t.split_whitespace().count()).sum();
    Json(json!({ "object": "list", "data": data, "model": MODEL, "usage": { "prompt_tokens": tokens, "total_tokens": tokens } }))
        .into_response()
}

/// Hashes words into bins: similar texts get similar vectors.
pub(crate) fn vector(text: &str, dimension: usize) -> Vec<f32> {
    let mut bins: HashMap<usize, f32> = HashMap::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()) {
        let hash = word.to_lowercase().bytes().fold(5381_usize, |h, b| h.wrapping_mul(33) ^ usize::from(b));
        *bins.entry(hash % dimension).or_default() += 3.0;
    }
    (0..dimension).map(|i| bins.get(&i).copied().unwrap_or_default()).collect()
}
