//! Reads plain text: pages, headings, paragraphs and lists.

use crate::draft::{Block, Draft, Kind};
use crate::furniture::{EdgeLine, running_lines};

/// Lines at either end of a page among which headers are looked for.
const EDGE_LINES: usize = 3;
/// Shortest line of running text that was wrapped, in characters. Shorter lines are verse, addresses or tables.
const WRAPPED: usize = 45;
/// Longest heading, in characters.
const MAX_HEADING: usize = 100;
/// Longest heading without a mark, in characters and in words.
const MAX_BARE_HEADING: usize = 60;
const BARE_HEADING_WORDS: usize = 7;

/// Reads a plain text. Form feeds separate pages, as in RFCs.
pub(crate) fn read(text: &str) -> Draft {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let text = remove_overstrikes(&text);
    let mut pages: Vec<Vec<&str>> = text.split('\x0c').map(|page| page.lines().map(str::trim_end).collect()).collect();
    // A form feed may end the last page too.
    while pages.len() > 1 && pages.last().is_some_and(|page| page.iter().all(|line| line.is_empty())) {
        pages.pop();
    }
    let has_pages = pages.len() > 1;
    if has_pages {
        let edges: Vec<_> = pages.iter().map(|page| edge_lines(page)).collect();
        for (page, running) in pages.iter_mut().zip(running_lines(&edges)) {
            running.iter().for_each(|line| page[*line] = "");
        }
    }
    let mut reader = Reader { draft: Draft::default(), open: Vec::new(), has_pages, after_blank: true };
    for (index, page) in pages.iter().enumerate() {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        for (at, line) in page.iter().enumerate() {
            let next = page.get(at + 1).copied().unwrap_or_default();
            reader.line(line, next, number);
        }
        // A paragraph may go on on the next page, where its indentation tells.
        if !continues(page, pages.get(index + 1)) {
            reader.flush();
        }
    }
    reader.flush();
    reader.draft.pages = has_pages.then(|| u32::try_from(pages.len()).unwrap_or(u32::MAX));
    find_bare_headings(&mut reader.draft.blocks);
    reader.draft.title = title(&reader.draft.blocks);
    reader.draft
}

/// Returns the heading with which a text begins, if all others are below it.
fn title(blocks: &[Block]) -> Option<String> {
    let first = blocks.first().filter(|block| block.kind == Kind::Heading(1))?;
    let is_alone = blocks.iter().skip(1).all(|block| block.kind != Kind::Heading(1));
    is_alone.then(|| first.text.clone())
}

/// Makes headings of short lines that stand alone above a paragraph of sentences, if several do: a single one may be a greeting or a name.
fn find_bare_headings(blocks: &mut [Block]) {
    let is_short = |block: &Block| {
        let text = block.text.as_str();
        let is_line = !text.contains(['\n', '\t', '|']) && !text.starts_with(' ') && !text.contains("   ");
        let has_size = text.chars().count() <= MAX_BARE_HEADING && text.split_whitespace().count() <= BARE_HEADING_WORDS;
        let ends = text.ends_with(|c: char| c.is_alphanumeric() || c == ')');
        block.kind == Kind::Paragraph && is_line && has_size && ends && text.starts_with(char::is_uppercase) && !starts_item(text)
    };
    let is_prose = |block: &Block| {
        let text = block.text.trim_end();
        block.kind == Kind::Paragraph && text.ends_with(['.', '!', '?']) && text.split_whitespace().count() > BARE_HEADING_WORDS / 2
    };
    let pairs = blocks.iter().zip(blocks.iter().skip(1)).enumerate();
    let found: Vec<usize> = pairs.filter(|(_, (line, next))| is_short(line) && is_prose(next)).map(|(at, _)| at).collect();
    for at in found.iter().filter(|_| found.len() > 1) {
        if let Some(block) = blocks.get_mut(*at) {
            block.kind = Kind::Heading(2);
        }
    }
}

