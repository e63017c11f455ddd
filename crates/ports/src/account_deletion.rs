//! Deletes all data of a user in steps, so that a user with much data does not block other writers.
//!
//! The deletion begins in one transaction. From then on, the user's writes fail with [`StoreError::BeingErased`], so the amount of data is
//! final. Each step deletes a bounded number of rows and counts them in the same transaction. So any process can resume after an
//! interruption. The user's row with its counters stays: an index, plan or cursor from before the deletion must not appear valid later.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::StoreError;
use recall_domain::{Caller, Day, SessionId, Timestamp};

/// Tables whose rows are deleted, referencing tables first. A test compares the list with the schemas of both engines.
pub static ERASED: &[&str] = &[
    "forgettings",
    "events",
    "session_changes",
    "jobs",
    "usage_messages",
    "message_vectors",
    "passage_vectors",
    "message_index",
    "resources",
    "answer_sources",
    "topic_messages",
    "topic_parts",
    "shared_views",
    "document_citations",
    "document_chunks",
    "document_sections",
    "document_originals",
    "document_files",
    "documents",
    "comparisons",
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
    "front_ends",
    "logins",
    "visits",
    USAGE,
];

/// Today's rows are deleted when the day is over: budgets are read from them, and a deletion must not renew a budget.
pub static USAGE: &str = "usage_days";

/// Tables that contain user ids and are kept, with the reason.
pub static LEFT: &[(&str, &str)] = &[
    ("allowances", "limits, which deleting one's data must not renew"),
    ("erasures", "the receipt; goes when the day is over"),
    ("graph_changes", "ids of what is gone, without which a graph engine could not be told"),
    ("graph_heads", "the number of the latest of these"),
    ("message_codes", "made from vectors where the engine needs it; goes with its message"),
];

/// The receipt of a deletion: its progress and the deleted rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountDeletion {
    /// When it began.
    pub begun_at: Timestamp,
    /// When it was complete.
    pub ended_at: Option<Timestamp>,
    /// Rows deleted, by table.
    pub deleted: BTreeMap<String, u64>,
}

/// The result of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountDeletionStep {
    /// The present state of the deletion.
    pub erasure: AccountDeletion,
    /// Deleted sessions, whose followers must be told.
    pub sessions: Vec<SessionId>,
}

/// Deletes all data of a user.
#[async_trait]
pub trait AccountDeletionStore: Send + Sync {
    /// Begins the deletion of all data of the caller, or returns one already begun. Access tokens and the visit end at once.
    ///
    /// # Errors
    /// `NotFound` if the store never had data of the caller.
    async fn begin_erasure(&self, caller: &Caller, now: Timestamp) -> Result<AccountDeletion, StoreError>;
    /// Deletes about `limit` rows, and ends the deletion when nothing is left. Does nothing after the end.
    ///
    /// # Errors
    /// `NotFound` if no deletion was begun.
    async fn erase(&self, caller: &Caller, now: Timestamp, limit: u32) -> Result<AccountDeletionStep, StoreError>;
    /// Returns the latest deletion; it is kept until the day after its end.
    async fn erasure(&self, caller: &Caller) -> Result<Option<AccountDeletion>, StoreError>;
    /// Returns the users with an unfinished deletion and no step since `since`. Like the job queue, it creates callers.
    async fn unfinished_erasures(&self, since: Timestamp) -> Result<Vec<Caller>, StoreError>;
    /// Deletes up to `limit` receipts of deletions that ended before `today`, with the rows kept until then. Returns their number.
    async fn forget_erasures(&self, today: Day, limit: u32) -> Result<u64, StoreError>;
    /// Returns the number of the caller's rows by table, without empty tables.
    async fn holdings(&self, caller: &Caller) -> Result<BTreeMap<String, u64>, StoreError>;
}
