//! Reads Markdown.

use pulldown_cmark::{Event, HeadingLevel, MetadataBlockKind, Options, Parser, Tag, TagEnd};

use crate::draft::{Draft, Kind};
use crate::html;
use crate::title;

/// Reads a Markdown text. The title is that of its metadata, or else its first heading of the highest level.
pub(crate) fn read(text: &str) -> Draft {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut reader = Reader::default();
    for event in Parser::new_ext(text, options) {
        reader.event(event);
    }
    reader.flush(Kind::Paragraph);
    let mut draft = reader.draft;
    let first = draft.blocks.iter().find(|block| block.kind == Kind::Heading(1)).map(|block| block.text.clone());
    draft.title = title::stated(reader.stated_title).or(first);
    draft
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
    in_metadata: bool,
    stated_title: Option<String>,
    /// Cells of the open row.
    cells: Vec<String>,
}

impl Reader {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.in_metadata => self.metadata(&text),
            Event::Text(text) | Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => self.text.push_str(&text),
            Event::Html(part) => self.html.push_str(&part),
            // Tags within a paragraph; their text comes as text.
            Event::InlineHtml(tag) => {
                if tag.starts_with("<br") {
                    self.text.push('\n');
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
            Tag::MetadataBlock(MetadataBlockKind::YamlStyle) => self.in_metadata = true,
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
            TagEnd::MetadataBlock(_) => self.in_metadata = false,
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
            TagEnd::TableHead | TagEnd::TableRow => {
                self.text = std::mem::take(&mut self.cells).join(" | ");
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

    /// Reads the title of a metadata block.
    fn metadata(&mut self, text: &str) {
        let title = text.lines().find_map(|line| line.strip_prefix("title:"));
        if let Some(title) = title {
            self.stated_title = Some(title.trim().trim_matches(['"', '\'']).to_owned());
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
                (Line, "1 | 2"),
                (Paragraph, "fn main() {\n    x();\n}"),
                (Paragraph, "In HTML"),
                (Paragraph, "Note[1]."),
                (Paragraph, "[1] The note."),
            ]
        );
    }
}
