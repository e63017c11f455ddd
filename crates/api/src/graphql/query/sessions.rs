//! The viewer with their access tokens, sessions and messages.

use async_graphql::{Context, ID, Object};

use crate::{
    auth::personal,
    error::ApiError,
    graphql::{
        model::{AccessTokenNode, MessageNode, SessionNode, Viewer},
        page::{self, Connection, STATEMENT, Total, bounded, cost},
        scope::{Needs, read_id, scope},
    },
};
use recall_domain::{MessageId, SessionId};

#[derive(Default)]
pub(super) struct SessionQueries;

#[Object(guard = "Needs::Read")]
impl SessionQueries {
    /// The one who asks.
    async fn viewer(&self) -> Viewer {
        Viewer
    }

    /// The viewer's personal access tokens, the newest first. Needs a login: no access token shows others.
    #[graphql(complexity = "STATEMENT + bounded(50, child_complexity)")]
    async fn access_tokens(&self, ctx: &Context<'_>) -> async_graphql::Result<Vec<AccessTokenNode>> {
        let s = scope(ctx)?;
        personal::require_token_management(s.identity())?;
        let tokens = s.store().access_tokens(&s.caller).await.map_err(ApiError::from)?;
        Ok(tokens.into_iter().map(AccessTokenNode::from).collect())
    }

    /// One of the viewer's sessions, or of shared memory; null when there is no such.
    async fn session(&self, ctx: &Context<'_>, #[graphql(desc = "Which one.")] id: ID) -> async_graphql::Result<Option<SessionNode>> {
        let id: SessionId = read_id(&id, "id")?;
        Ok(scope(ctx)?.find(id).await?.map(|(session, memory)| SessionNode(session, memory)))
    }

    /// The viewer's sessions, latest change first.
    #[graphql(complexity = "cost(first, child_complexity)")]
    async fn sessions(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "How many, 1 to 100; 20 when nothing is said.")] first: Option<i32>,
        #[graphql(desc = "Go on after this cursor.")] after: Option<String>,
        #[graphql(desc = "Those of shared memory instead.", default)] shared: bool,
    ) -> async_graphql::Result<Connection<SessionNode>> {
        let s = scope(ctx)?;
        let page = page::page(first, after)?;
        let memory = s.memory(shared)?;
        let slice = s.store().list_sessions(&memory.caller, &page).await.map_err(ApiError::from)?;
        Ok(page::forwards(slice, &page, Total::Sessions(memory.caller), |session| SessionNode(session, memory.clone())))
    }

    /// One of the viewer's messages, or of shared memory; null when there is no such.
    async fn message(&self, ctx: &Context<'_>, #[graphql(desc = "Which one.")] id: ID) -> async_graphql::Result<Option<MessageNode>> {
        let id: MessageId = read_id(&id, "id")?;
        Ok(scope(ctx)?.find(id).await?.map(|(message, memory)| MessageNode(message, memory)))
    }
}
