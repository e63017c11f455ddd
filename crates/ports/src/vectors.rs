//! Changes of the embedding model.
//!
//! Vectors of two models are never compared. A user is searched with the old vectors until all of the user's messages have new ones.
//! Then the new ones come into use, and the old ones are deleted last.

use std::time::Duration;

use async_trait::async_trait;

use super::{Embedding, StoreError};
use recall_domain::{Caller, MessageId, Timestamp, UserText};

/// A claim on a user whose vectors are being made. It is valid until its lease expires or another worker takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorClaim {
    /// The user.
    pub caller: Caller,
    /// Fencing token; changes with every claim.
    pub token: u64,
    /// The model of the vectors in use for the user; `None` while there is none.
    pub in_use: Option<String>,
    /// Row of the user's newest message, see [`FeedRow::row`](super::FeedRow::row).
    pub head: u64,
}

/// A message without a vector of the requested model.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageWithoutVector {
    /// The message.
    pub message: MessageId,
    /// Its text.
    pub text: UserText,
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorStep {
    /// Done.
    Done,
    /// New messages arrived without a vector; the newest has this row.
    Incomplete(u64),
    /// The claim was lost, or another model is wanted. Nothing was written.
    NotOurs,
}

/// Remaining work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VectorBacklog {
    /// Users with missing vectors of the model.
    pub users: u64,
    /// Their messages without such a vector.
    pub messages: u64,
}

/// Stores vectors of a new model next to those in use.
///
/// For `now`, see [`JobQueue`](super::JobQueue): a store shared by several processes uses a common clock.
#[async_trait]
pub trait VectorStore: Send + Sync {
    /// Sets the model that all vectors must have; called at start.
    ///
    /// The latest call counts, so an older process with another model does not undo the work of a newer one. A store with a single process
    /// voids all claims.
    async fn want_model(&self, model: &str) -> Result<(), StoreError>;
    /// Claims a user with missing vectors of `model`. Returns `None` if no such user is free, or if another model is wanted.
    async fn claim_vectors(&self, model: &str, now: Timestamp, lease: Duration) -> Result<Option<VectorClaim>, StoreError>;
    /// Returns the messages with rows after `after` up to `upto` that lack a vector of `model`, newest first.
    async fn without_vector(&self, caller: &Caller, model: &str, after: u64, upto: u64) -> Result<Vec<MessageWithoutVector>, StoreError>;
    /// Stores vectors next to those in use and extends the claim. Deleted messages and existing vectors are skipped.
    async fn keep_vectors(
        &self,
        claim: &VectorClaim,
        model: &str,
        vectors: Vec<(MessageId, Embedding)>,
        now: Timestamp,
        lease: Duration,
    ) -> Result<VectorStep, StoreError>;
    /// Brings the vectors of `model` into use, if the messages after row `seen` have them too; those up to `seen` must have them.
    ///
    /// The claim ends. The old vectors remain for `pause`, for searches that have begun.
    async fn use_vectors(
        &self,
        claim: &VectorClaim,
        model: &str,
        seen: u64,
        now: Timestamp,
        pause: Duration,
    ) -> Result<VectorStep, StoreError>;
    /// Replaces old vectors by those of `model`, which must be in use, and extends the claim.
    ///
    /// It handles up to `limit` messages after `after`, in the order of their ids.
    async fn replace_vectors(
        &self,
        claim: &VectorClaim,
        model: &str,
        after: Option<MessageId>,
        limit: u32,
        now: Timestamp,
        lease: Duration,
    ) -> Result<Replaced, StoreError>;
    /// Records that all vectors of the user are of `model`, if those after row `seen` are too, and ends the claim.
    async fn settle_vectors(&self, claim: &VectorClaim, model: &str, seen: u64) -> Result<VectorStep, StoreError>;
    /// Releases the claim.
    async fn release_vectors(&self, claim: &VectorClaim) -> Result<(), StoreError>;
    /// Returns the remaining work until all vectors are of `model`.
    async fn vector_backlog(&self, model: &str) -> Result<VectorBacklog, StoreError>;
}

/// The progress of replacing vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaced {
    /// Up to this message.
    UpTo(MessageId),
    /// All are replaced.
    All,
    /// The claim was lost, or another model is wanted. Nothing was written.
    NotOurs,
}
