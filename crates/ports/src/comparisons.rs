//! Stores comparisons of documents, and compares passages.
//!
//! A comparison is stored in a session of its own, with the same id, as documents are.

use async_trait::async_trait;

use super::{AnswerError, Claim, CommitError, NewMessage, StoreError};
use recall_domain::{
    Caller, Chunk, Comparison, ComparisonId, ComparisonPoint, Document, DocumentId, EventId, Page, PassageGroup, Slice, Timestamp, UserText,
};

/// A comparison to add, with everything that its transaction writes.
#[derive(Clone, Debug)]
pub struct NewComparison {
    /// The comparison.
    pub comparison: Comparison,
    /// Its first message, which holds its question. Its job compares the documents.
    pub message: NewMessage,
    /// Names the log of its session.
    pub epoch: String,
    /// Id of its first `comparison_update` event.
    pub event: EventId,
}

/// The result of one step of a comparison, which one transaction stores.
#[derive(Clone, Debug)]
pub struct ComparisonStep {
    /// The comparison.
    pub comparison: ComparisonId,
    /// The number of steps that were completed before.
    pub before: u32,
    /// The number of all steps.
    pub total: u32,
    /// The passages to compare in later steps; empty after the last.
    pub groups: Vec<PassageGroup>,
    /// All points found so far.
    pub points: Vec<ComparisonPoint>,
    /// Who compared.
    pub comparer: Option<String>,
    /// Id of the `comparison_update` event.
    pub event: EventId,
    /// Now.
    pub now: Timestamp,
}

impl ComparisonStep {
    /// Whether it completes the comparison.
    pub fn is_last(&self) -> bool {
        self.before.saturating_add(1) >= self.total
    }
}

/// Stores comparisons.
#[async_trait]
pub trait ComparisonStore: Send + Sync {
    /// Stores a comparison with its session, first message, job and event, in ONE transaction.
    async fn add_comparison(&self, caller: &Caller, new: NewComparison) -> Result<Comparison, StoreError>;
    /// Returns comparisons by id; unknown ids are left out.
    async fn comparisons_by_id(&self, caller: &Caller, ids: &[ComparisonId]) -> Result<Vec<Comparison>, StoreError>;
    /// Lists comparisons, latest first; with a document, only those of this document.
    async fn list_comparisons(&self, caller: &Caller, document: Option<DocumentId>, page: &Page) -> Result<Slice<Comparison>, StoreError>;
    /// Counts the comparisons that [`Self::list_comparisons`] lists.
    async fn count_comparisons(&self, caller: &Caller, document: Option<DocumentId>) -> Result<u64, StoreError>;
    /// Stores the result of a step with an event, in ONE transaction. With the last step the job ends.
    ///
    /// # Errors
    /// `Stale` if another number of steps is completed than the step says, `NotOurs` if the claim was lost.
    async fn save_comparison(&self, caller: &Caller, claim: &Claim, step: &ComparisonStep) -> Result<(), CommitError>;
    /// Marks a comparison as failed, writes the event and ends the job.
    async fn fail_comparison(
        &self,
        caller: &Caller,
        claim: &Claim,
        comparison: ComparisonId,
        error: &str,
        event: EventId,
        now: Timestamp,
    ) -> Result<(), CommitError>;
}

/// A document that is compared.
#[derive(Clone, Debug)]
pub struct ComparedDocument {
    /// The document.
    pub document: Document,
    /// Whether it belongs to shared memory.
    pub shared: bool,
}

/// A passage that is compared.
#[derive(Clone, Debug)]
pub struct ComparedPassage {
    /// The place of its document in [`ComparisonTask::documents`].
    pub document: usize,
    /// The chunk.
    pub chunk: Chunk,
}

/// What to compare in one step.
#[derive(Clone, Debug)]
pub struct ComparisonTask {
    /// What the user wants to know; without it the documents are compared as a whole.
    pub question: Option<UserText>,
    /// All compared documents.
    pub documents: Vec<ComparedDocument>,
    /// The passages, by group. The passages of a group belong to different documents.
    pub groups: Vec<Vec<ComparedPassage>>,
}

/// The points of a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparedPoints {
    /// The points.
    pub points: Vec<ComparisonPoint>,
    /// Who compared, if not the one that was asked.
    pub comparer: Option<String>,
}

/// Compares passages of documents.
#[async_trait]
pub trait Comparer: Send + Sync {
    /// Returns the name of the comparer: [`ALIGNMENT`](recall_domain::comparison::ALIGNMENT), or a model's name.
    fn name(&self) -> &str;
    /// Returns how many groups it compares in one step.
    fn groups_at_once(&self) -> usize;
    /// Compares the passages of each group. Every point is [balanced](ComparisonPoint::is_balanced); the cost counts against the caller's
    /// budget.
    ///
    /// # Errors
    /// Fails if the comparer cannot work; the caller decides whether to retry.
    async fn compare(&self, caller: &Caller, task: &ComparisonTask) -> Result<ComparedPoints, AnswerError>;
}
