//! Queries of comparisons.

use async_graphql::{Context, ID, Object};

use crate::{
    error::ApiError,
    graphql::{
        model::ComparisonNode,
        page::{self, Connection, Total, connection_cost},
        scope::{Needs, read_id, read_optional_id, scope},
    },
};
use recall_domain::{ComparisonId, DocumentId};

#[derive(Default)]
pub(super) struct ComparisonQueries;

#[Object(guard = "Needs::Read")]
impl ComparisonQueries {
    /// A comparison of the viewer; null if it does not exist.
    async fn comparison(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The id of the comparison.")] id: ID,
    ) -> async_graphql::Result<Option<ComparisonNode>> {
        let id: ComparisonId = read_id(&id, "id")?;
        let memory = &scope(ctx)?.own;
        let found = memory.read.comparisons(&[id]).await.map_err(ApiError::from)?.into_iter().next();
        Ok(found.map(|comparison| ComparisonNode::new(comparison, memory.clone())))
    }

    /// The viewer's comparisons, latest first.
    #[graphql(complexity = "connection_cost(first, child_complexity)")]
    async fn comparisons(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Return only comparisons of this document.")] document_id: Option<ID>,
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
        #[graphql(desc = "Return items after this cursor.")] after: Option<String>,
    ) -> async_graphql::Result<Connection<ComparisonNode>> {
        let page = page::read_page(first, after)?;
        let document: Option<DocumentId> = read_optional_id(document_id.as_ref(), "documentId")?;
        let memory = &scope(ctx)?.own;
        let slice = memory.read.list_comparisons(document, &page).await.map_err(ApiError::from)?;
        let total = Total::Comparisons(memory.read.clone(), document);
        Ok(page::forward_connection(slice, &page, total, |comparison| ComparisonNode::new(comparison, memory.clone())))
    }
}
