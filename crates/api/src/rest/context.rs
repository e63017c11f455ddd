//! `GET /context/{session_id}?q=…`: what the memory knows about a question.

use axum::{
    Json,
    extract::{Path, Query, State},
};
use serde::{Deserialize, Serialize};

use super::{
    renamed,
    view::{EntityView, FactView, MessageView},
};
use crate::{
    auth::Reader,
    error::ApiError,
    graphql::{OperationScope, ResponseBudget},
};
use recall_domain::{
    SessionId,
    context::{ContextQuery, Method, Scope as Where, Timings},
};
use recall_usecases::{ResourceId, UseCases};

#[derive(Deserialize)]
pub(super) struct Question {
    q: Option<String>,
    first: Option<u32>,
    scope: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Found {
    session_id: SessionId,
    messages: Vec<RankedMessage>,
    facts: Vec<RankedFact>,
    entities: Vec<EntityView>,
    methods_used: Vec<Method>,
    timings: Timings,
}

#[derive(Serialize)]
struct RankedMessage {
    message: MessageView,
    score: f64,
    methods: Vec<Method>,
}

#[derive(Serialize)]
struct RankedFact {
    fact: FactView,
    score: f64,
}

/// The context of a question asked in a session: from all of the caller's sessions, or with `scope=session` from this one.
pub(super) async fn get(
    State(usecases): State<UseCases>,
    Reader(identity): Reader,
    Path(session): Path<String>,
    Query(question): Query<Question>,
) -> Result<Json<Found>, ApiError> {
    let session: SessionId = session.parse().map_err(|_| ApiError::not_found("session"))?;
    let asked = OperationScope::new(identity, usecases, ResponseBudget::default());
    let usecases = &asked.usecases;
    let found = |whose| async move { usecases.session(&whose, session).await.map_err(ApiError::from) };
    let (session, memory) = asked.read_own_or_shared(&[ResourceId::Session(session)], found).await?;
    let scope = match question.scope.as_deref() {
        None | Some("user") => Where::User,
        Some("session") => Where::Session(session.id),
        Some(_) => return Err(ApiError::invalid("INVALID_SCOPE", "There is no such scope. Use `user` or `session`.", "scope")),
    };
    let first = question.first.unwrap_or(10);
    if !(1..=100).contains(&first) {
        return Err(ApiError::invalid("INVALID_PAGE_SIZE", "The page size is out of range. Ask for 1 to 100.", "first"));
    }
    let text = question.q.ok_or_else(|| ApiError::invalid("QUERY_REQUIRED", "The question is missing. Ask it with `?q=…`.", "q"))?;
    let query = ContextQuery { text: text.into(), scope, first, methods: Vec::new(), as_of: None, exclude: None, shared: true };
    // All of one's own is asked also from a session of shared memory.
    let whose = if matches!(query.scope, Where::User) { asked.caller } else { memory.caller };
    let context = usecases.context(&whose, query).await.map_err(renamed)?;
    for found in &context.messages {
        asked.budget.count_bytes(found.message.text.as_str().len());
    }
    asked.budget.check()?;
    Ok(Json(Found {
        session_id: session.id,
        messages: context
            .messages
            .into_iter()
            .map(|m| RankedMessage { message: MessageView::of(m.message, m.shared), score: m.score, methods: m.methods })
            .collect(),
        facts: asked
            .batches
            .clone()
            .drive(asked.budget.clone(), FactView::of(&asked, &context.facts))
            .await??
            .into_iter()
            .zip(&context.facts)
            .map(|(fact, ranked)| RankedFact { fact, score: ranked.score })
            .collect(),
        entities: context.entities.iter().map(|e| EntityView::of(e, context.shared_entities.contains(&e.id))).collect(),
        methods_used: context.methods_used,
        timings: context.timings,
    }))
}
