//! Reads the headers and footers of pages: their text is read once, however many pages have it.

use std::collections::HashSet;

use recall_ports::ParseError;

use super::xml::{Token, is_on};

/// Most parts with headers and footers. A document has three of each in a section.
pub(super) const MAX_PARTS: usize = 24;
/// Fewest letters of a text. Shorter ones are page numbers and ornaments.
const MIN_LETTERS: usize = 3;
/// Most texts that are read. A document with more fills them with something else.
const MAX_TEXTS: usize = 200;

/// Reads the paragraphs of a header or a footer, without those that differ on each page.
#[derive(Default)]
pub(super) struct Running {
    /// The paragraphs of all parts, each once.
    pub(super) texts: Vec<String>,
    known: HashSet<String>,
    open: String,
    /// Whether the open paragraph has a number of pages.
    is_of_page: bool,
    in_run: bool,
    in_text: bool,
    in_instruction: bool,
    is_hidden: bool,
    /// The depth within deleted text, or within what older programs show instead.
    skipped: usize,
}

impl Running {
    /// Keeps the texts and begins another part, also behind a damaged one.
    pub(super) fn next_part(self) -> Self {
        Self { texts: self.texts, known: self.known, ..Self::default() }
    }

    pub(super) fn token(&mut self, token: Token<'_>) -> Result<(), ParseError> {
        match token {
            Token::Start(name, _) if self.skipped > 0 || matches!(name, "del" | "moveFrom" | "Fallback") => self.skipped += 1,
            Token::End(_) if self.skipped > 0 => self.skipped -= 1,
            Token::Text(_) if self.skipped > 0 => {}
            Token::Start(name, element) => match name {
                "r" => (self.in_run, self.is_hidden) = (true, false),
                "vanish" if self.in_run => self.is_hidden = is_on(element),
                "t" => self.in_text = true,
                "instrText" => self.in_instruction = true,
                "fldSimple" => self.note_field(&super::attribute(element, "instr").unwrap_or_default()),
                "tab" | "ptab" | "br" | "cr" => self.open.push(' '),
                _ => {}
            },
            Token::Text(text) if self.in_instruction => self.note_field(text),
            Token::Text(text) if self.in_text && !self.is_hidden => self.open.push_str(text),
            Token::Text(_) => {}
            Token::End(name) => match name {
                "r" => (self.in_run, self.is_hidden) = (false, false),
                "t" => self.in_text = false,
                "instrText" => self.in_instruction = false,
                "p" => self.end_paragraph(),
                _ => {}
            },
        }
        Ok(())
    }

    fn note_field(&mut self, instruction: &str) {
        self.is_of_page |= instruction.contains("PAGE");
    }

    fn end_paragraph(&mut self) {
        let text = std::mem::take(&mut self.open).split_whitespace().collect::<Vec<_>>().join(" ");
        let is_of_page = std::mem::take(&mut self.is_of_page);
        let has_words = text.chars().filter(|c| c.is_alphabetic()).count() >= MIN_LETTERS;
        if has_words && !is_of_page && self.texts.len() < MAX_TEXTS && self.known.insert(text.clone()) {
            self.texts.push(text);
        }
    }
}
