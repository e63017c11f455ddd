//! Reads Markdown.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::draft::{Draft, Kind};
use crate::{html, notes, rows, title};

/// Most lines of front matter. More are text between two rules.
const MAX_FRONT_MATTER: usize = 200;

/// Reads a Markdown text. The title is that of its front matter, or else its first heading of the highest level.
pub(crate) fn read(text: &str) -> Draft {
    let (front_matter, text) = split_front_matter(text);
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut reader = Reader::default();
    for event in Parser::new_ext(text, options) {
        reader.event(event);
    }
    reader.flush(Kind::Paragraph);
    let mut draft = reader.draft;
    let first = draft.blocks.iter().find(|block| block.kind == Kind::Heading(1)).map(|block| block.text.clone());
    draft.title = title::stated(front_matter.and_then(stated_title)).or(first);
    draft
}

/// Splits a text into its front matter, without the lines around it, and the rest. YAML stands between lines of "---", TOML between lines of "+++".
///
/// Text between two rules is no front matter, so each line must look like a part of it.
fn split_front_matter(text: &str) -> (Option<&str>, &str) {
    let start = text.len() - text.trim_start().len();
    let mut lines = text[start..].split_inclusive('\n');
    let Some(fence) = lines.next().filter(|line| matches!(line.trim_end(), "---" | "+++")) else { return (None, text) };
    let begin = start + fence.len();
    let (mut end, mut has_key) = (begin, false);
    for line in lines.take(MAX_FRONT_MATTER) {
        let bare = line.trim_end();
        if bare == fence.trim_end() || (bare == "..." && fence.starts_with('-')) {
            return if has_key { (text.get(begin..end), &text[end + line.len()..]) } else { (None, text) };
        }
        let is_key = key_and_value(bare).is_some();
        has_key |= is_key;
        if !is_key && !bare.is_empty() && !bare.starts_with([' ', '\t', '#', '-', '[', ']', '{', '}']) {
            break;
        }
        end += line.len();
    }
    (None, text)
}

/// Splits a line of front matter such as "title: A plan" or "title = 'A plan'".
fn key_and_value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_at_checked(line.find([':', '='])?)?;
    let key = key.trim_end().trim_matches(['"', '\'']);
    let is_key = key.starts_with(char::is_alphabetic) && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    is_key.then_some((key, value[1..].trim()))
}

/// Returns the title that front matter states.
fn stated_title(front_matter: &str) -> Option<String> {
    let mut lines = front_matter.lines();
    let is_title = |line: &str| key_and_value(line).filter(|(key, _)| key.eq_ignore_ascii_case("title")).map(|(_, value)| value.to_owned());
    let value = lines.find_map(is_title)?;
    // A longer title may stand in the next lines.
    let value = if value.starts_with(['>', '|']) {
        lines.take_while(|line| line.starts_with([' ', '\t'])).map(str::trim).collect::<Vec<_>>().join(" ")
    } else {
        value
    };
    let quoted = ['"', '\''].into_iter().find_map(|mark| value.strip_prefix(mark)?.split(mark).next().map(str::to_owned));
    Some(quoted.unwrap_or_else(|| value.split(" #").next().unwrap_or_default().trim().to_owned()))
}

#[derive(Default)]
struct Reader {
    draft: Draft,
    /// The text of the open block.
    text: String,
    /// The number of the next item of each open list; none for a list with bullets.
    lists: Vec<Option<u64>>,
    /// HTML of the open block.
    html: String,
    /// Cells of the open row, and the names of the columns of the open table.
    cells: Vec<String>,
    header: Vec<String>,
    /// Where the open raised text begins.
    raised: Option<usize>,
}

