//! `/documents`: adds, lists, reads and deletes documents. A file is written to disk while it arrives.

use std::{sync::Arc, time::Duration};

use axum::{
    Extension, Json,
    body::{Body, Bytes},
    extract::{
        Multipart, Path, State,
        multipart::{MultipartError, MultipartRejection},
    },
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use utoipa::{IntoParams, ToSchema};

use super::{
    document_view::{ChunkView, DocumentView},
    fields::Parameters,
    input::read_word,
    list::{List, ListResponse, next_cursor},
};
use crate::{
    audit::Auditor,
    auth::{Reader, Writer},
    body,
    error::ApiError,
    graphql::{Memory, OperationScope, ResponseBudget, read_page},
    rate::CallerLimits,
};
use recall_domain::{AuditAction, Document, DocumentId, DocumentStatus};
use recall_ports::{DocumentFilter, FairShare};
use recall_usecases::{AddDocument, ResourceId, Upload, UseCases};

/// Most uploads at once. One caller gets at most half of them.
const MAX_UPLOADS: u32 = 16;
/// When a client without a place should try again.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// Longest time of an upload.
pub(crate) const MAX_UPLOAD: Duration = Duration::from_secs(300);
/// Bytes of a body besides the file.
pub(crate) const FORM_BYTES: u64 = 16 * 1024;
/// Most bytes of a text field.
const FIELD_BYTES: usize = 4 * 1024;
/// Most characters of the name of an unknown field that an error repeats.
const FIELD_NAME_CHARS: usize = 100;

/// What uploads need besides the use cases.
#[derive(Clone)]
pub(crate) struct UploadServices {
    limits: Arc<CallerLimits>,
    auditor: Auditor,
    places: Arc<Semaphore>,
    share: Arc<FairShare>,
}

impl UploadServices {
    pub(crate) fn new(limits: Arc<CallerLimits>, auditor: Auditor) -> Self {
        let places = Arc::new(Semaphore::new(MAX_UPLOADS as usize));
        Self { limits, auditor, places, share: Arc::new(FairShare::half_of(MAX_UPLOADS)) }
    }
}

/// The form of an upload.
#[derive(ToSchema)]
#[allow(dead_code)]
pub(super) struct UploadForm {
    /// The file: PDF, DOCX, HTML, Markdown, CSV or plain text. Its content decides.
    #[schema(value_type = String, format = Binary)]
    file: Vec<u8>,
    /// The collection: letters, digits, hyphens and underscores. Default: `default`.
    collection: Option<String>,
    /// Where the owner keeps it. The same path with another file makes a new version.
    path: Option<String>,
    /// Whether to add it to shared memory. Requires the role `ADMIN`.
    shared: Option<bool>,
}

/// What became of an upload.
#[derive(Serialize, ToSchema)]
pub(super) struct UploadResponse {
    /// The document.
    id: DocumentId,
    status: DocumentStatus,
    /// The known document with the same content, if the collection has one. Then nothing was stored, and `id` is that document.
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate_of: Option<DocumentId>,
}

/// Adds a document and returns at once.
///
/// The server then processes it. Its progress follows as events of `GET /sessions/{id}/events` with the id of the document.
#[utoipa::path(
    post, path = "/documents", operation_id = "addDocument", tag = "documents", security((), ("token" = ["recall.write"])),
    request_body(content = UploadForm, content_type = "multipart/form-data"),
    responses((status = 202, description = "The document is stored and waits to be processed, or is known already.", body = UploadResponse))
)]
pub(super) async fn add(
    State(usecases): State<UseCases>,
    Extension(services): Extension<UploadServices>,
    Writer(identity): Writer,
    headers: HeaderMap,
    form: Result<Multipart, MultipartRejection>,
) -> Result<Response, ApiError> {
    body::require_type(&headers, "multipart/form-data")?;
    let form = form.map_err(|_| unreadable_form())?;
    services.limits.messages(identity.caller, 1).await?;
    let _share = services.share.share(identity.caller.user()).await;
    let _place = services.places.try_acquire().map_err(|_| ApiError::rate_limited(RETRY_AFTER))?;
    let scope = OperationScope::new(identity, usecases.clone(), ResponseBudget::default());
    let Form { upload, shared, new } = read_form(&usecases, &scope, form).await?;
    let caller = if shared { scope.shared_writer()? } else { scope.caller };
    let (document, known) = usecases.add_document(&caller, upload, new).await?;
    if !known {
        let action = AuditAction::SharedDocumentAdded;
        services.auditor.note_shared_change(scope.now, scope.identity(), &caller, action, document.id).await;
    }
    let response = UploadResponse { id: document.id, status: document.status, duplicate_of: known.then_some(document.id) };
    Ok((StatusCode::ACCEPTED, Json(response)).into_response())
}

