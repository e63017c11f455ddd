//! GraphQL types `Comparison` and `ComparisonPoint`.

use std::sync::Arc;

use async_graphql::{Context, ID, Object};
use tokio::sync::OnceCell;

use super::{enums::ComparisonStatus, message::CitationNode, nodes::DocumentNode};
use crate::{
    error::ApiError,
    graphql::{
        page::{STATEMENT, bounded_list_cost},
        scope::{Memory, Needs, scope},
    },
};
use recall_domain::{Comparison, ComparisonPoint, DocumentId, PointKind, Timestamp, comparison::COMPARED_DOCUMENTS};

/// Assumed number of points of one kind, for the cost.
const POINTS: usize = 20;
/// Most citations of one point.
const CITATIONS: usize = 10;

/// A comparison of documents. Its events are in the log of the session with the same id.
#[derive(Clone)]
pub(crate) struct ComparisonNode {
    comparison: Comparison,
    memory: Arc<Memory>,
    /// The points that cite only what can still be read, once a field asks for them.
    readable: Arc<OnceCell<Vec<ComparisonPoint>>>,
}

impl ComparisonNode {
    pub(crate) fn new(comparison: Comparison, memory: Arc<Memory>) -> Self {
        Self { comparison, memory, readable: Arc::default() }
    }

    async fn points(&self, ctx: &Context<'_>, kind: PointKind) -> async_graphql::Result<Vec<ComparisonPointNode>> {
        let s = scope(ctx)?;
        let read = || async { s.usecases.readable_points(&self.memory.caller(), self.comparison.points.clone()).await };
        let points = self.readable.get_or_try_init(read).await.map_err(ApiError::from)?;
        let of_kind = points.iter().filter(|point| point.kind == kind);
        s.budget.count_loaded_bytes(of_kind.clone().map(|point| point.text.as_str().len()).sum());
        Ok(of_kind.map(|point| ComparisonPointNode(point.clone(), self.memory.clone())).collect())
    }
}

/// A comparison of documents: what they have in common, where they differ, and what follows from several of them.
#[Object(name = "Comparison", guard = "Needs::Read")]
impl ComparisonNode {
    /// The id, a UUID.
    #[graphql(guard = "Needs::ReadOrWrite")]
    pub(crate) async fn id(&self) -> ID {
        ID::from(self.comparison.id)
    }

    /// What the user wants to know; null if the documents are compared as a whole.
    async fn question(&self) -> Option<&str> {
        self.comparison.question.as_ref().map(|question| question.as_str())
    }

    /// The processing state.
    #[graphql(guard = "Needs::ReadOrWrite")]
    async fn status(&self) -> ComparisonStatus {
        self.comparison.status.into()
    }

    /// Why it failed.
    async fn error(&self) -> Option<&str> {
        self.comparison.error.as_deref()
    }

    /// The completed steps.
    async fn done(&self) -> u32 {
        self.comparison.done
    }

    /// The number of steps; 0 until the passages are selected.
    async fn total(&self) -> u32 {
        self.comparison.total
    }

    /// Who compared: `alignment`, or a model's name; null until the first passages are compared.
    async fn comparer(&self) -> Option<&str> {
        self.comparison.comparer.as_deref()
    }

    /// The documents, in the order of the request. Deleted ones are left out.
    #[graphql(complexity = "bounded_list_cost(*COMPARED_DOCUMENTS.end(), child_complexity)")]
    async fn documents(&self, ctx: &Context<'_>) -> async_graphql::Result<Vec<DocumentNode>> {
        documents(ctx, &self.comparison.documents).await
    }

    /// What the documents agree on, the most important first.
    #[graphql(complexity = "STATEMENT + bounded_list_cost(POINTS, child_complexity)")]
    async fn similarities(&self, ctx: &Context<'_>) -> async_graphql::Result<Vec<ComparisonPointNode>> {
        self.points(ctx, PointKind::Similarity).await
    }

    /// Where the documents contradict each other, or only one of them says something, the most important first.
    #[graphql(complexity = "STATEMENT + bounded_list_cost(POINTS, child_complexity)")]
    async fn differences(&self, ctx: &Context<'_>) -> async_graphql::Result<Vec<ComparisonPointNode>> {
        self.points(ctx, PointKind::Difference).await
    }

    /// What follows from several documents together, the most important first.
    #[graphql(complexity = "STATEMENT + bounded_list_cost(POINTS, child_complexity)")]
    async fn insights(&self, ctx: &Context<'_>) -> async_graphql::Result<Vec<ComparisonPointNode>> {
        self.points(ctx, PointKind::Insight).await
    }

    /// When it was requested.
    async fn created_at(&self) -> Timestamp {
        self.comparison.created_at
    }

    /// When it last changed.
    async fn updated_at(&self) -> Timestamp {
        self.comparison.updated_at
    }
}

/// One point of a comparison.
pub(crate) struct ComparisonPointNode(ComparisonPoint, Arc<Memory>);

/// One point of a comparison. It cites several documents, or one and names those that say nothing about it, or none if nothing was found.
#[Object(name = "ComparisonPoint")]
impl ComparisonPointNode {
    /// The sentence, with marks like `[1]`.
    async fn text(&self) -> &str {
        self.0.text.as_str()
    }

    /// The sources of the marks.
    #[graphql(complexity = "bounded_list_cost(CITATIONS, child_complexity)")]
    async fn citations(&self) -> Vec<CitationNode> {
        self.0.citations.iter().take(CITATIONS).map(|citation| CitationNode(citation.clone(), self.1.clone())).collect()
    }

    /// The compared documents that say nothing about it.
    #[graphql(complexity = "bounded_list_cost(*COMPARED_DOCUMENTS.end(), child_complexity)")]
    async fn silent(&self, ctx: &Context<'_>) -> async_graphql::Result<Vec<DocumentNode>> {
        documents(ctx, &self.0.silent).await
    }
}

/// Finds documents in own or shared memory.
async fn documents(ctx: &Context<'_>, ids: &[DocumentId]) -> async_graphql::Result<Vec<DocumentNode>> {
    let s = scope(ctx)?;
    let mut found = Vec::new();
    for id in ids {
        found.extend(s.find(*id).await?.map(|(document, memory)| DocumentNode(document, memory)));
    }
    Ok(found)
}
