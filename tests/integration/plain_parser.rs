//! Reads plain text for tests: headings begin with `# `, pages end with a form feed.

use std::{ops::RangeInclusive, path::Path};

use async_trait::async_trait;
use recall_ports::{Chunking, DocumentFormat, DocumentParser, ParseError, ParsedChunk, ParsedDocument, ParsedSection};

/// Splits a text at headings, and each section at blank lines, as far as the size of a chunk demands.
pub(crate) struct PlainParser;

/// Pages of a range of characters.
fn pages(text: &[char], from: usize, to: usize) -> Option<RangeInclusive<u32>> {
    if !text.contains(&'\u{c}') {
        return None;
    }
    let page = |at: usize| 1 + u32::try_from(text[..at].iter().filter(|c| **c == '\u{c}').count()).unwrap();
    Some(page(from)..=page(to))
}

#[async_trait]
impl DocumentParser for PlainParser {
    async fn parse(&self, file: &Path, _name: &str, chunking: Chunking) -> Result<ParsedDocument, ParseError> {
        let bytes = tokio::fs::read(file).await.map_err(|e| ParseError::Transient(e.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|_| ParseError::UnknownFormat)?;
        if text.contains("\u{1}") {
            return Err(ParseError::Damaged);
        }
        let text: Vec<char> = text.chars().collect();
        let starts = (0..text.len()).filter(|&at| text[at] == '#' && (at == 0 || text[at - 1] == '\n'));
        let mut bounds: Vec<usize> = std::iter::once(0).chain(starts).chain([text.len()]).collect();
        bounds.dedup();
        let (mut sections, mut chunks) = (Vec::new(), Vec::new());
        for pair in bounds.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            let body: String = text[from..to].iter().collect();
            let heading = body.lines().next().and_then(|line| line.strip_prefix("# ")).map(Into::into);
            let mut begin = from;
            while begin < to {
                let mut end = to.min(begin + chunking.size);
                if end < to {
                    let blank = (begin + 1..end).rev().find(|&at| text[at - 1] == '\n' && text[at] == '\n');
                    end = blank.map_or(end, |at| at + 1);
                }
                let piece: String = text[begin..end].iter().collect();
                let trimmed = piece.trim();
                if !trimmed.is_empty() {
                    let offset = begin + (piece.chars().count() - piece.trim_start().chars().count());
                    let last = offset + trimmed.chars().count() - 1;
                    chunks.push(ParsedChunk {
                        section: u32::try_from(sections.len()).unwrap(),
                        text: trimmed.into(),
                        char_offset: offset as u64,
                        pages: pages(&text, offset, last),
                    });
                }
                begin = end;
            }
            let level = u8::from(heading_of(&body));
            sections.push(ParsedSection { heading, level, text: body.into(), char_offset: from as u64, pages: pages(&text, from, to - 1) });
        }
        if chunks.is_empty() {
            return Err(ParseError::NoText);
        }
        let title = sections.iter().find_map(|section| section.heading.clone());
        let format = DocumentFormat::PlainText;
        Ok(ParsedDocument { format, title, pages: pages(&text, 0, text.len() - 1).map(|all| *all.end()), sections, chunks, links: vec![] })
    }
}

fn heading_of(body: &str) -> bool {
    body.starts_with("# ")
}
