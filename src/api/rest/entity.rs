//! `POST /entity/resolve`: which thing a name means.

use axum::{
    Json,
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    http::HeaderMap,
};
use serde::{Deserialize, Serialize};

use super::view::EntityView;
use crate::{
    api::{
        auth::Reader,
        body,
        error::ApiError,
        graphql::{AnswerBudget, MOST_CANDIDATES, Scope},
    },
    conversation::{Conversation, Thing},
    domain::{EntityId, EntityType, SessionId},
    facts::Likely,
};

#[derive(Deserialize)]
pub(super) struct Request {
    mention: String,
    r#type: Option<String>,
    session_id: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Resolved {
    canonical_form: Option<String>,
    entity_id: Option<EntityId>,
    confidence: f64,
    candidates: Vec<Candidate>,
}

#[derive(Serialize)]
struct Candidate {
    #[serde(flatten)]
    entity: EntityView,
    confidence: f64,
    reason: String,
}

/// Resolves a mention.
pub(super) async fn resolve(
    State(conversation): State<Conversation>,
    Reader(identity): Reader,
    headers: HeaderMap,
    bytes: Result<Bytes, BytesRejection>,
) -> Result<Json<Resolved>, ApiError> {
    let request: Request = body::json(&headers, bytes)?;
    let unknown_type =
        || ApiError::invalid("UNKNOWN_TYPE", "`type` is one of person, organization, place, project, tool, concept, event, thing.", "type");
    let wanted = request.r#type.map(|t| EntityType::parse(&t.to_lowercase()).ok_or_else(unknown_type)).transpose()?;
    let bad_id = |_| ApiError::invalid("INVALID_ID", "An id is a UUID.", "session_id");
    let session: Option<SessionId> = request.session_id.map(|id| id.parse().map_err(bad_id)).transpose()?;
    let (scope, mention) = (Scope::new(identity, conversation, AnswerBudget::default()), &request.mention);
    let things: Vec<Thing> = session.into_iter().map(Thing::Session).collect();
    let resolve = |whose| {
        let conversation = &scope.conversation;
        async move { conversation.resolve(&whose, mention, wanted, session).await.map_err(ApiError::from) }
    };
    let (found, memory) = scope.look(&things, resolve).await?;
    let candidate =
        |c: &Likely| Candidate { entity: EntityView::of(&c.entity, memory.is_shared()), confidence: c.score, reason: c.reason.clone() };
    Ok(Json(Resolved {
        canonical_form: found.canonical_form,
        entity_id: found.entity.as_ref().map(|e| e.id),
        confidence: found.confidence,
        candidates: found.candidates.iter().take(MOST_CANDIDATES).map(candidate).collect(),
    }))
}
