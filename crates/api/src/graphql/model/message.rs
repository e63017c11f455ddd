//! GraphQL types `Message`, `Mention` and `Citation`.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use async_graphql::{Context, ID, Object, SimpleObject};

use super::{
    document::PageRange,
    enums::{EvidenceStance, MessageKind, MessageRole, MessageStatus, ResourceOrigin},
    nodes::{ChunkNode, DocumentNode, EntityNode, FactNode, MessageNode, SessionNode},
    usage::TokenUsage,
};
use crate::{
    error::ApiError,
    graphql::{
        loader::{AnswerTo, ChunkOf, DecisionsIn, FactsIn, MentionsIn, ResourcesOf, UndoTimeOf, UsageOf},
        page::{self, Connection, Total, list_cost},
        scope::{Memory, Needs, scope},
    },
};
use recall_domain::{
    Citation, EntityId, FactId, Mention, MessageId, Page, Resource, Role, Slice, Span, Stance, Timestamp, UndoableForgetting,
};

/// A message: one turn of a conversation.
#[Object(name = "Message", guard = "Needs::Read")]
impl MessageNode {
    /// The id, a UUID.
    #[graphql(guard = "Needs::ReadOrWrite")]
    pub(crate) async fn id(&self) -> ID {
        ID::from(self.0.id)
    }

    /// Who wrote it.
    async fn role(&self) -> MessageRole {
        self.0.role.into()
    }

    /// The speaker, if it is not the user. "I" in the text then means the speaker.
    async fn speaker(&self) -> Option<&str> {
        self.0.speaker.as_deref()
    }

    /// The text.
    async fn text(&self) -> &str {
        self.0.text.as_str()
    }

    /// The kind; null until the message is processed.
    async fn kind(&self) -> Option<MessageKind> {
        self.0.kind.map(Into::into)
    }

    /// The processing state.
    #[graphql(guard = "Needs::ReadOrWrite")]
    async fn status(&self) -> MessageStatus {
        self.0.status.into()
    }

    /// When it was said, according to the client. Facts are dated with this time.
    async fn sent_at(&self) -> Timestamp {
        self.0.sent_at
    }

    /// When it was stored.
    async fn created_at(&self) -> Timestamp {
        self.0.created_at
    }

    /// JSON that the client stored with the message.
    async fn source_metadata(&self) -> Option<serde_json::Value> {
        self.0.source_metadata.clone()
    }

    /// The client's own id, given as `clientMessageId` or `externalId`.
    async fn external_id(&self) -> Option<&str> {
        self.0.external_id.as_deref()
    }

    /// Whether it may be learned from and found. False if remembering was paused when it was stored.
    async fn remembered(&self) -> bool {
        self.0.remembered
    }

    /// Whether it belongs to shared memory, which all signed-in users can read.
    async fn shared(&self) -> bool {
        self.1.is_shared()
    }

    /// The session that it belongs to.
    async fn session(&self) -> async_graphql::Result<SessionNode> {
        let session = self.1.load.load_one(self.0.session).await?;
        Ok(SessionNode(session.ok_or_else(|| ApiError::not_found("session"))?, self.1.clone()))
    }

    /// The chunk that the message stores, if its role is `DOCUMENT`.
    async fn chunk(&self) -> async_graphql::Result<Option<ChunkNode>> {
        if self.0.role != Role::Document {
            return Ok(None);
        }
        Ok(self.1.load.load_one(ChunkOf(self.0.id)).await?.map(|chunk| ChunkNode(chunk, self.1.clone())))
    }

    /// The answer to this question; null until it is written.
    async fn answer(&self) -> async_graphql::Result<Option<MessageNode>> {
        Ok(self.1.load.load_one(AnswerTo(self.0.id)).await?.map(|m| MessageNode(m, self.1.clone())))
    }

