//! Mutations that compare documents.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use crate::{
    error::ApiError,
    graphql::{
        model::{ComparisonNode, UserError, split_user_errors},
        page::{CHANGE, SEARCH},
        scope::{Needs, audit, limits, read_id, scope},
    },
};
use recall_domain::{AuditAction, ComparisonId, DocumentId, comparison::COMPARED_DOCUMENTS};

/// The documents to compare.
#[derive(InputObject)]
pub(crate) struct CompareDocumentsInput {
    /// The ids of two to five documents, of the viewer or of shared memory. They must be searchable.
    document_ids: Vec<ID>,
    /// What the viewer wants to know. Without it the documents are compared as a whole.
    question: Option<String>,
}

/// The result of `compareDocuments`.
#[derive(SimpleObject)]
pub(crate) struct CompareDocumentsPayload {
    /// The comparison. Progress follows as events of the session with its id.
    comparison: Option<ComparisonNode>,
    /// Errors that the client can correct; empty on success.
    errors: Vec<UserError>,
}

/// The comparison to delete.
#[derive(InputObject)]
pub(crate) struct DeleteComparisonInput {
    /// The id of the comparison.
    id: ID,
}

/// The result of `deleteComparison`.
#[derive(SimpleObject)]
pub(crate) struct DeleteComparisonPayload {
    /// The id of the comparison.
    deleted_id: Option<ID>,
    /// Errors that the client can correct; empty on success.
    errors: Vec<UserError>,
}

#[derive(Default)]
pub(super) struct ComparisonMutations;

#[Object(guard = "Needs::Write")]
impl ComparisonMutations {
    /// Compares documents: similarities, differences and insights, each with citations. Returns at once; the server then works on it and
    /// reports the progress as events.
    #[graphql(complexity = "CHANGE + SEARCH + child_complexity")]
    async fn compare_documents(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The documents.")] input: CompareDocumentsInput,
    ) -> async_graphql::Result<CompareDocumentsPayload> {
        let s = scope(ctx)?;
        limits(ctx)?.messages(s.caller, 1).await?;
        let compare = async {
            if input.document_ids.len() > *COMPARED_DOCUMENTS.end() {
                let message = format!("Choose {} to {} different documents.", COMPARED_DOCUMENTS.start(), COMPARED_DOCUMENTS.end());
                return Err(ApiError::invalid("COMPARED_DOCUMENTS", message, "input.documentIds"));
            }
            let ids = input.document_ids.iter().map(|id| read_id(id, "input.documentIds"));
            let ids: Vec<DocumentId> = ids.collect::<Result<_, _>>()?;
            let compared = s.usecases.compare_documents(&s.caller, ids, input.question).await;
            let comparison = compared.map_err(|e| ApiError::from(e).renamed(&[("query", "question")]).within("input"))?;
            Ok(ComparisonNode::new(comparison, s.own.clone()))
        };
        let (comparison, errors) = split_user_errors(compare.await)?;
        Ok(CompareDocumentsPayload { comparison, errors })
    }

    /// Deletes a comparison. The documents stay.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn delete_comparison(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The comparison.")] input: DeleteComparisonInput,
    ) -> async_graphql::Result<DeleteComparisonPayload> {
        let s = scope(ctx)?;
        let delete = async {
            let id: ComparisonId = read_id(&input.id, "input.id")?;
            s.usecases.delete_comparison(&s.caller, id).await.map_err(|e| ApiError::from(e).at("input.id"))?;
            audit(ctx, AuditAction::ComparisonDeleted, id.to_string()).await?;
            Ok(ID::from(id))
        };
        let (deleted_id, errors) = split_user_errors(delete.await)?;
        Ok(DeleteComparisonPayload { deleted_id, errors })
    }
}
