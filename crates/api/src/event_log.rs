//! The event logs of sessions, as the event source of `signaling`. Only this module knows both crates.

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use async_trait::async_trait;
use chrono::SecondsFormat;
use signaling::{ByeCode, EventSource, Hub, LogHead, LogPage, NumberedEvent, SourceError};

use recall_domain::{Caller, EventBody, SessionId, UserId};
use recall_ports::{Announcer, EventLog, LogState, StoreError};

/// The key of a session's event log: the owner of the memory, and the session.
///
/// Two users never share a key, so events buffered for one cannot reach the other. Readers of shared memory share its logs. The
/// role is not part of the key: otherwise a job queued before a promotion would wake no follower.
#[derive(Clone, Copy, Debug)]
pub struct SessionStream {
    /// The caller, who proves the right to read the log.
    pub caller: Caller,
    /// The session.
    pub session: SessionId,
    /// The user who follows the log. Connections count for this user.
    pub follower: UserId,
}

impl SessionStream {
    /// Returns the stream of a session in the caller's own memory.
    pub fn of(caller: Caller, session: SessionId) -> Self {
        Self { caller, session, follower: caller.user() }
    }

    /// Returns the stream of the same session id in shared memory; `None` if the caller may not read shared memory.
    pub fn shared(&self) -> Option<Self> {
        Some(Self { caller: self.caller.shared_reader()?, ..*self })
    }

    fn key(&self) -> (UserId, SessionId) {
        (self.caller.user(), self.session)
    }
}

impl PartialEq for SessionStream {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for SessionStream {}

impl Hash for SessionStream {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// The event logs of a store.
pub struct LogSource {
    store: Arc<dyn EventLog>,
}

/// The event hub of all sessions.
pub type EventHub = Hub<LogSource>;

/// The signaling service over the sessions' event logs.
pub type Signaling = signaling::Signaling<LogSource>;

/// Returns the JSON Schema of event bodies: the content of `schema.events.json`.
pub fn events_schema() -> String {
    let schema = schemars::schema_for!(EventBody);
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

impl LogSource {
    /// Creates the source for the logs of a store.
    pub fn new(store: Arc<dyn EventLog>) -> Arc<Self> {
        Arc::new(Self { store })
    }
}

#[async_trait]
impl EventSource for LogSource {
    type Stream = SessionStream;

    fn name(stream: &SessionStream) -> String {
        stream.session.to_string()
    }

    fn follower(stream: &SessionStream) -> u128 {
        stream.follower.0.as_u128()
    }

    async fn head(&self, stream: &SessionStream) -> Result<LogHead, SourceError> {
        let state = self.store.log_state(&stream.caller, stream.session).await.map_err(to_source_error)?;
        Ok(to_head(state))
    }

    async fn read(&self, stream: &SessionStream, after: u64, limit: usize) -> Result<LogPage, SourceError> {
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        let (state, events) = self.store.log_page(&stream.caller, stream.session, after, limit).await.map_err(to_source_error)?;
        let events = events.into_iter().map(|e| NumberedEvent {
            seq: e.seq,
            id: e.id.to_string(),
            kind: e.kind,
            ts: e.created_at.to_rfc3339_opts(SecondsFormat::Millis, true),
            data: e.data,
        });
        Ok(LogPage { head: to_head(state), events: events.collect() })
    }
}

fn to_head(state: LogState) -> LogHead {
    LogHead { epoch: state.epoch, head: state.head, floor: state.floor }
}

fn to_source_error(e: StoreError) -> SourceError {
    match e {
        StoreError::NotFound => SourceError::NotFound,
        e => SourceError::Unavailable(Box::new(e)),
    }
}

/// Notifies the hub of commits, ephemeral events and deletions.
pub struct HubAnnouncer(pub Arc<EventHub>);

impl Announcer for HubAnnouncer {
    fn committed(&self, caller: &Caller, session: SessionId) {
        self.0.wake(&SessionStream::of(*caller, session));
    }

    fn ephemeral(&self, caller: &Caller, session: SessionId, kind: &str, data: serde_json::Value) {
        self.0.ephemeral(&SessionStream::of(*caller, session), kind, data);
    }

    fn deleted(&self, caller: &Caller, session: SessionId) {
        self.0.end(&SessionStream::of(*caller, session), ByeCode::Deleted);
    }
}
