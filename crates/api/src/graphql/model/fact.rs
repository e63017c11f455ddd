//! GraphQL types `Fact` and `Evidence`. Weights refer to the time of the request.

use std::sync::Arc;

use async_graphql::{Context, ID, Object};

use super::{
    enums::{DatePrecision, EvidenceStance, FactStatus},
    nodes::{EntityNode, FactNode, MessageNode},
    value::FactValueNode,
};
use crate::{
    error::ApiError,
    graphql::{
        loader::{EvidenceOf, RivalsOf},
        page::{self, Connection, Total, connection_cost, list_cost},
        scope::{Memory, Needs, OperationScope, scope},
    },
};
use recall_domain::{EntityId, Evidence, MessageId, Page, Slice, Timestamp};
use recall_facts::weigh;
use recall_ports::{FactFilter, RelationFilter};
use recall_usecases::evidence_key;

/// A fact: subject, relation and object, with the evidence for and against it.
#[Object(name = "Fact", guard = "Needs::Read")]
impl FactNode {
    /// The id, a UUID.
    #[graphql(guard = "Needs::ReadOrWrite")]
    pub(crate) async fn id(&self) -> ID {
        ID::from(self.0.id)
    }

    /// The entity that the fact is about.
    async fn subject(&self) -> async_graphql::Result<EntityNode> {
        entity(&self.1, self.0.subject).await
    }

    /// The name of the relation in the ontology, such as `LIVES_IN`.
    async fn relation(&self) -> &str {
        &self.0.relation
    }

    /// The relation in words, such as "lives in".
    async fn phrase(&self, ctx: &Context<'_>) -> async_graphql::Result<String> {
        let known = scope(ctx)?.usecases.ontology().get(&self.0.relation).map(|r| r.phrase.clone());
        Ok(known.unwrap_or_else(|| self.0.relation.to_lowercase().replace('_', " ")))
    }

    /// The entity at the other end of the relation; null if the fact has a value.
    async fn object(&self) -> async_graphql::Result<Option<EntityNode>> {
        match self.0.object_entity() {
            Some(object) => entity(&self.1, object).await.map(Some),
            None => Ok(None),
        }
    }

    /// The value that the fact states of its subject, instead of an object.
    async fn value(&self) -> Option<FactValueNode> {
        self.0.value.as_ref().map(FactValueNode::from)
    }

    /// Whether it belongs to shared memory, which all signed-in users can read. Only evidence in shared memory counts for it.
    async fn shared(&self) -> bool {
        self.1.is_shared()
    }

    /// The support at the time of the request. Each statement adds its confidence, which halves with every half-life of the relation.
    async fn weight(&self, ctx: &Context<'_>) -> async_graphql::Result<f64> {
        Ok(self.standing(scope(ctx)?).weight)
    }

    /// The estimated probability that the fact holds, 0 to 1.
    async fn belief(&self, ctx: &Context<'_>) -> async_graphql::Result<f64> {
        Ok(self.standing(scope(ctx)?).belief)
    }

    /// How little evidence there is, 0 to 1.
    async fn uncertainty(&self, ctx: &Context<'_>) -> async_graphql::Result<f64> {
        Ok(self.standing(scope(ctx)?).uncertainty)
    }

    /// The fact's share of the total support of itself and its rivals, 0 to 1; 1 if nothing contradicts it.
    async fn relative_weight(&self, ctx: &Context<'_>) -> async_graphql::Result<f64> {
        let s = scope(ctx)?;
        let candidates = self.1.load.load_one(RivalsOf(self.0.clone())).await?;
        let Some(candidates) = candidates else { return Ok(1.0) };
        candidates.wait_for_slice().await;
        Ok(candidates.relative_weight(&self.0, s.usecases.ontology(), s.now))
    }

    /// Whether the fact is active, ended or retracted.
    async fn status(&self) -> FactStatus {
        self.0.status.into()
    }

    /// Whether all its supporting evidence has low confidence.
    async fn flagged(&self) -> bool {
        self.0.flagged
    }

    /// When the fact began, as messages tell it. If the precision is `UNKNOWN`, none does: then this is `statedAt`, a bound.
    async fn valid_from(&self) -> Option<Timestamp> {
        self.0.began().map(|moment| moment.at)
    }

    /// How exactly `validFrom` is known; null without it.
    async fn valid_from_precision(&self) -> Option<DatePrecision> {
        self.0.began().map(|moment| moment.precision.into())
    }

    /// When the fact ended, as messages tell it. If the precision is `UNKNOWN`, none does: then this is `endStatedAt`, a bound.
    async fn valid_to(&self) -> Option<Timestamp> {
        self.0.ended().map(|moment| moment.at)
    }

    /// How exactly `validTo` is known; null without it.
    async fn valid_to_precision(&self) -> Option<DatePrecision> {
        self.0.ended().map(|moment| moment.precision.into())
    }

    /// When the first message since its last end stated it.
    async fn stated_at(&self) -> Option<Timestamp> {
        self.0.valid_from
    }

    /// When a message said that it had ended, or when it was retracted.
    async fn end_stated_at(&self) -> Option<Timestamp> {
        self.0.valid_to
    }

