//! JSON representations of documents and their chunks.

use serde::Serialize;
use utoipa::ToSchema;

use recall_domain::{Chunk, Document, DocumentId, DocumentStatus, MessageId, PageRange, Timestamp};

/// A document.
#[derive(Serialize, ToSchema)]
#[schema(as = Document)]
pub(super) struct DocumentView {
    id: DocumentId,
    collection: String,
    /// Where the owner keeps it. Documents of one collection with the same path are versions of each other.
    path: Option<String>,
    version: u32,
    /// Whether no newer version is searchable.
    current: bool,
    filename: String,
    /// The media type, once the document is parsed.
    media_type: Option<String>,
    bytes: u64,
    sha256: String,
    status: DocumentStatus,
    /// Why it failed.
    error: Option<String>,
    title: Option<String>,
    /// What it is about: up to three of its sentences, once it is parsed.
    summary: Option<String>,
    pages: Option<u32>,
    chunk_count: u32,
    /// The completed steps. Storing a chunk is one step, and extracting its facts is another.
    done: u32,
    /// The number of steps; 0 until the document is parsed.
    total: u32,
    links: Vec<String>,
    /// Whether its file is stored.
    has_original: bool,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    /// Whether it belongs to shared memory.
    shared: bool,
}

/// Most links of a document in a response.
const MAX_LINKS: usize = 100;

impl DocumentView {
    pub(super) fn of(d: Document, shared: bool) -> Self {
        let progress = d.progress();
        Self {
            shared,
            done: progress.done(),
            total: progress.total(),
            id: d.id,
            collection: d.collection,
            path: d.path.map(|path| path.into_string()),
            version: d.version,
            current: d.is_current,
            filename: d.filename.into_string(),
            media_type: d.media_type,
            bytes: d.bytes,
            sha256: d.sha256,
            status: d.status,
            error: d.error,
            title: d.title.map(|title| title.into_string()),
            summary: d.summary.map(|summary| summary.into_string()),
            pages: d.pages,
            chunk_count: d.chunk_count,
            links: d.links.into_iter().take(MAX_LINKS).map(|link| link.into_string()).collect(),
            has_original: d.has_original,
            created_at: d.created_at,
            updated_at: d.updated_at,
        }
    }
}

/// A piece of a document.
#[derive(Serialize, ToSchema)]
#[schema(as = Chunk)]
pub(super) struct ChunkView {
    id: MessageId,
    document_id: DocumentId,
    /// The name of the document's file, in results of a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    filename: Option<String>,
    /// The position in the document, from 0.
    position: u32,
    /// The heading of its section.
    heading: Option<String>,
    /// The offset in the text of the document, in characters.
    char_offset: u64,
    /// The pages on which it stands.
    pages: Option<PageRange>,
    text: String,
    /// Whether it belongs to shared memory.
    shared: bool,
}

impl ChunkView {
    pub(super) fn of(c: Chunk, document: Option<&Document>, shared: bool) -> Self {
        Self {
            shared,
            id: c.id,
            document_id: c.document,
            filename: document.map(|document| document.filename.as_str().to_owned()),
            position: c.position,
            heading: c.heading.map(|heading| heading.into_string()),
            char_offset: c.char_offset,
            pages: c.pages,
            text: c.text.into_string(),
        }
    }
}
