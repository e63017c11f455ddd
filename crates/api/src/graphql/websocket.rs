//! `/graphql/ws`: the protocol graphql-transport-ws.
//!
//! Limits: time until `connection_init`, concurrent operations, frame size, frame rate, time to accept a frame, silence of
//! the client, and the lifetime of the caller's token.
//!
//! The opening request authenticates the caller, or `authorization` in the payload of `connection_init`, because browsers cannot
//! set headers here. A login cookie also needs `csrfToken` in that payload. No operation runs before authentication.

use std::{
    net::IpAddr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_graphql::{
    Data,
    http::{WebSocket as Protocol, WebSocketProtocols, WsMessage},
};
use axum::{
    Extension,
    body::Bytes,
    extract::{
        State,
        ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, rejection::WebSocketUpgradeRejection},
    },
    http::{Extensions, HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use futures_util::{
    FutureExt, SinkExt, Stream, StreamExt, future,
    stream::{BoxStream, SplitSink, SplitStream},
};
use serde_json::Value;
use tokio::{
    sync::SetOnce,
    time::{Instant, interval_at, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    close::{Close, ClosingExecutor, EXPIRED, FORBIDDEN, RESTART, TRY_AGAIN},
    engine::{Engine, Operations},
    throttle::FrameThrottle,
};
use crate::{
    address::ClientAddress,
    auth::{AuthError, Authenticated, Authenticator, CSRF_FIELD, Identity, Lease, has_csrf_token},
    callers::CallerLog,
    error::ApiError,
    server::Connection,
};

const PROTOCOL: &str = "graphql-transport-ws";
const MAX_FRAME: usize = 1024 * 1024;
/// Bytes of the buffer into which the socket is read. Each read fills it with zeros first, and there is a read for each frame sent, so
/// the default of 128 KiB took a fifth of the time with many followers.
const READ_BUFFER: usize = 4 * 1024;
/// Most frames that are sent at once.
const FRAMES_TOGETHER: usize = 64;
/// Time within which the client must send `connection_init`.
const INIT_WITHIN: Duration = Duration::from_secs(10);
/// Time within which the client must accept a frame. Subscriptions are not read meanwhile.
const SEND_WITHIN: Duration = Duration::from_secs(30);
const PING_EVERY: Duration = Duration::from_secs(20);
/// Time without a frame after which the connection is dropped. A suspended laptop sends nothing, not even a close frame.
const SILENT_AFTER: Duration = Duration::from_secs(65);
/// Time for subscriptions to send `bye` when the server stops or the token expires.
const END_WITHIN: Duration = Duration::from_secs(2);
/// Time for the client to answer a close frame. Without the answer, a reset could lose the last frames.
const CLOSE_WITHIN: Duration = Duration::from_secs(1);
/// Maximum concurrent operations of one connection.
const OPERATIONS: usize = 50;

/// `GET /graphql/ws`: opens a WebSocket connection.
pub(crate) async fn open(
    State((engine, authenticator, callers)): State<(Engine, Arc<dyn Authenticator>, Arc<CallerLog>)>,
    authenticated: Option<Extension<Authenticated>>,
    connection: Option<Extension<Connection>>,
    address: Option<Extension<ClientAddress>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    headers: HeaderMap,
    extensions: Extensions,
) -> Response {
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade.protocols([PROTOCOL]).max_message_size(MAX_FRAME).max_frame_size(MAX_FRAME).read_buffer_size(READ_BUFFER),
        Err(_) => {
            let message = "This address accepts only WebSocket connections with the protocol graphql-transport-ws.";
            return ApiError::refused(StatusCode::UPGRADE_REQUIRED, "WEBSOCKET_REQUIRED", message).into_response();
        }
    };
    if upgrade.selected_protocol().is_none() {
        let message = "The WebSocket protocol must be graphql-transport-ws.";
        return ApiError::refused(StatusCode::BAD_REQUEST, "UNKNOWN_SUBPROTOCOL", message).into_response();
    }
    let opening = OpeningRequest {
        identity: authenticated.map(|Extension(Authenticated(identity))| identity),
        address: address.map(|Extension(ClientAddress(address))| address),
        connection: connection.map(|Extension(c)| c),
        headers,
    };
    let mut response = upgrade.on_upgrade(move |socket| serve(socket, engine, authenticator, callers, opening));
    // With these extensions hyper keeps the case of header names. Python's gql needs `Sec-WebSocket-Protocol` in its original case.
    response.extensions_mut().extend(extensions);
    response
}

/// Data from the opening request. `connection` is kept until the end, so that the WebSocket is counted and shutdown waits for it.
struct OpeningRequest {
    identity: Option<Identity>,
    address: Option<IpAddr>,
    connection: Option<Connection>,
    headers: HeaderMap,
}

/// Authenticates the caller of `connection_init`. Credentials in its payload override those of the request.
async fn authenticate(
    authenticator: Arc<dyn Authenticator>,
    request_identity: Option<Identity>,
    address: Option<IpAddr>,
    payload: Value,
) -> Result<Identity, AuthError> {
    let given = match payload.get("authorization").or_else(|| payload.get("Authorization")) {
        Some(Value::String(credentials)) => authenticator.authorize(credentials).await,
        Some(_) => Some(Err(AuthError::Invalid)),
        None => None,
    };
    let identity = given.unwrap_or_else(|| {
        let identity = request_identity.ok_or(AuthError::Missing)?;
        let shown = payload.get(CSRF_FIELD).and_then(Value::as_str).unwrap_or_default();
        if has_csrf_token(&identity, shown.as_bytes()) { Ok(identity) } else { Err(AuthError::Invalid) }
    })?;
    Ok(Identity { address, ..identity })
}

/// Waits until the connection should close: the server stops, the token expires, or a subscription that the client should repeat has
/// ended. Then waits a moment for the other operations to end.
async fn wait_for_close(stopping: &CancellationToken, lease: &SetOnce<Lease>, operations: &ClosingExecutor<Operations>) -> Close {
    let close = tokio::select! {
        () = stopping.cancelled() => RESTART,
        () = async { lease.wait().await.ended().await } => EXPIRED,
        close = operations.close_requested() => close,
    };
    let _ = operations.all_ended(END_WITHIN).await;
    if stopping.is_cancelled() { RESTART } else { close }
}

/// Returns the messages of the client.
///
/// Messages are dropped while the server stops. Otherwise new operations would be refused, and their refusal would be completed.
fn client_messages(
    stream: SplitStream<WebSocket>,
    mut throttle: FrameThrottle,
    heard: Arc<AtomicBool>,
    stopping: CancellationToken,
) -> BoxStream<'static, Bytes> {
    stream
        .then(move |frame| {
            let wait = throttle.wait();
            async move {
                if !wait.is_zero() {
                    sleep(wait).await;
                }
                frame
            }
        })
        .take_while(|frame| future::ready(frame.is_ok()))
        .filter_map(move |frame| {
            heard.store(true, Ordering::Relaxed);
            future::ready(match frame {
                Ok(message @ (Message::Text(_) | Message::Binary(_))) if !stopping.is_cancelled() => Some(message.into_data()),
                _ => None,
            })
        })
        .boxed()
}

async fn serve(socket: WebSocket, engine: Engine, authenticator: Arc<dyn Authenticator>, callers: Arc<CallerLog>, opening: OpeningRequest) {
    let OpeningRequest { identity: request_identity, address, connection, headers } = opening;
    let identity = Arc::new(OnceLock::new());
    let lease = Arc::new(SetOnce::new());
    let operations = ClosingExecutor::new(engine.for_pending_caller(identity.clone(), OPERATIONS));
    let stopping = connection.as_ref().map(|c| c.closing.clone()).unwrap_or_default();
    // One wait for the whole connection: sending a frame must not restart it.
    let close_reason = wait_for_close(&stopping, &lease, &operations);
    tokio::pin!(close_reason);
    let (mut sink, stream) = socket.split();
    let init_received = Arc::new(AtomicBool::new(false));
    let heard = Arc::new(AtomicBool::new(true));
    let input = client_messages(stream, FrameThrottle::new(engine.websocket_frames()), heard.clone(), stopping.clone());
    let auth_unavailable = Arc::new(AtomicBool::new(false));
    let (init_flag, unavailable_flag) = (init_received.clone(), auth_unavailable.clone());
    let (identity_slot, lease_slot) = (identity.clone(), lease.clone());
    let mut output = Protocol::new(operations.clone(), input, WebSocketProtocols::GraphQLWS).on_connection_init(move |payload| {
        init_flag.store(true, Ordering::Relaxed);
        async move {
            let identity = authenticate(authenticator, request_identity, address, payload).await.map_err(|error| {
                unavailable_flag.store(matches!(error, AuthError::Unavailable(_)), Ordering::Relaxed);
                ApiError::from(error)
            })?;
            callers.note(&identity, &headers).await;
            let _ = lease_slot.set(identity.lease());
            let _ = identity_slot.set(identity);
            Ok(Data::default())
        }
    });

    let init_deadline = sleep(INIT_WITHIN);
    tokio::pin!(init_deadline);
    let mut ping = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
    let mut last_heard = Instant::now();
    // What the operations gave while a frame was sent.
    let mut ahead = None;
    loop {
        let next = match ahead.take() {
            Some(message) => Next::Output(message),
            None => tokio::select! {
                message = output.next() => Next::Output(message),
                () = &mut init_deadline, if !init_received.load(Ordering::Relaxed) => {
                    Next::Frame(close_frame(4408, "Connection initialisation timeout"))
                }
                (code, reason) = &mut close_reason => Next::Frame(close_frame(code, reason)),
                _ = ping.tick() => {
                    if heard.swap(false, Ordering::Relaxed) {
                        last_heard = Instant::now();
                    }
                    if last_heard.elapsed() > SILENT_AFTER { break; }
                    Next::Frame(Message::Ping(Bytes::new()))
                }
            },
        };
        let frame = match next {
            Next::Frame(frame) => frame,
            Next::Output(Some(WsMessage::Text(text))) => Message::Text(text.into()),
            // Between `connection_init` and its answer, the only reason to close is a failed authentication.
            Next::Output(Some(WsMessage::Close(_, reason))) if init_received.load(Ordering::Relaxed) && identity.get().is_none() => {
                close_frame(if auth_unavailable.load(Ordering::Relaxed) { TRY_AGAIN.0 } else { FORBIDDEN }, &reason)
            }
            Next::Output(Some(WsMessage::Close(code, reason))) => close_frame(code, &reason),
            Next::Output(None) => break,
        };
        let is_last = matches!(frame, Message::Close(_));
        if is_last {
            if matches!(timeout(SEND_WITHIN, sink.send(frame)).await, Ok(Ok(()))) {
                let _ = timeout(CLOSE_WITHIN, async { while output.next().await.is_some() {} }).await;
            }
            break;
        }
        match timeout(SEND_WITHIN, send_together(&mut sink, frame, &mut output)).await {
            Ok(Ok(left)) => ahead = left,
            _ => break,
        }
    }
}

/// Sends a frame together with the texts that `output` has ready. Returns what `output` gave that is not a text.
///
/// So the events of one commit leave together: a packet for each would cost more than the events.
async fn send_together(
    sink: &mut SplitSink<WebSocket, Message>,
    frame: Message,
    output: &mut (impl Stream<Item = WsMessage> + Unpin),
) -> Result<Option<Option<WsMessage>>, axum::Error> {
    sink.feed(frame).await?;
    let mut left = None;
    for _ in 0..FRAMES_TOGETHER {
        match output.next().now_or_never() {
            Some(Some(WsMessage::Text(text))) => sink.feed(Message::Text(text.into())).await?,
            other => {
                left = other;
                break;
            }
        }
    }
    sink.flush().await?;
    Ok(left)
}

/// What a connection sends next.
enum Next {
    /// What the operations give; `None` at their end.
    Output(Option<WsMessage>),
    /// A frame of the connection itself.
    Frame(Message),
}

/// Returns a close frame, with the reason cut to the 123 bytes that a frame allows.
fn close_frame(code: u16, reason: &str) -> Message {
    let mut end = reason.len().min(123);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    Message::Close(Some(CloseFrame { code, reason: reason[..end].into() }))
}
