//! A thing that a user talks about.

use std::sync::Arc;

use async_graphql::{Context, ID, Object, SimpleObject};

use super::{
    FactNode, MessageNode,
    enums::{EntityType, FactStatus},
    graph::{self, NeighbourNode},
};
use crate::{
    error::ApiError,
    graphql::{
        loader::MergedInto,
        page::{self, Connection, Total, batched, cost},
        scope::{Memory, Needs, scope},
    },
};
use recall_domain::{Decision, Entity, Slice, Timestamp};
use recall_ports::{FactFilter, Merged, NeighbourQuery};

/// A thing that was merged into another one.
#[derive(SimpleObject)]
pub(crate) struct MergedEntity {
    /// Its id, which gives the other one now.
    id: ID,
    /// Its name.
    name: String,
    /// When it was merged.
    merged_at: Timestamp,
    /// How sure it is that they are one, 0 to 1.
    score: f64,
    /// Why they were taken for one.
    reason: String,
}

impl From<Merged> for MergedEntity {
    fn from(m: Merged) -> Self {
        let Decision { score, reason } = m.decision;
        Self { id: ID::from(m.entity), name: m.name, merged_at: m.merged_at, score, reason }
    }
}

/// A thing that the user talks about, told apart from others of the same name.
#[derive(Clone)]
pub(crate) struct EntityNode(pub(crate) Entity, pub(crate) Arc<Memory>);

/// A thing that the user talks about, told apart from others of the same name.
#[Object(name = "Entity", guard = "Needs::Read")]
impl EntityNode {
    /// Identity.
    #[graphql(guard = "Needs::ReadOrWrite")]
    pub(crate) async fn id(&self) -> ID {
        ID::from(self.0.id)
    }

    /// Its name, as first written or as renamed.
    async fn name(&self) -> &str {
        &self.0.name
    }

    /// What sort of thing it is.
    async fn r#type(&self) -> EntityType {
        self.0.entity_type.into()
    }

    /// Other names it goes by.
    async fn aliases(&self) -> &[String] {
        &self.0.aliases
    }

    /// What is known of it in a few words, such as "manager".
    async fn description(&self) -> Option<&str> {
        self.0.description.as_deref()
    }

    /// In how many messages it was mentioned.
    async fn mention_count(&self) -> u64 {
        self.0.mention_count
    }

    /// Best confidence with which a mention was recognised, 0 to 1.
    async fn confidence(&self) -> f64 {
        self.0.confidence
    }

    /// Whether it is the user's own node.
    async fn is_viewer(&self) -> bool {
        self.0.is_viewer && !self.1.is_shared()
    }

    /// Whether it is of shared memory, which all signed-in users read.
    async fn shared(&self) -> bool {
        self.1.is_shared()
    }

    /// When it was first mentioned.
    async fn created_at(&self) -> Timestamp {
        self.0.created_at
    }

    /// When it last changed.
    async fn updated_at(&self) -> Timestamp {
        self.0.updated_at
    }

    /// What was merged into it and can be told apart again by `unmergeEntities`, the latest first.
    #[graphql(complexity = "batched(first, child_complexity)")]
    async fn merged(
        &self,
        #[graphql(desc = "How many at most, 1 to 100. Default: 20.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<MergedEntity>> {
        let most = page::most(first)?;
        let merged = self.1.load.load_one(MergedInto(self.0.id)).await?.unwrap_or_default();
        Ok(merged.into_iter().take(most).map(MergedEntity::from).collect())
    }

    /// Facts with it on either side, latest change first.
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
        let filter = FactFilter { entity: Some(self.0.id), status: status.map(Into::into), ..FactFilter::default() };
        let slice = s.store().list_facts(&self.1.caller, &filter, &page).await.map_err(ApiError::from)?;
        Ok(page::forwards(slice, &page, Total::Facts(self.1.caller, filter), |f| FactNode(f.into(), self.1.clone())))
    }

    /// Things that active facts lead to, in either direction: nearest first, then by the strength of the fact that leads there.
    #[graphql(complexity = "cost(first, child_complexity).saturating_add(100)")]
    async fn neighbours(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Over how many facts at most, 1 to 3.", default = 1)] hops: i32,
        #[graphql(desc = "Only over these relations of the ontology; over all when nothing is said.")] relations: Option<Vec<String>>,
        #[graphql(desc = "How many, 1 to 100; 20 when nothing is said.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<NeighbourNode>> {
        let (hops, first) = (graph::hops(hops, "hops")?, page::page(first, None)?.first);
        let asked = NeighbourQuery { entity: self.0.id, hops, relations: relations.unwrap_or_default(), first };
        let found = graph::graph(ctx)?.around(&self.1.caller, &asked).await.map_err(graph::refused)?;
        graph::neighbours(&self.1, found).await
    }

    /// Messages that mention it, latest first.
    #[graphql(complexity = "cost(first, child_complexity)")]
    async fn mentions(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "How many, 1 to 100; 20 when nothing is said.")] first: Option<i32>,
        #[graphql(desc = "Go on after this cursor.")] after: Option<String>,
    ) -> async_graphql::Result<Connection<MessageNode>> {
        let s = scope(ctx)?;
        let page = page::page(first, after)?;
        let slice = s.store().list_mentions(&self.1.caller, self.0.id, &page).await.map_err(ApiError::from)?;
        let mut messages = self.1.load.load_many(slice.items.iter().map(|(_, (message, _))| *message)).await?;
        // A message that was deleted between the two reads is left out; its neighbours keep their cursors.
        let items = slice.items.into_iter().filter_map(|(key, (id, _))| Some((key, messages.remove(&id)?))).collect();
        let total = Total::Known(self.0.mention_count);
        Ok(page::forwards(Slice { items, has_next: slice.has_next }, &page, total, |m| MessageNode(m, self.1.clone())))
    }
}
