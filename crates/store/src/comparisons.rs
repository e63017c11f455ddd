//! Stores comparisons of documents: the request with a job, then the result of each step.
//!
//! Each step checks the claim on the job and the number of completed steps. So a step that is repeated after a crash changes nothing twice,
//! and the next attempt continues behind the last step.

use async_trait::async_trait;

use super::{
    DocumentStatements, JobStatements, NewSession, PendingMessage, Quota, Refusal, append_events, jobs, messages, reject_while_locked,
    use_quota,
};
use recall_domain::{
    Caller, Comparison, ComparisonId, ComparisonProgress, ComparisonStatus, EventBody, EventDraft, EventId, Timestamp, UserId,
};
use recall_ports::{Claim, ComparisonStep, NewComparison};

/// Statements on comparisons.
#[async_trait]
pub trait ComparisonStatements: DocumentStatements {
    /// Inserts a comparison, whose session exists.
    async fn insert_comparison(&mut self, user: UserId, comparison: &Comparison) -> Result<(), Self::Error>;
    /// Returns the progress of a comparison, and keeps others from changing it until the transaction ends.
    async fn lock_comparison(&mut self, user: UserId, comparison: ComparisonId) -> Result<Option<ComparisonProgress>, Self::Error>;
    /// Stores the result of a step.
    async fn save_step(&mut self, user: UserId, step: &ComparisonStep, status: ComparisonStatus) -> Result<(), Self::Error>;
}

/// Stores a comparison with everything that belongs to it.
///
/// # Errors
/// `BeingErased` or `BeingImported` if the user is locked, `QuotaUsed` if a visitor has no sessions left.
pub async fn add_comparison<T: ComparisonStatements>(tx: &mut T, caller: &Caller, new: &NewComparison) -> Result<Comparison, T::Error> {
    let user = caller.user();
    tx.ensure_user(user).await?;
    reject_while_locked(tx, user).await?;
    use_quota(tx, caller, Quota::Sessions, 1).await?;
    let mut comparison = new.comparison.clone();
    comparison.created_at = T::stored_time(comparison.created_at);
    comparison.updated_at = T::stored_time(comparison.updated_at);
    let (id, now) = (comparison.id.session(), comparison.created_at);
    // Like that of a document, its session is no conversation.
    let session = NewSession { id, title: Some(new.message.text.clone()), epoch: new.epoch.clone(), now, document: true };
    tx.insert_session(user, &session).await?;
    tx.insert_comparison(user, &comparison).await?;
    let message = PendingMessage { message: &new.message, may_be_remembered: true };
    messages::store(tx, caller, id, &[message]).await?;
    tell(tx, user, comparison.progress(), new.event, now).await?;
    Ok(comparison)
}

/// Stores the result of a step. With the last one, the job ends.
///
/// # Errors
/// `NotOurs` if the claim is no longer valid, `Stale` if another number of steps is completed than the step says.
pub async fn save_comparison<T: ComparisonStatements>(
    tx: &mut T,
    user: UserId,
    claim: &Claim,
    step: &ComparisonStep,
) -> Result<(), T::Error> {
    let job = jobs::held_job(tx, user, claim).await?;
    let known = tx.lock_comparison(user, step.comparison).await?.ok_or(Refusal::NotOurs)?;
    if known.done != step.before {
        return Err(Refusal::Stale.into());
    }
    let status = if step.is_last() { ComparisonStatus::Completed } else { ComparisonStatus::Processing };
    tx.save_step(user, step, status).await?;
    let (comparison, done, total) = (step.comparison, step.before.saturating_add(1), step.total);
    tell(tx, user, ComparisonProgress { comparison, status, done, total, error: None }, step.event, step.now).await?;
    if step.is_last() {
        tx.end_first_message(user, job.message).await?;
        jobs::finish(tx, &job, step.now).await?;
    }
    Ok(())
}

/// Marks a comparison as failed and ends its job.
///
/// # Errors
/// `NotOurs` if the claim is no longer valid.
pub async fn fail_comparison<T: ComparisonStatements>(
    tx: &mut T,
    user: UserId,
    claim: &Claim,
    comparison: ComparisonId,
    (error, event, now): (&str, EventId, Timestamp),
) -> Result<(), T::Error> {
    let job = jobs::held_job(tx, user, claim).await?;
    if let Some(progress) = tx.mark_comparison_failed(user, comparison, error, now).await? {
        tell(tx, user, progress, event, now).await?;
    }
    tx.mark_message_failed(user, job.message).await?;
    jobs::finish(tx, &job, now).await
}

/// Appends the progress to the log of the comparison.
pub(super) async fn tell<T: JobStatements>(
    tx: &mut T,
    user: UserId,
    progress: ComparisonProgress,
    id: EventId,
    now: Timestamp,
) -> Result<(), T::Error> {
    let session = progress.comparison.session();
    let event = EventDraft { id, body: EventBody::ComparisonUpdate(progress.into()) };
    append_events(tx, user, session, &[event], now).await?;
    Ok(())
}