struct Form {
    upload: Upload,
    shared: bool,
    new: AddDocument,
}

/// Reads the fields in any order. The file goes to disk.
async fn read_form(usecases: &UseCases, scope: &OperationScope, mut form: Multipart) -> Result<Form, ApiError> {
    let (mut upload, mut shared, mut new) = (None, false, AddDocument::default());
    while let Some(mut field) = form.next_field().await.map_err(unreadable)? {
        match field.name().unwrap_or_default() {
            "file" if upload.is_none() => {
                new.filename = field.file_name().map(str::to_owned);
                let mut file = usecases.begin_upload(&scope.caller).await?;
                while let Some(bytes) = field.chunk().await.map_err(unreadable)? {
                    file.write(&bytes).await?;
                }
                upload = Some(file);
            }
            "collection" => new.collection = Some(text(field, "collection").await?).filter(|name| !name.is_empty()),
            "path" => new.path = Some(text(field, "path").await?).filter(|path| !path.is_empty()),
            "shared" => {
                shared = match text(field, "shared").await?.as_str() {
                    "true" | "1" | "on" => true,
                    "false" | "0" | "" => false,
                    _ => return Err(ApiError::invalid("INVALID_FLAG", "`shared` is `true` or `false`.", "shared")),
                }
            }
            name => {
                let message = "The form has a field that is not known here, or two files. Send `file`, `collection`, `path` and `shared`.";
                let name = name.chars().filter(|c| !c.is_control()).take(FIELD_NAME_CHARS).collect();
                return Err(ApiError::refused(StatusCode::BAD_REQUEST, "UNKNOWN_FIELD", message).at_name(name));
            }
        }
    }
    let upload = upload.ok_or_else(|| ApiError::invalid("FILE_REQUIRED", "The file is missing. Send it as the field `file`.", "file"))?;
    Ok(Form { upload, shared, new })
}

async fn text(mut field: axum::extract::multipart::Field<'_>, name: &str) -> Result<String, ApiError> {
    let mut text = Vec::new();
    while let Some(bytes) = field.chunk().await.map_err(unreadable)? {
        text.extend_from_slice(&bytes);
        if text.len() > FIELD_BYTES {
            return Err(ApiError::invalid("FIELD_TOO_LONG", "The field is too long. Shorten it.", name));
        }
    }
    String::from_utf8(text).map_err(|_| ApiError::invalid("BAD_TEXT", "The field is not UTF-8. Encode it as UTF-8.", name))
}

fn unreadable(error: MultipartError) -> ApiError {
    match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            ApiError::refused(StatusCode::PAYLOAD_TOO_LARGE, "BODY_TOO_LARGE", "The body is too large. Send a smaller file.")
        }
        _ => unreadable_form(),
    }
}

fn unreadable_form() -> ApiError {
    ApiError::refused(StatusCode::BAD_REQUEST, "BODY_UNREADABLE", "The form cannot be read, or ended early. Send it again.")
}

/// Selects documents and a page of them.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct DocumentsParameters {
    /// Only documents of this collection.
    collection: Option<String>,
    /// Only documents with this status: `pending`, `processing`, `completed` or `failed`.
    status: Option<String>,
    /// Only documents whose file name, title or path contains this, ignoring case.
    text: Option<String>,
    /// Only versions for which no newer version is searchable.
    #[serde(default)]
    current: bool,
    /// Page size, 1 to 100. Default: 20.
    first: Option<i32>,
    /// Return items after this cursor.
    after: Option<String>,
    /// List shared memory instead of the caller's own memory.
    #[serde(default)]
    shared: bool,
}

