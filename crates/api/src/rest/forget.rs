//! `POST /forget`: forgets facts and messages, or shows what would be forgotten.

use axum::{
    Extension, Json,
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    http::HeaderMap,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    fields::{read_body, time},
    view::{FactView, MessageView, NamedFact},
};
use crate::{
    audit::Auditor,
    auth::Writer,
    error::ApiError,
    graphql::{OperationScope, ResponseBudget},
};
use recall_domain::{AuditAction, EntityId, FactId, MessageId, SessionId, Timestamp};
use recall_ports::MessageRange;
use recall_usecases::{ForgetRequest, UseCases};

/// What to forget. `query`, `fact_ids`, `message_ids` and `entity_ids` add up. `session_id`, `after` and `before` name all messages in that session and
/// time, or narrow the rest to those messages.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ForgetRequest)]
pub(super) struct ForgetBody {
    /// What is meant, such as "everything about Oakwood" or "that I have a dog".
    query: Option<String>,
    #[serde(default)]
    #[schema(value_type = Vec<uuid::Uuid>)]
    fact_ids: Vec<String>,
    #[serde(default)]
    #[schema(value_type = Vec<uuid::Uuid>)]
    message_ids: Vec<String>,
    /// Entities about which to forget everything.
    #[serde(default)]
    #[schema(value_type = Vec<uuid::Uuid>)]
    entity_ids: Vec<String>,
    #[schema(value_type = Option<uuid::Uuid>)]
    session_id: Option<String>,
    /// Only messages that were said at this time or later.
    #[serde(default, deserialize_with = "time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    after: Option<Timestamp>,
    /// Only messages that were said before this time.
    #[serde(default, deserialize_with = "time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    before: Option<Timestamp>,
    /// Whether only to return what would be forgotten. Default: true.
    #[serde(default = "default_dry_run")]
    dry_run: bool,
}

fn default_dry_run() -> bool {
    true
}

/// What was forgotten, or would be.
#[derive(Serialize, ToSchema)]
#[schema(as = Forgotten)]
pub(super) struct ForgetResponse {
    facts: Vec<FactView>,
    messages: Vec<MessageView>,
    /// Undoes it; null in a dry run.
    token: Option<String>,
}

/// REST names of the inputs of the use case.
const NAMES: [(&str, &str); 4] =
    [("factIds", "fact_ids"), ("messageIds", "message_ids"), ("entityIds", "entity_ids"), ("sessionId", "session_id")];

/// Forgets facts and messages, or returns what would be forgotten.
///
/// `undoForget` of GraphQL restores them with the token.
#[utoipa::path(
    post, path = "/forget", operation_id = "forget", tag = "memory", security((), ("token" = ["recall.write"])),
    request_body = ForgetBody,
    responses((status = 200, description = "The facts and messages.", body = ForgetResponse))
)]
pub(super) async fn post(
    State(usecases): State<UseCases>,
    Extension(auditor): Extension<Auditor>,
    Writer(identity): Writer,
    headers: HeaderMap,
    bytes: Result<Bytes, BytesRejection>,
) -> Result<Json<ForgetResponse>, ApiError> {
    let request: ForgetBody = read_body(&headers, bytes)?;
    let facts: Vec<FactId> = read_ids(&request.fact_ids, "fact_ids")?;
    let messages: Vec<MessageId> = read_ids(&request.message_ids, "message_ids")?;
    let entities: Vec<EntityId> = read_ids(&request.entity_ids, "entity_ids")?;
    let session = read_ids::<SessionId>(request.session_id.as_slice(), "session_id")?.pop();
    let range = MessageRange { session, after: request.after, before: request.before };
    let request = ForgetRequest { query: request.query, facts, messages, entities, range, dry_run: request.dry_run };
    let (things, path) = (request.ids(), request.first_input());
    let scope = OperationScope::new(identity, usecases.clone(), ResponseBudget::default());
    let forget = |owner| {
        let (usecases, request) = (&usecases, &request);
        async move { usecases.forget(&owner, request.clone()).await.map_err(|e| ApiError::from(e).renamed(&NAMES)) }
    };
    let (found, memory) = scope.change(&things, forget).await.map_err(|e| e.at(path).renamed(&NAMES))?;
    if found.token.is_some() {
        let counts = found.counts();
        auditor.note_request(scope.now, scope.identity(), AuditAction::MemoryForgotten, Some(counts)).await;
    }
    let sides: Vec<EntityId> = found.facts.iter().flat_map(|f| [f.subject, f.object]).collect();
    let entities = memory.read.with_forgotten().entities(&sides).await?;
    let named = found.facts.iter().filter_map(|fact| {
        let (subject, object) = (entities.get(&fact.subject)?, entities.get(&fact.object)?);
        Some(NamedFact { fact, subject, object, shared: memory.is_shared() })
    });
    let named: Vec<NamedFact<'_>> = named.collect();
    let facts = scope.batches.clone().drive(scope.budget.clone(), FactView::of(&scope, &named)).await??;
    let messages = found.messages.into_iter().map(|m| MessageView::of(m, memory.is_shared())).collect();
    Ok(Json(ForgetResponse { facts, messages, token: found.token }))
}

fn read_ids<T: std::str::FromStr>(ids: &[String], path: &str) -> Result<Vec<T>, ApiError> {
    let invalid = |_| ApiError::invalid("INVALID_ID", "An id is a UUID, as this server returned it.", path);
    ids.iter().map(|id| id.parse().map_err(invalid)).collect()
}
