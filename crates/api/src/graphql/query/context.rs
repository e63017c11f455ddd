//! What the memory knows about a question, and what a name means.

use async_graphql::{Context, ID, InputObject, Object};

use crate::{
    error::ApiError,
    graphql::{
        model::{ContextNode, ContextScope, EntityType, Resolution, RetrievalMethod},
        page::{MAX_PAGE, SEARCH, STATEMENT, batched},
        scope::{Needs, read_optional_id, scope},
    },
};
use recall_domain::{
    SessionId, Timestamp,
    context::{ContextQuery, Scope},
};
use recall_usecases::ResourceId;

/// A question to the memory.
#[derive(InputObject)]
pub(crate) struct ContextInput {
    /// The question as asked.
    query: String,
    /// The session to look in, when `scope` is `SESSION`.
    session_id: Option<ID>,
    /// Where to look.
    #[graphql(default_with = "Some(ContextScope::User)")]
    scope: Option<ContextScope>,
    /// How many messages at most, 1 to 100.
    #[graphql(default_with = "Some(10)")]
    first: Option<i32>,
    /// Which ways of finding to use; all when nothing is said.
    methods: Option<Vec<RetrievalMethod>>,
    /// Only what had been said, and was known to hold, at this moment.
    as_of: Option<Timestamp>,
    /// Whether to look in shared memory too, as those who have signed in may; not where `scope` is `SESSION`.
    #[graphql(default_with = "Some(true)")]
    shared: Option<bool>,
}

impl ContextInput {
    fn read(self) -> Result<ContextQuery, ApiError> {
        let first = u32::try_from(self.first.unwrap_or(10)).ok().filter(|n| (1..=MAX_PAGE).contains(n));
        let session: Option<SessionId> = read_optional_id(self.session_id.as_ref(), "input.sessionId")?;
        let scope = match (self.scope.unwrap_or(ContextScope::User), session) {
            (ContextScope::User, _) => Scope::User,
            (ContextScope::Session, Some(session)) => Scope::Session(session),
            (ContextScope::Session, None) => {
                let message = "The scope `SESSION` needs a session. Name it in `sessionId`.";
                return Err(ApiError::invalid("SESSION_REQUIRED", message, "input.sessionId"));
            }
        };
        Ok(ContextQuery {
            text: self.query.into(),
            scope,
            first: first.ok_or_else(|| {
                ApiError::invalid("INVALID_PAGE_SIZE", format!("The page size is out of range. Ask for 1 to {MAX_PAGE}."), "input.first")
            })?,
            methods: self.methods.unwrap_or_default().into_iter().map(Into::into).collect(),
            as_of: self.as_of,
            exclude: None,
            shared: self.shared.unwrap_or(true),
        })
    }
}

/// Facts and things that a context has at most.
const MOST_KNOWN: i32 = 40;

/// Cost of a search and of what it finds.
fn context_cost(input: &ContextInput, child: usize) -> usize {
    SEARCH.saturating_add(batched(Some(input.first.unwrap_or(0).max(MOST_KNOWN)), child))
}

/// A name to be resolved.
#[derive(InputObject)]
pub(crate) struct ResolveEntityInput {
    /// The name as it stands in a text, such as "my sister" or "Mary".
    mention: String,
    /// What sort of thing it should be.
    r#type: Option<EntityType>,
    /// Prefer what this session talks about; one of shared memory says what the name means there.
    session_id: Option<ID>,
}

#[derive(Default)]
pub(super) struct ContextQueries;

#[Object(guard = "Needs::Read")]
impl ContextQueries {
    /// What the memory knows about a question: messages, facts and things, best first.
    #[graphql(complexity = "context_cost(&input, child_complexity)")]
    async fn context(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The question and where to look.")] input: ContextInput,
    ) -> async_graphql::Result<ContextNode> {
        let s = scope(ctx)?;
        let query = input.read()?;
        let things = match query.scope {
            Scope::Session(id) => vec![ResourceId::Session(id)],
            Scope::User => Vec::new(),
        };
        let ask = |caller| {
            let query = query.clone();
            async move { s.usecases.context(&caller, query).await.map_err(ApiError::from) }
        };
        let (found, _) = s.look(&things, ask).await.map_err(|e| e.at("sessionId").within("input"))?;
        Ok(ContextNode::of(s, found))
    }

    /// The thing that a name means to the viewer.
    #[graphql(complexity = "3 * STATEMENT + child_complexity")]
    async fn resolve_entity(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The name and what is known about it.")] input: ResolveEntityInput,
    ) -> async_graphql::Result<Resolution> {
        let s = scope(ctx)?;
        let session = read_optional_id::<SessionId>(input.session_id.as_ref(), "input.sessionId")?;
        let (mention, wanted) = (&input.mention, input.r#type.map(Into::into));
        let things: Vec<ResourceId> = session.into_iter().map(ResourceId::Session).collect();
        let resolve = |caller| async move { s.usecases.resolve(&caller, mention, wanted, session).await.map_err(ApiError::from) };
        let (resolved, memory) = s.look(&things, resolve).await.map_err(|e| e.at("sessionId").within("input"))?;
        Ok(Resolution::of(memory, resolved))
    }
}
