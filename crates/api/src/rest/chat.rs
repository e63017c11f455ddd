//! `POST /chat`: stores a message, and waits for the answer if the client prefers that.

use std::sync::Arc;

use axum::{
    Extension, Json,
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    http::{HeaderMap, HeaderName, StatusCode},
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{
    fields::read_body,
    input::{parse_id, read_session, with_rest_names},
    wait::{Wait, Waited},
};
use crate::{
    audit::Auditor,
    auth::{Identity, Writer},
    error::ApiError,
    event_log::EventHub,
    graphql::{OperationScope, ResponseBudget, at_document, reject_many},
    rate::CallerLimits,
};
use recall_domain::{
    AuditAction, Citation, Message, MessageId, MessageStatus, Role, SessionId, UndoableForgetting,
    context::{SearchSource, SearchSources},
};
use recall_usecases::{ResourceId, SendMessage, UseCases};

/// The header that names the preference that was followed (RFC 7240, section 3).
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// A message to store.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ChatRequest {
    /// The session. Default: a new one.
    #[schema(format = Uuid)]
    session_id: Option<String>,
    /// The id of the caller. Other ids are refused.
    user_id: Option<Uuid>,
    /// The text.
    message: String,
    /// Who wrote it. Default: the user.
    #[serde(default = "default_role")]
    role: Role,
    /// What the answer may use. Default: messages and documents. A message that is limited to documents is a question whatever its words are, and nothing is
    /// learned from it.
    #[serde(default)]
    sources: Vec<SearchSource>,
    /// The answer may use only documents of these collections, at most 100. Default: of all.
    #[serde(default)]
    collections: Vec<String>,
    /// The answer may use only these documents, at most 100, whatever their version. Default: all current ones.
    #[serde(default)]
    #[schema(value_type = Vec<Uuid>)]
    document_ids: Vec<String>,
}

impl ChatRequest {
    /// Takes where the answer may look.
    fn take_sources(&mut self) -> Result<SearchSources, ApiError> {
        reject_many(self.document_ids.len().max(self.collections.len()), "document_ids")?;
        let documents = self.document_ids.iter().map(|id| parse_id(id, "document_ids")).collect::<Result<_, _>>()?;
        Ok(SearchSources { of: std::mem::take(&mut self.sources), collections: std::mem::take(&mut self.collections), documents })
    }
}

fn default_role() -> Role {
    Role::User
}

/// What became of the message.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ChatStatus {
    /// Stored and searchable; its facts are not known yet.
    Processing,
    /// Its facts are stored, and no answer follows.
    Processed,
    /// It could not be processed or answered.
    Failed,
    /// It is answered.
    Answered,
}

impl From<MessageStatus> for ChatStatus {
    fn from(status: MessageStatus) -> Self {
        match status {
            MessageStatus::Processing => Self::Processing,
            MessageStatus::Processed => Self::Processed,
            MessageStatus::Failed => Self::Failed,
        }
    }
}

/// The stored message, and its answer if the request waited for one.
#[derive(Serialize, ToSchema)]
pub(super) struct ChatResponse {
    status: ChatStatus,
    /// The answer; `pending` while one may follow over the event stream.
    llm_response: Option<String>,
    session_id: SessionId,
    message_id: MessageId,
    /// The message with the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer_id: Option<MessageId>,
    /// The sources of the numbers in the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    citations: Option<Vec<Citation>>,
    /// What comes nearest to an answer, if nothing answers the question.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nearest: Vec<Citation>,
    /// Whether stored knowledge supports the answer. `false` means that the answer is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    grounded: Option<bool>,
    /// What wrote the answer: `extractive`, or a model's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    answerer: Option<String>,
    /// What the reply to a command has forgotten, if that can be undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    forgetting: Option<UndoableForgetting>,
    /// Why the question was not answered: a stable code.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl ChatResponse {
    fn stored(message: &Message) -> Self {
        Self {
            status: message.status.into(),
            llm_response: (message.status == MessageStatus::Processing).then(|| "pending".to_owned()),
            session_id: message.session,
            message_id: message.id,
            answer_id: None,
            citations: None,
            nearest: Vec::new(),
            grounded: None,
            answerer: None,
            forgetting: None,
            error: None,
        }
    }

