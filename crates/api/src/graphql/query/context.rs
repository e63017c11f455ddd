//! Queries for the context of a question and for the entity of a name.

use async_graphql::{Context, ID, InputObject, Object};

use crate::{
    error::ApiError,
    graphql::{
        model::{ContextNode, ContextScope, EntityResolution, EntityType, RetrievalMethod, RetrievalRoute, SearchSource},
        page::{MAX_PAGE, SEARCH, STATEMENT, list_cost},
        scope::{Needs, read_optional_id, scope},
        sources::read_sources,
        time_input::{TimeInput, read_time},
    },
};
use recall_domain::{
    SessionId,
    context::{ContextQuery, Scope},
};
use recall_usecases::{Refinement, ResourceId};

/// A question, and where to search.
#[derive(InputObject)]
pub(crate) struct ContextInput {
    /// The question.
    query: String,
    /// The session to search. Required if `scope` is `SESSION`.
    session_id: Option<ID>,
    /// Whether to search all of the viewer's sessions or one.
    #[graphql(default_with = "Some(ContextScope::User)")]
    scope: Option<ContextScope>,
    /// What to look for. Default: messages and documents.
    sources: Option<Vec<SearchSource>>,
    /// Only documents of these collections, at most 100. Default: of all.
    collections: Option<Vec<String>>,
    /// Only these documents, at most 100, whatever their version. Default: all current ones.
    document_ids: Option<Vec<ID>>,
    /// The largest number of messages and chunks together, 1 to 100.
    #[graphql(default_with = "Some(10)")]
    first: Option<i32>,
    /// The retrieval methods to use. Default: all.
    methods: Option<Vec<RetrievalMethod>>,
    /// The route to take. Default: all methods are used, and the route that suits the question is only reported. Ignored if `methods` are given.
    route: Option<RetrievalRoute>,
    /// Use only messages sent, and facts that were known and held, at this time. Default: now.
    as_of: Option<TimeInput>,
    /// Whether to search shared memory too. Has no effect for visitors or if `scope` is `SESSION`.
    #[graphql(default_with = "Some(true)")]
    shared: Option<bool>,
    /// Whether to search again with names in place of descriptions ("my sister"), and with the other names of what the question names.
    #[graphql(default)]
    expand_query: bool,
    /// Whether to reorder messages and chunks: those that have the words of the question close together come first.
    #[graphql(default)]
    rerank: bool,
}

impl ContextInput {
    fn read(self) -> Result<ContextQuery, ApiError> {
        let first = u32::try_from(self.first.unwrap_or(10)).ok().filter(|n| (1..=MAX_PAGE).contains(n));
        let session: Option<SessionId> = read_optional_id(self.session_id.as_ref(), "input.sessionId")?;
        let scope = match (self.scope.unwrap_or(ContextScope::User), session) {
            (ContextScope::User, _) => Scope::User,
            (ContextScope::Session, Some(session)) => Scope::Session(session),
            (ContextScope::Session, None) => {
                let message = "The scope `SESSION` needs a session. Give its id in `sessionId`.";
                return Err(ApiError::invalid("SESSION_REQUIRED", message, "input.sessionId"));
            }
        };
        Ok(ContextQuery {
            sources: read_sources(self.sources, self.collections, self.document_ids)?,
            text: self.query.into(),
            scope,
            first: first.ok_or_else(|| {
                ApiError::invalid("INVALID_PAGE_SIZE", format!("The page size is out of range. Ask for 1 to {MAX_PAGE}."), "input.first")
            })?,
            methods: self.methods.unwrap_or_default().into_iter().map(Into::into).collect(),
            route: self.route.map(Into::into),
            as_of: read_time(self.as_of, "input.asOf")?,
            exclude: None,
            shared: self.shared.unwrap_or(true),
            waits: false,
        })
    }
}

/// The largest number of facts and of entities in a context.
const MAX_FACTS_AND_ENTITIES: i32 = 40;

/// The largest number of searches for an expanded question.
const MAX_SEARCHES: usize = 5;

/// Returns the cost of a search and its results.
fn context_cost(input: &ContextInput, child: usize) -> usize {
    let searches = if input.expand_query { MAX_SEARCHES } else { 1 };
    (searches * SEARCH).saturating_add(list_cost(Some(input.first.unwrap_or(0).max(MAX_FACTS_AND_ENTITIES)), child))
}

/// A name to resolve to an entity.
#[derive(InputObject)]
pub(crate) struct ResolveEntityInput {
    /// The name as written in a text, such as "my sister" or "Mary".
    mention: String,
    /// The expected type of the entity. Default: any.
    r#type: Option<EntityType>,
    /// Prefer entities that this session mentions. A session of shared memory resolves the name there.
    session_id: Option<ID>,
}

#[derive(Default)]
pub(super) struct ContextQueries;

#[Object(guard = "Needs::Read")]
impl ContextQueries {
    /// Finds the messages, documents, facts and entities that are relevant to a question, best first.
    #[graphql(complexity = "context_cost(&input, child_complexity)")]
    async fn context(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The question, and where to search.")] input: ContextInput,
    ) -> async_graphql::Result<ContextNode> {
        let s = scope(ctx)?;
        let refinement = Refinement { expand: input.expand_query, rerank: input.rerank };
        let query = input.read()?;
        let ids = match query.scope {
            Scope::Session(id) => vec![ResourceId::Session(id)],
            Scope::User => Vec::new(),
        };
        let ask = |caller| {
            let query = query.clone();
            async move { s.usecases.refined_context(&caller, query, refinement).await.map_err(ApiError::from) }
        };
        let ((found, expanded), _) = s.read_own_or_shared(&ids, ask).await.map_err(|e| e.at("sessionId").within("input"))?;
        Ok(ContextNode::of(s, found, expanded))
    }

    /// Finds the entity that a name refers to.
    #[graphql(complexity = "3 * STATEMENT + child_complexity")]
    async fn resolve_entity(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The name, and what is known about the entity.")] input: ResolveEntityInput,
    ) -> async_graphql::Result<EntityResolution> {
        let s = scope(ctx)?;
        let session = read_optional_id::<SessionId>(input.session_id.as_ref(), "input.sessionId")?;
        let (mention, wanted) = (&input.mention, input.r#type.map(Into::into));
        let ids: Vec<ResourceId> = session.into_iter().map(ResourceId::Session).collect();
        let resolve = |caller| async move { s.usecases.resolve(&caller, mention, wanted, session).await.map_err(ApiError::from) };
        let (resolved, memory) = s.read_own_or_shared(&ids, resolve).await.map_err(|e| e.at("sessionId").within("input"))?;
        Ok(EntityResolution::of(memory, resolved))
    }
}
