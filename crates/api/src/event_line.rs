//! The events that one client follows: those of a session, or those of its own memory together with shared memory.
//!
//! All transports deliver a line in the same way and with the same cursors. The cursor of both memories is that of the own memory and
//! that of shared memory, joined by a comma. Events that cannot be delivered are reported as a gap.

use std::{future::pending, sync::Arc};

use serde_json::{Value, json, value::RawValue};
use signaling::{Bye, Cursor, Delivery, GapReason, LogHead, Resume, SourceError, Subscription};

use super::error::ApiError;
use crate::event_log::{EventHub, EventStream, LogSource};
use recall_domain::{Caller, SessionId};

/// A place in no log, from which a client cannot resume. The first delivery is then a gap.
const NOWHERE: &str = "none";

/// Subscribes a caller to a session in own or shared memory, after a cursor or from now on.
pub(crate) async fn subscribe(
    hub: &Arc<EventHub>,
    caller: Caller,
    session: SessionId,
    after: Option<Cursor>,
) -> Result<Subscription<LogSource>, ApiError> {
    let resume = Resume::from(after);
    let own = EventStream::of(caller, session);
    match (hub.subscribe(own, resume.clone()).await, own.shared()) {
        (Err(SourceError::NotFound), Some(shared)) => Ok(hub.subscribe(shared, resume).await?),
        (subscribed, _) => Ok(subscribed?),
    }
}

/// Returns the cursor of the newest events of the caller's own memory and of shared memory.
pub(crate) async fn memory_head(hub: &Arc<EventHub>, caller: Caller) -> Result<String, ApiError> {
    let own = EventStream::memory(caller);
    let cursor = |LogHead { epoch, head, .. }| Cursor { epoch, seq: head };
    let first = cursor(hub.head(&own).await?);
    let second = match own.shared() {
        Some(shared) => Some(cursor(hub.head(&shared).await?)),
        None => None,
    };
    Ok(join(&first, second.as_ref()))
}

/// The events that a client follows.
pub(crate) struct Line {
    first: Part,
    /// Shared memory, next to the own memory.
    shared: Option<Part>,
}

/// A delivery of a line.
pub(crate) enum LineDelivery {
    /// An event, or a gap.
    Event(LineEvent),
    /// Everything in the logs has been delivered; live events follow.
    CaughtUp,
    /// The end; nothing follows.
    End(Bye),
}

/// An event as all transports send it.
pub(crate) struct LineEvent {
    /// Its type.
    pub(crate) kind: String,
    /// When it was recorded, RFC 3339. A gap and an ephemeral event have no time.
    pub(crate) recorded_at: Option<String>,
    /// Its content.
    pub(crate) data: Box<RawValue>,
    /// Whether a client can resume after it.
    pub(crate) is_numbered: bool,
}

impl Line {
    /// Follows a session.
    pub(crate) async fn of_session(hub: &Arc<EventHub>, caller: Caller, session: SessionId, after: Option<&str>) -> Result<Self, ApiError> {
        let after = after.map(|text| read_cursor(text, "Session.head")).transpose()?;
        let subscription = subscribe(hub, caller, session, after.clone()).await?;
        Ok(Self { first: Part::new(subscription, after), shared: None })
    }

    /// Follows the caller's own memory, and shared memory if the caller may read it.
    pub(crate) async fn of_memory(hub: &Arc<EventHub>, caller: Caller, after: Option<&str>) -> Result<Self, ApiError> {
        let read = |text: &str| read_cursor(text, "Viewer.head");
        let (own_after, shared_after) = match after.map(|text| text.split_once(',').unwrap_or((text, ""))) {
            None => (None, None),
            // Without permission to read shared memory the cursor had one part. What is there now must be read.
            Some((own, "")) => (Some(read(own)?), Some(Cursor { epoch: NOWHERE.to_owned(), seq: 0 })),
            Some((own, shared)) => (Some(read(own)?), Some(read(shared)?)),
        };
        let own = EventStream::memory(caller);
        let first = Part::new(hub.subscribe(own, Resume::from(own_after.clone())).await?, own_after);
        let shared = match own.shared() {
            Some(stream) => Some(Part::new(hub.subscribe(stream, Resume::from(shared_after.clone())).await?, shared_after)),
            None => None,
        };
        Ok(Self { first, shared })
    }

    /// Returns the cursor after the last delivery.
    pub(crate) fn cursor(&self) -> String {
        join(&self.first.cursor, self.shared.as_ref().map(|part| &part.cursor))
    }

