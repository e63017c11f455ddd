//! Turns the blocks of a document into sections and chunks.

use std::ops::{Range, RangeInclusive};

use recall_ports::{Chunking, DocumentFormat, ParseError};

use crate::chunk;
use crate::draft::{Draft, Kind};
use crate::encoding::clean;
use crate::links;
use crate::plain::numbered_level;
use crate::wire::{Chunk, Parsed, Section};

/// Longest text of a document, in bytes.
const MAX_TEXT: usize = 24 << 20;
/// Largest number of chunks.
const MAX_CHUNKS: usize = 50_000;
/// Longest heading and title, in characters. Longer text is no heading.
const MAX_HEADING: usize = 300;

/// A section while it is built.
#[derive(Default)]
struct Open {
    heading: Option<String>,
    level: u8,
    text: String,
    /// Where each page begins in the text.
    pages: Vec<(usize, u32)>,
    /// Whether the text is more than headings.
    has_body: bool,
    last: Option<Kind>,
}

/// Splits a document into sections at its headings, and the sections into chunks.
///
/// # Errors
/// [`ParseError::NoText`], and [`ParseError::TooComplex`] for more text than is processed.
pub(crate) fn assemble(format: DocumentFormat, draft: Draft, chunking: Chunking) -> Result<Parsed, ParseError> {
    let mut closed: Vec<Open> = Vec::new();
    let mut open = Open::default();
    let mut total = 0;
    for mut block in draft.blocks {
        // Cleaning changes the length, so the text of each page is cleaned on its own.
        let (text, pages) = clean_pages(&block.text, &block.pages);
        if text.trim().is_empty() {
            continue;
        }
        total += text.len();
        if total > MAX_TEXT {
            return Err(ParseError::TooComplex);
        }
        if matches!(block.kind, Kind::Heading(_)) && text.chars().count() > MAX_HEADING {
            block.kind = Kind::Paragraph;
        }
        if let Kind::Heading(level) = block.kind {
            // A heading without text of its own is the beginning of the next section, if that is a part of it.
            if open.has_body || (open.heading.is_some() && level <= open.level) {
                closed.push(std::mem::take(&mut open));
            }
            open.heading = Some(one_line(&text));
            open.level = level.max(1);
        }
        open.append(block.kind, &text, &pages);
    }
    closed.push(open);
    closed.retain(|section| !section.text.is_empty());
    if closed.is_empty() {
        return Err(ParseError::NoText);
    }
    let links = links::collect(draft.links, closed.iter().map(|section| section.text.as_str()));
    let title = draft.title.map(|title| one_line(&clean(&title))).filter(|t| !t.is_empty() && t.chars().count() <= MAX_HEADING);
    let title = title.filter(|title| !is_one_of_sections(title, closed.iter().filter_map(|section| section.heading.as_deref())));
    let mut sections = Vec::with_capacity(closed.len());
    let (mut chunks, last) = (0, closed.len() - 1);
    for (index, mut section) in closed.into_iter().enumerate() {
        let text_end = section.text.len();
        if index < last {
            section.text.push_str("\n\n");
        }
        let section = section.close(text_end, chunking);
        chunks += section.chunks.len();
        if chunks > MAX_CHUNKS {
            return Err(ParseError::TooComplex);
        }
        sections.push(section);
    }
    Ok(Parsed { format, title, pages: draft.pages, sections, links })
}

/// Whether a title is the heading of a numbered section next to others: "1 Garden" before "2 Kitchen". It names a part, not the document.
fn is_one_of_sections<'h>(title: &str, mut headings: impl Iterator<Item = &'h str>) -> bool {
    let level = numbered_level(title);
    level.is_some() && headings.any(|heading| heading != title && numbered_level(heading) == level)
}

