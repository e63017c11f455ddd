//! Subscriptions to events over a WebSocket. They use the same logs and cursors as the other transports.

use std::future::Future;

use async_graphql::{Context, ID, Json, Subscription};
use futures_util::{
    Stream, StreamExt,
    stream::{BoxStream, unfold},
};
use serde_json::value::{RawValue, to_raw_value};
use signaling::{Bye, ByeCode};

use super::{
    close::SubscriptionEnd,
    model::EventNode,
    scope::{Needs, limits, read_id, scope, service},
    services::Streams,
};
use crate::{
    error::{ApiError, UNAVAILABLE},
    event_line::{Line, LineDelivery},
};
use recall_domain::{SessionId, Timestamp};

/// The subscriptions of the API.
#[derive(Default)]
pub(crate) struct Subscription;

/// The subscriptions of the API.
#[Subscription]
impl Subscription {
    /// The events of a session. Events that cannot be delivered are replaced by an event of type `gap`. The last event has the
    /// type `bye` and gives the reason, such as `deleted` or `restart`. If the client should subscribe again (`reconnect` is true, or
    /// `auth_expired` with a new token), the server then closes the connection without `complete`. Pass the last `cursor` as `after`.
    #[graphql(guard = "Needs::Read")]
    async fn session_events(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The id of the session.")] session_id: ID,
        #[graphql(desc = "Resume after this cursor: the `cursor` of the last event, or `Session.head`. Default: only new events; \
            a client that subscribes again without it misses the events in between.")]
        after: Option<String>,
    ) -> async_graphql::Result<impl Stream<Item = EventNode> + use<>> {
        let session: SessionId = read_id(&session_id, "sessionId")?;
        let (hub, caller) = (service::<Streams>(ctx)?.hub.clone(), scope(ctx)?.caller);
        follow(ctx, async move { Line::of_session(&hub, caller, session, after.as_deref()).await }).await
    }

    /// The events of all sessions, documents and comparisons of the viewer, and of shared memory if the viewer may read it. `data` has the
    /// session as `session_id`, and `shared: true` if it belongs to shared memory. There are also `session_update`, `session_deleted`, and
    /// `viewer_update`, which has no session, but no ephemeral events. Ends like `sessionEvents`. Pass the last `cursor` as `after`.
    #[graphql(guard = "Needs::Read")]
    async fn memory_events(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Resume after this cursor: the `cursor` of the last event, or `Viewer.head`. Default: only new events; \
            a client that subscribes again without it misses the events in between.")]
        after: Option<String>,
    ) -> async_graphql::Result<impl Stream<Item = EventNode> + use<>> {
        let (hub, caller) = (service::<Streams>(ctx)?.hub.clone(), scope(ctx)?.caller);
        follow(ctx, async move { Line::of_memory(&hub, caller, after.as_deref()).await }).await
    }
}

/// Delivers a line until it ends or the caller's permission does.
async fn follow(
    ctx: &Context<'_>,
    line: impl Future<Output = Result<Line, ApiError>> + Send,
) -> async_graphql::Result<BoxStream<'static, EventNode>> {
    let s = scope(ctx)?;
    let open = limits(ctx)?.stream(s.caller)?;
    // The WebSocket connection provides it and reads it when the stream ends.
    let end = ctx.data_opt::<SubscriptionEnd>().cloned().unwrap_or_default();
    let line = line.await.inspect_err(|error| {
        if error.code() == UNAVAILABLE {
            end.note(ByeCode::Unavailable.into());
        }
    })?;
    let state = Some((line, s.usecases.clone(), s.identity().lease(), open, end));
    let events = unfold(state, move |state| async move {
        let (mut line, usecases, lease, open, end) = state?;
        loop {
            let now = usecases.now();
            let (seq, delivery) = tokio::select! {
                delivery = line.next() => delivery?,
                () = lease.ended() => (line.seq(), LineDelivery::End(Bye::from(ByeCode::AuthExpired))),
            };
            let node = |kind: String, created_at, data: Box<RawValue>| EventNode {
                seq,
                cursor: line.cursor(),
                r#type: kind,
                created_at,
                data: Json(data),
            };
            match delivery {
                LineDelivery::CaughtUp => {}
                LineDelivery::Event(event) => {
                    let recorded = event.recorded_at.and_then(|at| chrono::DateTime::parse_from_rfc3339(&at).ok());
                    let node = node(event.kind, recorded.map_or(now, Timestamp::from), event.data);
                    return Some((node, Some((line, usecases, lease, open, end))));
                }
                LineDelivery::End(bye) => {
                    end.note(bye);
                    let data = to_raw_value(&bye).unwrap_or_else(|_| RawValue::NULL.to_owned());
                    return Some((node("bye".to_owned(), now, data), None));
                }
            }
        }
    });
    Ok(events.boxed())
}
