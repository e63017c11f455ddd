//! Changes the model of a user's vectors.
//!
//! The vectors of a new model are stored next to those in use until every message has one. Then they come into use, replace the old
//! ones page by page, and the user is settled. Each step checks the claim on the user first.

use std::time::Duration;

use async_trait::async_trait;

use super::MessageStatements;
use recall_domain::{Caller, MessageId, Timestamp, UserId, ViewerRole};
use recall_ports::{Embedding, Replaced, VectorClaim, VectorStep};

/// The columns of a newly claimed user.
#[derive(Clone, Debug)]
pub struct ClaimedUser {
    /// The fencing token of the claim.
    pub token: i64,
    /// The model whose vectors are in use.
    pub in_use: Option<String>,
    /// The row of the user's newest message.
    pub head: i64,
}

/// Statements on the vectors of a user, and on the claim for changing their model.
///
/// A claim is lost if another worker took it or if another model is wanted now.
#[async_trait]
pub trait VectorStatements: MessageStatements {
    /// Returns a user with vectors of another model whom no worker has claimed, and keeps others from claiming that user until the
    /// transaction ends. `None` if there is no such user, or if another model is wanted.
    async fn user_to_reembed(&mut self, model: &str, now: Timestamp) -> Result<Option<UserId>, Self::Error>;
    /// Begins a claim.
    async fn begin_claim(&mut self, user: UserId, now: Timestamp, lease: Duration) -> Result<ClaimedUser, Self::Error>;
    /// Extends a claim. Returns false if it was lost.
    async fn extend_claim(&mut self, claim: &VectorClaim, model: &str, now: Timestamp, lease: Duration) -> Result<bool, Self::Error>;
    /// Returns the row of the user's newest message, and keeps others from storing one until the transaction ends. `None` if the claim
    /// was lost.
    async fn lock_claimed_feed(&mut self, claim: &VectorClaim, model: &str) -> Result<Option<i64>, Self::Error>;
    /// Counts the messages after a row that have no vector of the model.
    async fn count_without_vector(&mut self, user: UserId, model: &str, after: u64) -> Result<i64, Self::Error>;
    /// Counts the messages after a row whose vector in the index is of another model.
    async fn count_not_replaced(&mut self, user: UserId, model: &str, after: u64) -> Result<i64, Self::Error>;
    /// Brings the vectors of the model into use and ends the claim. The user can be claimed again after the pause.
    async fn switch_model(&mut self, user: UserId, model: &str, now: Timestamp, pause: Duration) -> Result<(), Self::Error>;
    /// Returns messages, in the order of their ids, among them all that have a second vector.
    async fn page_of_vectors(&mut self, user: UserId, after: Option<MessageId>, limit: u32) -> Result<Vec<MessageId>, Self::Error>;
    /// Replaces the vectors of these messages in the index by those of the model.
    ///
    /// Each message has exactly one vector in the index at any time. A message without a vector of the model keeps its present one.
    async fn replace_page(&mut self, user: UserId, model: &str, page: &[MessageId]) -> Result<(), Self::Error>;
    /// Records that all vectors are of the model in use, and ends the claim.
    async fn mark_settled(&mut self, user: UserId) -> Result<(), Self::Error>;
}

/// Claims a user whose vectors are of another model.
///
/// # Errors
/// If a statement fails.
pub async fn claim_vectors<T: VectorStatements>(
    tx: &mut T,
    model: &str,
    now: Timestamp,
    lease: Duration,
) -> Result<Option<VectorClaim>, T::Error> {
    let Some(user) = tx.user_to_reembed(model, now).await? else { return Ok(None) };
    tx.act_for(user).await?;
    let ClaimedUser { token, in_use, head } = tx.begin_claim(user, now, lease).await?;
    let caller = Caller::verified(user, ViewerRole::User);
    Ok(Some(VectorClaim { caller, token: token.unsigned_abs(), in_use, head: head.unsigned_abs() }))
}

/// Stores vectors next to those in use.
///
/// # Errors
/// If a statement fails.
pub async fn keep_vectors<T: VectorStatements>(
    tx: &mut T,
    claim: &VectorClaim,
    model: &str,
    vectors: &[(MessageId, Embedding)],
    now: Timestamp,
    lease: Duration,
) -> Result<VectorStep, T::Error> {
    if !tx.extend_claim(claim, model, now, lease).await? {
        return Ok(VectorStep::NotOurs);
    }
    let vectors: Vec<_> = vectors.iter().map(|(message, embedding)| (*message, embedding)).collect();
    if !vectors.is_empty() {
        tx.insert_vectors(claim.caller.user(), model, &vectors).await?;
    }
    Ok(VectorStep::Done)
}

/// Brings the new vectors into use, unless a message after the row `seen` has none.
///
/// # Errors
/// If a statement fails.
pub async fn use_vectors<T: VectorStatements>(
    tx: &mut T,
    claim: &VectorClaim,
    model: &str,
    seen: u64,
    now: Timestamp,
    pause: Duration,
) -> Result<VectorStep, T::Error> {
    let Some(head) = tx.lock_claimed_feed(claim, model).await? else { return Ok(VectorStep::NotOurs) };
    let user = claim.caller.user();
    if tx.count_without_vector(user, model, seen).await? > 0 {
        return Ok(VectorStep::Incomplete(head.unsigned_abs()));
    }
    tx.switch_model(user, model, now, pause).await?;
    Ok(VectorStep::Done)
}

/// Replaces a page of old vectors.
///
/// # Errors
/// If a statement fails.
pub async fn replace_vectors<T: VectorStatements>(
    tx: &mut T,
    claim: &VectorClaim,
    model: &str,
    after: Option<MessageId>,
    limit: u32,
    now: Timestamp,
    lease: Duration,
) -> Result<Replaced, T::Error> {
    if !tx.extend_claim(claim, model, now, lease).await? {
        return Ok(Replaced::NotOurs);
    }
    let user = claim.caller.user();
    let page = tx.page_of_vectors(user, after, limit).await?;
    let Some(last) = page.last() else { return Ok(Replaced::All) };
    tx.replace_page(user, model, &page).await?;
    Ok(Replaced::UpTo(*last))
}

/// Records that all vectors of a user are of the model, unless one of a message after the row `seen` is not.
///
/// # Errors
/// If a statement fails.
pub async fn settle_vectors<T: VectorStatements>(tx: &mut T, claim: &VectorClaim, model: &str, seen: u64) -> Result<VectorStep, T::Error> {
    let Some(head) = tx.lock_claimed_feed(claim, model).await? else { return Ok(VectorStep::NotOurs) };
    let user = claim.caller.user();
    if tx.count_not_replaced(user, model, seen).await? > 0 {
        return Ok(VectorStep::Incomplete(head.unsigned_abs()));
    }
    tx.mark_settled(user).await?;
    Ok(VectorStep::Done)
}
