//! Mutations that add and delete documents.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use super::sessions::SessionReceipt;
use crate::{
    error::ApiError,
    graphql::{
        model::{DocumentNode, DocumentStatus, UserError, split_user_errors},
        page::CHANGE,
        scope::{Needs, audit_change, audit_shared_change, limits, read_id, scope},
    },
};
use recall_domain::{AuditAction, DocumentId};
use recall_usecases::{AddDocument, ResourceId, UseCaseError};

/// A text to add as a document. Files are added with `POST /documents`.
#[derive(InputObject)]
pub(crate) struct AddDocumentInput {
    /// The collection: letters, digits, hyphens and underscores. Default: `default`.
    collection: Option<String>,
    /// Where the owner keeps it. The same path with another text makes a new version.
    path: Option<String>,
    /// The text.
    text: String,
    /// `text/plain`, `text/markdown` or `text/html`. Default: judged by the ending of the path.
    media_type: Option<String>,
    /// Whether to add it to shared memory, which all signed-in users can read. Requires the role `ADMIN`.
    #[graphql(default)]
    shared: bool,
}

impl AddDocumentInput {
    /// Returns the name of the file: the ending tells the parser the kind of text.
    fn filename(&self) -> Result<Option<String>, ApiError> {
        let ending = match self.media_type.as_deref() {
            None => return Ok(None),
            Some("text/plain") => "txt",
            Some("text/markdown") => "md",
            Some("text/html") => "html",
            Some(_) => {
                let message = "A text has the media type `text/plain`, `text/markdown` or `text/html`. Use `POST /documents` for files.";
                return Err(ApiError::invalid("MEDIA_TYPE", message, "input.mediaType"));
            }
        };
        let name = self.path.as_deref().unwrap_or("document");
        Ok(Some(if name.ends_with(&format!(".{ending}")) { name.to_owned() } else { format!("{name}.{ending}") }))
    }
}

/// The result of `addDocument`.
#[derive(SimpleObject)]
pub(crate) struct AddDocumentPayload {
    /// The document. If `duplicate` is true, it is the known document with the same content.
    document: Option<DocumentNode>,
    /// The processing state. Progress follows as events of the session with the id of the document.
    status: Option<DocumentStatus>,
    /// Whether the collection has the same content already. Then nothing was stored.
    duplicate: bool,
    /// Errors that the client can correct; empty on success.
    errors: Vec<UserError>,
}

/// The document to delete.
#[derive(InputObject)]
pub(crate) struct DeleteDocumentInput {
    /// The id of the document.
    id: ID,
    /// Delete only the file, and keep the chunks.
    #[graphql(default)]
    original_only: bool,
}

/// The result of `deleteDocument`.
#[derive(SimpleObject)]
pub(crate) struct DeleteDocumentPayload {
    /// The id of the document.
    deleted_id: Option<ID>,
    /// What was deleted; its messages are the chunks. Null if only the file was deleted.
    receipt: Option<SessionReceipt>,
    /// Errors that the client can correct; empty on success.
    errors: Vec<UserError>,
}

/// The document that the viewer opens.
#[derive(InputObject)]
pub(crate) struct MarkDocumentViewedInput {
    /// The id of the document, which may belong to shared memory.
    document_id: ID,
}

/// The result of `markDocumentViewed`.
#[derive(SimpleObject)]
pub(crate) struct MarkDocumentViewedPayload {
    /// The document.
    document: Option<DocumentNode>,
    /// Errors that the client can correct; empty on success.
    errors: Vec<UserError>,
}

#[derive(Default)]
pub(super) struct DocumentMutations;

#[Object(guard = "Needs::Write")]
impl DocumentMutations {
    /// Adds a text as a document and returns at once. The server then processes it and reports the progress as events.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn add_document(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The text.")] input: AddDocumentInput,
    ) -> async_graphql::Result<AddDocumentPayload> {
        let s = scope(ctx)?;
        limits(ctx)?.messages(s.caller, 1).await?;
        let add = async {
            let caller = if input.shared { s.shared_writer().map_err(|e| e.at("input.shared"))? } else { s.caller };
            let filename = input.filename()?;
            let new = AddDocument { collection: input.collection, path: input.path, filename };
            let named = |e: UseCaseError| ApiError::from(e).renamed(&[("file", "text")]).within("input");
            let (document, duplicate) = s.usecases.add_text_document(&caller, &input.text, new).await.map_err(named)?;
            Ok((DocumentNode(document, s.memory(input.shared)?.clone()), duplicate))
        };
        let (added, errors) = split_user_errors::<(DocumentNode, bool)>(add.await)?;
        let (document, duplicate) = added.map_or((None, false), |(document, duplicate)| (Some(document), duplicate));
        if let Some(DocumentNode(document, memory)) = document.as_ref().filter(|_| !duplicate) {
            audit_shared_change(ctx, memory, AuditAction::SharedDocumentAdded, document.id).await?;
        }
        let status = document.as_ref().map(|document| document.0.status.into());
        Ok(AddDocumentPayload { document, status, duplicate, errors })
    }

    /// Records that the viewer views a document now, for example when a reading view opens. Nobody else sees it.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn mark_document_viewed(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The document.")] input: MarkDocumentViewedInput,
    ) -> async_graphql::Result<MarkDocumentViewedPayload> {
        let s = scope(ctx)?;
        let mark = async {
            let id: DocumentId = read_id(&input.document_id, "input.documentId")?;
            let not_found = || ApiError::not_found("document").at("input.documentId");
            let (mut document, memory) = s.find(id).await?.ok_or_else(not_found)?;
            let viewed = s.usecases.mark_viewed(&s.caller, id, memory.is_shared()).await;
            document.viewed_at = Some(viewed.map_err(|e| ApiError::from(e).at("input.documentId"))?);
            Ok(DocumentNode(document, memory))
        };
        let (document, errors) = split_user_errors(mark.await)?;
        Ok(MarkDocumentViewedPayload { document, errors })
    }

    /// Deletes a document with its file, its chunks and its evidence, or only its file. Facts with other evidence are re-weighed.
    #[graphql(complexity = "CHANGE + child_complexity")]
    async fn delete_document(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The document.")] input: DeleteDocumentInput,
    ) -> async_graphql::Result<DeleteDocumentPayload> {
        let s = scope(ctx)?;
        let delete = async {
            let id: DocumentId = read_id(&input.id, "input.id")?;
            let original_only = input.original_only;
            let delete = |caller| async move {
                match original_only {
                    true => s.usecases.delete_original(&caller, id).await.map(|_| None).map_err(ApiError::from),
                    false => s.usecases.delete_document(&caller, id).await.map(Some).map_err(ApiError::from),
                }
            };
            let (deleted, memory) = s.change(&[ResourceId::Document(id)], delete).await.map_err(|e| e.at("input.id"))?;
            audit_change(ctx, memory, [AuditAction::DocumentDeleted, AuditAction::SharedDocumentDeleted], id).await?;
            Ok((ID::from(id), deleted.map(SessionReceipt::from)))
        };
        let (deleted, errors) = split_user_errors(delete.await)?;
        let (deleted_id, receipt) = deleted.unzip();
        Ok(DeleteDocumentPayload { deleted_id, receipt: receipt.flatten(), errors })
    }
}