/// Cleans the text of each page, and says where it begins in the result.
fn clean_pages(text: &str, pages: &[(usize, u32)]) -> (String, Vec<(usize, u32)>) {
    if pages.len() <= 1 {
        return (clean(text), pages.to_vec());
    }
    let (mut cleaned, mut starts) = (String::with_capacity(text.len()), Vec::with_capacity(pages.len()));
    for (index, &(start, page)) in pages.iter().enumerate() {
        let end = pages.get(index + 1).map_or(text.len(), |next| next.0);
        starts.push((cleaned.len(), page));
        cleaned.push_str(&clean(text.get(start..end).unwrap_or_default()));
    }
    (cleaned, starts)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Open {
    fn append(&mut self, kind: Kind, text: &str, pages: &[(usize, u32)]) {
        let separator = match (self.last, kind) {
            (None, _) => "",
            (Some(Kind::Line), Kind::Line) | (Some(Kind::Heading(_)), _) => "\n",
            _ => "\n\n",
        };
        self.text.push_str(separator);
        let body = text.trim_start_matches('\n');
        let (start, cut) = (self.text.len(), text.len() - body.len());
        self.pages.extend(pages.iter().map(|&(byte, page)| (start + byte.saturating_sub(cut), page)));
        self.text.push_str(body.trim_end());
        self.has_body |= !matches!(kind, Kind::Heading(_));
        self.last = Some(kind);
    }

    fn close(self, text_end: usize, chunking: Chunking) -> Section {
        let chunks = chunk::split(&self.text, chunking);
        let chunks = chunks.into_iter().map(|range| Chunk { start: range.start, end: range.end, pages: pages_of(&self.pages, range) });
        let (chunks, pages) = (chunks.collect(), pages_of(&self.pages, 0..text_end));
        Section { heading: self.heading, level: self.level, text: self.text, pages, chunks }
    }
}

/// The pages of a part of a text.
fn pages_of(pages: &[(usize, u32)], range: Range<usize>) -> Option<RangeInclusive<u32>> {
    let before = pages.partition_point(|(start, _)| *start <= range.start);
    let within = pages.partition_point(|(start, _)| *start < range.end);
    let first = pages.get(before.saturating_sub(1))?.1;
    let last = pages.get(within.saturating_sub(1))?.1;
    Some(first..=last.max(first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draft::Block;
    use proptest::prelude::*;

    const CHUNKING: Chunking = Chunking { size: 40, overlap: 10 };

    fn draft(blocks: &[(Kind, &str)]) -> Draft {
        Draft { blocks: blocks.iter().map(|(kind, text)| Block::new(*kind, *text)).collect(), ..Draft::default() }
    }

    #[test]
    fn headings_divide_a_document_into_sections() {
        let parsed = assemble(
            DocumentFormat::Markdown,
            draft(&[
                (Kind::Paragraph, "Before."),
                (Kind::Heading(1), "One"),
                (Kind::Heading(2), "One and\na half"),
                (Kind::Paragraph, "Text."),
                (Kind::Line, "- a"),
                (Kind::Line, "- b"),
                (Kind::Heading(1), "Two"),
                (Kind::Heading(1), "Three"),
            ]),
            CHUNKING,
        )
        .unwrap();
        let sections: Vec<_> = parsed.sections.iter().map(|s| (s.heading.as_deref(), s.level, s.text.as_str())).collect();
        assert_eq!(
            sections,
            [
                (None, 0, "Before.\n\n"),
                (Some("One and a half"), 2, "One\nOne and\na half\nText.\n\n- a\n- b\n\n"),
                (Some("Two"), 1, "Two\n\n"),
                (Some("Three"), 1, "Three"),
            ]
        );
    }

    #[test]
    fn sections_and_chunks_know_their_pages() {
        let text = "First page text. Second page text is here. Third.";
        let second = text.find("Second").unwrap();
        let third = text.find("Third").unwrap();
        let block = Block { kind: Kind::Paragraph, text: text.to_owned(), pages: vec![(0, 1), (second, 2), (third, 3)] };
        let parsed = assemble(DocumentFormat::Pdf, Draft { blocks: vec![block], ..Draft::default() }, CHUNKING).unwrap();
        let section = &parsed.sections[0];
        assert_eq!(section.pages, Some(1..=3));
        let chunks: Vec<_> = section.chunks.iter().map(|c| (&section.text[c.start..c.end], c.pages.clone().unwrap())).collect();
        assert_eq!(chunks, [("First page text. Second page text is", 1..=2), ("text is here. Third.", 2..=3)]);
    }

    #[test]
    fn numbered_section_names_no_document() {
        let titled = |title: &str, headings: [&str; 2]| {
            let mut draft = draft(&[(Kind::Heading(1), headings[0]), (Kind::Paragraph, "a"), (Kind::Heading(1), headings[1])]);
            draft.title = Some(title.to_owned());
            assemble(DocumentFormat::Pdf, draft, CHUNKING).unwrap().title
        };
        assert_eq!(titled("1 Garden", ["1 Garden", "2 Kitchen"]), None);
        assert_eq!(titled("7 Rules", ["7 Rules", "Order"]).as_deref(), Some("7 Rules"));
        assert_eq!(titled("Guide", ["1 Garden", "2 Kitchen"]).as_deref(), Some("Guide"));
    }

    #[test]
    fn document_without_text_is_an_error() {
        assert_eq!(assemble(DocumentFormat::Pdf, draft(&[(Kind::Paragraph, " \u{200b}")]), CHUNKING).unwrap_err(), ParseError::NoText);
    }

    #[test]
    fn more_chunks_than_are_processed_are_refused() {
        let blocks = (0..=MAX_CHUNKS).flat_map(|_| [Block::new(Kind::Heading(1), "a"), Block::new(Kind::Paragraph, "b")]).collect();
        let parsed = assemble(DocumentFormat::Html, Draft { blocks, ..Draft::default() }, CHUNKING);
        assert_eq!(parsed.unwrap_err(), ParseError::TooComplex);
    }

    fn kind() -> impl Strategy<Value = Kind> {
        prop_oneof![(1_u8..4).prop_map(Kind::Heading), Just(Kind::Paragraph), Just(Kind::Line)]
    }

    proptest! {
        #[test]
        fn offsets_are_exact_and_chunks_cover_the_text(
            blocks in prop::collection::vec((kind(), "[a-zA-Zäß漢🦀e\u{301}\u{a0}. \n]{0,120}"), 0..12),
            size in 8_usize..80,
            overlap in 0_usize..30,
        ) {
            let given: Vec<_> = blocks.iter().map(|(kind, text)| (*kind, text.as_str())).collect();
            let Ok(parsed) = assemble(DocumentFormat::PlainText, draft(&given), Chunking { size, overlap }) else { return Ok(()) };
            let document = parsed.into_document().unwrap();
            let all: Vec<char> = document.sections.iter().flat_map(|s| s.text.as_str().chars()).collect();
            let mut covered = vec![false; all.len()];
            for section in &document.sections {
                let at = usize::try_from(section.char_offset).unwrap();
                prop_assert_eq!(all[at..].iter().take(section.text.as_str().chars().count()).collect::<String>(), section.text.as_str());
            }
            for chunk in &document.chunks {
                let at = usize::try_from(chunk.char_offset).unwrap();
                let length = chunk.text.as_str().chars().count();
                prop_assert!(length <= size);
                prop_assert_eq!(all[at..at + length].iter().collect::<String>(), chunk.text.as_str());
                covered[at..at + length].fill(true);
                let section = &document.sections[chunk.section as usize];
                let from = usize::try_from(section.char_offset).unwrap();
                prop_assert!(at >= from && at + length <= from + section.text.as_str().chars().count());
            }
            prop_assert!(all.iter().zip(&covered).all(|(c, covered)| *covered || c.is_whitespace()));
        }
    }
}
