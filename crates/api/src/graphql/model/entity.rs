//! GraphQL type `Entity`.

use async_graphql::{Context, ID, Object, SimpleObject};

use super::{
    enums::{EntityType, FactStatus},
    fact::{list_facts, listed_relations},
    graph::{self, NeighbourNode},
    nodes::{EntityNode, FactNode, MessageNode},
};
use crate::{
    error::ApiError,
    graphql::{
        loader::MergedInto,
        page::{self, Connection, Total, connection_cost, list_cost},
        scope::{Needs, scope},
    },
};
use recall_domain::{Decision, Slice, Timestamp};
use recall_ports::{FactFilter, Merged, NeighbourQuery, RelationFilter};

/// An entity that was merged into another one.
#[derive(SimpleObject)]
pub(crate) struct MergedEntity {
    /// Its id. Queries for this id return the entity that it was merged into.
    id: ID,
    /// Its name.
    name: String,
    /// When it was merged.
    merged_at: Timestamp,
    /// Confidence that both are the same, 0 to 1.
    score: f64,
    /// The reason for the merge, for people.
    reason: String,
}

impl From<Merged> for MergedEntity {
    fn from(m: Merged) -> Self {
        let Decision { score, reason } = m.decision;
        Self { id: ID::from(m.entity), name: m.name, merged_at: m.merged_at, score, reason }
    }
}

/// A person, organization, place or thing in the memory, distinct from others of the same name.
#[Object(name = "Entity", guard = "Needs::Read")]
impl EntityNode {
    /// The id, a UUID.
    #[graphql(guard = "Needs::ReadOrWrite")]
    pub(crate) async fn id(&self) -> ID {
        ID::from(self.0.id)
    }

    /// The name, as first written or as renamed.
    async fn name(&self) -> &str {
        &self.0.name
    }

    /// The type.
    async fn r#type(&self) -> EntityType {
        self.0.entity_type.into()
    }

    /// Other names of the same entity.
    async fn aliases(&self) -> &[String] {
        &self.0.aliases
    }

    /// A short description from the messages, such as "manager".
    async fn description(&self) -> Option<&str> {
        self.0.description.as_deref()
    }

    /// The number of messages that mention it.
    async fn mention_count(&self) -> u64 {
        self.0.mention_count
    }

    /// The highest confidence with which a mention was recognized, 0 to 1.
    async fn confidence(&self) -> f64 {
        self.0.confidence
    }

    /// Whether this entity represents the user.
    async fn is_viewer(&self) -> bool {
        self.0.is_viewer && !self.1.is_shared()
    }

    /// Whether it belongs to shared memory, which all signed-in users can read.
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

    /// Entities that were merged into this one and can be separated again with `unmergeEntities`; latest first.
    #[graphql(complexity = "list_cost(first, child_complexity)")]
    async fn merged(
        &self,
        #[graphql(desc = "Maximum number of items, 1 to 100. Default: 20.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<MergedEntity>> {
        let most = page::list_size(first)?;
        let merged = self.1.load.load_one(MergedInto(self.0.id)).await?.unwrap_or_default();
        Ok(merged.into_iter().take(most).map(MergedEntity::from).collect())
    }

    /// Facts with this entity as subject or object, latest change first.
    #[graphql(complexity = "connection_cost(first, child_complexity)")]
    async fn facts(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
        #[graphql(desc = "Return items after this cursor.")] after: Option<String>,
        #[graphql(desc = "Return only facts with this status.")] status: Option<FactStatus>,
    ) -> async_graphql::Result<Connection<FactNode>> {
        let page = page::read_page(first, after)?;
        let relations = listed_relations(ctx, None)?;
        let filter = FactFilter { entity: Some(self.0.id), status: status.map(Into::into), relations, ..FactFilter::default() };
        list_facts(&self.1, filter, &page).await
    }

    /// Statements about this entity that fit no relation, latest change first. Each is a fact with a value and can be retracted and
    /// forgotten like any other.
    #[graphql(complexity = "connection_cost(first, child_complexity)")]
    async fn notes(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
        #[graphql(desc = "Return items after this cursor.")] after: Option<String>,
        #[graphql(desc = "Return only notes with this status.")] status: Option<FactStatus>,
    ) -> async_graphql::Result<Connection<FactNode>> {
        let page = page::read_page(first, after)?;
        let relations = RelationFilter::notes(scope(ctx)?.usecases.ontology());
        let filter = FactFilter { subject: Some(self.0.id), status: status.map(Into::into), relations, ..FactFilter::default() };
        list_facts(&self.1, filter, &page).await
    }

    /// Entities that active facts connect to this one, in either direction. Nearest first, then by the weight of the connecting fact.
    #[graphql(complexity = "connection_cost(first, child_complexity).saturating_add(100)")]
    async fn neighbours(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The largest number of facts on the way, 1 to 3.", default = 1)] hops: i32,
        #[graphql(desc = "Follow only these relations of the ontology. Default: all.")] relations: Option<Vec<String>>,
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<NeighbourNode>> {
        let (hops, first) = (graph::read_hops(hops, "hops")?, page::read_page(first, None)?.first);
        let asked = NeighbourQuery { entity: self.0.id, hops, relations: relations.unwrap_or_default(), first };
        let found = graph::graph_queries(ctx)?.around(&self.1.caller(), &asked).await.map_err(graph::to_api_error)?;
        graph::load_neighbours(&self.1, found).await
    }

    /// Messages that mention this entity, latest first.
    #[graphql(complexity = "connection_cost(first, child_complexity)")]
    async fn mentions(
        &self,
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
        #[graphql(desc = "Return items after this cursor.")] after: Option<String>,
    ) -> async_graphql::Result<Connection<MessageNode>> {
        let page = page::read_page(first, after)?;
        let slice = self.1.read.list_mentions(self.0.id, &page).await.map_err(ApiError::from)?;
        let mut messages = self.1.load.load_many(slice.items.iter().map(|(_, message)| *message)).await?;
        // A message that was deleted between the two reads is left out; the cursors of the others stay valid.
        let items = slice.items.into_iter().filter_map(|(key, id)| Some((key, messages.remove(&id)?))).collect();
        let total = Total::Known(self.0.mention_count);
        Ok(page::forward_connection(Slice { items, has_next: slice.has_next }, &page, total, |m| MessageNode(m, self.1.clone())))
    }
}
