//! Documents: files that a user adds, and the chunks that are found and cited.
//!
//! A document is stored as a session of its own. Its first message holds its name, and the others are its chunks. So retrieval, facts,
//! evidence, deletion and archives treat a chunk as they treat a message.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantNames};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{DocumentId, MessageId, SessionId, Timestamp, UserText, event::DocumentUpdate};

/// The collection of documents that are added without one.
pub const DEFAULT_COLLECTION: &str = "default";
/// Longest name of a collection, in bytes.
pub const MAX_COLLECTION_BYTES: usize = 64;

/// Whether a collection may have this name: letters, digits, hyphens and underscores.
pub fn is_collection_name(name: &str) -> bool {
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    !name.is_empty() && name.len() <= MAX_COLLECTION_BYTES && name.chars().all(allowed)
}

/// The state of a document.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema, ToSchema, EnumString, IntoStaticStr, VariantNames,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum DocumentStatus {
    /// Stored; it waits for the parser.
    Pending,
    /// Its chunks are being stored, and then its facts are extracted. A stored chunk is found by searches.
    Processing,
    /// All chunks are stored, and their facts are extracted.
    Completed,
    /// It could not be read; its error says why.
    Failed,
}

/// A document.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Identity.
    pub id: DocumentId,
    /// Its collection.
    pub collection: String,
    /// Where the owner keeps it. Documents of one collection with the same path are versions of each other.
    pub path: Option<UserText>,
    /// The version, from 1.
    pub version: u32,
    /// Whether no newer version is searchable. Searches find current documents only, unless they name the document.
    pub is_current: bool,
    /// The name of its file.
    pub filename: UserText,
    /// The media type, judged by content once it is parsed.
    pub media_type: Option<String>,
    /// The size of its file.
    pub bytes: u64,
    /// SHA-256 of its file, in hexadecimal digits.
    pub sha256: String,
    /// Its state.
    pub status: DocumentStatus,
    /// Why it failed, for its owner.
    pub error: Option<String>,
    /// The title that it states.
    pub title: Option<UserText>,
    /// Sentences of it that stand for the rest; `None` until it is parsed, and while one of its chunks is forgotten.
    pub summary: Option<UserText>,
    /// The number of its pages, if its format has pages.
    pub pages: Option<u32>,
    /// The addresses that it links to.
    pub links: Vec<UserText>,
    /// The number of its chunks; 0 until it is parsed.
    pub chunk_count: u32,
    /// The number of chunks that are stored and searchable.
    pub stored: u32,
    /// The number of chunks whose facts were extracted.
    pub understood: u32,
    /// The size of its chunks in characters.
    pub chunk_chars: u32,
    /// How much of a chunk the next one repeats at most, in characters.
    pub chunk_overlap: u32,
    /// Whether its file is stored.
    pub has_original: bool,
    /// When it was added.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When its owner last viewed it.
    pub viewed_at: Option<Timestamp>,
}

impl Document {
    /// Returns its progress.
    pub fn progress(&self) -> DocumentProgress {
        DocumentProgress {
            document: self.id,
            status: self.status,
            chunk_count: self.chunk_count,
            stored: self.stored,
            understood: self.understood,
            error: self.error.clone(),
        }
    }
}

/// How far a document is processed.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentProgress {
    /// The document.
    pub document: DocumentId,
    /// Its state.
    pub status: DocumentStatus,
    /// The number of its chunks; 0 until it is parsed.
    pub chunk_count: u32,
    /// The number of chunks that are stored.
    pub stored: u32,
    /// The number of chunks whose facts were extracted.
    pub understood: u32,
    /// Why it failed.
    pub error: Option<String>,
}

impl DocumentProgress {
    /// Returns the completed steps. Storing a chunk is one step, and extracting its facts is another.
    pub fn done(&self) -> u32 {
        self.stored.saturating_add(self.understood)
    }

    /// Returns the number of steps; 0 until the document is parsed.
    pub fn total(&self) -> u32 {
        self.chunk_count.saturating_mul(2)
    }
}

impl From<DocumentProgress> for DocumentUpdate {
    fn from(progress: DocumentProgress) -> Self {
        Self {
            session_id: progress.document.session(),
            document_id: progress.document,
            status: progress.status,
            done: progress.done(),
            total: progress.total(),
            error: progress.error,
        }
    }
}

/// Consecutive pages, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, ToSchema)]
pub struct PageRange {
    /// The first page.
    pub first: u32,
    /// The last page.
    pub last: u32,
}

/// A piece of a document that is found and cited as one.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// Identity: the message that stores it.
    pub id: MessageId,
    /// The document.
    pub document: DocumentId,
    /// Position in the document, from 0.
    pub position: u32,
    /// The section, from 0.
    pub section: u32,
    /// The heading of the section.
    pub heading: Option<UserText>,
    /// The offset of the text in the text of the document, in characters.
    pub char_offset: u64,
    /// The pages on which it stands, if the format has pages.
    pub pages: Option<PageRange>,
    /// The text.
    pub text: UserText,
}

/// Most lines of headings at the beginning of a chunk.
const HEADING_LINES: usize = 12;
/// Words of a sentence that tell that it follows a heading.
const FIRST_WORDS: usize = 3;