/// Lists the caller's documents, latest first.
#[utoipa::path(
    get, path = "/documents", operation_id = "listDocuments", tag = "documents", security((), ("token" = ["recall.read"])),
    params(DocumentsParameters),
    responses((status = 200, description = "A page of the list.", body = List<DocumentView>, headers(("Link" = String, description = "The next page, with `rel=\"next\"` (RFC 8288). Absent on the last page."))))
)]
pub(super) async fn list(
    State(usecases): State<UseCases>,
    Reader(identity): Reader,
    uri: Uri,
    Parameters(parameters): Parameters<DocumentsParameters>,
) -> Result<ListResponse<DocumentView>, ApiError> {
    let page = read_page(parameters.first, parameters.after)?;
    let unknown =
        || ApiError::invalid("UNKNOWN_STATUS", "There is no such status. Use pending, processing, completed or failed.", "status");
    let filter = DocumentFilter {
        collections: parameters.collection.into_iter().collect(),
        status: read_word(parameters.status.as_deref(), unknown)?,
        text: parameters.text,
        current: parameters.current,
        ..DocumentFilter::default()
    };
    let scope = OperationScope::new(identity, usecases, ResponseBudget::default());
    let memory = scope.memory(parameters.shared)?;
    let slice = memory.read.list_documents(&filter, &page).await?;
    let next = next_cursor(&slice);
    let documents = slice.items.into_iter().map(|(_, document)| DocumentView::of(document, memory.is_shared())).collect();
    Ok(ListResponse::new(&uri, documents, next))
}

/// Finds a document in own or shared memory.
async fn find(scope: &OperationScope, id: &str) -> Result<(Document, Arc<Memory>), ApiError> {
    let id: DocumentId = id.parse().map_err(|_| ApiError::not_found("document"))?;
    scope.find(id).await?.ok_or_else(|| ApiError::not_found("document"))
}

/// Returns a document.
#[utoipa::path(
    get, path = "/documents/{document_id}", operation_id = "getDocument", tag = "documents", security((), ("token" = ["recall.read"])),
    params(("document_id" = String, Path, description = "A document of the caller or of shared memory.", format = Uuid)),
    responses((status = 200, description = "The document.", body = DocumentView))
)]
pub(super) async fn get(
    State(usecases): State<UseCases>,
    Reader(identity): Reader,
    Path(id): Path<String>,
) -> Result<Json<DocumentView>, ApiError> {
    let scope = OperationScope::new(identity, usecases, ResponseBudget::default());
    let batches = scope.batches.clone();
    let (document, memory) = batches.drive(scope.budget.clone(), find(&scope, &id)).await??;
    Ok(Json(DocumentView::of(document, memory.is_shared())))
}

/// Returns the file of a document, and records that the caller views it.
#[utoipa::path(
    get, path = "/documents/{document_id}/original", operation_id = "getOriginal", tag = "documents", security((), ("token" = ["recall.read"])),
    params(("document_id" = String, Path, description = "A document of the caller or of shared memory.", format = Uuid)),
    responses((status = 200, description = "The file, as it was added.", body = String, content_type = "application/octet-stream"))
)]
pub(super) async fn original(
    State(usecases): State<UseCases>,
    Reader(identity): Reader,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let scope = OperationScope::new(identity, usecases.clone(), ResponseBudget::default());
    let batches = scope.batches.clone();
    let (document, memory) = batches.drive(scope.budget.clone(), find(&scope, &id)).await??;
    if !document.has_original {
        return Err(ApiError::not_found("file"));
    }
    let mut original = usecases.open_original(&memory.read.caller(), document.id).await?;
    // The folder may have lost the file.
    let first = original.next().await?.ok_or_else(|| ApiError::not_found("file"))?;
    // A file that cannot be recorded as viewed can still be read.
    if let Err(e) = usecases.mark_viewed(&scope.caller, document.id, memory.is_shared()).await {
        tracing::warn!(code = e.code(), "the view of a document was not recorded");
    }
    let mut headers = HeaderMap::new();
    // Never shown by the browser: the file may be a hostile page.
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(document.bytes));
    headers.insert(header::CONTENT_DISPOSITION, attachment(document.filename.as_str()));
    let pieces = stream::try_unfold((Some(first), original), |(first, mut original)| async move {
        let bytes = match first {
            Some(first) => Some(first),
            None => original.next().await.map_err(|error| std::io::Error::other(error.to_string()))?,
        };
        Ok::<_, std::io::Error>(bytes.map(|bytes| (Bytes::from(bytes), (None, original))))
    });
    Ok((headers, Body::from_stream(pieces)).into_response())
}

/// Returns the value of `Content-Disposition` (RFC 6266) for a file name.
fn attachment(filename: &str) -> HeaderValue {
    let mut value = String::from("attachment; filename*=UTF-8''");
    for byte in filename.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => value.push(byte.into()),
            _ => value.push_str(&format!("%{byte:02X}")),
        }
    }
    HeaderValue::try_from(value).unwrap_or_else(|_| HeaderValue::from_static("attachment"))
}

