//! Reads files: their text by section, with pages, and split into chunks.

use std::ops::RangeInclusive;
use std::path::Path;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use recall_domain::UserText;

/// The format of a document, judged by its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::Display, strum::EnumString)]
#[serde(rename_all = "snake_case")]
pub enum DocumentFormat {
    /// `application/pdf`.
    #[strum(serialize = "application/pdf")]
    Pdf,
    /// Office Open XML text.
    #[strum(serialize = "application/vnd.openxmlformats-officedocument.wordprocessingml.document")]
    Docx,
    /// `text/html`.
    #[strum(serialize = "text/html")]
    Html,
    /// `text/markdown`.
    #[strum(serialize = "text/markdown")]
    Markdown,
    /// `text/plain`, in UTF-8 or a common older encoding.
    #[strum(serialize = "text/plain")]
    PlainText,
}

/// How a text is split into chunks. Both are numbers of characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunking {
    /// The largest length of a chunk.
    pub size: usize,
    /// How much of the end of a chunk the next chunk of its section repeats at most. Less than `size`.
    pub overlap: usize,
}

/// The text of a document. Offsets count characters from the beginning of the text, which is that of its sections, one after the other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ParsedDocument {
    /// The format.
    pub format: DocumentFormat,
    /// The title, if the document states one.
    pub title: Option<UserText>,
    /// The number of pages, if the format has pages.
    pub pages: Option<u32>,
    /// The sections in reading order. A text without headings is one section.
    pub sections: Vec<ParsedSection>,
    /// The chunks in reading order. None crosses the border of a section.
    pub chunks: Vec<ParsedChunk>,
    /// The addresses that the document links to or names, in order and without repetition.
    pub links: Vec<String>,
}

/// A part of a document under one heading: the parent passage of its chunks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ParsedSection {
    /// The heading.
    pub heading: Option<UserText>,
    /// The depth of the heading, 1 for the highest; 0 without a heading.
    pub level: u8,
    /// The text, with its heading as the first line.
    pub text: UserText,
    /// The offset of the text.
    pub char_offset: u64,
    /// The pages on which the text stands, from 1.
    pub pages: Option<RangeInclusive<u32>>,
}

/// A piece of a section that is found and cited as one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ParsedChunk {
    /// The index of the section.
    pub section: u32,
    /// The text.
    pub text: UserText,
    /// The offset of the text.
    pub char_offset: u64,
    /// The pages on which the text stands, from 1.
    pub pages: Option<RangeInclusive<u32>>,
}

/// Reads documents from files that nobody vouches for.
#[async_trait]
pub trait DocumentParser: Send + Sync {
    /// Parses a file and splits its text. Its memory, its time and the size of its result are bounded, whatever the file contains.
    ///
    /// `name` is the name that the owner gave the file; its ending decides only between kinds of plain text.
    ///
    /// # Errors
    /// See [`ParseError`].
    async fn parse(&self, file: &Path, name: &str, chunking: Chunking) -> Result<ParsedDocument, ParseError>;
}

/// Why a file could not be parsed. All but [`ParseError::Transient`] are final for the file, and their texts are shown to its owner.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum ParseError {
    /// The content has none of the known formats.
    #[error("The format of this file is not supported. Supported formats: PDF, DOCX, HTML, Markdown, CSV and plain text.")]
    UnknownFormat,
    /// The content contradicts its format.
    #[error("The file is damaged and cannot be read.")]
    Damaged,
    /// A password is needed.
    #[error("The file is encrypted. Remove its password and upload it again.")]
    Encrypted,
    /// There is no text, as in a scan.
    #[error("The file contains no text. Scanned pages need text recognition (OCR) first.")]
    NoText,
    /// A bound of the parser was reached.
    #[error("The file is too large or too complex to be read.")]
    TooComplex,
    /// May work later. The text is for the log.
    #[error("the document parser did not run: {0}")]
    Transient(String),
}