    /// The question that this message answers.
    async fn answer_to(&self) -> async_graphql::Result<Option<MessageNode>> {
        message(&self.1, self.0.answer_to).await
    }

    /// What the reply to a command such as "Forget that I have a dog." has forgotten, as long as that can be undone. Otherwise null.
    async fn forgetting(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<Forgetting>> {
        let now = scope(ctx)?.usecases.now();
        let Some(told) = UndoableForgetting::of_reply(&self.0).filter(|told| now < told.undo_until) else { return Ok(None) };
        let undo_until = self.1.load.load_one(UndoTimeOf(told.token)).await?.filter(|until| now < *until);
        Ok(undo_until.map(|undo_until| Forgetting { token: told.token.to_string(), undo_until }))
    }

    /// When the forgetting that such a reply reports was undone. Otherwise null.
    async fn forgetting_undone_at(&self) -> Option<Timestamp> {
        UndoableForgetting::undone_at(&self.0)
    }

    /// The sources of an answer, in the order of the numbers in its text.
    #[graphql(complexity = "list_cost(first, child_complexity)")]
    async fn citations(
        &self,
        #[graphql(desc = "Maximum number of items, 1 to 100. Default: 20.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<CitationNode>> {
        let cited = self.0.citations.iter().take(page::list_size(first)?);
        Ok(cited.map(|c| CitationNode(c.clone(), self.1.clone())).collect())
    }

    /// What comes nearest to an answer, if nothing answers the question. The text quotes it. Empty if something answers, or if nothing is near.
    #[graphql(complexity = "list_cost(first, child_complexity)")]
    async fn nearest(
        &self,
        #[graphql(desc = "Maximum number of items, 1 to 100. Default: 20.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<CitationNode>> {
        let nearest = self.0.nearest.iter().take(page::list_size(first)?);
        Ok(nearest.map(|c| CitationNode(c.clone(), self.1.clone())).collect())
    }

    /// Tokens that model servers used to process and answer this message; null if none was called.
    async fn usage(&self) -> async_graphql::Result<Option<TokenUsage>> {
        Ok(self.1.load.load_one(UsageOf(self.0.id)).await?.map(Into::into))
    }

    /// The entities that the message mentions, each once, in order of appearance.
    #[graphql(complexity = "list_cost(first, child_complexity)")]
    async fn entities(
        &self,
        #[graphql(desc = "Maximum number of items, 1 to 100. Default: 20.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<EntityNode>> {
        let most = page::list_size(first)?;
        let mentions = self.1.load.load_one(MentionsIn(self.0.id)).await?.unwrap_or_default();
        let entities = self.1.load.load_many(mentions.iter().map(|m| m.0)).await?;
        let mut seen = HashSet::new();
        let named = mentions.iter().filter_map(|(id, _)| entities.get(id)).filter(|e| seen.insert(e.id));
        Ok(named.take(most).map(|e| EntityNode(e.clone(), self.1.clone())).collect())
    }

    /// The mentions of entities, in order of appearance.
    #[graphql(complexity = "list_cost(first, child_complexity)")]
    async fn mentions(
        &self,
        #[graphql(desc = "Maximum number of items, 1 to 100. Default: 20.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<MentionNode>> {
        let most = page::list_size(first)?;
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
            Some(MentionNode { entity, start, end, surface: slice_code_points(self.0.text.as_str(), mention.span), score, reason })
        };
        Ok((0..).zip(mentions).filter_map(node).take(most).collect())
    }

    /// Images, recordings and files that the message contains, and pages that it links to. Their content is not stored.
    #[graphql(complexity = "list_cost(first, child_complexity)")]
    async fn resources(
        &self,
        #[graphql(desc = "Maximum number of items, 1 to 100. Default: 20.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<ResourceNode>> {
        let most = page::list_size(first)?;
        let resources = self.1.load.load_one(ResourcesOf(self.0.id)).await?.unwrap_or_default();
        Ok(resources.into_iter().take(most).map(ResourceNode::from).collect())
    }