/// Removes what made letters bold or underlined on a printer: a character and a backspace.
fn remove_overstrikes(text: &str) -> String {
    if !text.contains('\x08') {
        return text.to_owned();
    }
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\x08' {
            if !plain.ends_with('\n') {
                plain.pop();
            }
        } else {
            plain.push(c);
        }
    }
    plain
}

fn edge_lines(page: &[&str]) -> Vec<EdgeLine> {
    let filled: Vec<usize> = (0..page.len()).filter(|line| !page[*line].is_empty()).collect();
    let top = filled.iter().take(EDGE_LINES).map(|line| (*line, true));
    let bottom = filled.iter().rev().take(EDGE_LINES).map(|line| (*line, false));
    // A header is separated from the text by an empty line.
    let alone = |line: usize, top: bool| {
        let next = if top { line + 1 } else { line.wrapping_sub(1) };
        page.get(next).is_none_or(|next| next.is_empty())
    };
    top.chain(bottom).filter(|(line, top)| alone(*line, *top)).map(|(line, top)| EdgeLine::new(line, page[line], top, 0.0)).collect()
}

/// Whether the last paragraph of a page goes on on the next.
fn continues(page: &[&str], next: Option<&Vec<&str>>) -> bool {
    let last = page.iter().rev().find(|line| !line.is_empty());
    let first = next.and_then(|next| next.iter().find(|line| !line.is_empty()));
    let (Some(last), Some(first)) = (last, first) else { return false };
    let starts_low = first.trim_start().chars().next().is_some_and(char::is_lowercase);
    starts_low && !last.ends_with(['.', '!', '?', ':'])
}

struct Reader<'t> {
    draft: Draft,
    /// The lines of the open paragraph with their pages.
    open: Vec<(&'t str, u32)>,
    has_pages: bool,
    after_blank: bool,
}

impl<'t> Reader<'t> {
    fn line(&mut self, line: &'t str, next: &'t str, page: u32) {
        if line.is_empty() {
            // A page break inside a paragraph does not end the paragraph.
            let within_page = self.open.last().is_none_or(|(_, p)| *p == page);
            if within_page && !next.is_empty() || !self.has_pages {
                self.flush();
            }
            self.after_blank = true;
            return;
        }
        let after_blank = std::mem::replace(&mut self.after_blank, false);
        if is_rule(line) {
            // The line under a heading, which is handled below, or a separator.
            match self.open.as_slice() {
                [(heading, _)] if is_underline(line, heading) => {
                    let level = if line.starts_with('=') { 1 } else { 2 };
                    let (heading, page) = (heading.trim(), self.open[0].1);
                    self.open.clear();
                    self.push(Kind::Heading(level), heading.to_owned(), vec![(0, page)]);
                }
                _ => self.flush(),
            }
            return;
        }
        let stands_alone = after_blank || self.open.is_empty();
        if let Some(level) = heading_level(line, next).filter(|_| stands_alone) {
            self.flush();
            self.push(Kind::Heading(level), line.trim().to_owned(), vec![(0, page)]);
            return;
        }
        self.open.push((line, page));
    }

    fn push(&mut self, kind: Kind, text: String, pages: Vec<(usize, u32)>) {
        let pages = if self.has_pages { pages } else { Vec::new() };
        self.draft.blocks.push(Block { kind, text, pages });
    }

    /// Ends the open paragraph. Wrapped lines are joined, other lines stay as they are.
    fn flush(&mut self) {
        let lines = std::mem::take(&mut self.open);
        if lines.is_empty() {
            return;
        }
        let wrapped = is_wrapped(&lines);
        let (mut text, mut pages) = (String::new(), Vec::new());
        for (line, page) in lines {
            if !text.is_empty() {
                text.push(if wrapped && !starts_item(line) { ' ' } else { '\n' });
            }
            if pages.last().is_none_or(|(_, last)| *last != page) {
                pages.push((text.len(), page));
            }
            text.push_str(if wrapped { line.trim() } else { line });
        }
        self.push(Kind::Paragraph, text, pages);
    }
}

