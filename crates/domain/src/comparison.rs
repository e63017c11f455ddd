//! Comparisons of documents: what several documents have in common, where they differ, and what follows from both.
//!
//! A comparison is stored as a session of its own with the same id, like a document. So jobs, events and deletion treat it as such.

use std::ops::RangeInclusive;

/// The name of the comparer that works without a model. It compares whole passages also for a question, so the report is narrowed to it.
pub const ALIGNMENT: &str = "alignment";

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantNames};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{Citation, ComparisonId, DocumentId, MessageId, SessionId, Timestamp, UserText};

/// How many documents are compared at once.
pub const COMPARED_DOCUMENTS: RangeInclusive<usize> = 2..=5;

/// The state of a comparison.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema, ToSchema, EnumString, IntoStaticStr, VariantNames,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ComparisonStatus {
    /// Stored; it waits for a worker.
    Pending,
    /// Its passages are being compared. Points found so far can be read.
    Processing,
    /// All passages are compared.
    Completed,
    /// It could not be made; its error says why.
    Failed,
}

/// A comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Identity.
    pub id: ComparisonId,
    /// What the user wants to know; without it the documents are compared as a whole.
    pub question: Option<UserText>,
    /// The documents, in the order of the user.
    pub documents: Vec<DocumentId>,
    /// Its state.
    pub status: ComparisonStatus,
    /// Why it failed, for its owner.
    pub error: Option<String>,
    /// The completed steps.
    pub done: u32,
    /// The number of steps; 0 until the passages are selected.
    pub total: u32,
    /// Who compared: [`ALIGNMENT`], or a model's name.
    pub comparer: Option<String>,
    /// The passages to compare, until it is completed. Each step compares the next ones.
    pub groups: Vec<PassageGroup>,
    /// What was found so far; the most important points of each kind come first when it is completed.
    pub points: Vec<ComparisonPoint>,
    /// When it was requested.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Comparison {
    /// Returns its progress.
    pub fn progress(&self) -> ComparisonProgress {
        ComparisonProgress { comparison: self.id, status: self.status, done: self.done, total: self.total, error: self.error.clone() }
    }
}

/// How far a comparison is.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparisonProgress {
    /// The comparison.
    pub comparison: ComparisonId,
    /// Its state.
    pub status: ComparisonStatus,
    /// The completed steps.
    pub done: u32,
    /// The number of steps; 0 until the passages are selected.
    pub total: u32,
    /// Why it failed.
    pub error: Option<String>,
}

/// A comparison of documents made progress. The log is that of the comparison, whose session has the same id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonUpdate {
    /// The session that stores the comparison.
    pub session_id: SessionId,
    /// The comparison.
    pub comparison_id: ComparisonId,
    /// Its state.
    pub status: ComparisonStatus,
    /// The completed steps.
    pub done: u32,
    /// The number of steps; 0 until the passages are selected.
    pub total: u32,
    /// Why it failed, for its owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl From<ComparisonProgress> for ComparisonUpdate {
    fn from(progress: ComparisonProgress) -> Self {
        Self {
            session_id: progress.comparison.session(),
            comparison_id: progress.comparison,
            status: progress.status,
            done: progress.done,
            total: progress.total,
            error: progress.error,
        }
    }
}

/// Passages that are compared with each other: two of different documents with a similar meaning, or one that resembles nothing in the
/// other documents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassageGroup {
    /// The chunks, each of another document.
    pub chunks: Vec<MessageId>,
}

/// What a point of a comparison says.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema, ToSchema, EnumString, IntoStaticStr, VariantNames,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum PointKind {
    /// The documents agree.
    Similarity,
    /// The documents contradict each other, or one of them says nothing about it.
    Difference,
    /// It follows from several documents together.
    Insight,
}

/// One point of a comparison.
///
/// It cites at least two documents, or cites one and names those that are silent. The point that nothing was found about the question cites
/// none and names all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparisonPoint {
    /// What it says.
    pub kind: PointKind,
    /// The sentence, with marks like `[1]`.
    pub text: UserText,
    /// The sources of the marks.
    pub citations: Vec<Citation>,
    /// The documents that say nothing about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silent: Vec<DocumentId>,
    /// How important it is among the points of its kind, from 0 to 1.
    pub importance: f32,
}

impl ComparisonPoint {
    /// Whether it cites two documents, or one and names another one as silent.
    pub fn is_balanced(&self) -> bool {
        let mut cited: Vec<DocumentId> = self.citations.iter().filter_map(|c| c.chunk.as_ref()).map(|chunk| chunk.document_id).collect();
        cited.sort_unstable();
        cited.dedup();
        let silent = self.silent.iter().filter(|document| !cited.contains(document)).count();
        !cited.is_empty() && cited.len() + silent >= 2
    }
}

impl ComparisonId {
    /// Returns the session that stores the comparison.
    pub fn session(self) -> SessionId {
        SessionId(self.0)
    }
}

impl From<ComparisonId> for Uuid {
    fn from(id: ComparisonId) -> Self {
        id.0
    }
}

impl From<SessionId> for ComparisonId {
    fn from(session: SessionId) -> Self {
        Self(session.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CitedChunk;

    fn point(cited: &[u128], silent: &[u128]) -> ComparisonPoint {
        let id = |n: u128| DocumentId(Uuid::from_u128(n));
        let citation = |&n: &u128| Citation {
            index: 1,
            message_id: None,
            chunk: Some(CitedChunk { chunk_id: MessageId(Uuid::nil()), document_id: id(n), filename: "a".into(), pages: None }),
            fact_id: None,
            excerpt: "a".into(),
            shared: false,
        };
        ComparisonPoint {
            kind: PointKind::Difference,
            text: "a".into(),
            citations: cited.iter().map(citation).collect(),
            silent: silent.iter().map(|&n| id(n)).collect(),
            importance: 1.0,
        }
    }

    #[test]
    fn balanced_point_concerns_two_documents() {
        assert!(point(&[1, 2], &[]).is_balanced());
        assert!(point(&[1], &[2]).is_balanced());
        assert!(!point(&[1, 1], &[]).is_balanced(), "one document twice");
        assert!(!point(&[1], &[1]).is_balanced(), "a cited document is not silent");
        assert!(!point(&[], &[1, 2]).is_balanced(), "a claim without a source");
    }
}