    /// When the fact was first recorded.
    async fn created_at(&self) -> Timestamp {
        self.0.created_at
    }

    /// When the fact last changed.
    async fn updated_at(&self) -> Timestamp {
        self.0.updated_at
    }

    /// The evidence for and against the fact, latest first.
    #[graphql(complexity = "evidence_cost(first, after, child_complexity)")]
    async fn evidence(
        &self,
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
        #[graphql(desc = "Return items after this cursor.")] after: Option<String>,
    ) -> async_graphql::Result<Connection<EvidenceNode>> {
        let page = page::read_page(first, after)?;
        let slice = match &page.after {
            None => self.first_evidence(page.first).await?,
            Some(key) => self.1.read.evidence_after(self.0.id, key, page.first).await.map_err(ApiError::from)?,
        };
        Ok(page::forward_connection(slice, &page, Total::Unknown, |e| EvidenceNode(e, self.1.clone())))
    }

    /// Active facts that contradict it: another object of a functional relation, or the opposite relation.
    #[graphql(complexity = "list_cost(first, child_complexity)")]
    async fn rivals(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Maximum number of items, 1 to 100. Default: 20.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<FactNode>> {
        let (s, most) = (scope(ctx)?, page::list_size(first)?);
        let Some(candidates) = self.1.load.load_one(RivalsOf(self.0.clone())).await? else { return Ok(Vec::new()) };
        candidates.wait_for_slice().await;
        let rivals = candidates.rivals(&self.0, s.usecases.ontology(), most);
        Ok(rivals.map(|f| FactNode(f.clone(), self.1.clone())).collect())
    }
}

impl FactNode {
    fn standing(&self, s: &OperationScope) -> weigh::Standing {
        weigh::standing(&self.0, s.usecases.ontology().get(&self.0.relation), s.now)
    }

    /// Loads the first page of evidence, with one statement for all facts of a response. The cursor is the key of the evidence.
    async fn first_evidence(&self, first: u32) -> Result<Slice<Evidence>, ApiError> {
        let mut all = self.1.load.load_one(EvidenceOf(self.0.id, first + 1)).await?.unwrap_or_default();
        let has_next = all.len() > first as usize;
        all.truncate(first as usize);
        Ok(Slice { items: all.into_iter().map(|e| (evidence_key(&e), e)).collect(), has_next })
    }
}

/// Returns the relations of a list of facts: all except that of notes, and those with values only if the client selects `value`.
///
/// A client that does not select it was written for objects alone, and would meet null.
pub(crate) fn listed_relations(ctx: &Context<'_>, wanted: Option<&str>) -> Result<RelationFilter, ApiError> {
    let selection = ctx.look_ahead();
    let selects_value =
        [selection.field("nodes"), selection.field("edges").field("node")].iter().any(|facts| facts.field("value").exists());
    let ontology = scope(ctx)?.usecases.ontology();
    Ok(if selects_value { RelationFilter::without_notes(ontology, wanted) } else { RelationFilter::between_entities(ontology, wanted) })
}

/// Reads a page of the facts of a memory.
pub(crate) async fn list_facts(memory: &Arc<Memory>, filter: FactFilter, page: &Page) -> async_graphql::Result<Connection<FactNode>> {
    let slice = memory.read.list_facts(&filter, page).await.map_err(ApiError::from)?;
    let total = Total::Facts(memory.read.clone(), filter);
    Ok(page::forward_connection(slice, page, total, |fact| FactNode(fact.into(), memory.clone())))
}

/// Returns the cost of a page of evidence. First pages are batched; each later page needs statements of its own.
fn evidence_cost(first: Option<i32>, after: Option<String>, child: usize) -> usize {
    if after.is_some() { connection_cost(first, child) } else { list_cost(first, child) }
}

async fn entity(memory: &Arc<Memory>, id: EntityId) -> async_graphql::Result<EntityNode> {
    let entity = memory.load.load_one(id).await?;
    Ok(EntityNode(entity.ok_or_else(|| ApiError::not_found("entity"))?, memory.clone()))
}

/// The statement of one message about one fact.
pub(crate) struct EvidenceNode(pub(crate) Evidence, Arc<Memory>);

/// The statement of one message about one fact.
#[Object(name = "Evidence")]
impl EvidenceNode {
    /// The message.
    async fn message(&self) -> async_graphql::Result<MessageNode> {
        let message: Option<_> = self.1.load.load_one::<MessageId>(self.0.message).await?;
        Ok(MessageNode(message.ok_or_else(|| ApiError::not_found("message"))?, self.1.clone()))
    }

    /// Whether the message supports, opposes or ends the fact.
    async fn stance(&self) -> EvidenceStance {
        self.0.stance.into()
    }

    /// The confidence of the extraction, 0 to 1.
    async fn confidence(&self) -> f64 {
        self.0.confidence
    }

    /// The part of the message that states it.
    async fn excerpt(&self) -> Option<&str> {
        Some(self.0.excerpt.as_str()).filter(|words| !words.is_empty())
    }

    /// When the message was said.
    async fn created_at(&self) -> Timestamp {
        self.0.created_at
    }
}
