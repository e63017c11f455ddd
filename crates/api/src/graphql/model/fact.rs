//! A fact, where it stands at the moment of the request, and the evidence behind it.

use std::sync::Arc;

use async_graphql::{Context, ID, Object};

use super::{
    EntityNode, MessageNode,
    enums::{EvidenceStance, FactStatus},
};
use crate::{
    error::ApiError,
    graphql::{
        loader::{EvidenceOf, RivalsOf},
        page::{self, Connection, Total, batched, cost},
        scope::{Memory, Needs, Scope, scope},
    },
};
use recall_domain::{EntityId, Evidence, Fact, MessageId, Page, Slice, Stance, Timestamp};
use recall_facts::weigh;

/// Subject, relation, object, with what speaks for and against it.
#[derive(Clone)]
pub(crate) struct FactNode(pub(crate) Arc<Fact>, pub(crate) Arc<Memory>);

/// Subject, relation, object, with what speaks for and against it.
#[Object(name = "Fact", guard = "Needs::Read")]
impl FactNode {
    /// Identity.
    #[graphql(guard = "Needs::ReadOrWrite")]
    pub(crate) async fn id(&self) -> ID {
        ID::from(self.0.id)
    }

    /// Who or what it is about.
    async fn subject(&self) -> async_graphql::Result<EntityNode> {
        entity(&self.1, self.0.subject).await
    }

    /// Name of the relation in the ontology, such as `LIVES_IN`.
    async fn relation(&self) -> &str {
        &self.0.relation
    }

    /// The relation as people say it, such as "lives in".
    async fn phrase(&self, ctx: &Context<'_>) -> async_graphql::Result<String> {
        let known = scope(ctx)?.usecases.ontology().get(&self.0.relation).map(|r| r.phrase.clone());
        Ok(known.unwrap_or_else(|| self.0.relation.to_lowercase().replace('_', " ")))
    }

    /// The other side.
    async fn object(&self) -> async_graphql::Result<EntityNode> {
        entity(&self.1, self.0.object).await
    }

    /// Whether it is of shared memory, which all signed-in users read. It is weighed by what is said there alone.
    async fn shared(&self) -> bool {
        self.1.is_shared()
    }

    /// Support now: each statement adds its confidence, all halve per half-life of the relation.
    async fn weight(&self, ctx: &Context<'_>) -> async_graphql::Result<f64> {
        Ok(self.standing(scope(ctx)?).weight)
    }

    /// Expected probability that it holds, 0 to 1.
    async fn belief(&self, ctx: &Context<'_>) -> async_graphql::Result<f64> {
        Ok(self.standing(scope(ctx)?).belief)
    }

    /// How little is known, 0 to 1.
    async fn uncertainty(&self, ctx: &Context<'_>) -> async_graphql::Result<f64> {
        Ok(self.standing(scope(ctx)?).uncertainty)
    }

    /// Share of the support among its rivals and itself, 0 to 1; 1 when nothing contradicts it.
    async fn relative_weight(&self, ctx: &Context<'_>) -> async_graphql::Result<f64> {
        let s = scope(ctx)?;
        let candidates = self.1.load.load_one(RivalsOf(self.0.clone())).await?;
        let Some(candidates) = candidates else { return Ok(1.0) };
        candidates.turn().await;
        Ok(candidates.relative_weight(&self.0, s.usecases.ontology(), s.now))
    }

    /// Whether it holds.
    async fn status(&self) -> FactStatus {
        self.0.status.into()
    }

    /// Whether all its support has low confidence.
    async fn flagged(&self) -> bool {
        self.0.flagged
    }

    /// Since when it is known to hold.
    async fn valid_from(&self) -> Option<Timestamp> {
        self.0.valid_from
    }

    /// When it ended.
    async fn valid_to(&self) -> Option<Timestamp> {
        self.0.valid_to
    }

    /// When it was first recorded.
    async fn created_at(&self) -> Timestamp {
        self.0.created_at
    }

    /// When it last changed.
    async fn updated_at(&self) -> Timestamp {
        self.0.updated_at
    }

