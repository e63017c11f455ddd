//! The result that the child process writes: the text once, and chunks as ranges of it.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use recall_ports::{DocumentFormat, ParseError, ParsedChunk, ParsedDocument, ParsedSection};

/// What the child writes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Outcome {
    Parsed(Parsed),
    Failed(ParseError),
}

impl From<Result<Parsed, ParseError>> for Outcome {
    fn from(result: Result<Parsed, ParseError>) -> Self {
        match result {
            Ok(parsed) => Self::Parsed(parsed),
            Err(error) => Self::Failed(error),
        }
    }
}

/// A parsed document.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Parsed {
    pub(crate) format: DocumentFormat,
    pub(crate) title: Option<String>,
    pub(crate) pages: Option<u32>,
    pub(crate) sections: Vec<Section>,
    pub(crate) links: Vec<String>,
}

/// A section with its chunks.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Section {
    pub(crate) heading: Option<String>,
    pub(crate) level: u8,
    pub(crate) text: String,
    pub(crate) pages: Option<RangeInclusive<u32>>,
    pub(crate) chunks: Vec<Chunk>,
}

/// A chunk: the bytes of its section's text from `start` up to `end`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Chunk {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) pages: Option<RangeInclusive<u32>>,
}

impl Parsed {
    /// Cuts out the chunks and counts the characters before them.
    ///
    /// # Errors
    /// If a chunk is no range of its text. The child is not trusted: a file may have taken it over.
    pub(crate) fn into_document(self) -> Result<ParsedDocument, ParseError> {
        let (mut sections, mut chunks) = (Vec::with_capacity(self.sections.len()), Vec::new());
        let mut char_offset = 0;
        for section in self.sections {
            let index = u32::try_from(sections.len()).map_err(|_| ParseError::TooComplex)?;
            // Chunks are in order, so the characters are counted once.
            let (mut byte, mut chars) = (0, 0);
            for Chunk { start, end, pages } in section.chunks {
                let text = section.text.get(start..end).ok_or(ParseError::Damaged)?;
                let between = section.text.get(byte..start).ok_or(ParseError::Damaged)?;
                chars += count(between);
                byte = start;
                chunks.push(ParsedChunk { section: index, text: text.into(), char_offset: char_offset + chars, pages });
            }
            let length = count(&section.text);
            let Section { heading, level, text, pages, .. } = section;
            sections.push(ParsedSection { heading: heading.map(Into::into), level, text: text.into(), char_offset, pages });
            char_offset += length;
        }
        let Self { format, title, pages, links, .. } = self;
        Ok(ParsedDocument { format, title: title.map(Into::into), pages, sections, chunks, links })
    }
}

fn count(text: &str) -> u64 {
    text.chars().count() as u64
}