/// Selects a page of the chunks.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ChunksParameters {
    /// Page size, 1 to 100. Default: 20.
    first: Option<i32>,
    /// Return items after this cursor.
    after: Option<String>,
}

/// Lists the chunks of a document, in order.
#[utoipa::path(
    get, path = "/documents/{document_id}/chunks", operation_id = "listChunks", tag = "documents", security((), ("token" = ["recall.read"])),
    params(("document_id" = String, Path, description = "A document of the caller or of shared memory.", format = Uuid), ChunksParameters),
    responses((status = 200, description = "A page of the list.", body = List<ChunkView>, headers(("Link" = String, description = "The next page, with `rel=\"next\"` (RFC 8288). Absent on the last page."))))
)]
pub(super) async fn chunks(
    State(usecases): State<UseCases>,
    Reader(identity): Reader,
    Path(id): Path<String>,
    uri: Uri,
    Parameters(parameters): Parameters<ChunksParameters>,
) -> Result<ListResponse<ChunkView>, ApiError> {
    let page = read_page(parameters.first, parameters.after)?;
    let scope = OperationScope::new(identity, usecases, ResponseBudget::default());
    let batches = scope.batches.clone();
    let (document, memory) = batches.drive(scope.budget.clone(), find(&scope, &id)).await??;
    let slice = memory.read.list_chunks(document.id, &page).await?;
    let next = next_cursor(&slice);
    for (_, chunk) in &slice.items {
        scope.budget.count_bytes(chunk.text.as_str().len());
    }
    scope.budget.check()?;
    let chunks = slice.items.into_iter().map(|(_, chunk)| ChunkView::of(chunk, None, memory.is_shared())).collect();
    Ok(ListResponse::new(&uri, chunks, next))
}

/// Deletes a document with its file, its chunks and its evidence.
#[utoipa::path(
    delete, path = "/documents/{document_id}", operation_id = "deleteDocument", tag = "documents", security((), ("token" = ["recall.write"])),
    params(("document_id" = String, Path, description = "A document of the caller or of shared memory.", format = Uuid)),
    responses((status = 204, description = "The document is deleted."))
)]
pub(super) async fn delete(
    State(usecases): State<UseCases>,
    Extension(services): Extension<UploadServices>,
    Writer(identity): Writer,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    let id: DocumentId = id.parse().map_err(|_| ApiError::not_found("document"))?;
    let scope = OperationScope::new(identity, usecases.clone(), ResponseBudget::default());
    let usecases = &usecases;
    let delete = |caller| async move { usecases.delete_document(&caller, id).await.map_err(ApiError::from) };
    let (_, memory) = scope.change(&[ResourceId::Document(id)], delete).await?;
    note_deletion(&services, &scope, memory.is_shared(), id).await;
    Ok(StatusCode::NO_CONTENT)
}

/// Deletes the file of a document, and keeps its chunks.
#[utoipa::path(
    delete, path = "/documents/{document_id}/original", operation_id = "deleteOriginal", tag = "documents", security((), ("token" = ["recall.write"])),
    params(("document_id" = String, Path, description = "A document of the caller or of shared memory.", format = Uuid)),
    responses((status = 204, description = "The file is deleted."))
)]
pub(super) async fn delete_original(
    State(usecases): State<UseCases>,
    Extension(services): Extension<UploadServices>,
    Writer(identity): Writer,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    let id: DocumentId = id.parse().map_err(|_| ApiError::not_found("document"))?;
    let scope = OperationScope::new(identity, usecases.clone(), ResponseBudget::default());
    let usecases = &usecases;
    let delete = |caller| async move { usecases.delete_original(&caller, id).await.map_err(ApiError::from) };
    let (_, memory) = scope.change(&[ResourceId::Document(id)], delete).await?;
    note_deletion(&services, &scope, memory.is_shared(), id).await;
    Ok(StatusCode::NO_CONTENT)
}

async fn note_deletion(services: &UploadServices, scope: &OperationScope, shared: bool, id: DocumentId) {
    let action = if shared { AuditAction::SharedDocumentDeleted } else { AuditAction::DocumentDeleted };
    services.auditor.note_request(scope.now, scope.identity(), action, Some(id.to_string())).await;
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn file_name_cannot_leave_its_header() {
        let value = attachment("Größe \"x\"\r\n; a=b.pdf");
        assert_eq!(value.to_str().unwrap(), "attachment; filename*=UTF-8''Gr%C3%B6%C3%9Fe%20%22x%22%0D%0A%3B%20a%3Db.pdf");
    }
}
