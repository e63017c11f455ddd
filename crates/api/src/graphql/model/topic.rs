//! GraphQL type `Topic`.

use std::sync::Arc;

use async_graphql::{ID, Object};

use super::{
    message::loaded_messages,
    nodes::{DocumentNode, EntityNode, MessageNode, TopicNode},
};
use crate::{
    error::ApiError,
    graphql::{
        loader::TopicsOf,
        page::{self, Connection, STATEMENT, connection_cost, list_cost},
        scope::{Memory, Needs},
    },
};
use recall_domain::SessionId;

impl TopicNode {
    /// Returns the topics of a session, which may store a document.
    pub(super) async fn of(memory: &Arc<Memory>, session: SessionId, first: Option<i32>) -> async_graphql::Result<Vec<Self>> {
        let most = page::list_size(first)?;
        let ids = memory.load.load_one(TopicsOf(session)).await?.unwrap_or_default();
        let mut topics = memory.load.load_many(ids.iter().copied()).await?;
        Ok(ids.iter().take(most).filter_map(|id| Some(Self(topics.remove(id)?, memory.clone()))).collect())
    }
}

/// A topic: texts of about the same meaning in documents and conversations.
#[Object(name = "Topic", guard = "Needs::Read")]
impl TopicNode {
    /// The id, a UUID.
    pub(crate) async fn id(&self) -> ID {
        ID::from(self.0.id)
    }

    /// The words that tell its texts from others.
    async fn name(&self) -> &str {
        self.0.name.as_str()
    }

    /// The number of its messages and chunks.
    async fn size(&self) -> u64 {
        self.0.size
    }

    /// Whether it belongs to shared memory, which all signed-in users can read.
    async fn shared(&self) -> bool {
        self.1.is_shared()
    }

    /// Its documents, those with most chunks about it first.
    #[graphql(complexity = "STATEMENT + list_cost(first, child_complexity)")]
    async fn documents(
        &self,
        #[graphql(desc = "Maximum number of items, 1 to 100. Default: 20.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<DocumentNode>> {
        let ids = self.1.read.documents_of_topic(self.0.id, page::limit(first)?).await.map_err(ApiError::from)?;
        let mut found = self.1.load.load_many(ids.iter().copied()).await?;
        Ok(ids.iter().filter_map(|id| Some(DocumentNode(found.remove(id)?, self.1.clone()))).collect())
    }

    /// Its messages in conversations, latest first.
    #[graphql(complexity = "connection_cost(first, child_complexity)")]
    async fn messages(
        &self,
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
        #[graphql(desc = "Return items after this cursor.")] after: Option<String>,
    ) -> async_graphql::Result<Connection<MessageNode>> {
        let page = page::read_page(first, after)?;
        let slice = self.1.read.list_topic_messages(self.0.id, &page).await.map_err(ApiError::from)?;
        loaded_messages(&self.1, slice, &page).await
    }

    /// The entities that its messages and chunks mention, most mentions first.
    #[graphql(complexity = "2 * STATEMENT + list_cost(first.or(Some(10)), child_complexity)")]
    async fn entities(
        &self,
        #[graphql(desc = "Maximum number of items, 1 to 100. Default: 10.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<EntityNode>> {
        let ids = self.1.read.entities_of_topic(self.0.id, page::limit(first.or(Some(10)))?).await.map_err(ApiError::from)?;
        let found = self.1.load.load_many(ids.iter().copied()).await?;
        Ok(ids.iter().filter_map(|id| Some(EntityNode(found.get(id)?.clone(), self.1.clone()))).collect())
    }

    /// Other topics of the same memory, those with the most similar meaning first.
    #[graphql(complexity = "2 * STATEMENT + list_cost(first.or(Some(5)), child_complexity)")]
    async fn related(
        &self,
        #[graphql(desc = "Maximum number of items, 1 to 100. Default: 5.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<TopicNode>> {
        let ids = self.1.read.related_topics(self.0.id, page::limit(first.or(Some(5)))?).await.map_err(ApiError::from)?;
        let mut found = self.1.load.load_many(ids.iter().copied()).await?;
        Ok(ids.iter().filter_map(|id| Some(TopicNode(found.remove(id)?, self.1.clone()))).collect())
    }
}
