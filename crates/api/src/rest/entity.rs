//! `POST /entity/resolve`: finds the entity that a name means.

use axum::{
    Json,
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    http::HeaderMap,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    fields::read_body,
    input::{read_session, read_type, with_rest_names},
    view::EntityView,
};
use crate::{
    auth::Reader,
    error::ApiError,
    graphql::{MAX_CANDIDATES, OperationScope, ResponseBudget},
};
use recall_domain::EntityId;
use recall_facts::CandidateEntity;
use recall_usecases::{ResourceId, UseCases};

/// A name to resolve to an entity.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ResolveRequest {
    /// The name as written in a text, such as "my sister" or "Mary".
    mention: String,
    /// The expected type: person, organization, place, project, tool, concept, event or thing. Default: any.
    r#type: Option<String>,
    /// Prefer entities that this session mentions.
    #[schema(format = Uuid)]
    session_id: Option<String>,
}

/// The entity that a name means, with the candidates.
#[derive(Serialize, ToSchema)]
#[schema(as = Resolution)]
pub(super) struct ResolveResponse {
    /// The name of the entity; null if no candidate is certain enough.
    canonical_form: Option<String>,
    entity_id: Option<EntityId>,
    /// Confidence in the choice, 0 to 1.
    confidence: f64,
    /// The possible entities, best first.
    candidates: Vec<CandidateView>,
}

/// An entity that a name may mean.
#[derive(Serialize, ToSchema)]
#[schema(as = Candidate)]
struct CandidateView {
    #[serde(flatten)]
    entity: EntityView,
    /// How well it matches, 0 to 1.
    confidence: f64,
    /// The reason, for people.
    reason: String,
}

/// Finds the entity that a name means.
#[utoipa::path(
    post, path = "/entity/resolve", operation_id = "resolveEntity", tag = "memory", security((), ("token" = ["recall.read"])),
    request_body = ResolveRequest,
    responses((status = 200, description = "The entity and the candidates.", body = ResolveResponse))
)]
pub(super) async fn resolve(
    State(usecases): State<UseCases>,
    Reader(identity): Reader,
    headers: HeaderMap,
    bytes: Result<Bytes, BytesRejection>,
) -> Result<Json<ResolveResponse>, ApiError> {
    let request: ResolveRequest = read_body(&headers, bytes)?;
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
