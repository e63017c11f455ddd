//! Queries of topics.

use async_graphql::{Context, ID, Object};

use crate::{
    error::ApiError,
    graphql::{
        model::TopicNode,
        page::{self, Connection, STATEMENT, Total, connection_cost},
        scope::{Needs, read_id, scope},
    },
};
use recall_domain::TopicId;

#[derive(Default)]
pub(super) struct TopicQueries;

#[Object(guard = "Needs::Read")]
impl TopicQueries {
    /// A topic of the viewer or of shared memory; null if it does not exist. It exists while a document or a conversation is about it.
    #[graphql(complexity = "STATEMENT + child_complexity")]
    async fn topic(&self, ctx: &Context<'_>, #[graphql(desc = "The id of the topic.")] id: ID) -> async_graphql::Result<Option<TopicNode>> {
        let id: TopicId = read_id(&id, "id")?;
        Ok(scope(ctx)?.find(id).await?.map(|(topic, memory)| TopicNode(topic, memory)))
    }

    /// What the viewer's documents and conversations are about, largest first.
    #[graphql(complexity = "connection_cost(first, child_complexity)")]
    async fn topics(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
        #[graphql(desc = "Return items after this cursor.")] after: Option<String>,
        #[graphql(desc = "Read shared memory instead of the viewer's own memory.", default)] shared: bool,
    ) -> async_graphql::Result<Connection<TopicNode>> {
        let page = page::read_page(first, after)?;
        let memory = scope(ctx)?.memory(shared)?;
        let slice = memory.read.list_topics(&page).await.map_err(ApiError::from)?;
        Ok(page::forward_connection(slice, &page, Total::Unknown, |topic| TopicNode(topic, memory.clone())))
    }
}
