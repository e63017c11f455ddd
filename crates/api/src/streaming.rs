//! Serves the event logs of sessions as the source of `signaling`. The only room that knows both.

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use async_trait::async_trait;
use chrono::SecondsFormat;
use signaling::{ByeCode, EventSource, Hub, LogHead, NumberedEvent, SourceError};

use recall_domain::{Caller, SessionId, UserId};
use recall_ports::{Announcer, Store, StoreError};

/// Names a session's log together with whose memory it is of. Two users never share a key, so that nothing buffered for one
/// can reach the other, but for logs of shared memory, which all who read them share; a user's role makes no difference, or a job
/// that was queued before a promotion would wake nobody.
#[derive(Clone, Copy, Debug)]
pub struct SessionStream {
    /// On whose behalf it is read.
    pub caller: Caller,
    /// What is read.
    pub session: SessionId,
    /// Who follows it: whose the connections are.
    pub follower: UserId,
}

impl SessionStream {
    /// A session of the caller's own.
    pub fn of(caller: Caller, session: SessionId) -> Self {
        Self { caller, session, follower: caller.user() }
    }

    /// The same session as one of shared memory; none for those who may not read it.
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

/// The store's event logs.
pub struct LogSource {
    store: Arc<dyn Store>,
}

/// The hub that serves all sessions.
pub type EventHub = Hub<LogSource>;

impl LogSource {
    /// The logs of a store.
    pub fn new(store: Arc<dyn Store>) -> Arc<Self> {
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
        let state = self.store.log_state(&stream.caller, stream.session).await.map_err(failure)?;
        Ok(LogHead { epoch: state.epoch, head: state.head, floor: state.floor })
    }

    async fn read(&self, stream: &SessionStream, after: u64, limit: usize) -> Result<Vec<NumberedEvent>, SourceError> {
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        let events = self.store.events_after(&stream.caller, stream.session, after, limit).await.map_err(failure)?;
        Ok(events
            .into_iter()
            .map(|e| NumberedEvent {
                seq: e.seq,
                id: e.id.to_string(),
                kind: e.kind,
                ts: e.created_at.to_rfc3339_opts(SecondsFormat::Millis, true),
                data: e.data,
            })
            .collect())
    }
}

fn failure(e: StoreError) -> SourceError {
    match e {
        StoreError::NotFound => SourceError::NotFound,
        e => SourceError::Unavailable(Box::new(e)),
    }
}

/// Tells the hub what the core did.
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
