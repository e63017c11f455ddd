//! `POST /chat`: stores a message.

use std::sync::Arc;

use axum::{
    Extension, Json,
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    http::{HeaderMap, StatusCode},
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::input::{read_session, with_rest_names};
use crate::{
    audit::Auditor,
    auth::Writer,
    body,
    error::ApiError,
    graphql::{OperationScope, ResponseBudget},
    rate::CallerLimits,
};
use recall_domain::{AuditAction, MessageId, MessageStatus, Role, SessionId};
use recall_usecases::{ResourceId, SendMessage, UseCases};

#[derive(Deserialize)]
pub(super) struct ChatRequest {
    session_id: Option<String>,
    user_id: Option<Uuid>,
    message: String,
    #[serde(default = "default_role")]
    role: Role,
}

fn default_role() -> Role {
    Role::User
}

#[derive(Serialize)]
pub(super) struct ChatResponse {
    status: MessageStatus,
    /// `pending` while an answer may follow over the event stream.
    llm_response: Option<&'static str>,
    session_id: SessionId,
    message_id: MessageId,
}

/// Stores a message, in a new session if none is given.
pub(super) async fn post(
    State(usecases): State<UseCases>,
    Extension((limits, auditor)): Extension<(Arc<CallerLimits>, Auditor)>,
    Writer(identity): Writer,
    headers: HeaderMap,
    bytes: Result<Bytes, BytesRejection>,
) -> Result<(StatusCode, Json<ChatResponse>), ApiError> {
    let caller = identity.caller;
    let request: ChatRequest = body::json(&headers, bytes)?;
    // The memory follows from the caller's identity. Another id in the body is a mistake or an attack.
    if request.user_id.is_some_and(|id| id != caller.user().0) {
        return Err(ApiError::refused(StatusCode::FORBIDDEN, "FOREIGN_USER", "`user_id` names another user. Leave it out."));
    }
    let given = request.session_id.as_deref().map(read_session).transpose()?;
    limits.messages(caller, 1).await?;
    let session = match given {
        Some(id) => id,
        None => usecases.create_session(&caller, None).await?.id,
    };
    let message = SendMessage {
        session,
        text: request.message,
        role: request.role,
        speaker: None,
        sent_at: None,
        source_metadata: None,
        client_message_id: None,
    };
    let scope = OperationScope::new(identity, usecases.clone(), ResponseBudget::default());
    let send = |owner| {
        let usecases = &usecases;
        async move { usecases.send(&owner, message).await.map_err(with_rest_names) }
    };
    match scope.change(&[ResourceId::Session(session)], send).await {
        Ok((message, memory)) => {
            auditor.note_shared_change(scope.now, scope.identity(), &memory.caller(), AuditAction::SharedMessagesStored, message.id).await;
            let llm_response = (message.status == MessageStatus::Processing).then_some("pending");
            let response = ChatResponse { status: message.status, llm_response, session_id: session, message_id: message.id };
            Ok((StatusCode::ACCEPTED, Json(response)))
        }
        Err(error) => {
            if given.is_none() {
                // The session was created for this message only.
                let _ = usecases.delete_session(&caller, session).await;
            }
            Err(error.at("session_id"))
        }
    }
}
