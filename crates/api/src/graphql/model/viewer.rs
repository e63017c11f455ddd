//! GraphQL type `Viewer`.

use std::{sync::Arc, time::Duration};

use async_graphql::{Context, ID, Object, SimpleObject};

use super::{
    deletion::DeletionReceipt,
    enums::{FrontEndKind, SensitiveKind, ViewerRole},
    nodes::EntityNode,
    usage::UsageNode,
};
use crate::{
    error::ApiError,
    event_line::memory_head,
    graphql::{
        page::{STATEMENT, bounded_list_cost},
        scope::{Needs, scope, service},
        services::Streams,
    },
};
use recall_domain::{Day, FrontEnd, Timestamp, UsedFrontEnd, ViewerRole as DomainRole};
use recall_ports::FrontEndStore;
use recall_usecases::RetentionTimes;

/// A program through which the viewer uses this server.
#[derive(SimpleObject)]
#[graphql(name = "FrontEnd")]
pub(crate) struct FrontEndNode {
    /// Its name.
    name: String,
    /// How it shows whose data it may use.
    kind: FrontEndKind,
    /// When it was first used.
    first_used_at: Timestamp,
    /// When it last sent a request, to the minute. An open WebSocket or stream counts when it is opened.
    last_used_at: Timestamp,
}

impl From<UsedFrontEnd> for FrontEndNode {
    fn from(used: UsedFrontEnd) -> Self {
        let UsedFrontEnd { front_end: FrontEnd { kind, name }, first_used_at, last_used_at } = used;
        Self { name, kind: kind.into(), first_used_at, last_used_at }
    }
}

/// The user who sends the request.
pub(crate) struct Viewer;

/// The user who sends the request.
#[Object]
impl Viewer {
    /// The user's id on this server.
    async fn id(&self, ctx: &Context<'_>) -> async_graphql::Result<ID> {
        Ok(ID::from(scope(ctx)?.caller.user()))
    }

    /// The user's role.
    async fn role(&self, ctx: &Context<'_>) -> async_graphql::Result<ViewerRole> {
        Ok(scope(ctx)?.caller.role().into())
    }

    /// The cursor of the newest event of all that the viewer may read. Read it before the state that is shown, then follow `memoryEvents`
    /// after it.
    #[graphql(guard = "Needs::Read")]
    async fn head(&self, ctx: &Context<'_>) -> async_graphql::Result<String> {
        Ok(memory_head(&service::<Streams>(ctx)?.hub, scope(ctx)?.caller).await?)
    }

    /// The user's name, as far as the messages tell it.
    async fn name(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<String>> {
        Ok(viewer_entity(ctx).await?.map(|e| e.0.name))
    }

    /// Tokens that model servers used for the viewer, by day (UTC).
    async fn usage(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Number of days including today, 1 to 366.", default = 30)] days: i32,
    ) -> async_graphql::Result<UsageNode> {
        let out_of_range = || ApiError::invalid("INVALID_DAYS", "The number of days is out of range. Ask for 1 to 366.", "days");
        let days = u32::try_from(days).ok().filter(|days| (1..=366).contains(days)).ok_or_else(out_of_range)?;
        let s = scope(ctx)?;
        let today = Day::of(s.usecases.now());
        let since = today.before(days - 1);
        let found = s.own.read.usage_since(since).await.map_err(ApiError::from)?;
        Ok(UsageNode { today, days: found })
    }

    /// The latest deletion of all of the viewer's data; null if there was none. It is kept until the end of the next day.
    #[graphql(guard = "Needs::Read")]
    async fn deletion(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<DeletionReceipt>> {
        let s = scope(ctx)?;
        let deletion = s.usecases.account_deletion(&s.caller).await.map_err(ApiError::from)?;
        Ok(deletion.map(|deletion| DeletionReceipt::of(s.usecases.engine(), Some(deletion))))
    }

    /// Whether remembering is paused in all of the viewer's own sessions: new messages are stored, but nothing is learned from them or found in them.
    #[graphql(guard = "Needs::Read", complexity = "STATEMENT")]
    async fn paused(&self, ctx: &Context<'_>) -> async_graphql::Result<bool> {
        let s = scope(ctx)?;
        Ok(s.usecases.is_paused(&s.caller).await.map_err(ApiError::from)?)
    }

    /// The programs through which the viewer has used this server, last used first, up to 50. Empty for visitors.
    #[graphql(guard = "Needs::Read", complexity = "STATEMENT + bounded_list_cost(50, child_complexity)")]
    async fn front_ends(&self, ctx: &Context<'_>) -> async_graphql::Result<Vec<FrontEndNode>> {
        let found = service::<Arc<dyn FrontEndStore>>(ctx)?.front_ends(&scope(ctx)?.caller).await.map_err(ApiError::from)?;
        Ok(found.into_iter().map(FrontEndNode::from).collect())
    }

    /// The kinds of text that this server never stores. In messages, titles and names, a mark such as `[card number]` replaces
    /// them; `assertFact` refuses them.
    async fn never_stored(&self, ctx: &Context<'_>) -> async_graphql::Result<Vec<SensitiveKind>> {
        Ok(scope(ctx)?.usecases.never_stored().into_iter().map(SensitiveKind::from).collect())
    }

    /// How long this server keeps data.
    async fn retention(&self, ctx: &Context<'_>) -> async_graphql::Result<Retention> {
        let s = scope(ctx)?;
        Ok(Retention::of(&s.usecases.retention(), s.caller.role() == DomainRole::Anonymous))
    }

    /// The entity that represents the viewer; null until a message says something about them.
    async fn entity(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<EntityNode>> {
        viewer_entity(ctx).await
    }
}

/// How long this server keeps data of the viewer. What the viewer deletes is gone at once.
#[derive(SimpleObject)]
struct Retention {
    /// Days without a new message after which a session is deleted; null if sessions are kept.
    session_days: Option<u64>,
    /// Hours after the last request of a visitor, after which all their data is deleted; null for an account.
    visit_hours: Option<u64>,
    /// Minutes in which a forgetting can be undone. After them, what was forgotten is deleted for good.
    forget_undo_minutes: u64,
    /// Days for which entries of the audit log are kept.
    audit_days: u64,
}

impl Retention {
    fn of(times: &RetentionTimes, is_visitor: bool) -> Self {
        let hours = |time: Duration| time.as_secs() / 3600;
        Self {
            session_days: times.unused_sessions.map(|time| hours(time) / 24),
            visit_hours: is_visitor.then(|| hours(times.visits)),
            forget_undo_minutes: times.forget_undo.as_secs() / 60,
            audit_days: hours(times.audit) / 24,
        }
    }
}

async fn viewer_entity(ctx: &Context<'_>) -> async_graphql::Result<Option<EntityNode>> {
    let s = scope(ctx)?;
    s.reject_during_deletion()?;
    Ok(s.usecases.viewer_entity(&s.caller).await.map_err(ApiError::from)?.map(|e| EntityNode(e, s.own.clone())))
}
