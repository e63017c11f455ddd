//! Who asks.

use async_graphql::{Context, ID, Object};

use super::{EntityNode, enums::ViewerRole};
use crate::api::{error::ApiError, graphql::scope::scope};

/// The one who asks.
pub(crate) struct Viewer;

/// The one who asks.
#[Object]
impl Viewer {
    /// Identity on this server.
    async fn id(&self, ctx: &Context<'_>) -> async_graphql::Result<ID> {
        Ok(ID::from(scope(ctx)?.caller.user()))
    }

    /// What the viewer may do.
    async fn role(&self, ctx: &Context<'_>) -> async_graphql::Result<ViewerRole> {
        Ok(scope(ctx)?.caller.role().into())
    }

    /// What the viewer is called, as far as their messages tell.
    async fn name(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<String>> {
        Ok(own_node(ctx).await?.map(|e| e.0.name))
    }

    /// The viewer's own node in the graph; null until they have said something about themselves.
    async fn entity(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<EntityNode>> {
        own_node(ctx).await
    }
}

async fn own_node(ctx: &Context<'_>) -> async_graphql::Result<Option<EntityNode>> {
    let s = scope(ctx)?;
    Ok(s.conversation.viewer_entity(&s.caller).await.map_err(ApiError::from)?.map(EntityNode))
}
