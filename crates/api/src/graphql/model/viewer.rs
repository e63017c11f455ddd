//! Who asks.

use async_graphql::{Context, ID, Object};

use super::{DeletionReceipt, EntityNode, UsageNode, enums::ViewerRole};
use crate::{
    error::ApiError,
    graphql::scope::{Needs, scope},
};
use recall_domain::Day;

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

    /// What model servers used for the viewer, today (in UTC) and on so many days before.
    async fn usage(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "How many days, today included, up to 366.", default = 30)] days: u32,
    ) -> async_graphql::Result<UsageNode> {
        let s = scope(ctx)?;
        let today = Day::of(s.usecases.now());
        let since = today.before(days.clamp(1, 366) - 1);
        let found = s.usecases.store().usage_since(&s.caller, since).await.map_err(ApiError::from)?;
        Ok(UsageNode { today, days: found })
    }

    /// The latest deletion of everything of the viewer's, until the day after is over; null when there was none.
    #[graphql(guard = "Needs::Read")]
    async fn deletion(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<DeletionReceipt>> {
        let s = scope(ctx)?;
        let erasure = s.store().erasure(&s.caller).await.map_err(ApiError::from)?;
        Ok(erasure.map(|erasure| DeletionReceipt::of(s.store().engine(), Some(erasure))))
    }

    /// The viewer's own node in the graph; null until they have said something about themselves.
    async fn entity(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<EntityNode>> {
        own_node(ctx).await
    }
}

async fn own_node(ctx: &Context<'_>) -> async_graphql::Result<Option<EntityNode>> {
    let s = scope(ctx)?;
    s.whole()?;
    Ok(s.usecases.viewer_entity(&s.caller).await.map_err(ApiError::from)?.map(|e| EntityNode(e, s.own.clone())))
}