    /// The messages that speak for or against it, latest first.
    #[graphql(complexity = "evidence_cost(first, after, child_complexity)")]
    async fn evidence(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "How many, 1 to 100; 20 when nothing is said.")] first: Option<i32>,
        #[graphql(desc = "Go on after this cursor.")] after: Option<String>,
    ) -> async_graphql::Result<Connection<EvidenceNode>> {
        let s = scope(ctx)?;
        let page = page::page(first, after)?;
        let slice = match &page.after {
            None => self.first_evidence(page.first).await?,
            Some(mark) => self.evidence_after(s, mark, page.first).await?,
        };
        Ok(page::forwards(slice, &page, Total::Unknown, |e| EvidenceNode(e, self.1.clone())))
    }

    /// The active facts that contradict it: other objects of a relation that has one at a time, or the opposite relation.
    #[graphql(complexity = "batched(first, child_complexity)")]
    async fn rivals(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "How many at most, 1 to 100. Default: 20.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<FactNode>> {
        let (s, most) = (scope(ctx)?, page::most(first)?);
        let Some(candidates) = self.1.load.load_one(RivalsOf(self.0.clone())).await? else { return Ok(Vec::new()) };
        candidates.turn().await;
        let rivals = candidates.rivals(&self.0, s.usecases.ontology(), most);
        Ok(rivals.map(|f| FactNode(f.clone(), self.1.clone())).collect())
    }
}

impl FactNode {
    fn standing(&self, s: &Scope) -> weigh::Standing {
        weigh::standing(&self.0, s.usecases.ontology().get(&self.0.relation), s.now)
    }

    /// The latest evidence, in one statement for all facts of a response. Cursors name the evidence itself.
    async fn first_evidence(&self, first: u32) -> Result<Slice<Evidence>, ApiError> {
        let mut all = self.1.load.load_one(EvidenceOf(self.0.id, first + 1)).await?.unwrap_or_default();
        let has_next = all.len() > first as usize;
        all.truncate(first as usize);
        Ok(Slice { items: all.into_iter().map(|e| (mark(&e), e)).collect(), has_next })
    }

    /// Goes on after a piece of evidence, which is looked for from the latest one on.
    async fn evidence_after(&self, s: &Scope, after: &str, first: u32) -> Result<Slice<Evidence>, ApiError> {
        let mut page = Page::first(page::MAX_PAGE);
        let (mut found, mut items) = (false, Vec::new());
        loop {
            let slice = s.store().list_evidence(&self.1.caller, self.0.id, &page).await?;
            let last = slice.items.last().map(|(key, _)| key.clone());
            for (_, evidence) in slice.items {
                let mark = mark(&evidence);
                if found {
                    items.push((mark, evidence));
                } else {
                    found = mark == after;
                }
            }
            let enough = items.len() > first as usize;
            match last {
                Some(key) if slice.has_next && !enough => page.after = Some(key),
                _ => break,
            }
        }
        if !found {
            return Err(ApiError::invalid("BAD_CURSOR", "The cursor is not one of this list. Take one from `pageInfo`.", "after"));
        }
        let has_next = items.len() > first as usize;
        items.truncate(first as usize);
        Ok(Slice { items, has_next })
    }
}

/// The first page is read together with those of other facts; a later one has statements of its own.
fn evidence_cost(first: Option<i32>, after: Option<String>, child: usize) -> usize {
    if after.is_some() { cost(first, child) } else { batched(first, child) }
}

/// Names one piece of evidence of a fact.
fn mark(evidence: &Evidence) -> String {
    let stance = match evidence.stance {
        Stance::Supports => "supports",
        Stance::Opposes => "opposes",
        Stance::Ends => "ends",
    };
    format!("{}/{stance}", evidence.message)
}

async fn entity(memory: &Arc<Memory>, id: EntityId) -> async_graphql::Result<EntityNode> {
    let entity = memory.load.load_one(id).await?;
    Ok(EntityNode(entity.ok_or_else(|| ApiError::not_found("entity"))?, memory.clone()))
}

/// One message's word on one fact.
pub(crate) struct EvidenceNode(pub(crate) Evidence, Arc<Memory>);

/// One message's word on one fact.
#[Object(name = "Evidence")]
impl EvidenceNode {
    /// The message.
    async fn message(&self) -> async_graphql::Result<MessageNode> {
        let message: Option<_> = self.1.load.load_one::<MessageId>(self.0.message).await?;
        Ok(MessageNode(message.ok_or_else(|| ApiError::not_found("message"))?, self.1.clone()))
    }

    /// For, against, or over.
    async fn stance(&self) -> EvidenceStance {
        self.0.stance.into()
    }

    /// How sure the extraction was, 0 to 1.
    async fn confidence(&self) -> f64 {
        self.0.confidence
    }

    /// The words that state it.
    async fn excerpt(&self) -> Option<&str> {
        Some(self.0.excerpt.as_str()).filter(|words| !words.is_empty())
    }

    /// When the message was said.
    async fn created_at(&self) -> Timestamp {
        self.0.created_at
    }
}
