//! Recognises the format of a file by its content.

use std::path::Path;

use recall_ports::{DocumentFormat, ParseError};

use crate::docx;

/// Bytes at the beginning of a file in which its format shows.
const HEAD: usize = 1024;

/// What a file is: the format, and the text if it is a text.
#[derive(Debug, PartialEq)]
pub(crate) enum Content {
    Pdf,
    Docx,
    Html,
    Text(DocumentFormat),
}

/// Recognises the format of a file. The name decides only whether a text is Markdown.
///
/// # Errors
/// [`ParseError::UnknownFormat`], [`ParseError::Encrypted`] for an office document with a password, [`ParseError::NoText`] for an empty
/// file.
pub(crate) fn recognise(bytes: &[u8], name: &str) -> Result<Content, ParseError> {
    let head = &bytes[..bytes.len().min(HEAD)];
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(ParseError::NoText);
    }
    if head.windows(5).any(|w| w == b"%PDF-") {
        return Ok(Content::Pdf);
    }
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        return if docx::is_document(bytes)? { Ok(Content::Docx) } else { Err(ParseError::UnknownFormat) };
    }
    if head.starts_with(b"\xd0\xcf\x11\xe0") {
        // An office document with a password is wrapped in the container of older formats.
        let wrapped: Vec<u8> = "EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let encrypted = bytes.windows(wrapped.len()).any(|w| w == wrapped);
        return Err(if encrypted { ParseError::Encrypted } else { ParseError::UnknownFormat });
    }
    if head.starts_with(b"{\\rtf") || head.starts_with(b"%!PS") {
        return Err(ParseError::UnknownFormat);
    }
    let markdown = is_markdown(name);
    if is_html(head, markdown) {
        return Ok(Content::Html);
    }
    Ok(Content::Text(if markdown { DocumentFormat::Markdown } else { DocumentFormat::PlainText }))
}

/// Whether a file name has an ending of Markdown.
pub(crate) fn is_markdown(name: &str) -> bool {
    let ending = Path::new(name).extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    ["md", "markdown", "mdown", "mkd"].contains(&ending.as_str())
}

/// What the name of a file tells of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TextKind {
    /// Text without marks.
    Plain,
    /// Markdown.
    Markdown,
    /// A table whose cells are separated by commas or other signs.
    SeparatedValues,
}

impl TextKind {
    /// Returns what a file name tells.
    pub(crate) fn of(name: &str) -> Self {
        if is_markdown(name) {
            Self::Markdown
        } else if is_separated_values(name) {
            Self::SeparatedValues
        } else {
            Self::Plain
        }
    }

    /// Returns a name that tells the same and nothing else.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Markdown => "document.md",
            Self::SeparatedValues => "document.csv",
        }
    }
}

/// Whether a file name has an ending of a table of separated values.
pub(crate) fn is_separated_values(name: &str) -> bool {
    let ending = Path::new(name).extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    ["csv", "tsv", "tab"].contains(&ending.as_str())
}

/// Whether a text begins like HTML. Markdown may begin with an element too, but not with a document type.
fn is_html(head: &[u8], markdown: bool) -> bool {
    const DOCUMENT: [&str; 4] = ["<!doctype html", "<html", "<head", "<body"];
    // Those that browsers recognise: https://mimesniff.spec.whatwg.org.
    const FRAGMENT: [&str; 14] =
        ["<h1", "<h2", "<div", "<font", "<table", "<a ", "<style", "<title", "<b>", "<br", "<p>", "<p ", "<script", "<iframe"];
    let text: String = head.iter().filter(|b| **b != 0).map(|b| char::from(*b).to_ascii_lowercase()).collect();
    let mut text = text.trim_start_matches(['\u{ef}', '\u{bb}', '\u{bf}', '\u{ff}', '\u{fe}']).trim_start();
    // Comments and the XML declaration may come first.
    loop {
        let end = if text.starts_with("<!--") {
            "-->"
        } else if text.starts_with("<?xml") {
            "?>"
        } else {
            break;
        };
        let Some(at) = text.find(end) else { return false };
        text = text[at + end.len()..].trim_start();
    }
    // The document type of XHTML names HTML as well.
    DOCUMENT.iter().any(|start| text.starts_with(start)) || (!markdown && FRAGMENT.iter().any(|start| text.starts_with(start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(bytes: &[u8], name: &str) -> Result<Content, ParseError> {
        recognise(bytes, name)
    }

    #[test]
    fn content_decides_and_not_the_name() {
        assert_eq!(found(b"%PDF-1.4\n", "a.txt"), Ok(Content::Pdf));
        assert_eq!(found(b"\n\n%PDF-1.4\n", "a"), Ok(Content::Pdf));
        assert_eq!(found(b"<!DOCTYPE html><p>", "a.pdf"), Ok(Content::Html));
        assert_eq!(found(b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- x --><html xmlns='a'>", "a"), Ok(Content::Html));
        assert_eq!(found(b"<h1>Title</h1>", "a.docx"), Ok(Content::Html));
        assert_eq!(found(b"Just words", "a.pdf"), Ok(Content::Text(DocumentFormat::PlainText)));
        assert_eq!(found(b"<notes><p>x</p></notes>", "a.html"), Ok(Content::Text(DocumentFormat::PlainText)));
    }

    #[test]
    fn name_decides_between_markdown_and_plain_text() {
        assert_eq!(found(b"# A", "a.MD"), Ok(Content::Text(DocumentFormat::Markdown)));
        assert_eq!(found(b"# A", "a.txt"), Ok(Content::Text(DocumentFormat::PlainText)));
        assert_eq!(found(b"<p align=\"center\">\n\n# A", "README.md"), Ok(Content::Text(DocumentFormat::Markdown)));
    }

    #[test]
    fn kind_of_a_text_survives_without_its_name() {
        for (name, kind) in
            [("a.md", TextKind::Markdown), ("B.CSV", TextKind::SeparatedValues), ("csv", TextKind::Plain), ("", TextKind::Plain)]
        {
            assert_eq!((TextKind::of(name), TextKind::of(kind.name())), (kind, kind), "{name}");
        }
    }

    #[test]
    fn foreign_formats_are_refused_with_their_reason() {
        assert_eq!(found(b"", "a"), Err(ParseError::NoText));
        assert_eq!(found(b" \n\t ", "a"), Err(ParseError::NoText));
        assert_eq!(found(b"{\\rtf1 x}", "a"), Err(ParseError::UnknownFormat));
        assert_eq!(found(b"\xd0\xcf\x11\xe0 word 97", "a"), Err(ParseError::UnknownFormat));
        let package: Vec<u8> = "EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(found(&[&b"\xd0\xcf\x11\xe0"[..], &package].concat(), "a"), Err(ParseError::Encrypted));
    }
}
