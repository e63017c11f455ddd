//! Server-sent events: the events of a session, or of all that the caller may read.

use std::{convert::Infallible, future::Future, ops::RangeInclusive, sync::Arc, time::Duration};

use axum::{
    extract::{Path, Query, State},
    http::HeaderMap,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::stream;
use serde::Deserialize;
use serde_json::json;
use signaling::{Bye, ByeCode};
use utoipa::IntoParams;
use uuid::Uuid;

use super::{
    auth::{Identity, Reader},
    error::ApiError,
    event_line::{Line, LineDelivery},
    rate::CallerLimits,
};
use crate::event_log::EventHub;
use recall_domain::SessionId;

/// Interval of comments that keep an idle connection open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Range of the reconnect delay that browsers are told. It differs by stream, so that the clients of a stopped server do not
/// all reconnect at the same moment.
const RETRY: RangeInclusive<Duration> = Duration::from_millis(1_000)..=Duration::from_millis(3_000);

/// What the handlers need.
type Services = (Arc<EventHub>, Arc<CallerLimits>);

/// Where to begin.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventsQuery {
    /// Deliver events after this cursor. Default: from now on.
    after: Option<String>,
}

/// Follows the events of a session as server-sent events.
///
/// `Last-Event-ID`, which browsers send when they reconnect, overrides `?after=`.
#[utoipa::path(
    get, path = "/sessions/{session_id}/events", operation_id = "followEvents", tag = "events", security((), ("token" = ["recall.read"])),
    params(
        ("session_id" = String, Path, description = "A session of the caller or of shared memory.", format = Uuid),
        EventsQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "The cursor of the last event that the client saw.")
    ),
    responses((status = 200, description = "Events. `id` is the cursor; schema.events.json describes `data`.", body = String, content_type = "text/event-stream"))
)]
pub(crate) async fn events(
    State((hub, limits)): State<Services>,
    Reader(identity): Reader,
    Path(session): Path<String>,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Response {
    let Ok(session) = session.parse::<SessionId>() else { return ApiError::not_found("session").into_response() };
    let after = last_cursor(&headers, query);
    respond(&limits, &identity, session.0, Line::of_session(&hub, identity.caller, session, after.as_deref())).await
}

/// Follows the events of all sessions, documents and comparisons as server-sent events.
///
/// Also those of shared memory, if the caller may read it; their `data` has `"shared": true`. `Last-Event-ID`, which browsers send when they
/// reconnect, overrides `?after=`.
#[utoipa::path(
    get, path = "/events", operation_id = "followMemory", tag = "events", security((), ("token" = ["recall.read"])),
    params(
        EventsQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "The cursor of the last event that the client saw.")
    ),
    responses((status = 200, description = "Events. `id` is the cursor; schema.events.json describes `data`.", body = String, content_type = "text/event-stream"))
)]
pub(crate) async fn memory_events(
    State((hub, limits)): State<Services>,
    Reader(identity): Reader,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Response {
    let after = last_cursor(&headers, query);
    respond(&limits, &identity, identity.caller.user().0, Line::of_memory(&hub, identity.caller, after.as_deref())).await
}

/// Returns the cursor from which the client wants to resume.
fn last_cursor(headers: &HeaderMap, query: EventsQuery) -> Option<String> {
    // An unreadable header is a bad cursor, not a missing one: otherwise the client would lose events silently.
    let last = headers.get("last-event-id").filter(|v| !v.is_empty()).map(|v| String::from_utf8_lossy(v.as_bytes()).into_owned());
    last.or(query.after)
}

/// Delivers a line until it ends or the caller's permission does.
async fn respond(
    limits: &Arc<CallerLimits>,
    identity: &Identity,
    stream: Uuid,
    line: impl Future<Output = Result<Line, ApiError>>,
) -> Response {
    let subscribed = async {
        let open = limits.stream(identity.caller)?;
        Ok::<_, ApiError>((line.await?, open))
    };
    let (line, open) = match subscribed.await {
        Ok(subscribed) => subscribed,
        Err(error) => return error.into_response(),
    };
    // `retry` is sent with the first event, which follows at once: missed events or `caught_up`.
    let events = stream::unfold(Some((line, identity.lease(), open, Some(reconnect_delay(stream)))), move |state| async move {
        let (mut line, lease, open, retry) = state?;
        let (seq, delivery) = tokio::select! {
            delivery = line.next() => delivery?,
            () = lease.ended() => (line.seq(), LineDelivery::End(Bye::from(ByeCode::AuthExpired))),
        };
        let last = matches!(delivery, LineDelivery::End(_));
        let event = retry.into_iter().fold(to_sse_event(&line, seq, delivery), Event::retry);
        Some((Ok::<_, Infallible>(event), (!last).then_some((line, lease, open, None))))
    });
    let mut response = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
    // Otherwise a buffering proxy would hold back every event.
    response.headers_mut().insert("x-accel-buffering", axum::http::HeaderValue::from_static("no"));
    response
}

/// Returns the reconnect delay for a stream.
fn reconnect_delay(stream: Uuid) -> Duration {
    let spread = (*RETRY.end() - *RETRY.start()).as_millis();
    *RETRY.start() + Duration::from_millis(u64::try_from(stream.as_u128() % (spread + 1)).unwrap_or_default())
}

fn to_sse_event(line: &Line, seq: u64, delivery: LineDelivery) -> Event {
    match delivery {
        LineDelivery::Event(event) => {
            let sent = Event::default().event(&event.kind).data(event.data.get());
            // Without an id if it is not numbered: a client resumes after the last numbered event.
            if event.is_numbered { sent.id(line.cursor()) } else { sent }
        }
        LineDelivery::CaughtUp => Event::default().id(line.cursor()).event("caught_up").data(json!({ "seq": seq }).to_string()),
        LineDelivery::End(bye) => Event::default().event("bye").data(json!(bye).to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reconnect_delays_differ_between_streams() {
        let times: Vec<_> = (0..100u128).map(|n| reconnect_delay(Uuid::from_u128(n * 0x9e37_79b9_7f4a_7c15))).collect();
        assert!(times.iter().all(|time| RETRY.contains(time)), "{times:?}");
        assert!(times.iter().collect::<std::collections::HashSet<_>>().len() > 50, "{times:?}");
    }
}
