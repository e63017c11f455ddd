//! The interface to the application: a durable log of numbered events per stream. The content of events is opaque.

use std::error::Error;
use std::fmt::Debug;
use std::hash::Hash;

use async_trait::async_trait;
use serde_json::value::RawValue;

/// One entry of a durable, numbered log.
#[derive(Clone, Debug)]
pub struct NumberedEvent {
    /// Position in the log, from 1, without gaps within one epoch.
    pub seq: u64,
    /// Identity of the event, for clients that deduplicate across streams.
    pub id: String,
    /// Type of the event, for example `fact_update`.
    pub kind: String,
    /// Time of the commit, RFC 3339.
    pub ts: String,
    /// Content as JSON, passed on unchanged.
    pub data: Box<RawValue>,
}

/// The current state of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogHead {
    /// Identity of the log, which changes when the log is rebuilt. Without it, a reader at event 3
    /// would accept event 4 of the new log and miss the new events 1 to 3.
    pub epoch: String,
    /// Highest sequence number; 0 if the log is empty.
    pub head: u64,
    /// Lowest sequence number that can still be read; `head + 1` if none can.
    pub floor: u64,
}

/// Entries of a log, with its state at the same moment.
#[derive(Clone, Debug)]
pub struct LogPage {
    /// The state of the log.
    pub head: LogHead,
    /// Entries, ascending and contiguous.
    pub events: Vec<NumberedEvent>,
}

/// Why a log could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The stream does not exist.
    #[error("there is no such stream")]
    NotFound,
    /// The log cannot be read now; a later attempt may succeed.
    #[error("the event log cannot be read now")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
}

/// A durable log of numbered events per stream.
///
/// An implementation must guarantee three properties:
/// - `read` returns ascending entries of one epoch;
/// - an entry never changes within an epoch;
/// - a replaced epoch never comes back.
#[async_trait]
pub trait EventSource: Send + Sync + 'static {
    /// Opaque key of a stream. Equal keys mean the same stream.
    type Stream: Clone + Eq + Hash + Debug + Send + Sync + 'static;

    /// Returns the public name of a stream. `hello.stream` must equal it.
    fn name(stream: &Self::Stream) -> String;

    /// Identifies the client that follows a stream, if several independent clients can follow it.
    ///
    /// Peers of different followers are counted separately, and a follower cannot access the peers of another one.
    fn follower(_stream: &Self::Stream) -> u128 {
        0
    }

    /// Returns the current state of the log.
    async fn head(&self, stream: &Self::Stream) -> Result<LogHead, SourceError>;

    /// Reads up to `limit` entries after sequence number `after`.
    ///
    /// They start with the first entry that still exists. The state of the log is read with them, or after them.
    async fn read(&self, stream: &Self::Stream, after: u64, limit: usize) -> Result<LogPage, SourceError>;
}
