//! `GET /context/{session_id}?q=…`: returns the context of a question.

use axum::{
    Json,
    extract::{Path, State},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{
    document_view::ChunkView,
    fields::Parameters,
    input::{read_id, with_rest_names},
    view::{EntityView, FactView, MessageView, NamedFact},
};
use crate::{
    auth::Reader,
    error::ApiError,
    graphql::{OperationScope, ResponseBudget, check_collection},
};
use recall_domain::{
    SessionId,
    context::{ContextQuery, Method, Route, RouteChoice, Scope as Where, SearchSource, SearchSources, Timings},
};
use recall_usecases::{ResourceId, UseCases};

/// A question, and where to search.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ContextParameters {
    /// The question. Required.
    #[param(required)]
    q: Option<String>,
    /// The largest number of messages, 1 to 100. Default: 10.
    first: Option<u32>,
    /// Whether to search all sessions of the caller (`user`, the default) or only this one (`session`).
    scope: Option<String>,
    /// The route to take: `graph`, `vector` or `combined`. Default: all methods are used, and the suitable route is only reported.
    #[param(inline)]
    route: Option<Route>,
    /// What to look for: `messages` or `documents`. Default: both.
    #[param(inline)]
    source: Option<SearchSource>,
    /// Only documents of this collection. Default: of all.
    collection: Option<String>,
    /// Only this document. Default: all current ones.
    #[param(value_type = Option<uuid::Uuid>)]
    document_id: Option<String>,
}

/// What was found for a question, best first.
#[derive(Serialize, ToSchema)]
#[schema(as = Context)]
pub(super) struct ContextResponse {
    session_id: SessionId,
    messages: Vec<RankedMessageView>,
    /// Chunks of documents. Their scores are comparable with those of messages.
    chunks: Vec<RankedChunkView>,
    facts: Vec<RankedFactView>,
    /// Entities that the question names.
    entities: Vec<EntityView>,
    /// Retrieval methods that contributed results.
    methods_used: Vec<Method>,
    /// The route that suits the question. It limits the search only if the request names it.
    route: RouteChoice,
    timings: Timings,
}

/// A message with its score.
#[derive(Serialize, ToSchema)]
#[schema(as = RankedMessage)]
struct RankedMessageView {
    message: MessageView,
    /// Relevance, 0 to 1; comparable only within this result.
    score: f64,
    /// Retrieval methods that found it.
    methods: Vec<Method>,
}

/// A chunk of a document with its score.
#[derive(Serialize, ToSchema)]
#[schema(as = RankedChunk)]
struct RankedChunkView {
    chunk: ChunkView,
    /// Relevance, 0 to 1; comparable only within this result.
    score: f64,
    /// How well it fits the question, 0 to 1, mostly by the judgement of a network; comparable between results. Absent if no network has judged it.
    #[serde(skip_serializing_if = "Option::is_none")]
    relevance: Option<f64>,
    /// Retrieval methods that found it.
    methods: Vec<Method>,
}

/// A fact with its score.
#[derive(Serialize, ToSchema)]
#[schema(as = RankedFact)]
struct RankedFactView {
    fact: FactView,
    /// Relevance, 0 to 1; comparable only within this result.
    score: f64,
}

/// Returns the context of a question.
///
/// It comes from all sessions of the caller, or with `scope=session` from this one.
#[utoipa::path(
    get, path = "/context/{session_id}", operation_id = "findContext", tag = "memory", security((), ("token" = ["recall.read"])),
    params(("session_id" = String, Path, description = "A session of the caller or of shared memory.", format = Uuid), ContextParameters),
    responses((status = 200, description = "What was found.", body = ContextResponse))
)]
pub(super) async fn get(
    State(usecases): State<UseCases>,
    Reader(identity): Reader,
    Path(session): Path<String>,
    Parameters(parameters): Parameters<ContextParameters>,
) -> Result<Json<ContextResponse>, ApiError> {
    let session: SessionId = session.parse().map_err(|_| ApiError::not_found("session"))?;
    let request_scope = OperationScope::new(identity, usecases, ResponseBudget::default());
    let usecases = &request_scope.usecases;
    let found = |owner| async move { usecases.session(&owner, session).await.map_err(ApiError::from) };
    let (session, memory) = request_scope.read_own_or_shared(&[ResourceId::Session(session)], found).await?;
    let scope = match parameters.scope.as_deref() {
        None | Some("user") => Where::User,
        Some("session") => Where::Session(session.id),
        Some(_) => return Err(ApiError::invalid("INVALID_SCOPE", "There is no such scope. Use `user` or `session`.", "scope")),
    };
    let first = parameters.first.unwrap_or(10);
    if !(1..=100).contains(&first) {
        return Err(ApiError::invalid("INVALID_PAGE_SIZE", "The page size is out of range. Ask for 1 to 100.", "first"));
    }
    let text = parameters.q.ok_or_else(|| ApiError::invalid("QUERY_REQUIRED", "The question is missing. Ask it with `?q=…`.", "q"))?;
    parameters.collection.iter().try_for_each(|name| check_collection(name, "collection"))?;
    let query = ContextQuery {
        text: text.into(),
        scope,
        first,
        sources: SearchSources {
            of: parameters.source.into_iter().collect(),
            collections: parameters.collection.into_iter().collect(),
            documents: read_id(parameters.document_id.as_deref(), "document_id")?.into_iter().collect(),
        },
        methods: Vec::new(),
        route: parameters.route,
        as_of: None,
        exclude: None,
        shared: true,
        waits: false,
    };
    // In a session of shared memory, the scope `user` still means the caller's own memory.
    let owner = if matches!(query.scope, Where::User) { request_scope.caller } else { memory.caller() };
    let context = usecases.context(&owner, query).await.map_err(with_rest_names)?;
    for found in &context.messages {
        request_scope.budget.count_bytes(found.message.text.as_str().len());
    }
    for found in &context.chunks {
        request_scope.budget.count_bytes(found.chunk.text.as_str().len());
    }
    request_scope.budget.check()?;
    let facts: Vec<NamedFact<'_>> = context.facts.iter().map(Into::into).collect();
    Ok(Json(ContextResponse {
        session_id: session.id,
        messages: context
            .messages
            .into_iter()
            .map(|m| RankedMessageView { message: MessageView::of(m.message, m.shared), score: m.score, methods: m.methods })
            .collect(),
        chunks: context
            .chunks
            .into_iter()
            .map(|c| RankedChunkView {
                chunk: ChunkView::of(c.chunk, Some(&c.document), c.shared),
                score: c.score,
                relevance: c.relevance,
                methods: c.methods,
            })
            .collect(),
        facts: request_scope
            .batches
            .clone()
            .drive(request_scope.budget.clone(), FactView::of(&request_scope, &facts))
            .await??
            .into_iter()
            .zip(&context.facts)
            .map(|(fact, ranked)| RankedFactView { fact, score: ranked.score })
            .collect(),
        entities: context.entities.iter().map(|e| EntityView::of(e, context.shared_entities.contains(&e.id))).collect(),
        methods_used: context.methods_used,
        route: context.route,
        timings: context.timings,
    }))
}
