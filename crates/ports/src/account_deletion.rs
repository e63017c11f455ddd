//! Deleting everything of a user, in steps: whoever has a hundred thousand messages must not keep others from writing meanwhile.
//!
//! An erasure is begun in one transaction. From then on the user's writes are refused as [`StoreError::BeingErased`], so that
//! there is an end. Each step deletes a bounded number of rows and counts them in the same transaction, so it may be interrupted
//! anywhere and gone on with by anybody. What stays is the user's row: its counters go on, so that nothing made before the
//! deletion (an index in memory, a plan, a cursor) is taken for something of after it.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::StoreError;
use recall_domain::{Caller, Day, SessionId, Timestamp};

/// Tables whose rows go, in order: what points to others before those. A test compares this with what the engines have.
pub static ERASED: &[&str] = &[
    "events",
    "jobs",
    "usage_messages",
    "message_vectors",
    "message_index",
    "merged_evidence",
    "merged_facts",
    "merged_mentions",
    "merged_earlier",
    "merged_keys",
    "merged_entities",
    "merges",
    "entity_merges",
    "evidence",
    "mentions",
    "entity_keys",
    "entity_hints",
    "adopted",
    "facts",
    "entities",
    "messages",
    "sessions",
    "access_tokens",
    "logins",
    "visits",
    USAGE,
];

/// The rows of today go when the day is over: budgets are read from them, and deleting one's data must not renew them.
pub static USAGE: &str = "usage_days";

/// Tables that name users and are left, with the reason.
pub static LEFT: &[(&str, &str)] = &[
    ("allowances", "limits, which deleting one's data must not renew"),
    ("erasures", "the receipt; goes when the day is over"),
    ("graph_changes", "ids of what is gone, without which a graph engine could not be told"),
    ("graph_heads", "the number of the latest of these"),
    ("message_codes", "made from vectors where the engine needs it; goes with its message"),
];

/// How far an erasure has got, and what it deleted: the receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountDeletion {
    /// When it was begun.
    pub begun_at: Timestamp,
    /// When nothing was left.
    pub ended_at: Option<Timestamp>,
    /// Rows deleted, by table.
    pub deleted: BTreeMap<String, u64>,
}

/// What one step did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountDeletionStep {
    /// Where the erasure stands now.
    pub erasure: AccountDeletion,
    /// Sessions that are no more; whoever follows them is to be told.
    pub sessions: Vec<SessionId>,
}

/// Deleting everything of a user.
#[async_trait]
pub trait AccountDeletionStore: Send + Sync {
    /// Begins to delete everything of the caller's, or finds that this was begun. The caller's access tokens and visit end at once.
    ///
    /// # Errors
    /// `NotFound` when the store never had anything of the caller's.
    async fn begin_erasure(&self, caller: &Caller, now: Timestamp) -> Result<AccountDeletion, StoreError>;
    /// Deletes up to about `limit` rows, and ends the erasure when nothing is left. Changes nothing once it has ended.
    ///
    /// # Errors
    /// `NotFound` when none was begun.
    async fn erase(&self, caller: &Caller, now: Timestamp, limit: u32) -> Result<AccountDeletionStep, StoreError>;
    /// The latest erasure, until the day after it is over.
    async fn erasure(&self, caller: &Caller) -> Result<Option<AccountDeletion>, StoreError>;
    /// Whose erasure has not ended, and had no step since `since`. Like the job queue this makes callers instead of taking one.
    async fn unfinished_erasures(&self, since: Timestamp) -> Result<Vec<Caller>, StoreError>;
    /// Forgets up to `limit` erasures that ended before `today`, with what they had to leave until then; how many.
    async fn forget_erasures(&self, today: Day, limit: u32) -> Result<u64, StoreError>;
    /// Rows of the caller's by table, without the empty ones.
    async fn holdings(&self, caller: &Caller) -> Result<BTreeMap<String, u64>, StoreError>;
}
