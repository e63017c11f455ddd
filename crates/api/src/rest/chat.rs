//! `POST /chat`: say something.

use std::sync::Arc;

use axum::{
    Extension, Json,
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    http::{HeaderMap, StatusCode},
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{read_session, renamed};
use crate::{
    Auditor,
    auth::Writer,
    body,
    error::ApiError,
    graphql::{OperationScope, ResponseBudget},
    rate::CallerLimits,
};
use recall_domain::{AuditAction, MessageId, MessageStatus, Role, SessionId};
use recall_usecases::{ResourceId, SendMessage, UseCases};

#[derive(Deserialize)]
pub(super) struct Request {
    session_id: Option<String>,
    user_id: Option<Uuid>,
    message: String,
    #[serde(default = "user")]
    role: Role,
}

fn user() -> Role {
    Role::User
}

#[derive(Serialize)]
pub(super) struct Accepted {
    status: MessageStatus,
    /// `pending` while an answer may follow; it comes over the event stream.
    llm_response: Option<&'static str>,
    session_id: SessionId,
    message_id: MessageId,
}

/// Stores a message; without a session it starts one.
pub(super) async fn post(
    State(usecases): State<UseCases>,
    Extension((limits, auditor)): Extension<(Arc<CallerLimits>, Auditor)>,
    Writer(identity): Writer,
    headers: HeaderMap,
    bytes: Result<Bytes, BytesRejection>,
) -> Result<(StatusCode, Json<Accepted>), ApiError> {
    let caller = identity.caller;
    let request: Request = body::json(&headers, bytes)?;
    // Whose memory this is follows from who asks. A body that says otherwise is a mistake or an attempt.
    if request.user_id.is_some_and(|id| id != caller.user().0) {
        return Err(ApiError::refused(StatusCode::FORBIDDEN, "FOREIGN_USER", "`user_id` names somebody else. Leave it out."));
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
    let send = |whose| {
        let usecases = &usecases;
        async move { usecases.send(&whose, message).await.map_err(renamed) }
    };
    match scope.change(&[ResourceId::Session(session)], send).await {
        Ok((message, memory)) => {
            auditor.of_shared(scope.now, scope.identity(), memory, AuditAction::SharedMessagesStored, message.id).await;
            let llm_response = (message.status == MessageStatus::Processing).then_some("pending");
            let accepted = Accepted { status: message.status, llm_response, session_id: session, message_id: message.id };
            Ok((StatusCode::ACCEPTED, Json(accepted)))
        }
        Err(error) => {
            if given.is_none() {
                // The session was made for this message alone.
                let _ = usecases.delete_session(&caller, session).await;
            }
            Err(error.at("session_id"))
        }
    }
}
