//! `POST /forget`: forgets facts and messages, or shows what would be forgotten.

use axum::{
    Extension, Json,
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    http::HeaderMap,
};
use serde::{Deserialize, Serialize};

use super::view::{FactView, MessageView};
use crate::{
    audit::Auditor,
    auth::Writer,
    body,
    error::ApiError,
    graphql::{Memory, OperationScope, ResponseBudget},
};
use recall_domain::{AuditAction, EntityId, Fact, FactId, MessageId, context::RankedFact};
use recall_usecases::{ForgetRequest, ResourceId, UseCases};

#[derive(Deserialize)]
pub(super) struct ForgetBody {
    query: Option<String>,
    #[serde(default)]
    fact_ids: Vec<String>,
    #[serde(default)]
    message_ids: Vec<String>,
    #[serde(default = "default_dry_run")]
    dry_run: bool,
}

fn default_dry_run() -> bool {
    true
}

#[derive(Serialize)]
pub(super) struct ForgetResponse {
    facts: Vec<FactView>,
    messages: Vec<MessageView>,
    /// Undoes it; null in a dry run.
    token: Option<String>,
}

/// REST names of the inputs of the use case.
const NAMES: [(&str, &str); 2] = [("factIds", "fact_ids"), ("messageIds", "message_ids")];

/// Forgets facts and messages.
pub(super) async fn post(
    State(usecases): State<UseCases>,
    Extension(auditor): Extension<Auditor>,
    Writer(identity): Writer,
    headers: HeaderMap,
    bytes: Result<Bytes, BytesRejection>,
) -> Result<Json<ForgetResponse>, ApiError> {
    let request: ForgetBody = body::json(&headers, bytes)?;
    let facts: Vec<FactId> = read_ids(&request.fact_ids, "fact_ids")?;
    let messages: Vec<MessageId> = read_ids(&request.message_ids, "message_ids")?;
    let things = facts.iter().map(|f| ResourceId::Fact(*f)).chain(messages.iter().map(|m| ResourceId::Message(*m)));
    let things: Vec<ResourceId> = things.collect();
    let path = if facts.is_empty() { "message_ids" } else { "fact_ids" };
    let request = ForgetRequest { query: request.query, facts, messages, dry_run: request.dry_run };
    let scope = OperationScope::new(identity, usecases.clone(), ResponseBudget::default());
    let forget = |owner| {
        let usecases = &usecases;
        async move { usecases.forget(&owner, request).await.map_err(|e| ApiError::from(e).renamed(&NAMES)) }
    };
    let (found, memory) = scope.change(&things, forget).await.map_err(|e| e.at(path))?;
    if found.token.is_some() {
        let counts = format!("{} facts, {} messages", found.facts.len(), found.messages.len());
        auditor.note_request(scope.now, scope.identity(), AuditAction::MemoryForgotten, Some(counts)).await;
    }
    let ranked = with_sides(memory, found.facts).await?;
    let facts = scope.batches.clone().drive(scope.budget.clone(), FactView::of(&scope, &ranked)).await??;
    let messages = found.messages.into_iter().map(|m| MessageView::of(m, memory.is_shared())).collect();
    Ok(Json(ForgetResponse { facts, messages, token: found.token }))
}

/// Loads the entities on either side of facts. They exist as long as the forgetting can be undone.
async fn with_sides(memory: &Memory, facts: Vec<Fact>) -> Result<Vec<RankedFact>, ApiError> {
    let sides: Vec<EntityId> = facts.iter().flat_map(|f| [f.subject, f.object]).collect();
    let entities = memory.read.entities(&sides).await?;
    let ranked = facts.into_iter().filter_map(|fact| {
        let (subject, object) = (entities.get(&fact.subject)?.clone(), entities.get(&fact.object)?.clone());
        Some(RankedFact { fact, subject, object, evidence: Vec::new(), score: 1.0, shared: memory.is_shared() })
    });
    Ok(ranked.collect())
}

fn read_ids<T: std::str::FromStr>(ids: &[String], path: &str) -> Result<Vec<T>, ApiError> {
    let invalid = |_| ApiError::invalid("INVALID_ID", "An id is a UUID, as this server returned it.", path);
    ids.iter().map(|id| id.parse().map_err(invalid)).collect()
}
