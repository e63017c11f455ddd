//! One turn of a conversation, what it mentions, what it is evidence for, and what an answer cites.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use async_graphql::{Context, ID, Object, SimpleObject};

use super::{
    EntityNode, FactNode, SessionNode, TokenUsage,
    enums::{EvidenceStance, MessageKind, MessageRole, MessageStatus},
};
use crate::{
    error::ApiError,
    graphql::{
        loader::{AnswerTo, DecisionsIn, FactsIn, MentionsIn, UsageOf},
        page::{self, batched},
        scope::{Memory, Needs, scope},
    },
};
use recall_domain::{Citation, EntityId, FactId, Mention, Message, MessageId, Span, Stance, Timestamp};

/// One turn of a conversation.
#[derive(Clone)]
pub(crate) struct MessageNode(pub(crate) Message, pub(crate) Arc<Memory>);

/// One turn of a conversation.
#[Object(name = "Message", guard = "Needs::Read")]
impl MessageNode {
    /// Identity.
    #[graphql(guard = "Needs::ReadOrWrite")]
    pub(crate) async fn id(&self) -> ID {
        ID::from(self.0.id)
    }

    /// Who wrote it.
    async fn role(&self) -> MessageRole {
        self.0.role.into()
    }

    /// Who says it, when that is not the user; "I" in the text then means that person.
    async fn speaker(&self) -> Option<&str> {
        self.0.speaker.as_deref()
    }

    /// What was said.
    async fn text(&self) -> &str {
        self.0.text.as_str()
    }

    /// What it does; null until it is processed.
    async fn kind(&self) -> Option<MessageKind> {
        self.0.kind.map(Into::into)
    }

    /// How far it has come.
    #[graphql(guard = "Needs::ReadOrWrite")]
    async fn status(&self) -> MessageStatus {
        self.0.status.into()
    }

    /// When it was said, by the client's word. Facts are dated by this.
    async fn sent_at(&self) -> Timestamp {
        self.0.sent_at
    }

    /// When it was stored.
    async fn created_at(&self) -> Timestamp {
        self.0.created_at
    }

    /// Whatever the client keeps with it.
    async fn source_metadata(&self) -> Option<serde_json::Value> {
        self.0.source_metadata.clone()
    }

    /// The client's own id (`clientMessageId` or `externalId` when it was sent).
    async fn external_id(&self) -> Option<&str> {
        self.0.external_id.as_deref()
    }

    /// Whether it is of shared memory, which all signed-in users read.
    async fn shared(&self) -> bool {
        self.1.is_shared()
    }

    /// The conversation it belongs to.
    async fn session(&self) -> async_graphql::Result<SessionNode> {
        let session = self.1.load.load_one(self.0.session).await?;
        Ok(SessionNode(session.ok_or_else(|| ApiError::not_found("session"))?, self.1.clone()))
    }

    /// The answer to it, once there is one.
    async fn answer(&self) -> async_graphql::Result<Option<MessageNode>> {
        Ok(self.1.load.load_one(AnswerTo(self.0.id)).await?.map(|m| MessageNode(m, self.1.clone())))
    }

    /// The question that it answers.
    async fn answer_to(&self) -> async_graphql::Result<Option<MessageNode>> {
        message(&self.1, self.0.answer_to).await
    }

    /// What an answer rests on, by the numbers in its text.
    #[graphql(complexity = "batched(first, child_complexity)")]
    async fn citations(
        &self,
        #[graphql(desc = "How many at most, 1 to 100. Default: 20.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<CitationNode>> {
        let cited = self.0.citations.iter().take(page::most(first)?);
        Ok(cited.map(|c| CitationNode(c.clone(), self.1.clone())).collect())
    }

    /// Tokens that model servers used to read it and to answer it; null when none was asked.
    async fn usage(&self) -> async_graphql::Result<Option<TokenUsage>> {
        Ok(self.1.load.load_one(UsageOf(self.0.id)).await?.map(Into::into))
    }

    /// The things it mentions, each once, in order of appearance.
    #[graphql(complexity = "batched(first, child_complexity)")]
    async fn entities(
        &self,
        #[graphql(desc = "How many at most, 1 to 100. Default: 20.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<EntityNode>> {
        let most = page::most(first)?;
        let mentions = self.1.load.load_one(MentionsIn(self.0.id)).await?.unwrap_or_default();
        let entities = self.1.load.load_many(mentions.iter().map(|m| m.0)).await?;
        let mut seen = HashSet::new();
        let named = mentions.iter().filter_map(|(id, _)| entities.get(id)).filter(|e| seen.insert(e.id));
        Ok(named.take(most).map(|e| EntityNode(e.clone(), self.1.clone())).collect())
    }