    /// Adds what the request waited for. Returns the status of the response.
    fn add(&mut self, waited: Waited) -> StatusCode {
        match waited {
            Waited::Pending => return StatusCode::ACCEPTED,
            Waited::Answered(answer) => {
                self.status = ChatStatus::Answered;
                self.llm_response = Some(answer.text.into_string());
                self.answer_id = Some(answer.message_id);
                self.citations = Some(answer.citations);
                self.nearest = answer.nearest;
                self.grounded = Some(answer.grounded);
                self.answerer = Some(answer.answerer);
                self.forgetting = answer.forgetting;
                return StatusCode::OK;
            }
            Waited::NotAsked => self.status = ChatStatus::Processed,
            Waited::NotProcessed => self.status = ChatStatus::Failed,
            Waited::Failed(failed) => {
                self.status = ChatStatus::Failed;
                self.error = Some(failed.code);
            }
        }
        self.llm_response = None;
        StatusCode::ACCEPTED
    }
}

/// What `POST /chat` needs besides the use cases.
#[derive(Clone)]
pub(crate) struct ChatServices {
    /// Limits of messages and of open streams.
    pub(crate) limits: Arc<CallerLimits>,
    /// Notes changes of shared memory.
    pub(crate) auditor: Auditor,
    /// The event logs, which a waiting request follows.
    pub(crate) hub: Arc<EventHub>,
}

/// Stores a message, in a new session if none is given.
///
/// The answer to a question follows over the event stream, or in the response to a request that prefers to wait.
#[utoipa::path(
    post, path = "/chat", operation_id = "sendMessage", tag = "messages", security((), ("token" = ["recall.write"])),
    params((
        "Prefer" = Option<String>, Header, example = "wait=20",
        description = "`wait=N` waits up to N seconds, at most 60, for the answer (RFC 7240). It requires `recall.read` too."
    )),
    request_body = ChatRequest,
    responses(
        (
            status = 200, description = "The message is answered.", body = ChatResponse,
            headers(("Preference-Applied" = String, description = "The wait that was applied, such as `wait=20`."))
        ),
        (
            status = 202, description = "The message is stored. If `status` is `processing`, an answer may follow.", body = ChatResponse,
            headers(("Preference-Applied" = String, description = "The wait that was applied, if there was one."))
        ),
    )
)]
pub(super) async fn post(
    State(usecases): State<UseCases>,
    Extension(services): Extension<ChatServices>,
    Writer(identity): Writer,
    headers: HeaderMap,
    bytes: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let caller = identity.caller;
    let mut request: ChatRequest = read_body(&headers, bytes)?;
    // The memory follows from the caller's identity. Another id in the body is a mistake or an attack.
    if request.user_id.is_some_and(|id| id != caller.user().0) {
        return Err(ApiError::refused(StatusCode::FORBIDDEN, "FOREIGN_USER", "`user_id` names another user. Leave it out."));
    }
    let sources = request.take_sources()?;
    let given = request.session_id.as_deref().map(read_session).transpose()?;
    services.limits.messages(caller, 1).await?;
    let session = match given {
        Some(id) => id,
        None => usecases.create_session(&caller, None).await?.id,
    };
    // Before the message is stored, so that no event is missed.
    let wait = Wait::begin(&headers, &services.hub, &services.limits, &identity, session).await;
    let message = match store(&usecases, &services.auditor, identity, session, (request, sources)).await {
        Ok(message) => message,
        Err(error) => {
            if given.is_none() {
                // The session was created for this message only.
                let _ = usecases.delete_session(&caller, session).await;
            }
            return Err(error.at("session_id"));
        }
    };
    let mut response = ChatResponse::stored(&message);
    let Some(wait) = wait else { return Ok((StatusCode::ACCEPTED, Json(response)).into_response()) };
    let applied = wait.applied();
    let status = match message.status {
        MessageStatus::Processing => response.add(wait.until_answered(message.id).await),
        // Nothing follows a message of the assistant.
        MessageStatus::Processed | MessageStatus::Failed => StatusCode::ACCEPTED,
    };
    Ok((status, [(PREFERENCE_APPLIED, applied)], Json(response)).into_response())
}

/// Stores the message in own or shared memory.
async fn store(
    usecases: &UseCases,
    auditor: &Auditor,
    identity: Identity,
    session: SessionId,
    (request, answer_from): (ChatRequest, SearchSources),
) -> Result<Message, ApiError> {
    let message = SendMessage {
        session,
        text: request.message,
        role: request.role,
        speaker: None,
        sent_at: None,
        source_metadata: None,
        client_message_id: None,
        resources: Vec::new(),
        answer_from,
    };
    let scope = OperationScope::new(identity, usecases.clone(), ResponseBudget::default());
    let message = &message;
    let send =
        |owner| async move { usecases.send(&owner, message.clone()).await.map_err(|e| with_rest_names(at_document(e, "document_ids"))) };
    let (message, memory) = scope.change(&[ResourceId::Session(session)], send).await?;
    auditor.note_shared_change(scope.now, scope.identity(), &memory.caller(), AuditAction::SharedMessagesStored, message.id).await;
    Ok(message)
}
