//! Reads the main part of a document: paragraphs, headings, lists, tables and notes.

use std::collections::HashMap;

use quick_xml::events::BytesStart;
use recall_ports::ParseError;

use super::numbering::Numbering;
use super::styles::{self, Styles};
use super::xml::{Token, attribute, is_on};
use crate::draft::{Draft, Kind};
use crate::notes::raised;
use crate::rows;

/// Deepest nesting of paragraphs, as of text boxes within each other.
const MAX_NESTED: usize = 64;
/// Elements whose text is not shown: deleted text, former properties, and what other programs show instead.
const LEFT_OUT: [&str; 9] =
    ["del", "moveFrom", "Fallback", "pPrChange", "rPrChange", "sectPrChange", "tblPrChange", "numberingChange", "delInstrText"];

/// An open paragraph.
#[derive(Default)]
struct Paragraph {
    text: String,
    style: Option<String>,
    level: Option<u8>,
    list: Option<String>,
    list_level: Option<usize>,
    notes: Vec<String>,
}

/// An open table.
#[derive(Default)]
struct Table {
    cells: Vec<String>,
    cell: String,
    /// The names of the columns, if a row is marked as a header.
    header: Vec<String>,
    is_header: bool,
    /// The blocks of rows with named cells, each with its text without the names.
    named: Vec<(usize, String)>,
    /// Whether cells are merged, so that the columns of a row are not sure.
    has_merged: bool,
}

/// Reads the main part.
pub(super) struct Body {
    draft: Draft,
    styles: Styles,
    numbering: Numbering,
    notes: HashMap<String, String>,
    links: HashMap<String, String>,
    paragraphs: Vec<Paragraph>,
    tables: Vec<Table>,
    /// The depth within an element that is left out.
    skipped: usize,
    in_run: bool,
    in_text: bool,
    in_instruction: bool,
    is_hidden: bool,
    is_raised: bool,
    instruction: String,
}

impl Body {
    pub(super) fn new(styles: Styles, numbering: Numbering, notes: HashMap<String, String>, links: HashMap<String, String>) -> Self {
        Self {
            draft: Draft::default(),
            styles,
            numbering,
            notes,
            links,
            paragraphs: Vec::new(),
            tables: Vec::new(),
            skipped: 0,
            in_run: false,
            in_text: false,
            in_instruction: false,
            is_hidden: false,
            is_raised: false,
            instruction: String::new(),
        }
    }

    pub(super) fn token(&mut self, token: Token<'_>) -> Result<(), ParseError> {
        match token {
            Token::Start(name, element) => {
                if self.skipped > 0 || LEFT_OUT.contains(&name) {
                    self.skipped += 1;
                    return Ok(());
                }
                self.start(name, element)
            }
            Token::End(name) => {
                if self.skipped > 0 {
                    self.skipped -= 1;
                } else {
                    self.end(name);
                }
                Ok(())
            }
            Token::Text(text) => {
                if self.skipped > 0 {
                } else if self.in_instruction {
                    self.instruction.push_str(text);
                } else if self.in_text && !self.is_hidden {
                    self.append_run(text);
                }
                Ok(())
            }
        }
    }

    /// Appends a text as it is shown: raised numbers of notes, which somebody has written by hand, are left out.
    fn append_run(&mut self, text: &str) {
        match self.paragraphs.last_mut() {
            Some(paragraph) if self.is_raised => {
                let written = raised(&paragraph.text, text, false);
                paragraph.text.push_str(&written);
            }
            _ => self.append(text),
        }
    }

    fn append(&mut self, text: &str) {
        if let Some(paragraph) = self.paragraphs.last_mut() {
            paragraph.text.push_str(text);
        }
    }

