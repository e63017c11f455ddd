//! Queries of the viewer, access tokens, sessions and messages.

use async_graphql::{Context, ID, InputObject, Object};

use crate::{
    auth::personal::AccessTokens,
    error::ApiError,
    graphql::{
        model::{AccessTokenNode, MessageNode, SessionNode, Viewer},
        page::{self, Connection, STATEMENT, Total, bounded_list_cost, connection_cost},
        scope::{Needs, read_id, scope, service},
    },
};
use recall_domain::{MessageId, SessionId};
use recall_ports::SessionFilter;

/// Conditions on sessions. All given conditions must hold.
#[derive(InputObject, Default)]
#[graphql(name = "SessionFilter")]
pub(crate) struct SessionFilterInput {
    /// The title contains this text, ignoring case and accents. `context` searches what was said.
    text: Option<String>,
    /// The session is pinned, or is not.
    pinned: Option<bool>,
    /// The session is archived, or is not.
    archived: Option<bool>,
    /// Remembering is paused in the session, or is not.
    paused: Option<bool>,
}

impl From<SessionFilterInput> for SessionFilter {
    fn from(SessionFilterInput { text, pinned, archived, paused }: SessionFilterInput) -> Self {
        Self { text, pinned, archived, paused }
    }
}

#[derive(Default)]
pub(super) struct SessionQueries;

#[Object(guard = "Needs::Read")]
impl SessionQueries {
    /// The user who sends the request.
    async fn viewer(&self) -> Viewer {
        Viewer
    }

    /// The viewer's personal access tokens, newest first. Requires a login; a personal access token cannot list tokens.
    #[graphql(complexity = "STATEMENT + bounded_list_cost(50, child_complexity)")]
    async fn access_tokens(&self, ctx: &Context<'_>) -> async_graphql::Result<Vec<AccessTokenNode>> {
        let s = scope(ctx)?;
        let tokens = service::<AccessTokens>(ctx)?.managed_by(s.identity())?.list().await?;
        Ok(tokens.into_iter().map(AccessTokenNode::from).collect())
    }

    /// A session of the viewer or of shared memory; null if it does not exist.
    async fn session(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The id of the session.")] id: ID,
    ) -> async_graphql::Result<Option<SessionNode>> {
        let id: SessionId = read_id(&id, "id")?;
        Ok(scope(ctx)?.find(id).await?.map(|(session, memory)| SessionNode(session, memory)))
    }

    /// The viewer's sessions, latest message first.
    #[graphql(complexity = "connection_cost(first, child_complexity)")]
    async fn sessions(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Conditions that the sessions must meet. Default: all sessions.")] filter: Option<SessionFilterInput>,
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
        #[graphql(desc = "Return items after this cursor.")] after: Option<String>,
        #[graphql(desc = "Read shared memory instead of the viewer's own memory.", default)] shared: bool,
    ) -> async_graphql::Result<Connection<SessionNode>> {
        let s = scope(ctx)?;
        let (page, filter) = (page::read_page(first, after)?, SessionFilter::from(filter.unwrap_or_default()));
        let memory = s.memory(shared)?;
        let slice = memory.read.list_sessions(&filter, &page).await.map_err(ApiError::from)?;
        let total = Total::Sessions(memory.read.clone(), filter);
        Ok(page::forward_connection(slice, &page, total, |session| SessionNode(session, memory.clone())))
    }

    /// A message of the viewer or of shared memory; null if it does not exist.
    async fn message(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The id of the message.")] id: ID,
    ) -> async_graphql::Result<Option<MessageNode>> {
        let id: MessageId = read_id(&id, "id")?;
        Ok(scope(ctx)?.find(id).await?.map(|(message, memory)| MessageNode(message, memory)))
    }
}