impl Reader {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => self.text.push_str(&text),
            Event::Html(part) => self.html.push_str(&part),
            // Tags within a paragraph; their text comes as text.
            Event::InlineHtml(tag) => {
                if tag.starts_with("<br") {
                    self.text.push('\n');
                } else if tag.starts_with("<sup") {
                    self.raised = Some(self.text.len());
                } else if tag.starts_with("</sup") {
                    self.end_raised();
                }
            }
            Event::SoftBreak => self.text.push(' '),
            Event::HardBreak => self.text.push('\n'),
            Event::Rule => self.flush(Kind::Paragraph),
            Event::TaskListMarker(done) => self.text.push_str(if done { "[x] " } else { "[ ] " }),
            Event::FootnoteReference(name) => self.text.push_str(&format!("[{name}]")),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::List(first) => {
                // The text of the item that contains this list.
                self.flush(Kind::Line);
                self.lists.push(first);
            }
            Tag::Item => {
                self.flush(Kind::Line);
                let depth = self.lists.len().saturating_sub(1).min(8);
                self.text.push_str(&"  ".repeat(depth));
                match self.lists.last_mut() {
                    Some(Some(number)) => {
                        self.text.push_str(&format!("{number}. "));
                        *number += 1;
                    }
                    _ => self.text.push_str("- "),
                }
            }
            Tag::FootnoteDefinition(name) => {
                self.flush(Kind::Paragraph);
                self.text.push_str(&format!("[{name}] "));
            }
            Tag::CodeBlock(_) | Tag::Heading { .. } | Tag::Table(_) | Tag::HtmlBlock => self.flush(Kind::Paragraph),
            Tag::Link { dest_url, .. } => self.draft.links.push(dest_url.into_string()),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => self.flush(Kind::Heading(depth(level))),
            TagEnd::Paragraph if self.lists.is_empty() => self.flush(Kind::Paragraph),
            // A loose item may have several paragraphs.
            TagEnd::Paragraph => self.text.push('\n'),
            TagEnd::Item => self.flush(Kind::Line),
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::CodeBlock | TagEnd::FootnoteDefinition => self.flush(Kind::Paragraph),
            TagEnd::HtmlBlock => {
                let block = html::read(&std::mem::take(&mut self.html));
                self.draft.blocks.extend(block.blocks);
                self.draft.links.extend(block.links);
            }
            TagEnd::TableCell => self.cells.push(std::mem::take(&mut self.text).trim().to_owned()),
            TagEnd::TableHead => {
                self.header = std::mem::take(&mut self.cells);
                self.text = self.header.join(" | ");
                self.flush(Kind::Line);
            }
            TagEnd::TableRow => {
                self.text = rows::row(&self.header, &std::mem::take(&mut self.cells));
                self.flush(Kind::Line);
            }
            _ => {}
        }
    }

    fn flush(&mut self, kind: Kind) {
        let text = std::mem::take(&mut self.text);
        // An empty item is only its mark.
        if kind != Kind::Line || !["-", ""].contains(&text.trim()) {
            self.draft.push(kind, text.trim_end());
        }
    }

    fn end_raised(&mut self) {
        let parts = self.raised.take().and_then(|start| Some((start, self.text.split_at_checked(start)?)));
        if let Some((start, (before, text))) = parts {
            let written = notes::raised(before, text, false);
            self.text.replace_range(start.., &written);
        }
    }
}

fn depth(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_keeps_headings_lists_tables_code_and_links() {
        let draft = read(
            "---\ntitle: \"A Plan\"\n---\n# One *two*\nText with [a link](https://a.example) and\na [ref].\n\n- item\n  - inner\n- **b**\n\n3. x\n4. y\n\n\
             | a | b |\n|---|---|\n| 1 | 2 |\n\n```rust\nfn main() {\n    x();\n}\n```\n\n<div><p>In <b>HTML</b></p></div>\n\nNote[^1].\n\n[^1]: The note.\n\n[ref]: https://b.example\n",
        );
        assert_eq!(draft.title.as_deref(), Some("A Plan"));
        assert_eq!(read("---\ntitle: final_plan_v2.md\n---\n# One").title.as_deref(), Some("One"));
        assert_eq!(draft.links, ["https://a.example", "https://b.example"]);
        let blocks: Vec<_> = draft.blocks.iter().map(|block| (block.kind, block.text.as_str())).collect();
        use Kind::{Heading, Line, Paragraph};
        assert_eq!(
            blocks,
            [
                (Heading(1), "One two"),
                (Paragraph, "Text with a link and a ref."),
                (Line, "- item"),
                (Line, "  - inner"),
                (Line, "- b"),
                (Line, "3. x"),
                (Line, "4. y"),
                (Line, "a | b"),
                (Line, "a: 1 | b: 2"),
                (Paragraph, "fn main() {\n    x();\n}"),
                (Paragraph, "In HTML"),
                (Paragraph, "Note[1]."),
                (Paragraph, "[1] The note."),
            ]
        );
    }

    #[test]
    fn front_matter_gives_the_title_and_no_text() {
        for front_matter in [
            "---\nTitle: 'A Plan' # draft\n\nauthor: Ann Lee\ntags:\n- a\n- b\n---",
            "\n---\r\nsummary: It is short.\r\ntitle: A Plan # draft\r\n...\r\n",
            "---\ntitle: >-\n  A\n  Plan\ndate: 2026-01-01\n---",
            "+++\ntitle = \"A Plan\"\n[params]\nauthor = 'x'\n+++",
        ] {
            let draft = read(&format!("{front_matter}\n# One\nText."));
            let texts: Vec<&str> = draft.blocks.iter().map(|block| block.text.as_str()).collect();
            assert_eq!((draft.title.as_deref(), texts.as_slice()), (Some("A Plan"), ["One", "Text."].as_slice()), "{front_matter}");
        }
    }

    #[test]
    fn text_between_rules_is_read() {
        for text in ["---\nIt costs: nothing.\n\nSo we go.\n\n---\nEnd.", "# One\n\n---\nfee: 5 euros\n\n---\nEnd.", "---\nfee: 5 euros"] {
            let read = read(text).blocks.iter().map(|block| block.text.clone()).collect::<String>();
            assert!(read.contains("It costs") || read.contains("fee: 5 euros"), "{text}");
        }
    }

    #[test]
    fn raised_marks_of_notes_do_not_join_numbers() {
        let draft = read("Within 30<sup>1</sup> days<sup>2</sup> of use.");
        assert_eq!(draft.blocks[0].text, "Within 30¹ days of use.");
    }
}
