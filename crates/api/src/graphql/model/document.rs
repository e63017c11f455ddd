//! GraphQL types `Document` and `Chunk`.

use std::collections::HashSet;

use async_graphql::{Context, ID, Object, SimpleObject};

use super::{
    enums::DocumentStatus,
    message::loaded_messages,
    nodes::{ChunkNode, DocumentNode, EntityNode, MessageNode, TopicNode},
};
use crate::{
    error::ApiError,
    graphql::{
        loader::{MentionsIn, SharedViewOf},
        page::{self, Connection, STATEMENT, Total, connection_cost, list_cost},
        scope::{Needs, scope},
    },
};
use recall_domain::{self as domain, Slice, Timestamp};

/// A document: a file with its chunks. Its events are in the log of the session with the same id.
#[Object(name = "Document", guard = "Needs::Read")]
impl DocumentNode {
    /// The id, a UUID.
    #[graphql(guard = "Needs::ReadOrWrite")]
    pub(crate) async fn id(&self) -> ID {
        ID::from(self.0.id)
    }

    /// The collection.
    async fn collection(&self) -> &str {
        &self.0.collection
    }

    /// Where the owner keeps it. Documents of one collection with the same path are versions of each other.
    async fn path(&self) -> Option<&str> {
        self.0.path.as_ref().map(|path| path.as_str())
    }

    /// The version, from 1.
    async fn version(&self) -> u32 {
        self.0.version
    }

    /// Whether no newer version is searchable. Searches find current documents only, unless they name the document.
    async fn current(&self) -> bool {
        self.0.is_current
    }

    /// The name of the file.
    async fn filename(&self) -> &str {
        self.0.filename.as_str()
    }

    /// The media type, judged by content; null until the document is parsed.
    async fn media_type(&self) -> Option<&str> {
        self.0.media_type.as_deref()
    }

    /// The size of the file in bytes.
    async fn bytes(&self) -> u64 {
        self.0.bytes
    }

    /// SHA-256 of the file, in hexadecimal digits.
    async fn sha256(&self) -> &str {
        &self.0.sha256
    }

    /// The processing state.
    #[graphql(guard = "Needs::ReadOrWrite")]
    async fn status(&self) -> DocumentStatus {
        self.0.status.into()
    }

    /// Why it failed.
    async fn error(&self) -> Option<&str> {
        self.0.error.as_deref()
    }

    /// The completed steps. Storing a chunk is one step, and extracting its facts is another.
    async fn done(&self) -> u32 {
        self.0.progress().done()
    }

    /// The number of steps; 0 until the document is parsed.
    async fn total(&self) -> u32 {
        self.0.progress().total()
    }

    /// The number of pages; null if the format has none.
    async fn pages(&self) -> Option<u32> {
        self.0.pages
    }

    /// The number of chunks; 0 until the document is parsed.
    async fn chunk_count(&self) -> u32 {
        self.0.chunk_count
    }

    /// The title that the document states.
    async fn title(&self) -> Option<&str> {
        self.0.title.as_ref().map(|title| title.as_str())
    }

    /// What it is about: up to three of its sentences. Null until it is parsed.
    async fn summary(&self) -> Option<&str> {
        self.0.summary.as_ref().map(|summary| summary.as_str())
    }

    /// What its chunks are about, topics with most of them first.
    #[graphql(complexity = "list_cost(first, child_complexity)")]
    async fn topics(
        &self,
        #[graphql(desc = "Maximum number of items, 1 to 100. Default: 20.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<TopicNode>> {
        TopicNode::of(&self.1, self.0.id.session(), first).await
    }

    /// The addresses that the document links to, in standard form: without fragment, default port and credentials; files as `file:`.
    #[graphql(complexity = "list_cost(first, 1)")]
    async fn links(
        &self,
        #[graphql(desc = "Maximum number of items, 1 to 100. Default: 20.")] first: Option<i32>,
    ) -> async_graphql::Result<Vec<&str>> {
        Ok(self.0.links.iter().take(page::list_size(first)?).map(|link| link.as_str()).collect())
    }

    /// Whether its file is stored. `GET /documents/{id}/original` returns it.
    async fn has_original(&self) -> bool {
        self.0.has_original
    }

    /// Whether it belongs to shared memory, which all signed-in users can read.
    async fn shared(&self) -> bool {
        self.1.is_shared()
    }

    /// When it was added.
    async fn created_at(&self) -> Timestamp {
        self.0.created_at
    }

    /// When it last changed.
    async fn updated_at(&self) -> Timestamp {
        self.0.updated_at
    }