    fn start(&mut self, name: &str, element: &BytesStart<'_>) -> Result<(), ParseError> {
        let value = || attribute(element, "val");
        match name {
            "p" => {
                if self.paragraphs.len() >= MAX_NESTED {
                    return Err(ParseError::TooComplex);
                }
                self.paragraphs.push(Paragraph::default());
            }
            "tbl" => {
                if self.tables.len() >= MAX_NESTED {
                    return Err(ParseError::TooComplex);
                }
                self.tables.push(Table::default());
            }
            "r" => (self.in_run, self.is_hidden, self.is_raised) = (true, false, false),
            "vertAlign" if self.in_run => self.is_raised = value().as_deref() == Some("superscript"),
            "t" => self.in_text = true,
            "tblHeader" => {
                if let Some(table) = self.tables.last_mut() {
                    table.is_header = is_on(element);
                }
            }
            "gridSpan" | "vMerge" | "hMerge" => {
                if let Some(table) = self.tables.last_mut().filter(|_| name != "gridSpan" || value().as_deref() != Some("1")) {
                    table.has_merged = true;
                }
            }
            "instrText" => self.in_instruction = true,
            "vanish" if self.in_run => self.is_hidden = is_on(element),
            // The properties of a paragraph define positions of tabs with the same name.
            "tab" | "ptab" if self.in_run => self.append("\t"),
            "br" | "cr" if self.in_run => self.append("\n"),
            "noBreakHyphen" => self.append("-"),
            "hyperlink" => {
                if let Some(link) = attribute(element, "id").and_then(|id| self.links.get(&id)) {
                    self.draft.links.push(link.clone());
                }
            }
            "footnoteReference" | "endnoteReference" => {
                if let Some(id) = attribute(element, "id") {
                    let note = format!("{} {id}", name.trim_end_matches("Reference"));
                    self.append(&format!("[{id}]"));
                    if let Some(paragraph) = self.paragraphs.last_mut() {
                        paragraph.notes.push(note);
                    }
                }
            }
            _ => {
                let Some(paragraph) = self.paragraphs.last_mut() else { return Ok(()) };
                match name {
                    "pStyle" => paragraph.style = value(),
                    "outlineLvl" => paragraph.level = value().and_then(|level| styles::level(&level)),
                    "numId" => paragraph.list = value(),
                    "ilvl" => paragraph.list_level = value().and_then(|level| level.parse().ok()),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn end(&mut self, name: &str) {
        match name {
            "t" => self.in_text = false,
            "r" => (self.in_run, self.is_hidden) = (false, false),
            "instrText" => {
                self.in_instruction = false;
                // A field such as HYPERLINK "https://…".
                let instruction = std::mem::take(&mut self.instruction);
                if instruction.trim_start().starts_with("HYPERLINK") {
                    self.draft.links.extend(instruction.split('"').nth(1).map(str::to_owned));
                }
            }
            "p" => {
                if let Some(paragraph) = self.paragraphs.pop() {
                    self.end_paragraph(paragraph);
                }
            }
            "tc" => {
                if let Some(table) = self.tables.last_mut() {
                    let cell = std::mem::take(&mut table.cell);
                    table.cells.push(cell.split_whitespace().collect::<Vec<_>>().join(" "));
                }
            }
            "tr" => {
                let nested = self.tables.len() > 1;
                let Some(table) = self.tables.last_mut() else { return };
                let cells = std::mem::take(&mut table.cells);
                let is_header = std::mem::take(&mut table.is_header);
                let row = if is_header || nested { cells.join(" | ") } else { rows::row(&table.header, &cells) };
                if is_header {
                    table.header.clone_from(&cells);
                }
                let is_named = !is_header && !nested && !table.header.is_empty();
                if cells.iter().all(String::is_empty) {
                } else if nested {
                    self.add_to_outer_cell(&row);
                } else {
                    if is_named {
                        table.named.push((self.draft.blocks.len(), cells.join(" | ")));
                    }
                    self.draft.push(Kind::Line, &row);
                }
            }
            "tbl" => {
                for (at, unnamed) in self.tables.pop().filter(|table| table.has_merged).into_iter().flat_map(|table| table.named) {
                    if let Some(block) = self.draft.blocks.get_mut(at) {
                        block.text = unnamed;
                    }
                }
            }
            _ => {}
        }
    }

    fn add_to_outer_cell(&mut self, text: &str) {
        let outer = self.tables.len().saturating_sub(2);
        if let Some(table) = self.tables.get_mut(outer) {
            table.cell.push(' ');
            table.cell.push_str(text);
        }
    }

    fn end_paragraph(&mut self, paragraph: Paragraph) {
        let style = paragraph.style.as_ref().and_then(|id| self.styles.get(id)).cloned().unwrap_or_default();
        // The headings follow anyway.
        if style.name.starts_with("toc ") || paragraph.text.trim().is_empty() {
            return;
        }
        let level = paragraph.level.or(style.level);
        let own_list = paragraph.list.map(|list| (list, paragraph.list_level.unwrap_or(0)));
        let list = own_list.or(style.numbering).filter(|(list, _)| list != "0" && !list.is_empty());
        let mark = list.as_ref().map(|(list, level)| self.numbering.next_mark(list, *level)).unwrap_or_default();
        if let Some(table) = self.tables.last_mut() {
            table.cell.push(' ');
            table.cell.push_str(&mark);
            table.cell.push_str(&paragraph.text);
        } else {
            let kind = match (level, &list) {
                (Some(level), _) => Kind::Heading(level),
                (None, Some(_)) => Kind::Line,
                (None, None) => Kind::Paragraph,
            };
            let indent = if kind == Kind::Line { list.map_or(0, |(_, level)| level.min(8)) } else { 0 };
            self.draft.push(kind, &format!("{}{mark}{}", "  ".repeat(indent), paragraph.text));
            if style.name == "title" && self.draft.title.is_none() {
                self.draft.title = Some(paragraph.text);
            }
        }
        for id in paragraph.notes {
            if let Some(note) = self.notes.get(&id) {
                let number = id.rsplit(' ').next().unwrap_or_default();
                self.draft.push(Kind::Paragraph, &format!("[{number}] {note}"));
            }
        }
    }

    /// Returns what was read. Without a stated title it is the first heading.
    pub(super) fn finish(mut self) -> Draft {
        let first = self.draft.blocks.iter().find(|block| block.kind == Kind::Heading(1)).map(|block| block.text.clone());
        self.draft.title = self.draft.title.or(first);
        self.draft
    }
}

/// Reads the texts of notes, by their kind and id.
pub(super) fn read_notes(
    kind: &str,
    notes: &mut HashMap<String, String>,
    part: impl FnOnce(&mut dyn FnMut(Token<'_>) -> Result<(), ParseError>) -> Result<bool, ParseError>,
) -> Result<(), ParseError> {
    let (mut open, mut in_text) = (None::<(String, String)>, false);
    part(&mut |token| {
        match token {
            // Lines between text and notes have a type.
            Token::Start(name, element) if name == kind => {
                let id = attribute(element, "id").filter(|_| attribute(element, "type").is_none());
                open = id.map(|id| (format!("{kind} {id}"), String::new()));
            }
            Token::Start("t", _) => in_text = true,
            Token::End("t") => in_text = false,
            Token::Text(text) if in_text => {
                if let Some((_, note)) = &mut open {
                    note.push_str(text);
                }
            }
            Token::End("p") => {
                if let Some((_, note)) = &mut open {
                    note.push(' ');
                }
            }
            Token::End(name) if name == kind => {
                notes.extend(open.take().map(|(id, note)| (id, note.trim().to_owned())));
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(())
}
