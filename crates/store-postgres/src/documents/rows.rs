//! Rows of documents, and their conversion to domain types.

use uuid::Uuid;

use super::super::{codec::JsonText, failure::Failure, rows::Column};
use recall_domain::{Chunk, Document, DocumentId, DocumentProgress, MessageId, PageRange, Section, Timestamp, UserText};

/// A row of `visible_documents`.
pub(super) struct DocumentRow {
    pub(super) id: Uuid,
    pub(super) collection: String,
    pub(super) path: Option<String>,
    pub(super) version: i64,
    pub(super) filename: String,
    pub(super) media_type: Option<String>,
    pub(super) bytes: i64,
    pub(super) sha256: String,
    pub(super) status: String,
    pub(super) error: Option<String>,
    pub(super) title: Option<String>,
    pub(super) summary: Option<String>,
    pub(super) pages: Option<i64>,
    pub(super) links: JsonText,
    pub(super) chunk_count: i64,
    pub(super) stored: i64,
    pub(super) understood: i64,
    pub(super) chunk_chars: i64,
    pub(super) chunk_overlap: i64,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
    pub(super) viewed_at: Option<Timestamp>,
    pub(super) is_current: bool,
    pub(super) has_original: bool,
}

/// Selects documents, except those under deletion.
macro_rules! documents {
    ($rest:literal $(, $value:expr)* $(,)?) => {
        sqlx::query_as!(
            $crate::documents::rows::DocumentRow,
            r#"SELECT id AS "id!", collection AS "collection!", path, version AS "version!", filename AS "filename!", media_type,
                    bytes AS "bytes!", sha256 AS "sha256!", status AS "status!", error, title, summary, pages, links AS "links!",
                    chunk_count AS "chunk_count!", stored AS "stored!", understood AS "understood!", chunk_chars AS "chunk_chars!",
                    chunk_overlap AS "chunk_overlap!", created_at AS "created_at!", updated_at AS "updated_at!",
                    viewed_at, is_current AS "is_current!", has_original AS "has_original!" FROM visible_documents "# + $rest $(, $value)*
        )
    };
}

impl DocumentRow {
    pub(super) fn read(self) -> Result<Document, Failure> {
        let of = |column| Column("documents", column);
        Ok(Document {
            id: DocumentId(self.id),
            collection: of("collection").text(self.collection)?,
            path: of("path").opt_text(self.path)?.map(UserText::from),
            version: of("version").small(self.version)?,
            is_current: self.is_current,
            filename: of("filename").text(self.filename)?.into(),
            media_type: self.media_type,
            bytes: of("bytes").count(self.bytes)?,
            sha256: self.sha256,
            status: of("status").word(&self.status)?,
            error: of("error").opt_text(self.error)?,
            title: of("title").opt_text(self.title)?.map(UserText::from),
            summary: of("summary").opt_text(self.summary)?.map(UserText::from),
            pages: self.pages.map(|pages| of("pages").small(pages)).transpose()?,
            links: of("links").json(&self.links)?,
            chunk_count: of("chunk_count").small(self.chunk_count)?,
            stored: of("stored").small(self.stored)?,
            understood: of("understood").small(self.understood)?,
            chunk_chars: of("chunk_chars").small(self.chunk_chars)?,
            chunk_overlap: of("chunk_overlap").small(self.chunk_overlap)?,
            has_original: self.has_original,
            created_at: self.created_at,
            updated_at: self.updated_at,
            viewed_at: self.viewed_at,
        })
    }
}

/// The columns of a document's progress.
pub(in crate::documents) struct DigestRow {
    pub(super) id: Uuid,
    pub(super) status: String,
    pub(super) error: Option<String>,
    pub(super) chunk_count: i64,
    pub(super) stored: i64,
    pub(super) understood: i64,
    pub(super) digest: Option<String>,
}

/// The columns of a document's progress.
pub(crate) struct ProgressRow {
    pub(crate) id: Uuid,
    pub(crate) status: String,
    pub(crate) error: Option<String>,
    pub(crate) chunk_count: i64,
    pub(crate) stored: i64,
    pub(crate) understood: i64,
}

impl ProgressRow {
    pub(crate) fn read(self) -> Result<DocumentProgress, Failure> {
        let of = |column| Column("documents", column);
        Ok(DocumentProgress {
            document: DocumentId(self.id),
            status: of("status").word(&self.status)?,
            chunk_count: of("chunk_count").small(self.chunk_count)?,
            stored: of("stored").small(self.stored)?,
            understood: of("understood").small(self.understood)?,
            error: of("error").opt_text(self.error)?,
        })
    }
}

/// A chunk with its text and heading.
pub(super) struct ChunkRow {
    pub(super) message_id: Uuid,
    pub(super) document_id: Uuid,
    pub(super) position: i64,
    pub(super) section: i64,
    pub(super) heading: Option<String>,
    pub(super) char_offset: i64,
    pub(super) first_page: Option<i64>,
    pub(super) last_page: Option<i64>,
    pub(super) text: String,
}

/// Selects chunks `c`, except those of documents under deletion.
macro_rules! chunks {
    ($rest:literal $(, $value:expr)* $(,)?) => {
        sqlx::query_as!(
            $crate::documents::rows::ChunkRow,
            r#"SELECT c.message_id, c.document_id, c.position, c.section, s.heading AS "heading?", c.char_offset, c.first_page, c.last_page,
                    m.text AS "text!"
             FROM document_chunks c JOIN visible_messages m ON m.user_id = c.user_id AND m.id = c.message_id
             LEFT JOIN document_sections s ON s.user_id = c.user_id AND s.document_id = c.document_id AND s.position = c.section "#
                + $rest $(, $value)*
        )
    };
}

impl ChunkRow {
    pub(super) fn read(self) -> Result<Chunk, Failure> {
        let of = |column| Column("document_chunks", column);
        Ok(Chunk {
            id: MessageId(self.message_id),
            document: DocumentId(self.document_id),
            position: of("position").small(self.position)?,
            section: of("section").small(self.section)?,
            heading: of("heading").opt_text(self.heading)?.map(UserText::from),
            char_offset: of("char_offset").count(self.char_offset)?,
            pages: pages(self.first_page, self.last_page)?,
            text: of("text").text(self.text)?.into(),
        })
    }
}

/// A row of `document_sections`.
pub(super) struct SectionRow {
    pub(super) position: i64,
    pub(super) heading: Option<String>,
    pub(super) level: i64,
    pub(super) char_offset: i64,
    pub(super) chars: i64,
    pub(super) first_page: Option<i64>,
    pub(super) last_page: Option<i64>,
}

impl SectionRow {
    pub(super) fn read(self) -> Result<Section, Failure> {
        let of = |column| Column("document_sections", column);
        Ok(Section {
            position: of("position").small(self.position)?,
            heading: of("heading").opt_text(self.heading)?.map(UserText::from),
            level: u8::try_from(of("level").small(self.level)?).unwrap_or(u8::MAX),
            char_offset: of("char_offset").count(self.char_offset)?,
            chars: of("chars").count(self.chars)?,
            pages: pages(self.first_page, self.last_page)?,
        })
    }
}

/// The pages of a chunk or section.
pub(in super::super) fn pages(first: Option<i64>, last: Option<i64>) -> Result<Option<PageRange>, Failure> {
    let small = |page| Column("document_chunks", "first_page").small(page);
    Ok(match first.zip(last) {
        Some((first, last)) => Some(PageRange { first: small(first)?, last: small(last)? }),
        None => None,
    })
}

pub(super) use {chunks, documents};