    /// The facts that the message is evidence for or against.
    #[graphql(complexity = "list_cost(first, child_complexity)")]
    async fn facts(
        &self,
        #[graphql(desc = "Maximum number of items, 1 to 100. Default: 20.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<FactNode>> {
        let most = page::list_size(first)?;
        let mut ids = self.1.load.load_one(FactsIn(self.0.id)).await?.unwrap_or_default();
        ids.truncate(most);
        let facts = self.1.load.load_many(ids.iter().map(|(id, _)| *id)).await?;
        Ok(ids.iter().filter_map(|(id, _)| facts.get(id)).map(|f| FactNode(f.clone(), self.1.clone())).collect())
    }

    /// The effect of the message on facts; each fact once.
    #[graphql(complexity = "list_cost(first, child_complexity)")]
    async fn evidence(
        &self,
        #[graphql(desc = "Maximum number of items, 1 to 100. Default: 20.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<MessageEvidence>> {
        let most = page::list_size(first)?;
        let mut said = self.1.load.load_one(FactsIn(self.0.id)).await?.unwrap_or_default();
        said.truncate(most);
        let facts = self.1.load.load_many(said.iter().map(|(id, _)| *id)).await?;
        let node = |(id, stance): &(FactId, Stance)| {
            let fact = FactNode(facts.get(id)?.clone(), self.1.clone());
            Some(MessageEvidence { fact, stance: (*stance).into() })
        };
        Ok(said.iter().filter_map(node).collect())
    }

    /// The cursor of the message in `Session.messages`, for `after` and `before`.
    async fn cursor(&self) -> String {
        page::message_cursor(&self.0)
    }
}

/// A forgetting that can be undone.
#[derive(SimpleObject)]
pub(crate) struct Forgetting {
    /// The token for `undoForget`.
    token: String,
    /// Until when it can be undone.
    undo_until: Timestamp,
}

/// The effect of a message on a fact.
#[derive(SimpleObject)]
#[graphql(name = "MessageEvidence")]
pub(crate) struct MessageEvidence {
    /// The fact.
    fact: FactNode,
    /// Whether the message supports, opposes or ends the fact.
    stance: EvidenceStance,
}

/// Something that a message contains or links to. Its content is not stored.
#[derive(SimpleObject)]
#[graphql(name = "Resource")]
pub(crate) struct ResourceNode {
    /// The address in standard form. Content that was sent with the message is named by its digest (`ni:///sha-256;…`, RFC 6920).
    uri: String,
    /// The media type, such as `image/png`; null if not named.
    media_type: Option<String>,
    /// The size in bytes; null unless the content was sent.
    bytes: Option<u64>,
    /// The SHA-256 digest in hexadecimal; null unless the content was sent.
    sha256: Option<String>,
    /// Whether it was sent with the text, or is a link in the text.
    origin: ResourceOrigin,
}

impl From<Resource> for ResourceNode {
    fn from(r: Resource) -> Self {
        Self { uri: r.uri.into_string(), media_type: r.media_type, bytes: r.bytes, sha256: r.sha256, origin: r.origin.into() }
    }
}

/// A place in a message where an entity is named.
#[derive(SimpleObject)]
#[graphql(name = "Mention")]
pub(crate) struct MentionNode {
    /// The entity.
    entity: EntityNode,
    /// Index of the first Unicode code point in the message text, from 0.
    start: u32,
    /// Index after the last code point.
    end: u32,
    /// The words in the text.
    surface: String,
    /// Confidence that the words mean this entity, or that the entity is new, 0 to 1; null if not recorded.
    score: Option<f64>,
    /// The reason, for people, such as "same name, spoken of in this session"; null if not recorded.
    reason: Option<String>,
}

/// A source of an answer, with its number in the text.
pub(crate) struct CitationNode(pub(super) Citation, pub(super) Arc<Memory>);

