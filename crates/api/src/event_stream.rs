//! Event streams over HTTP: the parts that subscriptions share, and server-sent events.
//!
//! All transports use the same cursors. Events that cannot be delivered are reported as a gap.

use std::{convert::Infallible, ops::RangeInclusive, sync::Arc, time::Duration};

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
use serde_json::{Value, json};
use signaling::{Bye, ByeCode, Cursor, Delivery, GapReason, Resume, SourceError, Subscription};
use utoipa::IntoParams;

use super::{auth::Reader, error::ApiError, rate::CallerLimits};
use crate::event_log::{EventHub, LogSource, SessionStream};
use recall_domain::{Caller, SessionId};

/// Interval of comments that keep an idle connection open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Range of the reconnect delay that browsers are told. It differs by session, so that the clients of a stopped server do not
/// all reconnect at the same moment.
const RETRY: RangeInclusive<Duration> = Duration::from_millis(1_000)..=Duration::from_millis(3_000);

/// Subscribes a caller to a session in own or shared memory, after a cursor or from now on.
pub(crate) async fn subscribe(
    hub: &Arc<EventHub>,
    caller: Caller,
    session: SessionId,
    after: Option<&str>,
) -> Result<Subscription<LogSource>, ApiError> {
    let resume = Resume::from(after.map(read_cursor).transpose()?);
    let own = SessionStream::of(caller, session);
    match (hub.subscribe(own, resume.clone()).await, own.shared()) {
        (Err(SourceError::NotFound), Some(shared)) => Ok(hub.subscribe(shared, resume).await?),
        (subscribed, _) => Ok(subscribed?),
    }
}

fn read_cursor(text: &str) -> Result<Cursor, ApiError> {
    text.parse().map_err(|_| {
        ApiError::invalid("BAD_CURSOR", "A cursor has the form `epoch:seq`. Take one from an event or from `Session.head`.", "after")
    })
}

/// Returns the event number after which a new subscription delivers.
pub(crate) fn start_seq(subscription: &Subscription<LogSource>, after: Option<&str>) -> u64 {
    let welcome = subscription.welcome();
    let resumed = after.filter(|_| welcome.recovered).and_then(|a| read_cursor(a).ok());
    resumed.map_or(welcome.head, |cursor| cursor.seq)
}

/// Returns the content of a `gap`: events `from` to `to` cannot be delivered.
pub(crate) fn gap_json(from: u64, to: u64, reason: GapReason) -> Value {
    json!({ "from": from, "to": to, "reason": reason })
}

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
    State((hub, limits)): State<(Arc<EventHub>, Arc<CallerLimits>)>,
    Reader(identity): Reader,
    Path(session): Path<String>,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Response {
    // An unreadable header is a bad cursor, not a missing one: otherwise the client would lose events silently.
    let last = headers.get("last-event-id").filter(|v| !v.is_empty()).map(|v| String::from_utf8_lossy(v.as_bytes()).into_owned());
    let after = last.or(query.after);
    let subscribed = async {
        let session = session.parse().map_err(|_| ApiError::not_found("session"))?;
        let open = limits.stream(identity.caller)?;
        Ok::<_, ApiError>((subscribe(&hub, identity.caller, session, after.as_deref()).await?, open, reconnect_delay(session)))
    };
    let (subscription, open, retry) = match subscribed.await {
        Ok(subscription) => subscription,
        Err(error) => return error.into_response(),
    };
    let epoch = subscription.welcome().epoch.clone();
    // `retry` is sent with the first event, which follows at once: missed events or `caught_up`.
    let events = stream::unfold(Some((subscription, epoch, identity.lease(), open, Some(retry))), move |state| async move {
        let (mut subscription, epoch, lease, open, retry) = state?;
        let delivery = tokio::select! {
            delivery = subscription.next() => delivery?,
            () = lease.ended() => Delivery::End(Bye::from(ByeCode::AuthExpired)),
        };
        let last = matches!(delivery, Delivery::End(_));
        let event = to_sse_event(&epoch, delivery);
        let event = retry.into_iter().fold(event, Event::retry);
        Some((Ok::<_, Infallible>(event), (!last).then_some((subscription, epoch, lease, open, None))))
    });
    let mut response = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
    // Otherwise a buffering proxy would hold back every event.
    response.headers_mut().insert("x-accel-buffering", axum::http::HeaderValue::from_static("no"));
    response
}

/// Returns the reconnect delay for a session.
fn reconnect_delay(session: SessionId) -> Duration {
    let spread = (*RETRY.end() - *RETRY.start()).as_millis();
    *RETRY.start() + Duration::from_millis(u64::try_from(session.0.as_u128() % (spread + 1)).unwrap_or_default())
}

fn to_sse_event(epoch: &str, delivery: Delivery) -> Event {
    let id = |seq| Cursor { epoch: epoch.to_owned(), seq }.to_string();
    match delivery {
        Delivery::Event(event) => Event::default().id(id(event.seq)).event(&event.kind).data(event.data.get()),
        // Not numbered, so without an id: a client resumes after the last numbered event.
        Delivery::Ephemeral { kind, data } => Event::default().event(kind).data(data.to_string()),
        Delivery::Gap { from, to, reason } => Event::default().id(id(to)).event("gap").data(gap_json(from, to, reason).to_string()),
        Delivery::CaughtUp { seq } => Event::default().id(id(seq)).event("caught_up").data(json!({ "seq": seq }).to_string()),
        Delivery::End(bye) => Event::default().event("bye").data(json!(bye).to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reconnect_delays_differ_between_sessions() {
        let times: Vec<_> = (0..100u128).map(|n| reconnect_delay(SessionId(uuid::Uuid::from_u128(n * 0x9e37_79b9_7f4a_7c15)))).collect();
        assert!(times.iter().all(|time| RETRY.contains(time)), "{times:?}");
        assert!(times.iter().collect::<std::collections::HashSet<_>>().len() > 50, "{times:?}");
    }
}