/// Whether lines are running text that was wrapped.
fn is_wrapped(lines: &[(&str, u32)]) -> bool {
    let Some(((last, _), rest)) = lines.split_last() else { return false };
    let is_table = |line: &str| line.trim_start().contains("   ") || line.contains('|') || line.contains('\t');
    let short = rest.iter().filter(|(line, _)| line.chars().count() < WRAPPED).count();
    !rest.is_empty() && short * 5 <= rest.len() && !lines.iter().any(|(line, _)| is_table(line)) && !last.is_empty()
}

/// Whether a line begins with the mark of a list item.
pub(crate) fn starts_item(line: &str) -> bool {
    let line = line.trim_start();
    let mut chars = line.chars();
    match chars.next() {
        Some('•' | '‣' | '◦' | '▪' | '■' | '●' | '○' | '–' | '—' | '*' | '-' | '+' | 'o' | '·') => {
            chars.next().is_some_and(char::is_whitespace)
        }
        Some('(') => line.find(')').is_some_and(|end| (2..=5).contains(&end)),
        Some(c) if c.is_ascii_alphanumeric() => {
            let number = line.bytes().take_while(u8::is_ascii_digit).count().max(1);
            let mut after = line.chars().skip(number);
            matches!(after.next(), Some('.' | ')')) && after.next().is_some_and(char::is_whitespace)
        }
        _ => false,
    }
}

/// Whether a line consists of the same sign, at least three times.
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    let Some(first) = line.chars().next() else { return false };
    "=-~_*#^+\"".contains(first) && line.len() >= 3 && line.chars().all(|c| c == first)
}

/// Whether a line of signs underlines a heading.
fn is_underline(line: &str, heading: &str) -> bool {
    let (line, heading) = (line.trim().chars().count(), heading.trim().chars().count());
    heading <= MAX_HEADING && line + 3 >= heading && line <= heading + 8
}

/// The depth of a heading: a numbered line or a line in capitals at the left margin, followed by an empty line or by indented text.
fn heading_level(line: &str, next: &str) -> Option<u8> {
    let followed = next.is_empty() || (next.starts_with([' ', '\t']) && !line.starts_with([' ', '\t']));
    if !followed || line.starts_with([' ', '\t']) || line.chars().count() > MAX_HEADING || line.contains("....") || line.contains(". . .") {
        return None;
    }
    if let Some(level) = numbered_level(line) {
        return Some(level);
    }
    let letters = line.chars().filter(|c| c.is_alphabetic()).count();
    let capitals = letters >= 3 && !line.chars().any(char::is_lowercase) && line.chars().any(char::is_uppercase);
    (capitals && !line.ends_with(['.', ',', ';', ')']) && line.split_whitespace().count() <= 8).then_some(1)
}

