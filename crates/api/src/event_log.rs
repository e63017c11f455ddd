//! The event logs of sessions and memories, as the event source of `signaling`. Only this module knows both crates.

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use async_trait::async_trait;
use chrono::SecondsFormat;
use serde_json::value::RawValue;
use signaling::{ByeCode, EventSource, Hub, LogHead, LogPage, NumberedEvent, SourceError};

use recall_domain::{Caller, EventBody, SessionId, Timestamp, UserId};
use recall_ports::{Announcer, CommitListener, EventLog, LogEntry, LogState, SessionLogEntry, StoreError};

/// The key of an event log: the owner of the memory, and the session.
///
/// Two users never share a key, so events buffered for one cannot reach the other. Readers of shared memory share its logs. The
/// role is not part of the key: otherwise a job queued before a promotion would wake no follower.
#[derive(Clone, Copy, Debug)]
pub struct EventStream {
    /// The caller, who proves the right to read the log.
    pub caller: Caller,
    /// The session; `None` for the log of the whole memory.
    pub session: Option<SessionId>,
    /// The user who follows the log. Connections count for this user.
    pub follower: UserId,
}

impl EventStream {
    /// Returns the stream of a session in the caller's own memory.
    pub fn of(caller: Caller, session: SessionId) -> Self {
        Self { caller, session: Some(session), follower: caller.user() }
    }

    /// Returns the stream of all events of the caller's own memory.
    pub fn memory(caller: Caller) -> Self {
        Self { caller, session: None, follower: caller.user() }
    }

    /// Returns the stream of the same session id, or of the whole, in shared memory; `None` if the caller may not read shared memory.
    pub fn shared(&self) -> Option<Self> {
        Some(Self { caller: self.caller.shared_reader()?, ..*self })
    }

    fn key(&self) -> (UserId, Option<SessionId>) {
        (self.caller.user(), self.session)
    }
}

impl PartialEq for EventStream {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for EventStream {}

impl Hash for EventStream {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// The event logs of a store.
pub struct LogSource {
    store: Arc<dyn EventLog>,
}

/// The event hub of all sessions and memories.
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
    type Stream = EventStream;

    fn name(stream: &EventStream) -> String {
        stream.session.map_or_else(|| "memory".to_owned(), |session| session.to_string())
    }

    fn follower(stream: &EventStream) -> u128 {
        stream.follower.0.as_u128()
    }

    async fn head(&self, stream: &EventStream) -> Result<LogHead, SourceError> {
        let state = match stream.session {
            Some(session) => self.store.log_state(&stream.caller, session).await,
            None => self.store.memory_log_state(&stream.caller).await,
        };
        Ok(to_head(state.map_err(to_source_error)?))
    }

    async fn read(&self, stream: &EventStream, after: u64, limit: usize) -> Result<LogPage, SourceError> {
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        let page = match stream.session {
            Some(session) => self.store.log_page(&stream.caller, session, after, limit).await,
            None => self.store.memory_log_page(&stream.caller, after, limit).await,
        };
        let (state, events) = page.map_err(to_source_error)?;
        let events = events.into_iter().map(|e| NumberedEvent {
            seq: e.seq,
            id: e.id.to_string(),
            kind: e.kind,
            ts: shown_time(e.created_at),
            data: e.data,
        });
        Ok(LogPage { head: to_head(state), events: events.collect() })
    }
}

fn shown_time(at: Timestamp) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
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

/// Passes commits, ephemeral events and deletions to the hub.
pub struct HubAnnouncer(pub Arc<EventHub>);

impl CommitListener for HubAnnouncer {
    fn deliver(&self, entries: &[LogEntry]) {
        let log = |entry: &LogEntry| (entry.owner.user(), entry.session.as_ref().map(|session| session.id));
        for run in entries.chunk_by(|a, b| log(a) == log(b)) {
            let Some(first) = run.first() else { continue };
            if let Some(SessionLogEntry { id, epoch, .. }) = &first.session {
                let numbered = || run.iter().map(|entry| numbered(entry, entry.session.as_ref()?.seq)).collect();
                self.0.deliver(&EventStream::of(first.owner, *id), Some(epoch), numbered);
            }
            // The epoch of the memory belongs to the database, which is not replaced while it is open.
            self.0.deliver(&EventStream::memory(first.owner), None, || run.iter().map(|entry| numbered(entry, entry.memory_seq)).collect());
        }
    }

    fn committed(&self, caller: &Caller, session: Option<SessionId>) {
        if let Some(session) = session {
            self.0.wake(&EventStream::of(*caller, session));
        }
        self.0.wake(&EventStream::memory(*caller));
    }

    fn deleted(&self, caller: &Caller, session: SessionId) {
        Announcer::deleted(self, caller, session);
    }
}

/// Returns an entry under its number in a log. `None` cannot happen: the body was just written as JSON.
fn numbered(entry: &LogEntry, seq: u64) -> Option<NumberedEvent> {
    let data = RawValue::from_string(entry.data.clone()).ok()?;
    Some(NumberedEvent { seq, id: entry.id.to_string(), kind: entry.kind.to_owned(), ts: shown_time(entry.created_at), data })
}

impl Announcer for HubAnnouncer {
    fn ephemeral(&self, caller: &Caller, session: SessionId, kind: &str, data: serde_json::Value) {
        self.0.ephemeral(&EventStream::of(*caller, session), kind, data);
    }

    fn deleted(&self, caller: &Caller, session: SessionId) {
        self.0.end(&EventStream::of(*caller, session), ByeCode::Deleted);
        // The deletion of all data has no event, but ends the replay.
        self.0.wake(&EventStream::memory(*caller));
    }
}
