//! Subscription to a session's event log over a WebSocket. It uses the same log and cursors as the other transports.

use async_graphql::{Context, ID, Json, Subscription};
use futures_util::Stream;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use signaling::{Bye, ByeCode, Cursor, Delivery};

use super::{
    close::SubscriptionEnd,
    model::EventNode,
    scope::{Needs, limits, read_id, scope, service},
    services::Streams,
};
use crate::{
    error::UNAVAILABLE,
    event_stream::{self, gap_json},
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
        let s = scope(ctx)?;
        let session: SessionId = read_id(&session_id, "sessionId")?;
        let hub = &service::<Streams>(ctx)?.hub;
        let open = limits(ctx)?.stream(s.caller)?;
        // The WebSocket connection provides it and reads it when the stream ends.
        let end = ctx.data_opt::<SubscriptionEnd>().cloned().unwrap_or_default();
        let subscription = event_stream::subscribe(hub, s.caller, session, after.as_deref()).await.inspect_err(|error| {
            if error.code() == UNAVAILABLE {
                end.note(ByeCode::Unavailable.into());
            }
        })?;
        let (usecases, lease) = (s.usecases.clone(), s.identity().lease());
        let epoch = subscription.welcome().epoch.clone();
        let seq = event_stream::start_seq(&subscription, after.as_deref());
        let state = Some((subscription, usecases, epoch, seq, lease, open, end));
        Ok(futures_util::stream::unfold(state, move |state| async move {
            let (mut subscription, usecases, epoch, mut seq, lease, open, end) = state?;
            loop {
                let now = usecases.now();
                let delivery = tokio::select! {
                    delivery = subscription.next() => delivery?,
                    () = lease.ended() => Delivery::End(Bye::from(ByeCode::AuthExpired)),
                };
                let event = match delivery {
                    Delivery::Event(event) => {
                        seq = event.seq;
                        let at = Timestamp::from(chrono::DateTime::parse_from_rfc3339(&event.ts).unwrap_or(now.into()));
                        node(&epoch, seq, event.kind.clone(), at, event.data.clone())
                    }
                    Delivery::Ephemeral { kind, data } => node(&epoch, seq, kind, now, raw(&data)),
                    Delivery::Gap { from, to, reason } => {
                        seq = to;
                        node(&epoch, seq, "gap".to_owned(), now, raw(&gap_json(from, to, reason)))
                    }
                    Delivery::CaughtUp { .. } => continue,
                    Delivery::End(bye) => {
                        end.note(bye);
                        return Some((node(&epoch, seq, "bye".to_owned(), now, raw(&bye)), None));
                    }
                };
                return Some((event, Some((subscription, usecases, epoch, seq, lease, open, end))));
            }
        }))
    }
}

fn node(epoch: &str, seq: u64, kind: String, created_at: Timestamp, data: Box<RawValue>) -> EventNode {
    let cursor = Cursor { epoch: epoch.to_owned(), seq }.to_string();
    EventNode { seq, cursor, r#type: kind, created_at, data: Json(data) }
}

fn raw(data: &impl Serialize) -> Box<RawValue> {
    to_raw_value(data).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
