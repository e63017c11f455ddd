//! Queues and ends jobs.
//!
//! A lane is one kind of work of one session. Its jobs run in order, one at a time. Only the head of a lane can be claimed. The
//! head is marked, so a claim costs the same however many jobs wait behind it. After a job ends, its lane moves to the back, so the
//! lanes of a user share the workers evenly.

use async_trait::async_trait;
use strum::{EnumString, IntoStaticStr};

use super::{EventStatements, Refusal, append_events, comparisons, documents, signed};
use recall_domain::{
    Caller, ComparisonId, ComparisonProgress, DocumentId, DocumentProgress, EventDraft, MessageId, SessionId, Timestamp, UserId,
};
use recall_ports::{Claim, JobWork};

/// A kind of work; its [`Word`](recall_domain::Word) is in the column `lane`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Lane {
    /// Extracts facts.
    Understand,
    /// Answers questions.
    Answer,
}

impl Lane {
    const ALL: [Self; 2] = [Self::Understand, Self::Answer];
}

/// Puts together what the columns of a job say.
pub fn job_work(lane: Lane, message: MessageId, answer: bool, document: bool) -> JobWork {
    match lane {
        Lane::Understand if document => JobWork::Parse(message),
        Lane::Understand => JobWork::Understand { message, answer },
        Lane::Answer if document => JobWork::Compare(message),
        Lane::Answer => JobWork::Answer(message),
    }
}

/// The columns `id` and `token` of a claim.
pub fn id_and_token(claim: &Claim) -> (i64, i64) {
    (signed(claim.job), signed(claim.token))
}

/// What the owner of a document reads if every attempt to parse it failed.
const GIVEN_UP: &str = "The document could not be processed. Add it again later.";
/// What the owner of a comparison reads if every attempt to make it failed.
const NOT_COMPARED: &str = "The documents could not be compared. Compare them again later.";

/// A job to queue.
#[derive(Clone, Copy, Debug)]
pub struct NewJob {
    /// The message that it is about.
    pub message: MessageId,
    /// Whether the message is to be answered later.
    pub answer: bool,
    /// Whether it is the job of a document or of a comparison.
    pub document: bool,
    /// When it is due.
    pub at: Timestamp,
}

/// A live job that this transaction will change.
#[derive(Clone, Copy, Debug)]
pub struct HeldJob {
    /// Its number.
    pub id: i64,
    /// Its owner.
    pub user: UserId,
    /// Its session.
    pub session: SessionId,
    /// Its lane.
    pub lane: Lane,
    /// The message that it is about.
    pub message: MessageId,
    /// Whether the message is to be answered later.
    pub answer: bool,
    /// Whether it is the job of a document or of a comparison.
    pub document: bool,
}

/// Statements on `jobs`.
#[async_trait]
pub trait JobStatements: EventStatements {
    /// Inserts jobs of one lane, at least one, in order. The first becomes the head if the lane has no live job.
    async fn insert_jobs(&mut self, caller: &Caller, session: SessionId, lane: Lane, jobs: &[NewJob]) -> Result<(), Self::Error>;
    /// Returns the job of a valid claim, and keeps others from taking it, and from numbering events of its session, until the
    /// transaction ends. `None` if another worker has the lease, the job is done, released or dead, it belongs to another user, or its
    /// session is being deleted.
    async fn claimed_job(&mut self, user: UserId, claim: &Claim) -> Result<Option<HeldJob>, Self::Error>;
    /// Returns up to `limit` live jobs behind a job in its lane, in order, and keeps others from changing them until the transaction
    /// ends.
    async fn jobs_behind(&mut self, job: &HeldJob, limit: u32) -> Result<Vec<HeldJob>, Self::Error>;
    /// Returns the live job that would answer a question, now or after its message is understood.
    async fn answering_job(&mut self, user: UserId, question: MessageId) -> Result<Option<HeldJob>, Self::Error>;
    /// Deletes a job.
    async fn delete_job(&mut self, job: &HeldJob) -> Result<(), Self::Error>;
    /// Makes the next live job of the lane its head, due from now on.
    ///
    /// Not since it was queued: otherwise a lane with a long backlog would always be the oldest and occupy every worker.
    async fn promote_next(&mut self, job: &HeldJob, now: Timestamp) -> Result<(), Self::Error>;
    /// Marks a job as dead, with the code of the reason.
    async fn mark_dead(&mut self, job: &HeldJob, code: &str) -> Result<(), Self::Error>;
    /// Queues a job again without the request for an answer. The attempt does not count.
    async fn withdraw_answer(&mut self, job: &HeldJob, now: Timestamp) -> Result<(), Self::Error>;
    /// Sets the status of a message to failed.
    async fn mark_message_failed(&mut self, user: UserId, message: MessageId) -> Result<(), Self::Error>;
    /// Sets the status of a document to failed, unless it is completed. Returns its progress if that changed it.
    async fn mark_document_failed(
        &mut self,
        user: UserId,
        document: DocumentId,
        error: &str,
        now: Timestamp,
    ) -> Result<Option<DocumentProgress>, Self::Error>;
    /// Sets the status of a comparison to failed, unless it is completed. Returns its progress if that changed it.
    async fn mark_comparison_failed(
        &mut self,
        user: UserId,
        comparison: ComparisonId,
        error: &str,
        now: Timestamp,
    ) -> Result<Option<ComparisonProgress>, Self::Error>;
    /// Adds to the number of chunks whose facts were extracted. With the last chunk the document is completed. Returns its progress; `None`
    /// if there is no such document.
    async fn advance_understood(
        &mut self,
        user: UserId,
        document: DocumentId,
        count: u32,
        now: Timestamp,
    ) -> Result<Option<DocumentProgress>, Self::Error>;
}