    /// Where it mentions them.
    #[graphql(complexity = "batched(first, child_complexity)")]
    async fn mentions(
        &self,
        #[graphql(desc = "How many at most, 1 to 100. Default: 20.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<MentionNode>> {
        let most = page::most(first)?;
        let mentions = self.1.load.load_one(MentionsIn(self.0.id)).await?.unwrap_or_default();
        let entities = self.1.load.load_many(mentions.iter().map(|m| m.0)).await?;
        let mut decisions = match mentions.is_empty() {
            true => HashMap::new(),
            false => self.1.load.load_one(DecisionsIn(self.0.id)).await?.unwrap_or_default(),
        };
        let node = |(place, (id, mention)): (u32, (EntityId, Mention))| {
            let entity = EntityNode(entities.get(&id)?.clone(), self.1.clone());
            let Span { start, end } = mention.span;
            let (score, reason) = decisions.remove(&place).map(|d| (d.score, d.reason)).unzip();
            Some(MentionNode { entity, start, end, surface: cut(self.0.text.as_str(), mention.span), score, reason })
        };
        Ok((0..).zip(mentions).filter_map(node).take(most).collect())
    }

    /// The facts it is evidence for or against.
    #[graphql(complexity = "batched(first, child_complexity)")]
    async fn facts(
        &self,
        #[graphql(desc = "How many at most, 1 to 100. Default: 20.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<FactNode>> {
        let most = page::most(first)?;
        let mut ids = self.1.load.load_one(FactsIn(self.0.id)).await?.unwrap_or_default();
        ids.truncate(most);
        let facts = self.1.load.load_many(ids.iter().map(|(id, _)| *id)).await?;
        Ok(ids.iter().filter_map(|(id, _)| facts.get(id)).map(|f| FactNode(f.clone(), self.1.clone())).collect())
    }

    /// What it says of facts, each fact once.
    #[graphql(complexity = "batched(first, child_complexity)")]
    async fn evidence(
        &self,
        #[graphql(desc = "How many at most, 1 to 100. Default: 20.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<MessageEvidence>> {
        let most = page::most(first)?;
        let mut said = self.1.load.load_one(FactsIn(self.0.id)).await?.unwrap_or_default();
        said.truncate(most);
        let facts = self.1.load.load_many(said.iter().map(|(id, _)| *id)).await?;
        let node = |(id, stance): &(FactId, Stance)| {
            let fact = FactNode(facts.get(id)?.clone(), self.1.clone());
            Some(MessageEvidence { fact, stance: (*stance).into() })
        };
        Ok(said.iter().filter_map(node).collect())
    }

    /// Its place in `Session.messages`, for `after` and `before`.
    async fn cursor(&self) -> String {
        page::message_cursor(&self.0)
    }
}

/// What a message says of a fact.
#[derive(SimpleObject)]
#[graphql(name = "MessageEvidence")]
pub(crate) struct MessageEvidence {
    /// The fact.
    fact: FactNode,
    /// For, against, or over.
    stance: EvidenceStance,
}

/// Where a message mentions a thing.
#[derive(SimpleObject)]
#[graphql(name = "Mention")]
pub(crate) struct MentionNode {
    /// The thing.
    entity: EntityNode,
    /// First Unicode code point of the message text.
    start: u32,
    /// One past the last code point.
    end: u32,
    /// The words as they stand there.
    surface: String,
    /// How sure it is that they mean this thing, or a new one where it is the first mention, 0 to 1; null when not noted.
    score: Option<f64>,
    /// Why, in words for people: "same name, spoken of in this session"; null when not noted.
    reason: Option<String>,
}

/// What one numbered mark in an answer points to.
pub(crate) struct CitationNode(pub(crate) Citation, Arc<Memory>);

/// What one numbered mark in an answer points to.
#[Object(name = "Citation")]
impl CitationNode {
    /// The number in the text, from 1.
    async fn index(&self) -> u32 {
        self.0.index
    }

    /// Whether it points into shared memory, which all signed-in users read.
    async fn shared(&self) -> bool {
        self.0.shared || self.1.is_shared()
    }

    /// The message cited; null when it has been deleted since.
    async fn message(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<MessageNode>> {
        message(self.memory(ctx)?, self.0.message_id).await
    }

    /// The fact that the message is evidence for, if one was used.
    async fn fact(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<FactNode>> {
        let Some(id): Option<FactId> = self.0.fact_id else { return Ok(None) };
        let memory = self.memory(ctx)?;
        Ok(memory.load.load_one(id).await?.map(|f| FactNode(f, memory.clone())))
    }

    /// The words cited.
    async fn excerpt(&self) -> &str {
        self.0.excerpt.as_str()
    }
}

impl CitationNode {
    /// Where it points: an answer in one's own memory may rest on shared memory too.
    fn memory<'m>(&'m self, ctx: &Context<'m>) -> Result<&'m Arc<Memory>, ApiError> {
        Ok(if self.0.shared { scope(ctx)?.found_in(true) } else { &self.1 })
    }
}

async fn message(memory: &Arc<Memory>, id: Option<MessageId>) -> async_graphql::Result<Option<MessageNode>> {
    let Some(id) = id else { return Ok(None) };
    Ok(memory.load.load_one(id).await?.map(|m| MessageNode(m, memory.clone())))
}

/// A piece of a text by code points; what lies outside is left out.
fn cut(text: &str, span: Span) -> String {
    let length = span.end.saturating_sub(span.start) as usize;
    text.chars().skip(span.start as usize).take(length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_count_code_points() {
        assert_eq!(cut("Zoë ❤ Noël", Span { start: 6, end: 10 }), "Noël");
        assert_eq!(cut("Zoë", Span { start: 2, end: 99 }), "ë");
        assert_eq!(cut("Zoë", Span { start: 9, end: 3 }), "");
    }
}
