//! `GET /sessions` and `GET /sessions/{session_id}/messages`: lists conversations and their messages.

use axum::{
    extract::{Path, State},
    http::Uri,
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{
    fields::Parameters,
    list::{List, ListResponse, next_cursor},
    view::{SessionMessageView, SessionView},
};
use crate::{
    auth::Reader,
    error::ApiError,
    graphql::{OperationScope, ResponseBudget, read_page},
};
use recall_domain::{Message, SessionId};
use recall_ports::SessionFilter;
use recall_usecases::{ResourceId, UseCases};

/// Selects a page of the sessions.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct SessionsParameters {
    /// Page size, 1 to 100. Default: 20.
    first: Option<i32>,
    /// Return items after this cursor.
    after: Option<String>,
    /// List shared memory instead of the caller's own memory.
    #[serde(default)]
    shared: bool,
    /// The title contains this text, ignoring case and accents.
    text: Option<String>,
    /// The session is pinned, or is not.
    pinned: Option<bool>,
    /// The session is archived, or is not.
    archived: Option<bool>,
    /// Remembering is paused in the session, or is not.
    paused: Option<bool>,
}

/// Lists the caller's sessions, latest message first.
#[utoipa::path(
    get, path = "/sessions", operation_id = "listSessions", tag = "messages", security((), ("token" = ["recall.read"])),
    params(SessionsParameters),
    responses((status = 200, description = "A page of the list.", body = List<SessionView>, headers(("Link" = String, description = "The next page, with `rel=\"next\"` (RFC 8288). Absent on the last page."))))
)]
pub(super) async fn list(
    State(usecases): State<UseCases>,
    Reader(identity): Reader,
    uri: Uri,
    Parameters(parameters): Parameters<SessionsParameters>,
) -> Result<ListResponse<SessionView>, ApiError> {
    let SessionsParameters { text, pinned, archived, paused, .. } = &parameters;
    let filter = SessionFilter { text: text.clone(), pinned: *pinned, archived: *archived, paused: *paused };
    let page = read_page(parameters.first, parameters.after)?;
    let scope = OperationScope::new(identity, usecases, ResponseBudget::default());
    let memory = scope.memory(parameters.shared)?;
    let slice = memory.read.list_sessions(&filter, &page).await?;
    let next = next_cursor(&slice);
    let sessions = slice.items.into_iter().map(|(_, session)| SessionView::of(session, memory.is_shared())).collect();
    Ok(ListResponse::new(&uri, sessions, next))
}

/// Selects a page of the messages.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct MessagesParameters {
    /// Page size, 1 to 100. Default: 20.
    first: Option<i32>,
    /// Return items after this cursor.
    after: Option<String>,
}

/// Lists the messages of a session, oldest first.
#[utoipa::path(
    get, path = "/sessions/{session_id}/messages", operation_id = "listMessages", tag = "messages", security((), ("token" = ["recall.read"])),
    params(("session_id" = String, Path, description = "A session of the caller or of shared memory.", format = Uuid), MessagesParameters),
    responses((status = 200, description = "A page of the list.", body = List<SessionMessageView>, headers(("Link" = String, description = "The next page, with `rel=\"next\"` (RFC 8288). Absent on the last page."))))
)]
pub(super) async fn messages(
    State(usecases): State<UseCases>,
    Reader(identity): Reader,
    Path(session): Path<String>,
    uri: Uri,
    Parameters(parameters): Parameters<MessagesParameters>,
) -> Result<ListResponse<SessionMessageView>, ApiError> {
    let session: SessionId = session.parse().map_err(|_| ApiError::not_found("session"))?;
    let page = read_page(parameters.first, parameters.after)?;
    let scope = OperationScope::new(identity, usecases, ResponseBudget::default());
    let usecases = &scope.usecases;
    let found = |owner| async move { usecases.session(&owner, session).await.map_err(ApiError::from) };
    let (_, memory) = scope.read_own_or_shared(&[ResourceId::Session(session)], found).await?;
    let slice = memory.read.list_messages(session, &page, false).await?;
    let next = next_cursor(&slice);
    for (_, message) in &slice.items {
        scope.budget.count_bytes(message.text.as_str().len());
    }
    let ids: Vec<_> = slice.items.iter().map(|(_, message)| message.id).collect();
    let mut resources = memory.read.resources(&ids).await?;
    for resource in resources.values().flatten() {
        scope.budget.count_bytes(resource.uri.as_str().len());
    }
    scope.budget.check()?;
    let view = |(_, message): (_, Message)| {
        let resources = resources.remove(&message.id).unwrap_or_default();
        SessionMessageView::of(message, resources, memory.is_shared())
    };
    let messages = slice.items.into_iter().map(view).collect();
    Ok(ListResponse::new(&uri, messages, next))
}
