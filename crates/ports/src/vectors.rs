//! Changing the embedding model. Vectors of two models are never compared, so a user is searched by the old ones until all of the
//! user's messages have new ones, and then by these; what is old goes last.

use std::time::Duration;

use async_trait::async_trait;

use super::{Embedding, StoreError};
use recall_domain::{Caller, MessageId, Timestamp, UserText};

/// A user whose vectors are being made, ours until the lease ends or another takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorClaim {
    /// Whose.
    pub caller: Caller,
    /// Another number after every claim.
    pub token: u64,
    /// The model by whose vectors the user is searched; none while that is still open.
    pub in_use: Option<String>,
    /// Row of the user's newest message, see [`FeedRow::row`](super::FeedRow::row).
    pub head: u64,
}

/// A message that has no vector of the model asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageWithoutVector {
    /// The message.
    pub message: MessageId,
    /// What it says.
    pub text: UserText,
}

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorStep {
    /// It is done.
    Done,
    /// Messages came meanwhile that lack a vector; the newest has this row.
    Incomplete(u64),
    /// The claim is another's by now, or another model is wanted. Nothing was written.
    NotOurs,
}

/// What is left to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VectorBacklog {
    /// Users not all of whose vectors are of the model.
    pub users: u64,
    /// Their messages without such a vector.
    pub messages: u64,
}

/// Vectors of one model beside those of another.
///
/// `now` is as in [`JobQueue`](super::JobQueue): a store that several processes share goes by a clock that they share too.
#[async_trait]
pub trait VectorStore: Send + Sync {
    /// From now on all vectors are to be of this model; called at start. The latest call counts, so that an older process, which
    /// still has another model, does not undo what a newer one does. A store that one process has to itself voids all claims.
    async fn want_model(&self, model: &str) -> Result<(), StoreError>;
    /// Takes a user whose vectors are not all of `model`. None when there is no such user, others have them, or another model is
    /// wanted.
    async fn claim_vectors(&self, model: &str, now: Timestamp, lease: Duration) -> Result<Option<VectorClaim>, StoreError>;
    /// Which of the messages with rows after `after` up to `upto` lack a vector of `model`, newest first.
    async fn without_vector(&self, caller: &Caller, model: &str, after: u64, upto: u64) -> Result<Vec<MessageWithoutVector>, StoreError>;
    /// Keeps vectors beside those in use, and prolongs the claim. Messages that are no more, or have one already, are passed over.
    async fn keep_vectors(
        &self,
        claim: &VectorClaim,
        model: &str,
        vectors: Vec<(MessageId, Embedding)>,
        now: Timestamp,
        lease: Duration,
    ) -> Result<VectorStep, StoreError>;
    /// From now on the user is searched by vectors of `model`, if the messages after row `seen` have them too; those up to there
    /// must. The claim ends: what is old is left for `pause`, for searches that have begun.
    async fn use_vectors(
        &self,
        claim: &VectorClaim,
        model: &str,
        seen: u64,
        now: Timestamp,
        pause: Duration,
    ) -> Result<VectorStep, StoreError>;
    /// Puts vectors of `model`, which must be in use, in the place of others, for up to `limit` messages after `after` in the order
    /// of their ids, and prolongs the claim.
    async fn replace_vectors(
        &self,
        claim: &VectorClaim,
        model: &str,
        after: Option<MessageId>,
        limit: u32,
        now: Timestamp,
        lease: Duration,
    ) -> Result<Replaced, StoreError>;
    /// Notes that the user's vectors are all of `model`, if those after row `seen` are too, and ends the claim.
    async fn settle_vectors(&self, claim: &VectorClaim, model: &str, seen: u64) -> Result<VectorStep, StoreError>;
    /// Gives the user back.
    async fn release_vectors(&self, claim: &VectorClaim) -> Result<(), StoreError>;
    /// What is left to do for all vectors to be of `model`.
    async fn vector_backlog(&self, model: &str) -> Result<VectorBacklog, StoreError>;
}

/// How far the replacing of vectors has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaced {
    /// Up to this message.
    UpTo(MessageId),
    /// All.
    All,
    /// The claim is another's by now, or another model is wanted.
    NotOurs,
}