/// Queues work of one session.
///
/// # Errors
/// If a statement fails.
pub async fn enqueue<T: JobStatements>(
    tx: &mut T,
    caller: &Caller,
    session: SessionId,
    work: &[(JobWork, Timestamp)],
) -> Result<(), T::Error> {
    for lane in Lane::ALL {
        let jobs = work.iter().filter_map(|&(work, at)| match (lane, work) {
            (Lane::Understand, JobWork::Understand { message, answer }) => Some(NewJob { message, answer, document: false, at }),
            // In the lane of the chunks, whose facts are extracted when all of them are stored.
            (Lane::Understand, JobWork::Parse(message)) => Some(NewJob { message, answer: false, document: true, at }),
            (Lane::Answer, JobWork::Answer(message)) => Some(NewJob { message, answer: false, document: false, at }),
            (Lane::Answer, JobWork::Compare(message)) => Some(NewJob { message, answer: false, document: true, at }),
            _ => None,
        });
        let jobs: Vec<_> = jobs.collect();
        if !jobs.is_empty() {
            tx.insert_jobs(caller, session, lane, &jobs).await?;
        }
    }
    Ok(())
}

/// Returns the job of a claim, in the transaction that will end it.
///
/// # Errors
/// `NotOurs` if the claim is no longer valid.
pub(super) async fn held_job<T: JobStatements>(tx: &mut T, user: UserId, claim: &Claim) -> Result<HeldJob, T::Error> {
    Ok(tx.claimed_job(user, claim).await?.ok_or(Refusal::NotOurs)?)
}

/// Returns the job of a claim and those behind it in its lane, at most `count`, in the transaction that will end them.
///
/// # Errors
/// `NotOurs` if the claim is no longer valid.
pub(super) async fn held_jobs<T: JobStatements>(tx: &mut T, user: UserId, claim: &Claim, count: usize) -> Result<Vec<HeldJob>, T::Error> {
    let first = held_job(tx, user, claim).await?;
    let mut held = vec![first];
    if count > 1 {
        held.extend(tx.jobs_behind(&first, u32::try_from(count - 1).unwrap_or(u32::MAX)).await?);
    }
    Ok(held)
}

/// Ends a completed job.
pub(super) async fn finish<T: JobStatements>(tx: &mut T, job: &HeldJob, now: Timestamp) -> Result<(), T::Error> {
    tx.delete_job(job).await?;
    tx.promote_next(job, now).await
}

/// Ends a job that failed for the last time. Returns its session.
///
/// # Errors
/// `NotOurs` if the claim is no longer valid.
pub async fn bury<T: JobStatements>(
    tx: &mut T,
    user: UserId,
    claim: &Claim,
    event: &EventDraft,
    code: &str,
    now: Timestamp,
) -> Result<SessionId, T::Error> {
    let job = held_job(tx, user, claim).await?;
    tx.mark_dead(&job, code).await?;
    tx.promote_next(&job, now).await?;
    let id = documents::following(event.id);
    if job.lane == Lane::Understand || job.document {
        tx.mark_message_failed(user, job.message).await?;
    }
    match (job.lane, job.document) {
        (Lane::Understand, true) => {
            if let Some(progress) = tx.mark_document_failed(user, job.session.into(), GIVEN_UP, now).await? {
                documents::tell(tx, user, progress, id, now).await?;
            }
            return Ok(job.session);
        }
        (Lane::Answer, true) => {
            if let Some(progress) = tx.mark_comparison_failed(user, job.session.into(), NOT_COMPARED, now).await? {
                comparisons::tell(tx, user, progress, id, now).await?;
            }
            return Ok(job.session);
        }
        (Lane::Understand, false) => documents::count_understood(tx, user, job.session, 1, (id, now)).await?,
        (Lane::Answer, false) => {}
    }
    append_events(tx, user, job.session, std::slice::from_ref(event), now).await?;
    Ok(job.session)
}

/// Cancels the answer to a question. Returns its session, or `None` if there was nothing to cancel.
///
/// # Errors
/// If a statement fails.
pub async fn cancel_answer<T: JobStatements>(
    tx: &mut T,
    user: UserId,
    question: MessageId,
    event: &EventDraft,
    now: Timestamp,
) -> Result<Option<SessionId>, T::Error> {
    let Some(job) = tx.answering_job(user, question).await? else { return Ok(None) };
    match job.lane {
        Lane::Answer => finish(tx, &job, now).await?,
        // A worker that is reading this message would also have it answered.
        Lane::Understand => tx.withdraw_answer(&job, now).await?,
    }
    append_events(tx, user, job.session, std::slice::from_ref(event), now).await?;
    Ok(Some(job.session))
}
