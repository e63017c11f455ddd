//! What the hub needs from the world: a durable log of numbered events per stream.
//! It must not learn what the events mean.

use std::error::Error;
use std::fmt::Debug;
use std::hash::Hash;

use async_trait::async_trait;

/// One entry of a durable, numbered log.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberedEvent {
    /// Position in the log, from 1 on, without holes within one epoch.
    pub seq: u64,
    /// Identity of the event for clients that deduplicate across streams.
    pub id: String,
    /// The event's type, for example `fact_update`.
    pub kind: String,
    /// When it was committed, RFC 3339.
    pub ts: String,
    /// Its content, handed on as it is.
    pub data: serde_json::Value,
}

/// Where a log stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogHead {
    /// Changes when the log is rebuilt. Without it a reader at 3 accepts 4 of a new log and misses
    /// the new 1..=3.
    pub epoch: String,
    /// Highest sequence number, 0 when the log is empty.
    pub head: u64,
    /// Lowest sequence number that can still be read; `head + 1` when none can.
    pub floor: u64,
}

/// Why a log could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// There is no such stream.
    #[error("there is no such stream")]
    NotFound,
    /// The log cannot be reached now; a later attempt may succeed.
    #[error("the event log cannot be read now")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
}

/// A durable log of numbered events per stream.
///
/// The hub relies on three promises: `read` returns ascending entries of one epoch; an entry that
/// was once returned under an epoch does not change; an epoch that was replaced never returns.
#[async_trait]
pub trait EventSource: Send + Sync + 'static {
    /// Opaque key of a stream. Two streams are the same when their keys are equal.
    type Stream: Clone + Eq + Hash + Debug + Send + Sync + 'static;

    /// The public name of a stream, which `hello.stream` must equal.
    fn name(stream: &Self::Stream) -> String;

    /// Who follows a stream, where several may who know nothing of each other: their peers are counted apart, and none can name
    /// another's.
    fn follower(_stream: &Self::Stream) -> u128 {
        0
    }

    /// Where the log stands now.
    async fn head(&self, stream: &Self::Stream) -> Result<LogHead, SourceError>;

    /// Up to `limit` entries after sequence number `after`, ascending and contiguous from the first
    /// one that still exists.
    async fn read(&self, stream: &Self::Stream, after: u64, limit: usize) -> Result<Vec<NumberedEvent>, SourceError>;
}
