//! Parses a file in this process.

use recall_ports::{Chunking, DocumentFormat, ParseError};

use crate::format::{Content, is_separated_values, recognise};
use crate::wire::Parsed;
use crate::{assemble, docx, encoding, html, markdown, pdf, plain, rows};

/// Parses a file in this process, without limits of the system. A hostile file may panic, exhaust the memory or never end.
///
/// # Errors
/// See [`ParseError`].
pub fn parse(bytes: Vec<u8>, name: &str, chunking: Chunking) -> Result<recall_ports::ParsedDocument, ParseError> {
    parse_to_wire(bytes, name, chunking)?.into_document()
}

pub(crate) fn parse_to_wire(bytes: Vec<u8>, name: &str, chunking: Chunking) -> Result<Parsed, ParseError> {
    let (format, draft) = match recognise(&bytes, name)? {
        Content::Pdf => (DocumentFormat::Pdf, pdf::read(bytes)?),
        Content::Docx => (DocumentFormat::Docx, docx::read(&bytes)?),
        Content::Html => {
            let text = encoding::decode(&bytes, html::declared_encoding(&bytes)).ok_or(ParseError::UnknownFormat)?;
            (DocumentFormat::Html, html::read(&text))
        }
        Content::Text(format) => {
            let text = encoding::decode(&bytes, None).ok_or(ParseError::UnknownFormat)?;
            drop(bytes);
            let table = if is_separated_values(name) { rows::read_file(&text) } else { None };
            let other = || if format == DocumentFormat::Markdown { markdown::read(&text) } else { plain::read(&text) };
            (format, table.unwrap_or_else(other))
        }
    };
    assemble::assemble(format, draft, chunking)
}
