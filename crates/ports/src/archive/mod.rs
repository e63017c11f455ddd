//! All that is kept of users, as records that no engine is needed to read: how it leaves one store and enters another.
//!
//! What a record holds is told once, in [`shape`], and both adapters make their statements from that. How records become lines
//! is in [`line`]; `docs/archive.md` describes them for people.
//!
//! Like the job queue this port is for the operator: it hands out the callers of all users.

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
    /// The import of another archive for this user has not ended.
    #[error("the import of another archive for this user is unfinished; finish it with that archive, or delete the user's data first")]
    Unfinished,
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

/// A user whose import has begun.
#[derive(Clone, Copy, Debug)]
pub struct Admitted {
    /// On whose behalf records are restored.
    pub caller: Caller,
    /// Whether the user is marked as being imported; one who had all the data before is not.
    pub is_importing: bool,
}

/// What became of some records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Those that were not there.
    pub new: u64,
    /// Those that were there with other contents, and were replaced.
    pub repaired: u64,
}

impl std::ops::AddAssign for Restored {
    fn add_assign(&mut self, other: Self) {
        self.new += other.new;
        self.repaired += other.repaired;
    }
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
    /// Begins or resumes the import of a user, who is no visitor. The user must have no data yet, or exactly the counters of the
    /// archive: every message and every change of knowledge raises one of them. A user without data is marked as being imported:
    /// until [`Archive::restored`] nothing else is stored for this user ([`StoreError::BeingImported`]).
    async fn admit(&self, owner: &Owner) -> Result<Admitted, ArchiveError>;
    /// Writes records of one shape in ONE transaction. Equal records are left alone, and derived ones that differ are replaced.
    /// The logs of new sessions are empty and named `epoch`, so that no cursor of another store is taken for one of this. Jobs
    /// wait until the import ends.
    async fn restore(&self, caller: &Caller, records: &[Record], epoch: &str) -> Result<Restored, ArchiveError>;
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