impl Chunk {
    /// Returns the headings with which the text begins, that of the section last; empty if it begins within the section.
    pub fn headings(&self) -> &str {
        let Some(heading) = &self.heading else { return "" };
        let (text, wanted) = (self.text.as_str(), words(heading.as_str()));
        let (mut end, mut found, mut starts) = (0, Vec::new(), Vec::new());
        for line in text.split_inclusive('\n').take(HEADING_LINES) {
            let of_line = words(line);
            if of_line.is_empty() {
                break;
            }
            end += line.len();
            starts.push(found.len());
            found.extend(of_line);
            // The heading may have several lines, and others may stand above it.
            if starts.iter().any(|start| found.get(*start..) == Some(wanted.as_slice())) {
                return text.get(..end).unwrap_or_default();
            }
        }
        ""
    }

    /// Returns an excerpt of the text without headings before its first sentence: "Pets Cats are allowed" is "Cats are allowed".
    ///
    /// An excerpt that is only a heading stays as it is.
    pub fn without_headings<'e>(&self, excerpt: &'e str) -> &'e str {
        let headings = self.headings();
        let body = words(self.text.as_str().get(headings.len()..).unwrap_or_default());
        let headings = words(headings);
        let after = |prefix: &[&str]| {
            let mut rest = excerpt.trim_start();
            for word in prefix {
                rest = rest.strip_prefix(word).filter(|rest| rest.starts_with(char::is_whitespace))?.trim_start();
            }
            let begins = words(rest).into_iter().zip(&body).take(FIRST_WORDS).all(|(a, b)| a.trim_end_matches('…') == *b || a == *b);
            (begins && !rest.is_empty()).then_some(rest)
        };
        (0..headings.len()).find_map(|from| after(headings.get(from..)?)).unwrap_or(excerpt)
    }
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// A part of a document under one heading.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Position in the document, from 0.
    pub position: u32,
    /// The heading.
    pub heading: Option<UserText>,
    /// The depth of the heading, 1 for the highest; 0 without a heading.
    pub level: u8,
    /// The offset of its text in the text of the document, in characters.
    pub char_offset: u64,
    /// The length of its text, in characters.
    pub chars: u64,
    /// The pages on which it stands, if the format has pages.
    pub pages: Option<PageRange>,
}

/// The chunk behind a citation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, ToSchema)]
pub struct CitedChunk {
    /// The chunk.
    pub chunk_id: MessageId,
    /// Its document.
    pub document_id: DocumentId,
    /// The name of the document's file.
    pub filename: UserText,
    /// The pages on which the chunk stands, if the format has pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<PageRange>,
}

impl CitedChunk {
    /// Names the file and the pages: "handbook.pdf, page 3".
    pub fn place(&self) -> String {
        let name = self.filename.as_str();
        match self.pages {
            Some(pages) if pages.first == pages.last => format!("{name}, page {}", pages.first),
            Some(pages) => format!("{name}, pages {} to {}", pages.first, pages.last),
            None => name.to_owned(),
        }
    }
}

impl DocumentId {
    /// Returns the session that stores the document.
    pub fn session(self) -> SessionId {
        SessionId(self.0)
    }
}

impl From<SessionId> for DocumentId {
    fn from(session: SessionId) -> Self {
        Self(session.0)
    }
}

impl From<DocumentId> for Uuid {
    fn from(id: DocumentId) -> Self {
        id.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpt_loses_the_headings_before_its_first_sentence() {
        let chunk = |heading: &str, text: &str| Chunk {
            id: MessageId(Uuid::nil()),
            document: DocumentId(Uuid::nil()),
            position: 0,
            section: 0,
            heading: Some(heading.into()),
            char_offset: 0,
            pages: None,
            text: text.into(),
        };
        let pets = chunk("2 Pets and visitors", "Elm Court\n2 Pets\nand visitors\nCats are allowed in the flat. Dogs are not.");
        assert_eq!(pets.headings(), "Elm Court\n2 Pets\nand visitors\n");
        for (excerpt, expected) in [
            ("Elm Court\n2 Pets\nand visitors\nCats are allowed", "Cats are allowed"),
            ("Elm Court 2 Pets and visitors Cats are…", "Cats are…"),
            ("2 Pets and visitors Cats are allowed in the flat.", "Cats are allowed in the flat."),
            ("and visitors\nCats are allowed", "Cats are allowed"),
            ("Cats are allowed in the flat.", "Cats are allowed in the flat."),
            ("Dogs are not.", "Dogs are not."),
            ("2 Pets and visitors", "2 Pets and visitors"),
            ("", ""),
        ] {
            assert_eq!(pets.without_headings(excerpt), expected, "{excerpt}");
        }
        // A sentence that begins with the words of its heading stays whole.
        let own = chunk("Pets", "Pets\nPets are allowed.");
        assert_eq!(own.without_headings("Pets are allowed."), "Pets are allowed.");
        assert_eq!(own.without_headings("Pets Pets are allowed."), "Pets are allowed.");
        assert_eq!(chunk("Pets", "Cats are allowed. Pets\nstay.").headings(), "");
    }

    #[test]
    fn collections_are_named_by_letters_digits_hyphens_and_underscores() {
        assert!(["a", "handbook-2024", "my_Notes", "Bücher"].into_iter().all(is_collection_name));
        let long = "x".repeat(MAX_COLLECTION_BYTES + 1);
        assert!(["", "a b", "a/b", "../x", "a.b", "a\n", long.as_str()].into_iter().all(|name| !is_collection_name(name)));
    }
}