/// A source of an answer, with its number in the text.
#[Object(name = "Citation")]
impl CitationNode {
    /// The number in the text, from 1.
    async fn index(&self) -> u32 {
        self.0.index
    }

    /// Whether the source belongs to shared memory, which all signed-in users can read.
    async fn shared(&self) -> bool {
        self.0.shared || self.1.is_shared()
    }

    /// The cited message; null if it has been deleted since.
    async fn message(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<MessageNode>> {
        message(self.memory(ctx)?, self.0.message_id).await
    }

    /// The cited chunk of a document, instead of a message; null if it has been deleted since.
    async fn chunk(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<ChunkNode>> {
        let Some(cited) = &self.0.chunk else { return Ok(None) };
        let memory = self.memory(ctx)?;
        Ok(memory.load.load_one(ChunkOf(cited.chunk_id)).await?.map(|chunk| ChunkNode(chunk, memory.clone())))
    }

    /// The document of the cited chunk; null if it has been deleted since.
    async fn document(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<DocumentNode>> {
        let Some(cited) = &self.0.chunk else { return Ok(None) };
        let memory = self.memory(ctx)?;
        Ok(memory.load.load_one(cited.document_id).await?.map(|document| DocumentNode(document, memory.clone())))
    }

    /// The pages of the cited chunk; null if its format has none.
    async fn pages(&self) -> Option<PageRange> {
        self.0.chunk.as_ref().and_then(|cited| cited.pages).map(Into::into)
    }

    /// The fact that the message is evidence for, if the answer used one.
    async fn fact(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<FactNode>> {
        let Some(id): Option<FactId> = self.0.fact_id else { return Ok(None) };
        let memory = self.memory(ctx)?;
        Ok(memory.load.load_one(id).await?.map(|f| FactNode(f, memory.clone())))
    }

    /// The cited words.
    async fn excerpt(&self) -> &str {
        self.0.excerpt.as_str()
    }
}

impl CitationNode {
    /// Returns the memory of the source. An answer in the user's own memory can cite shared memory.
    fn memory<'m>(&'m self, ctx: &Context<'m>) -> Result<&'m Arc<Memory>, ApiError> {
        Ok(if self.0.shared { scope(ctx)?.found_in(true) } else { &self.1 })
    }
}

async fn message(memory: &Arc<Memory>, id: Option<MessageId>) -> async_graphql::Result<Option<MessageNode>> {
    let Some(id) = id else { return Ok(None) };
    Ok(memory.load.load_one(id).await?.map(|m| MessageNode(m, memory.clone())))
}

/// Returns a part of a text, by code points. The part outside of the text is ignored.
fn slice_code_points(text: &str, span: Span) -> String {
    let length = span.end.saturating_sub(span.start) as usize;
    text.chars().skip(span.start as usize).take(length).collect()
}

/// Loads a page of messages of one memory. A message that was deleted meanwhile is left out; the cursors of the others stay valid.
pub(crate) async fn loaded_messages(
    memory: &Arc<Memory>,
    slice: Slice<MessageId>,
    page: &Page,
) -> async_graphql::Result<Connection<MessageNode>> {
    let mut found = memory.load.load_many(slice.items.iter().map(|(_, id)| *id)).await?;
    let items = slice.items.into_iter().filter_map(|(key, id)| Some((key, found.remove(&id)?))).collect();
    let node = |message| MessageNode(message, memory.clone());
    Ok(page::forward_connection(Slice { items, has_next: slice.has_next }, page, Total::Unknown, node))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_count_code_points() {
        assert_eq!(slice_code_points("Zoë ❤ Noël", Span { start: 6, end: 10 }), "Noël");
        assert_eq!(slice_code_points("Zoë", Span { start: 2, end: 99 }), "ë");
        assert_eq!(slice_code_points("Zoë", Span { start: 9, end: 3 }), "");
    }
}
