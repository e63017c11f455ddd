//! GraphQL type `Session`.

use async_graphql::{Context, ID, Object};

use super::{
    enums::FactStatus,
    fact::{list_facts, listed_relations},
    nodes::{FactNode, MessageNode, SessionNode, TopicNode},
};
use crate::{
    error::ApiError,
    graphql::{
        loader::text_bytes,
        page::{self, Connection, STATEMENT, Total, connection_cost, either_end_cost, list_cost},
        scope::{Needs, scope},
    },
};
use recall_domain::{Timestamp, UserText};
use recall_ports::{FactFilter, RelationFilter};

/// A session: one conversation with its messages and a numbered event log.
#[Object(name = "Session", guard = "Needs::Read")]
impl SessionNode {
    /// The id, a UUID.
    #[graphql(guard = "Needs::ReadOrWrite")]
    pub(crate) async fn id(&self) -> ID {
        ID::from(self.0.id)
    }

    /// The title, chosen by the user or taken from the first message; null until then.
    async fn title(&self) -> Option<&str> {
        self.0.title.as_ref().map(|t| t.as_str())
    }

    /// Whether the user wants it above the others.
    async fn pinned(&self) -> bool {
        self.0.pinned
    }

    /// Whether the user has put it away. Its messages and facts are found as before.
    async fn archived(&self) -> bool {
        self.0.archived
    }

    /// Whether remembering is paused in it: its new messages are stored, but nothing is learned from them or found in them.
    async fn paused(&self) -> bool {
        self.0.paused
    }

    /// Whether it belongs to shared memory, which all signed-in users can read and administrators can change.
    async fn shared(&self) -> bool {
        self.1.is_shared()
    }

    /// What its latest messages are about: up to three of their sentences. Null if they say nothing.
    #[graphql(complexity = "2 * STATEMENT")]
    async fn summary(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<String>> {
        let s = scope(ctx)?;
        let summary = s.usecases.session_summary(&self.1.caller(), self.0.id).await.map_err(ApiError::from)?;
        s.budget.count_loaded_bytes(summary.as_ref().map_or(0, |text| text.as_str().len()));
        Ok(summary.map(UserText::into_string))
    }

    /// What its messages are about, topics with most of them first. Found from the 8th message on.
    #[graphql(complexity = "list_cost(first, child_complexity)")]
    async fn topics(
        &self,
        #[graphql(desc = "Maximum number of items, 1 to 100. Default: 20.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<TopicNode>> {
        TopicNode::of(&self.1, self.0.id, first).await
    }

    /// When it was created.
    async fn created_at(&self) -> Timestamp {
        self.0.created_at
    }

    /// When its last message was stored.
    async fn updated_at(&self) -> Timestamp {
        self.0.updated_at
    }

    /// The cursor of the newest event. To follow the session from here, pass it to a subscription as `after`.
    async fn head(&self) -> String {
        self.0.head_cursor()
    }

    /// The messages, oldest first. `last` and `before` select from the end; the order stays the same.
    #[graphql(complexity = "either_end_cost(first, last, child_complexity)")]
    async fn messages(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Number of messages from the start, 1 to 100. Default: 20.")] first: Option<i32>,
        #[graphql(desc = "Return items after this cursor.")] after: Option<String>,
        #[graphql(desc = "Number of messages from the end, 1 to 100. Not together with `first` and `after`.")] last: Option<i32>,
        #[graphql(desc = "Return messages before this cursor.")] before: Option<String>,
    ) -> async_graphql::Result<Connection<MessageNode>> {
        let s = scope(ctx)?;
        let (page, backwards) = page::read_page_from_either_end(first, after, last, before)?;
        let slice = self.1.read.list_messages(self.0.id, &page, backwards).await.map_err(ApiError::from)?;
        s.budget.count_loaded_bytes(text_bytes(slice.items.iter().map(|(_, message)| message)));
        let total = Total::Messages(self.1.read.clone(), self.0.id);
        let node = |m| MessageNode(m, self.1.clone());
        Ok(if backwards {
            page::backward_connection(slice, &page, total, node)
        } else {
            page::forward_connection(slice, &page, total, node)
        })
    }

    /// Facts with evidence in this session, latest change first.
    #[graphql(complexity = "connection_cost(first, child_complexity)")]
    async fn facts(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
        #[graphql(desc = "Return items after this cursor.")] after: Option<String>,
        #[graphql(desc = "Return only facts with this status.")] status: Option<FactStatus>,
        #[graphql(desc = "Return notes, too: statements that fit no relation.", default = false)] notes: bool,
    ) -> async_graphql::Result<Connection<FactNode>> {
        let page = page::read_page(first, after)?;
        let relations = if notes { RelationFilter::Any } else { listed_relations(ctx, None)? };
        let filter = FactFilter { session: Some(self.0.id), status: status.map(Into::into), relations, ..FactFilter::default() };
        list_facts(&self.1, filter, &page).await
    }
}
