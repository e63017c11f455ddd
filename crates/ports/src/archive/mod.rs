//! Exports and imports all data of users as records that need no storage engine to read.
//!
//! [`shape`] defines the fields of each record, and both adapters build their statements from it. [`line`] converts records to lines;
//! `docs/archive.md` describes the format.
//!
//! Like the job queue this port is for the operator: it returns the callers of all users.

pub mod handover;
pub mod line;
pub mod lines;
pub mod shape;

use async_trait::async_trait;

pub use self::{
    line::{Damage, End, Header, Line},
    lines::Lines,
    shape::{Record, SHAPES, Shape, Value},
};
use super::StoreError;
use recall_domain::{Caller, UserId};

/// A user with the counters that identify one state of the user's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The user.
    pub user: UserId,
    /// Row of the newest message ever stored; see [`FeedRow::row`](super::FeedRow::row).
    pub feed_head: u64,
    /// Number of changes of the knowledge.
    pub knowledge_version: u64,
    /// Whether the user is a visitor. The visit itself is in no archive, so nobody can use this data.
    pub visitor: bool,
}

/// Why an archive was not imported.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The user already has other data.
    #[error("the user has other data here")]
    OtherData,
    /// The import of another archive for this user is unfinished.
    #[error("the import of another archive for this user is unfinished; finish it with that archive, or delete the user's data first")]
    Unfinished,
    /// This record of the batch exists with other contents, or another record has its place.
    #[error("what is here is different")]
    Conflict(usize),
    /// This record of the batch refers to a missing record, or violates a rule of the store.
    #[error("it does not fit what came before it")]
    Inconsistent(usize),
    /// The number of messages contradicts the counters of their user or session.
    #[error("its counters contradict its messages")]
    Counters,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A user whose import has begun.
#[derive(Clone, Copy, Debug)]
pub struct Admitted {
    /// The user who gets the restored records.
    pub caller: Caller,
    /// Whether the user is marked as being imported. A user who already had all the data is not.
    pub is_importing: bool,
}

/// Counts of restored records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// New records.
    pub new: u64,
    /// Records that existed with other contents and were replaced.
    pub repaired: u64,
}

impl std::ops::AddAssign for Restored {
    fn add_assign(&mut self, other: Self) {
        self.new += other.new;
        self.repaired += other.repaired;
    }
}

/// Reads and writes archives.
#[async_trait]
pub trait Archive: Send + Sync {
    /// Returns users with data after a given one, ordered by id. Visitors have the role of visitors.
    async fn owners(&self, after: Option<UserId>, limit: u32) -> Result<Vec<Caller>, StoreError>;
    /// Reads all data of one user at one moment. Holds a connection until it is dropped.
    ///
    /// # Errors
    /// `NotFound` if the user does not exist.
    async fn snapshot(&self, user: UserId) -> Result<Box<dyn Snapshot>, StoreError>;
    /// Begins or resumes the import of a user who is no visitor.
    ///
    /// The user must have no data, or exactly the counters of the archive: every message and every change of knowledge increases one of
    /// them.
    /// A user without data is marked as being imported. Until [`Archive::restored`], other writes for this user fail with
    /// [`StoreError::BeingImported`].
    async fn admit(&self, owner: &Owner) -> Result<Admitted, ArchiveError>;
    /// Writes records of one shape in ONE transaction.
    ///
    /// Equal records are left alone; derived ones that differ are replaced. The logs of new sessions are empty and named `epoch`, so
    /// cursors
    /// of another store are not valid here. Jobs wait until the import ends.
    async fn restore(&self, caller: &Caller, records: &[Record], epoch: &str) -> Result<Restored, ArchiveError>;
    /// Ends the import begun by [`Archive::admit`]. The number of records of each shape, in the order of [`SHAPES`], must match, except
    /// internal ones.
    async fn restored(&self, caller: &Caller, counts: &[u64]) -> Result<(), ArchiveError>;
}

/// A snapshot of one user's data.
#[async_trait]
pub trait Snapshot: Send {
    /// Returns the user and its counters.
    fn owner(&self) -> Owner;
    /// Returns the next records, all of one shape, at most `limit`; none at the end. Shapes come in the order of [`SHAPES`].
    async fn next(&mut self, limit: u32) -> Result<Vec<Record>, StoreError>;
}
