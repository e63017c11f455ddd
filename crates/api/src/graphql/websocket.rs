//! `/graphql/ws`: the protocol graphql-transport-ws. Bounds: time until `connection_init`, operations at once, size of a
//! frame, pace of frames, time to take a frame, silence of the other side, and the life of the caller's token.
//!
//! Who asks is said by the request that opens the connection, or by `authorization` in the payload of `connection_init`,
//! because browsers cannot set headers here; to the cookie of a login belongs `csrfToken` in that payload. Nothing runs before.

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
    http::{Extensions, StatusCode},
    response::{IntoResponse, Response},
};
use futures_util::{
    SinkExt, StreamExt, future,
    stream::{BoxStream, SplitStream},
};
use serde_json::Value;
use tokio::{
    sync::SetOnce,
    time::{Instant, interval_at, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    close::{Close, Closing, EXPIRED, FORBIDDEN, RESTART, TRY_AGAIN},
    engine::Engine,
    pace::Pace,
};
use crate::{
    address::ClientAddress,
    audit::Roles,
    auth::{AuthError, Authenticated, Authenticator, CSRF_FIELD, Identity, Lease, has_csrf_token},
    error::ApiError,
    server::Connection,
};

const PROTOCOL: &str = "graphql-transport-ws";
const MAX_FRAME: usize = 1024 * 1024;
/// Time until the client must have said `connection_init`.
const INIT_WITHIN: Duration = Duration::from_secs(10);
/// Time a client may take to receive a frame. A subscription is read no further meanwhile.
const SEND_WITHIN: Duration = Duration::from_secs(30);
const PING_EVERY: Duration = Duration::from_secs(20);
/// A closed laptop sends nothing, not even an end.
const SILENT_AFTER: Duration = Duration::from_secs(65);
/// Time for subscriptions to say why they end when the server stops or the token has ended.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Time for the client to answer a close frame. Without its answer the last frames could be lost with a reset.
const CLOSE_WITHIN: Duration = Duration::from_secs(1);
/// Operations at once over one connection.
const OPERATIONS: usize = 50;

/// Opens a connection.
pub(crate) async fn open(
    State((engine, authenticator, roles)): State<(Engine, Arc<dyn Authenticator>, Arc<Roles>)>,
    named: Option<Extension<Authenticated>>,
    connection: Option<Extension<Connection>>,
    address: Option<Extension<ClientAddress>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    extensions: Extensions,
) -> Response {
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade.protocols([PROTOCOL]).max_message_size(MAX_FRAME).max_frame_size(MAX_FRAME),
        Err(_) => {
            let message = "This is the address for WebSocket connections with the protocol graphql-transport-ws.";
            return ApiError::refused(StatusCode::UPGRADE_REQUIRED, "WEBSOCKET_REQUIRED", message).into_response();
        }
    };
    if upgrade.selected_protocol().is_none() {
        let message = "The WebSocket protocol must be graphql-transport-ws.";
        return ApiError::refused(StatusCode::BAD_REQUEST, "UNKNOWN_SUBPROTOCOL", message).into_response();
    }
    let came = Came {
        identity: named.map(|Extension(Authenticated(identity))| identity),
        address: address.map(|Extension(ClientAddress(address))| address),
        connection: connection.map(|Extension(c)| c),
    };
    let mut response = upgrade.on_upgrade(move |socket| serve(socket, engine, authenticator, roles, came));
    // With them hyper writes a header as the request wrote it. Python's gql finds `Sec-WebSocket-Protocol` in that case only.
    response.extensions_mut().extend(extensions);
    response
}

/// What the request that asked for the connection said. The connection is kept until the end, so that this one counts and is
/// waited for.
struct Came {
    identity: Option<Identity>,
    address: Option<IpAddr>,
    connection: Option<Connection>,
}

/// Who asks, once `connection_init` was said: what it says itself wins over the request.
async fn name(
    authenticator: Arc<dyn Authenticator>,
    by_request: Option<Identity>,
    address: Option<IpAddr>,
    payload: Value,
) -> Result<Identity, AuthError> {
    let given = match payload.get("authorization").or_else(|| payload.get("Authorization")) {
        Some(Value::String(credentials)) => authenticator.authorize(credentials).await,
        Some(_) => Some(Err(AuthError::Invalid)),
        None => None,
    };
    let identity = given.unwrap_or_else(|| {
        let identity = by_request.ok_or(AuthError::Missing)?;
        let shown = payload.get(CSRF_FIELD).and_then(Value::as_str).unwrap_or_default();
        if has_csrf_token(&identity, shown.as_bytes()) { Ok(identity) } else { Err(AuthError::Invalid) }
    })?;
    Ok(Identity { address, ..identity })
}

