//! All that is kept of users, as records that no engine is needed to read: how it leaves one store and enters another.
//!
//! What a record holds is told once, in [`shape`], and both adapters make their statements from that. How records become lines
//! is in [`line`]; `docs/archive.md` describes them for people.
//!
//! Like the job queue this port is for the operator: it hands out the callers of all users.

pub mod handover;
pub mod line;
pub mod shape;

use async_trait::async_trait;

pub use self::{
    line::{Damage, Header, Line},
    shape::{Record, SHAPES, Shape, Value},
};
use super::StoreError;
use crate::domain::{Caller, UserId};

/// A user, and the counters that tell one state of the user's data from every other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Whose data.
    pub user: UserId,
    /// Row of the newest message ever stored, see [`FeedRow::row`](super::FeedRow::row).
    pub feed_head: u64,
    /// How often the knowledge changed.
    pub knowledge_version: u64,
    /// Whether it is somebody who came on a visit: nobody without the visit, which is in no archive.
    pub visitor: bool,
}

/// Why an archive was not taken in.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The user has data that is not of this archive.
    #[error("the user has other data here")]
    OtherData,
    /// This record of the batch is here already, with other contents, or something else has its place.
    #[error("what is here is different")]
    Conflict(usize),
    /// This record of the batch speaks of what is not there, or breaks a rule of the store.
    #[error("it does not fit what came before it")]
    Inconsistent(usize),
    /// The numbers of messages contradict the counters of their user or session.
    #[error("its counters contradict its messages")]
    Counters,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reading and writing archives.
#[async_trait]
pub trait Archive: Send + Sync {
    /// Users with data, after one of them, in order of their ids; visitors as such.
    async fn owners(&self, after: Option<UserId>, limit: u32) -> Result<Vec<Caller>, StoreError>;
    /// All of one user's data as it is at one moment. Holds a connection until it is dropped.
    ///
    /// # Errors
    /// `NotFound` when there is no such user.
    async fn snapshot(&self, user: UserId) -> Result<Box<dyn Snapshot>, StoreError>;
    /// Begins to take in the data of a user, who is none on a visit, or goes on after an interruption. The user must have no data yet, or exactly the counters
    /// of the archive: every message and every change of knowledge raises one of them.
    async fn admit(&self, owner: &Owner) -> Result<Caller, ArchiveError>;
    /// Writes records of one shape in ONE transaction. Those that are there already, equal, are left alone. The logs of new
    /// sessions are empty and named `epoch`, so that no cursor of another store is taken for one of this. Returns how many were new.
    async fn restore(&self, caller: &Caller, records: &[Record], epoch: &str) -> Result<u64, ArchiveError>;
    /// Ends what [`Archive::admit`] began: there must be exactly this many records of each shape, in the order of [`SHAPES`].
    async fn restored(&self, caller: &Caller, counts: &[u64]) -> Result<(), ArchiveError>;
}

/// One user's data as it was when the snapshot was taken.
#[async_trait]
pub trait Snapshot: Send {
    /// The user and its counters.
    fn owner(&self) -> Owner;
    /// The next records, all of one shape, at most `limit`; none at the end. Shapes come in the order of [`SHAPES`].
    async fn next(&mut self, limit: u32) -> Result<Vec<Record>, StoreError>;
}
