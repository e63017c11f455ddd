//! `POST /entity/resolve`: finds the entity that a name means.

use axum::{
    Json,
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    http::HeaderMap,
};
use serde::{Deserialize, Serialize};

use super::{
    input::{read_session, read_type, with_rest_names},
    view::EntityView,
};
use crate::{
    auth::Reader,
    body,
    error::ApiError,
    graphql::{MAX_CANDIDATES, OperationScope, ResponseBudget},
};
use recall_domain::EntityId;
use recall_facts::CandidateEntity;
use recall_usecases::{ResourceId, UseCases};

#[derive(Deserialize)]
pub(super) struct ResolveRequest {
    mention: String,
    r#type: Option<String>,
    session_id: Option<String>,
}

#[derive(Serialize)]
pub(super) struct ResolveResponse {
    canonical_form: Option<String>,
    entity_id: Option<EntityId>,
    confidence: f64,
    candidates: Vec<CandidateView>,
}

#[derive(Serialize)]
struct CandidateView {
    #[serde(flatten)]
    entity: EntityView,
    confidence: f64,
    reason: String,
}

/// Resolves a mention.
pub(super) async fn resolve(
    State(usecases): State<UseCases>,
    Reader(identity): Reader,
    headers: HeaderMap,
    bytes: Result<Bytes, BytesRejection>,
) -> Result<Json<ResolveResponse>, ApiError> {
    let request: ResolveRequest = body::json(&headers, bytes)?;
    let wanted = read_type(request.r#type.as_deref())?;
    let session = request.session_id.as_deref().map(read_session).transpose()?;
    let (scope, mention) = (OperationScope::new(identity, usecases, ResponseBudget::default()), &request.mention);
    let things: Vec<ResourceId> = session.into_iter().map(ResourceId::Session).collect();
    let resolve = |owner| {
        let usecases = &scope.usecases;
        async move { usecases.resolve(&owner, mention, wanted, session).await.map_err(with_rest_names) }
    };
    let (found, memory) = scope.read_own_or_shared(&things, resolve).await.map_err(|e| e.at("session_id"))?;
    let candidate = |c: &CandidateEntity| CandidateView {
        entity: EntityView::of(&c.entity, memory.is_shared()),
        confidence: c.score,
        reason: c.reason.clone(),
    };
    Ok(Json(ResolveResponse {
        canonical_form: found.canonical_form,
        entity_id: found.entity.as_ref().map(|e| e.id),
        confidence: found.confidence,
        candidates: found.candidates.iter().take(MAX_CANDIDATES).map(candidate).collect(),
    }))
}