/// Waits until the connection should close: the server stops, the caller's token has ended, or a subscription has ended that the
/// client should repeat. Then other operations have a moment to end, too.
async fn closes(stopping: &CancellationToken, lease: &SetOnce<Lease>, operations: &Closing) -> Close {
    let close = tokio::select! {
        () = stopping.cancelled() => RESTART,
        () = async { lease.wait().await.ended().await } => EXPIRED,
        close = operations.wanted() => close,
    };
    let _ = operations.all_ended(LAST_WORDS).await;
    if stopping.is_cancelled() { RESTART } else { close }
}

/// The messages of the client. While the server stops they are dropped: an operation that begins then would be refused, and its
/// refusal would be completed.
fn input(stream: SplitStream<WebSocket>, mut pace: Pace, heard: Arc<AtomicBool>, stopping: CancellationToken) -> BoxStream<'static, Bytes> {
    stream
        .then(move |frame| {
            let wait = pace.wait();
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
                Ok(text @ (Message::Text(_) | Message::Binary(_))) if !stopping.is_cancelled() => Some(text.into_data()),
                _ => None,
            })
        })
        .boxed()
}

async fn serve(socket: WebSocket, engine: Engine, authenticator: Arc<dyn Authenticator>, roles: Arc<Roles>, came: Came) {
    let Came { identity: by_request, address, connection } = came;
    let identity = Arc::new(OnceLock::new());
    let lease = Arc::new(SetOnce::new());
    let operations = Closing::new(engine.on_behalf_of_whom(identity.clone(), OPERATIONS));
    let stopping = connection.as_ref().map(|c| c.closing.clone()).unwrap_or_default();
    // One wait for the whole connection: a frame that is sent meanwhile must not restart it.
    let closes = closes(&stopping, &lease, &operations);
    tokio::pin!(closes);
    let (mut sink, stream) = socket.split();
    let begun = Arc::new(AtomicBool::new(false));
    let heard = Arc::new(AtomicBool::new(true));
    let input = input(stream, Pace::new(engine.websocket_frames()), heard.clone(), stopping.clone());
    let unknowable = Arc::new(AtomicBool::new(false));
    let (mark, unknown) = (begun.clone(), unknowable.clone());
    let (named, leased) = (identity.clone(), lease.clone());
    let mut output = Protocol::new(operations.clone(), input, WebSocketProtocols::GraphQLWS).on_connection_init(move |payload| {
        mark.store(true, Ordering::Relaxed);
        async move {
            let identity = name(authenticator, by_request, address, payload).await.map_err(|error| {
                unknown.store(matches!(error, AuthError::Unavailable(_)), Ordering::Relaxed);
                ApiError::from(error)
            })?;
            roles.note_role_change(&identity).await;
            let _ = leased.set(identity.lease());
            let _ = named.set(identity);
            Ok(Data::default())
        }
    });

    let init_deadline = sleep(INIT_WITHIN);
    tokio::pin!(init_deadline);
    let mut ping = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
    let mut last_heard = Instant::now();
    loop {
        let frame = tokio::select! {
            message = output.next() => match message {
                Some(WsMessage::Text(text)) => Message::Text(text.into()),
                // The only reason to close between `connection_init` and its answer is that nobody could be named.
                Some(WsMessage::Close(_, reason)) if begun.load(Ordering::Relaxed) && identity.get().is_none() => {
                    close(if unknowable.load(Ordering::Relaxed) { TRY_AGAIN.0 } else { FORBIDDEN }, &reason)
                }
                Some(WsMessage::Close(code, reason)) => close(code, &reason),
                None => break,
            },
            () = &mut init_deadline, if !begun.load(Ordering::Relaxed) => close(4408, "Connection initialisation timeout"),
            (code, reason) = &mut closes => close(code, reason),
            _ = ping.tick() => {
                if heard.swap(false, Ordering::Relaxed) {
                    last_heard = Instant::now();
                }
                if last_heard.elapsed() > SILENT_AFTER { break; }
                Message::Ping(Bytes::new())
            }
        };
        let is_last = matches!(frame, Message::Close(_));
        if !matches!(timeout(SEND_WITHIN, sink.send(frame)).await, Ok(Ok(()))) {
            break;
        }
        if is_last {
            let _ = timeout(CLOSE_WITHIN, async { while output.next().await.is_some() {} }).await;
            break;
        }
    }
}

/// A close frame; its reason may have 123 bytes at most.
fn close(code: u16, reason: &str) -> Message {
    let mut end = reason.len().min(123);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    Message::Close(Some(CloseFrame { code, reason: reason[..end].into() }))
}