    /// Waits for the next delivery; `None` after the end. The future may be dropped at any time.
    ///
    /// Also returns the number of the last event in its log.
    pub(crate) async fn next(&mut self) -> Option<(u64, LineDelivery)> {
        loop {
            let shared = async {
                match &mut self.shared {
                    Some(part) => part.subscription.next().await,
                    None => pending().await,
                }
            };
            let (delivery, is_shared) = tokio::select! {
                delivery = self.first.subscription.next() => (delivery?, false),
                delivery = shared => (delivery?, true),
            };
            let part = if is_shared { self.shared.as_mut()? } else { &mut self.first };
            let delivery = match delivery {
                Delivery::Event(event) => {
                    part.moved_to(event.seq);
                    let (kind, recorded_at) = (event.kind.clone(), Some(event.ts.clone()));
                    let data = if is_shared { mark_shared(&event.data) } else { event.data.clone() };
                    LineDelivery::Event(LineEvent { kind, recorded_at, data, is_numbered: true })
                }
                Delivery::Ephemeral { kind, data } => {
                    LineDelivery::Event(LineEvent { kind, recorded_at: None, data: raw(&data), is_numbered: false })
                }
                Delivery::Gap { from, to, reason } => {
                    part.moved_to(to);
                    let data = raw(&gap_json(from, to, reason));
                    let data = if is_shared { mark_shared(&data) } else { data };
                    LineDelivery::Event(LineEvent { kind: "gap".to_owned(), recorded_at: None, data, is_numbered: true })
                }
                Delivery::CaughtUp { seq } => {
                    part.moved_to(seq);
                    part.has_caught_up = true;
                    if !self.first.has_caught_up || self.shared.as_ref().is_some_and(|part| !part.has_caught_up) {
                        continue;
                    }
                    LineDelivery::CaughtUp
                }
                Delivery::End(bye) => LineDelivery::End(bye),
            };
            let part = if is_shared { self.shared.as_ref()? } else { &self.first };
            return Some((part.cursor.seq, delivery));
        }
    }

    /// Returns the number of the last event of the session or of the own memory.
    pub(crate) fn seq(&self) -> u64 {
        self.first.cursor.seq
    }
}

/// A subscription, and the place up to which the client has received it.
struct Part {
    subscription: Subscription<LogSource>,
    cursor: Cursor,
    has_caught_up: bool,
}

impl Part {
    /// The client has received nothing yet, so its cursor stays what it was.
    fn new(subscription: Subscription<LogSource>, after: Option<Cursor>) -> Self {
        let welcome = subscription.welcome();
        let cursor = after.unwrap_or_else(|| Cursor { epoch: welcome.epoch.clone(), seq: welcome.head });
        Self { subscription, cursor, has_caught_up: false }
    }

    fn moved_to(&mut self, seq: u64) {
        if self.cursor.epoch != self.subscription.welcome().epoch {
            self.cursor.epoch.clone_from(&self.subscription.welcome().epoch);
        }
        self.cursor.seq = seq;
    }
}

fn join(first: &Cursor, second: Option<&Cursor>) -> String {
    match second {
        Some(second) => format!("{first},{second}"),
        None => first.to_string(),
    }
}

fn read_cursor(text: &str, source: &str) -> Result<Cursor, ApiError> {
    text.parse().map_err(|_| {
        let message = format!("A cursor has the form `epoch:seq`. Take one from an event or from `{source}`.");
        ApiError::invalid("BAD_CURSOR", message, "after")
    })
}

/// Returns the content of a `gap`: events `from` to `to` cannot be delivered.
fn gap_json(from: u64, to: u64, reason: GapReason) -> Value {
    json!({ "from": from, "to": to, "reason": reason })
}

fn raw(data: &Value) -> Box<RawValue> {
    RawValue::from_string(data.to_string()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Adds `"shared": true` to the content of an event, which is an object.
fn mark_shared(data: &RawValue) -> Box<RawValue> {
    let text = data.get();
    let rest = text.strip_prefix('{').map(str::trim_start);
    let marked = match rest {
        Some("}") => Some(r#"{"shared":true}"#.to_owned()),
        Some(rest) => Some(format!(r#"{{"shared":true,{rest}"#)),
        None => None,
    };
    marked.and_then(|text| RawValue::from_string(text).ok()).unwrap_or_else(|| data.to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn mark_is_added_to_objects_only() {
        let mark = |text: &str| mark_shared(&RawValue::from_string(text.to_owned()).unwrap()).get().to_owned();
        assert_eq!(mark(r#"{"type":"gap"}"#), r#"{"shared":true,"type":"gap"}"#);
        assert_eq!(mark("{ }"), r#"{"shared":true}"#);
        assert_eq!(mark("[1]"), "[1]");
    }
}