/// The depth of a heading that begins with a number, such as `2.1. Names` or `Appendix A. Names`.
pub(crate) fn numbered_level(line: &str) -> Option<u8> {
    let line = line.trim();
    let (number, title) = line.split_once(char::is_whitespace)?;
    let title = title.trim_start();
    if ["Appendix", "Chapter", "Part", "Section", "Kapitel", "Anhang"].contains(&number) {
        let label = title.split(['.', ':', ' ']).next().unwrap_or_default();
        let is_label = label.len() <= 4 && label.chars().all(|c| c.is_ascii_digit() || c.is_ascii_uppercase());
        return (!label.is_empty() && is_label).then_some(1);
    }
    let parts: Vec<&str> = number.strip_suffix('.').unwrap_or(number).split('.').collect();
    let is_part = |part: &&str| !part.is_empty() && part.len() <= 3 && part.chars().all(|c| c.is_ascii_digit());
    let is_letter = |part: &str| part.len() == 1 && part.chars().all(|c| c.is_ascii_uppercase());
    let (first, rest) = parts.split_first()?;
    let numbered = (is_part(first) || (is_letter(first) && number.contains('.'))) && rest.iter().all(is_part);
    let starts = title.chars().next().is_some_and(|c| c.is_uppercase() || c == '"' || c == '\'');
    let ends = !title.ends_with(['.', ',', ';', ':']);
    (numbered && starts && ends && parts.len() <= 6).then(|| u8::try_from(parts.len()).unwrap_or(6))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(text: &str) -> Vec<(Kind, String)> {
        read(text).blocks.into_iter().map(|block| (block.kind, block.text)).collect()
    }

    #[test]
    fn wrapped_lines_are_joined_and_verse_is_not() {
        let text = "This paragraph was wrapped by an editor at the usual width of\r\nseventy-two characters, and goes on here.\r\n\r\nRoses are red,\nviolets are blue.\n";
        let paragraphs = [
            "This paragraph was wrapped by an editor at the usual width of seventy-two characters, and goes on here.",
            "Roses are red,\nviolets are blue.",
        ];
        assert_eq!(blocks(text), paragraphs.map(|p| (Kind::Paragraph, p.to_owned())));
    }

    #[test]
    fn headings_of_plain_text_are_recognised() {
        let text = "SYNOPSIS\n    recall [command]\n\n1.  Introduction\n\n   Some text here.\n\n2.1.  Names and Places\n\n   More.\n\nTitle\n=====\n\nBody\n\n1. First item\n2. second item\n";
        let headings: Vec<_> = blocks(text).into_iter().filter(|(kind, _)| matches!(kind, Kind::Heading(_))).collect();
        let expected = [(1, "SYNOPSIS"), (1, "1.  Introduction"), (2, "2.1.  Names and Places"), (1, "Title")];
        assert_eq!(headings, expected.map(|(level, text)| (Kind::Heading(level), text.to_owned())));
    }

    #[test]
    fn short_lines_above_paragraphs_are_headings_if_there_are_several() {
        let rules =
            "HOUSE RULES\n\nOpening hours\n\nThe gym opens at six in the morning.\n\nGuests\n\nMembers may bring one guest on Sundays.\n";
        let draft = read(rules);
        assert_eq!(draft.title.as_deref(), Some("HOUSE RULES"));
        let headings: Vec<&str> = draft.blocks.iter().filter(|b| b.kind == Kind::Heading(2)).map(|b| b.text.as_str()).collect();
        assert_eq!(headings, ["Opening hours", "Guests"]);
        let letter = "Dear Anna,\n\nThe gym opens at six in the morning.\n\nSee you soon\n\nIt will be a pleasure to meet you there.\n\nKind regards\n\nBoris Berg\n";
        assert!(read(letter).blocks.iter().all(|b| b.kind == Kind::Paragraph));
    }

    #[test]
    fn pages_of_an_rfc_lose_their_headers_and_footers() {
        let page = |n: usize, text: &str| {
            format!(
                "Bird & Worm                   Standards Track                   [Page {n}]\n\x0c\nRFC 9999                     Early Birds                 January 2020\n\n\n{text}\n\n\n\n"
            )
        };
        let text = format!(
            "   The first page has text that is long enough to be wrapped, and\n\n\n\n{}{}{}",
            page(1, "   continues on the second page of this document without a break.\n\n   Another."),
            page(2, "   Third page."),
            page(3, "   Fourth page.")
        );
        let draft = read(&text);
        let all: Vec<_> =
            draft.blocks.iter().map(|block| (block.text.trim(), block.pages.iter().map(|p| p.1).collect::<Vec<_>>())).collect();
        assert_eq!(draft.pages, Some(4));
        assert_eq!(
            all,
            [
                (
                    "The first page has text that is long enough to be wrapped, and continues on the second page of this document without a break.",
                    vec![1, 2]
                ),
                ("Another.", vec![2]),
                ("Third page.", vec![3]),
                ("Fourth page.", vec![4]),
            ]
        );
    }

    #[test]
    fn overstruck_letters_of_manual_pages_are_read_once() {
        assert_eq!(
            blocks("N\x08NA\x08AM\x08ME\x08E\n    _\x08r_\x08ecall"),
            [(Kind::Heading(1), "NAME".to_owned()), (Kind::Paragraph, "    recall".to_owned()),]
        );
    }
}
