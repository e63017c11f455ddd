//! One conversation.

use std::sync::Arc;

use async_graphql::{Context, ID, Object};

use super::{FactNode, MessageNode, enums::FactStatus};
use crate::{
    error::ApiError,
    graphql::{
        loader::text_bytes,
        page::{self, Connection, Total, cost, cost_either},
        scope::{Memory, Needs, scope},
    },
};
use recall_domain::{Session, Timestamp};
use recall_ports::FactFilter;

/// One conversation: messages in order, and a numbered event log of its own.
#[derive(Clone)]
pub(crate) struct SessionNode(pub(crate) Session, pub(crate) Arc<Memory>);

/// One conversation: messages in order, and a numbered event log of its own.
#[Object(name = "Session", guard = "Needs::Read")]
impl SessionNode {
    /// Identity.
    #[graphql(guard = "Needs::ReadOrWrite")]
    pub(crate) async fn id(&self) -> ID {
        ID::from(self.0.id)
    }

    /// Chosen by the user, or taken from the first message; null until then.
    async fn title(&self) -> Option<&str> {
        self.0.title.as_ref().map(|t| t.as_str())
    }

    /// Whether it is of shared memory, which all signed-in users read and administrators write.
    async fn shared(&self) -> bool {
        self.1.is_shared()
    }

    /// When it was created.
    async fn created_at(&self) -> Timestamp {
        self.0.created_at
    }

    /// When its last message was stored.
    async fn updated_at(&self) -> Timestamp {
        self.0.updated_at
    }

    /// Cursor of the newest event: what a subscription that starts here must pass as `after`.
    async fn head(&self) -> String {
        self.0.head_cursor()
    }

    /// Its messages, oldest first. `last` and `before` read from the newest end, still oldest first within the page.
    #[graphql(complexity = "cost_either(first, last, child_complexity)")]
    async fn messages(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "How many from the beginning, 1 to 100; 20 when nothing is said.")] first: Option<i32>,
        #[graphql(desc = "Go on after this cursor.")] after: Option<String>,
        #[graphql(desc = "How many from the end, 1 to 100.")] last: Option<i32>,
        #[graphql(desc = "Go on before this cursor.")] before: Option<String>,
    ) -> async_graphql::Result<Connection<MessageNode>> {
        let s = scope(ctx)?;
        let (page, backwards) = page::page_either(first, after, last, before)?;
        let slice = s.store().list_messages(&self.1.caller, self.0.id, &page, backwards).await.map_err(ApiError::from)?;
        s.budget.load(text_bytes(slice.items.iter().map(|(_, message)| message)));
        let total = Total::Known(self.0.message_count);
        let node = |m| MessageNode(m, self.1.clone());
        Ok(if backwards { page::backwards(slice, &page, total, node) } else { page::forwards(slice, &page, total, node) })
    }

    /// Facts with evidence in this session, latest change first.
    #[graphql(complexity = "cost(first, child_complexity)")]
    async fn facts(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "How many, 1 to 100; 20 when nothing is said.")] first: Option<i32>,
        #[graphql(desc = "Go on after this cursor.")] after: Option<String>,
        #[graphql(desc = "Only facts with this status.")] status: Option<FactStatus>,
    ) -> async_graphql::Result<Connection<FactNode>> {
        let s = scope(ctx)?;
        let page = page::page(first, after)?;
        let filter = FactFilter { session: Some(self.0.id), status: status.map(Into::into), ..FactFilter::default() };
        let slice = s.store().list_facts(&self.1.caller, &filter, &page).await.map_err(ApiError::from)?;
        Ok(page::forwards(slice, &page, Total::Facts(self.1.caller, filter), |f| FactNode(f.into(), self.1.clone())))
    }
}
