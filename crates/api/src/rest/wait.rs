//! `Prefer: wait=N` of `POST /chat` (RFC 7240): follows the session until the answer is there.
//!
//! The wait is a subscription to the event log like any other, so it costs no reads of its own and works for answers of other servers.

use std::{sync::Arc, time::Duration};

use axum::http::HeaderMap;
use signaling::{Delivery, NumberedEvent, Subscription};
use tokio::time::Instant;

use crate::{
    auth::{Identity, Permission},
    event_line::subscribe,
    event_log::{EventHub, LogSource},
    rate::{CallerLimits, OpenStream},
};
use recall_domain::{
    EventBody, MessageId, SessionId,
    event::{AnswerCompleted, AnswerFailed},
};

/// Longest wait for an answer.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(60);

/// What the log says about a message while a request waits.
pub(super) enum Waited {
    /// The answer.
    Answered(Box<AnswerCompleted>),
    /// The message asks nothing, so no answer follows.
    NotAsked,
    /// The message could not be processed, so no answer follows.
    NotProcessed,
    /// The question could not be answered.
    Failed(AnswerFailed),
    /// The time is over, or the log cannot be followed any longer.
    Pending,
}

/// A request that waits for an answer. It counts as an open event stream of its caller.
pub(super) struct Wait {
    time: Duration,
    identity: Identity,
    subscription: Subscription<LogSource>,
    _open: OpenStream,
}

impl Wait {
    /// Begins to follow a session; `None` if the client does not prefer it or it is not possible.
    ///
    /// A preference is never a reason to refuse a request. A caller without permission to read must not see the answer.
    pub(super) async fn begin(
        headers: &HeaderMap,
        hub: &Arc<EventHub>,
        limits: &CallerLimits,
        identity: &Identity,
        session: SessionId,
    ) -> Option<Self> {
        let time = preferred_wait(headers)?;
        if !identity.permissions.include(Permission::Read) {
            return None;
        }
        let open = limits.stream(identity.caller).ok()?;
        let subscription = subscribe(hub, identity.caller, session, None).await.ok()?;
        Some(Self { time, identity: identity.clone(), subscription, _open: open })
    }

    /// Returns the value of `Preference-Applied`.
    pub(super) fn applied(&self) -> String {
        format!("wait={}", self.time.as_secs())
    }

    /// Waits until the log says what becomes of a message.
    pub(super) async fn until_answered(mut self, message: MessageId) -> Waited {
        let deadline = Instant::now() + self.time;
        let lease = self.identity.lease();
        loop {
            let delivery = tokio::select! {
                delivery = self.subscription.next() => delivery,
                () = lease.ended() => return Waited::Pending,
                () = tokio::time::sleep_until(deadline) => return Waited::Pending,
            };
            match delivery {
                Some(Delivery::Event(event)) => {
                    if let Some(waited) = read_event(&event, message) {
                        return waited;
                    }
                }
                Some(Delivery::Ephemeral { .. } | Delivery::CaughtUp { .. }) => {}
                // The event may be one of those that cannot be delivered.
                Some(Delivery::Gap { .. } | Delivery::End(_)) | None => return Waited::Pending,
            }
        }
    }
}

/// Returns what an event says about the message, if it ends the wait.
fn read_event(event: &NumberedEvent, message: MessageId) -> Option<Waited> {
    // Most events are of other kinds; only these are parsed.
    if !["message_processed", "message_failed", "answer_completed", "answer_failed"].contains(&event.kind.as_str()) {
        return None;
    }
    match serde_json::from_str(event.data.get()).ok()? {
        EventBody::AnswerCompleted(answer) if answer.answer_to == message => Some(Waited::Answered(Box::new(answer))),
        EventBody::AnswerFailed(failed) if failed.message_id == message => Some(Waited::Failed(failed)),
        EventBody::MessageFailed(failed) if failed.message_id == message => Some(Waited::NotProcessed),
        EventBody::MessageProcessed(done) if done.message_id == message && !done.kind.asks() => Some(Waited::NotAsked),
        _ => None,
    }
}

/// Returns the preferred wait, at most [`MAX_WAIT`]; `None` without one.
fn preferred_wait(headers: &HeaderMap) -> Option<Duration> {
    let preferences = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok()).flat_map(split_list);
    // The first of several equal preferences counts.
    let wait = preferences.into_iter().find_map(|preference| {
        let (name, value) = preference.split(';').next().unwrap_or_default().split_once('=')?;
        name.trim().eq_ignore_ascii_case("wait").then(|| value.trim().trim_matches('"').parse::<u64>().ok())
    });
    wait.flatten().filter(|seconds| *seconds > 0).map(|seconds| Duration::from_secs(seconds).min(MAX_WAIT))
}

/// Splits a list at the commas outside of quotes.
fn split_list(list: &str) -> Vec<&str> {
    let mut is_quoted = false;
    let is_comma = |c: char| {
        is_quoted ^= c == '"';
        c == ',' && !is_quoted
    };
    list.split(is_comma).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn wait(values: &[&'static str]) -> Option<u64> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append("prefer", HeaderValue::from_static(value));
        }
        preferred_wait(&headers).map(|time| time.as_secs())
    }

    #[test]
    fn wait_is_read_as_rfc_7240_writes_it() {
        assert_eq!(wait(&["wait=10"]), Some(10));
        assert_eq!(wait(&["respond-async, WAIT = \"5\"; note=x"]), Some(5));
        assert_eq!(wait(&["handling=lenient", "wait=7"]), Some(7));
        assert_eq!(wait(&["wait=3, wait=9"]), Some(3));
        assert_eq!(wait(&["wait=1000"]), Some(60));
        assert_eq!(wait(&["note=\"a, wait=8\""]), None);
        for none in ["wait=0", "wait", "wait=-1", "wait=x", "waiting=3", ""] {
            assert_eq!(wait(&[none]), None, "{none}");
        }
    }
}