    /// The chunks, in order.
    #[graphql(complexity = "connection_cost(first, child_complexity)")]
    async fn chunks(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
        #[graphql(desc = "Return items after this cursor.")] after: Option<String>,
    ) -> async_graphql::Result<Connection<ChunkNode>> {
        let page = page::read_page(first, after)?;
        let slice = self.1.read.list_chunks(self.0.id, &page).await.map_err(ApiError::from)?;
        scope(ctx)?.budget.count_loaded_bytes(slice.items.iter().map(|(_, chunk)| chunk.text.as_str().len()).sum());
        let total = Total::Known(self.0.stored.into());
        Ok(page::forward_connection(slice, &page, total, |chunk| ChunkNode(chunk, self.1.clone())))
    }

    /// When the viewer last viewed it; null if never. `markDocumentViewed` and `GET /documents/{id}/original` are views.
    async fn viewed_at(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<Timestamp>> {
        let DocumentNode(document, memory) = self;
        match memory.is_shared() {
            true => Ok(scope(ctx)?.own.load.load_one(SharedViewOf(document.id)).await?),
            false => Ok(document.viewed_at),
        }
    }

    /// The viewer's questions whose answers cite it, latest answer first. Citations are in own messages, also if the document is shared.
    #[graphql(complexity = "connection_cost(first, child_complexity)")]
    async fn questions(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
        #[graphql(desc = "Return items after this cursor.")] after: Option<String>,
    ) -> async_graphql::Result<Connection<MessageNode>> {
        let (s, page) = (scope(ctx)?, page::read_page(first, after)?);
        let slice = s.own.read.list_questions(self.0.id, &page).await.map_err(ApiError::from)?;
        loaded_messages(&s.own, slice, &page).await
    }

    /// The viewer's messages whose citations name it, latest first.
    #[graphql(complexity = "connection_cost(first, child_complexity)")]
    async fn references(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
        #[graphql(desc = "Return items after this cursor.")] after: Option<String>,
    ) -> async_graphql::Result<Connection<MessageNode>> {
        let (s, page) = (scope(ctx)?, page::read_page(first, after)?);
        let slice = s.own.read.list_citing(self.0.id, &page).await.map_err(ApiError::from)?;
        loaded_messages(&s.own, slice, &page).await
    }

    /// The entities that its chunks mention, most mentions in this document first.
    #[graphql(complexity = "connection_cost(first, child_complexity)")]
    async fn entities(
        &self,
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
        #[graphql(desc = "Return items after this cursor.")] after: Option<String>,
    ) -> async_graphql::Result<Connection<EntityNode>> {
        let DocumentNode(document, memory) = self;
        let page = page::read_page(first, after)?;
        let Slice { items, has_next } = memory.read.list_entities_in(document.id, &page).await.map_err(ApiError::from)?;
        let found = memory.load.load_many(items.iter().map(|(_, id)| *id)).await?;
        let items = items.into_iter().filter_map(|(key, id)| Some((key, found.get(&id)?.clone()))).collect();
        let node = |entity| EntityNode(entity, memory.clone());
        Ok(page::forward_connection(Slice { items, has_next }, &page, Total::Unknown, node))
    }
}

/// Consecutive pages, from 1.
#[derive(SimpleObject)]
pub(crate) struct PageRange {
    /// The first page.
    first: u32,
    /// The last page.
    last: u32,
}

impl From<domain::PageRange> for PageRange {
    fn from(pages: domain::PageRange) -> Self {
        Self { first: pages.first, last: pages.last }
    }
}

/// A piece of a document that is found and cited as one.
#[Object(name = "Chunk", guard = "Needs::Read")]
impl ChunkNode {
    /// The id, a UUID. It is also that of the message that stores the chunk.
    pub(crate) async fn id(&self) -> ID {
        ID::from(self.0.id)
    }

    /// The document.
    async fn document(&self) -> async_graphql::Result<DocumentNode> {
        let document = self.1.load.load_one(self.0.document).await?;
        Ok(DocumentNode(document.ok_or_else(|| ApiError::not_found("document"))?, self.1.clone()))
    }

    /// The position in the document, from 0.
    async fn position(&self) -> u32 {
        self.0.position
    }

    /// The text.
    async fn text(&self) -> &str {
        self.0.text.as_str()
    }

    /// The pages on which it stands; null if the format has none.
    async fn pages(&self) -> Option<PageRange> {
        self.0.pages.map(Into::into)
    }

    /// The heading of its section.
    async fn heading(&self) -> Option<&str> {
        self.0.heading.as_ref().map(|heading| heading.as_str())
    }

    /// The offset in the text of the document, in characters.
    async fn char_offset(&self) -> u64 {
        self.0.char_offset
    }

    /// The passage around it: the text of its section, or as much of it as fits into 4,000 characters.
    #[graphql(complexity = "STATEMENT")]
    async fn passage(&self, ctx: &Context<'_>) -> async_graphql::Result<String> {
        let s = scope(ctx)?;
        let passage = s.usecases.passage(&self.1.caller(), &self.0).await.map_err(ApiError::from)?;
        s.budget.count_loaded_bytes(passage.as_str().len());
        Ok(passage.into_string())
    }

    /// The entities that it mentions, each once, in order of appearance.
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
}
