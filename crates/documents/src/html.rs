//! Reads HTML: the main text without scripts, styles and navigation.

use encoding_rs::Encoding;
use scraper::{Html, Node, node::Element};

use crate::draft::{Draft, Kind};
use crate::{notes, rows, title};

/// Bytes in which the encoding is declared.
const HEAD: usize = 1024;
/// Part of a page's text that its main element must contain, in percent. Otherwise the element is not what it says.
const MAIN_PERCENT: usize = 40;

/// The encoding that an HTML file declares.
pub(crate) fn declared_encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    let head: String = bytes.iter().take(HEAD).map(|b| char::from(*b).to_ascii_lowercase()).collect();
    let at = head.find("charset=").map(|at| at + "charset=".len()).or_else(|| head.find("encoding=").map(|at| at + "encoding=".len()))?;
    let label: String =
        head[at..].trim_start_matches(['"', '\'']).chars().take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect();
    Encoding::for_label(label.as_bytes())
}

/// Reads an HTML text. The title is that of the page, or else its first heading.
pub(crate) fn read(text: &str) -> Draft {
    let page = Html::parse_document(text);
    let mut all = Reader::read(&page, None);
    let mains = [("main", ""), ("article", ""), ("", "main")];
    let main = mains.iter().find_map(|(name, role)| {
        let is_main = |e: &Element| (e.name() == *name && !name.is_empty()) || (!role.is_empty() && e.attr("role") == Some(role));
        page.tree.nodes().find(|node| node.value().as_element().is_some_and(is_main)).map(|node| node.id())
    });
    if let Some(main) = main {
        let part = Reader::read(&page, Some(main));
        let length = |draft: &Draft| draft.blocks.iter().map(|block| block.text.len()).sum::<usize>();
        if length(&part) * 100 >= length(&all) * MAIN_PERCENT {
            all.blocks = part.blocks;
            all.links = part.links;
        }
    }
    let first = all.blocks.iter().find(|block| matches!(block.kind, Kind::Heading(_))).map(|block| block.text.clone());
    all.title = title::stated(all.title).or(first);
    all
}

#[derive(Default)]
struct Reader {
    draft: Draft,
    /// The text of the open block.
    text: String,
    /// The depth of elements whose text is left out.
    skipped: usize,
    /// The depth of elements whose white space counts.
    preformatted: usize,
    /// The number of the next item of each open list; none for a list with bullets.
    lists: Vec<Option<u64>>,
    cells: Vec<String>,
    /// How many of the cells are names of columns or rows.
    named_cells: usize,
    /// The names of the columns of the open table.
    header: Vec<String>,
    /// The depth of open tables.
    tables: usize,
    /// Whether the outermost open table has merged cells, so that the columns of a row are not sure.
    has_merged: bool,
    /// Where the open raised text begins, and whether it is a link within the page, as the mark of a note is.
    raised: Option<(usize, bool)>,
    in_local_link: bool,
    /// The depth of open cells. Blocks in a cell are part of its text.
    in_cell: usize,
    in_title: bool,
    has_title: bool,
}

impl Reader {
    fn read(page: &Html, part: Option<ego_tree::NodeId>) -> Draft {
        let mut reader = Self::default();
        let root = part.and_then(|id| page.tree.get(id)).unwrap_or_else(|| page.tree.root());
        // Not recursive: the depth of a page is unbounded.
        for edge in root.traverse() {
            match edge {
                ego_tree::iter::Edge::Open(node) => match node.value() {
                    Node::Element(element) => {
                        if element.name() == "table" && reader.tables == 0 && reader.skipped == 0 {
                            reader.has_merged = node.descendants().any(|part| part.value().as_element().is_some_and(is_merged));
                        }
                        reader.open(element);
                    }
                    Node::Text(text) => reader.text(text),
                    _ => {}
                },
                ego_tree::iter::Edge::Close(node) => {
                    if let Node::Element(element) = node.value() {
                        reader.close(element);
                    }
                }
            }
        }
        reader.flush(Kind::Paragraph);
        reader.draft
    }

    fn open(&mut self, element: &Element) {
        let name = element.name();
        if self.skipped > 0 || is_left_out(element) {
            self.skipped += 1;
            return;
        }
        self.tables += usize::from(name == "table");
        match name {
            "title" => self.in_title = true,
            "a" => {
                if let Some(link) = element.attr("href") {
                    self.draft.links.push(link.to_owned());
                    self.in_local_link = link.starts_with('#');
                }
                if let Some((_, is_link)) = &mut self.raised {
                    *is_link |= self.in_local_link;
                }
            }
            "sup" if self.preformatted == 0 => self.raised = Some((self.text.len(), self.in_local_link)),
            // Cells of a table within a cell are text of that cell.
            "table" if self.in_cell == 0 => {
                self.header.clear();
                self.block(if self.lists.is_empty() { Kind::Paragraph } else { Kind::Line });
            }
            "br" => self.text.push('\n'),
            "ul" | "menu" | "ol" => {
                self.block(Kind::Line);
                let start = element.attr("start").and_then(|start| start.parse().ok()).unwrap_or(1);
                self.lists.push((name == "ol").then_some(start));
            }
            "li" => {
                self.block(Kind::Line);
                self.mark_item();
            }
            "pre" | "textarea" => {
                self.block(Kind::Paragraph);
                self.preformatted += 1;
            }
            "td" | "th" => {
                self.in_cell += 1;
                if self.in_cell == 1 {
                    self.text.clear();
                    self.named_cells += usize::from(name == "th");
                }
            }
            _ if is_block(name) => self.block(if self.lists.is_empty() { Kind::Paragraph } else { Kind::Line }),
            _ => {}
        }
    }

    fn close(&mut self, element: &Element) {
        if self.skipped > 0 {
            self.skipped -= 1;
            return;
        }
        let name = element.name();
        self.tables = self.tables.saturating_sub(usize::from(name == "table"));
        match name {
            "title" => {
                self.in_title = false;
                self.has_title = true;
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" if self.in_cell == 0 => {
                let level = name.as_bytes()[1] - b'0';
                self.block(Kind::Heading(level));
            }
            "pre" | "textarea" => {
                self.block(Kind::Paragraph);
                self.preformatted = self.preformatted.saturating_sub(1);
            }
            "li" | "dt" | "dd" => self.block(Kind::Line),
            "ul" | "menu" | "ol" => {
                self.block(Kind::Line);
                self.lists.pop();
            }
            "td" | "th" => {
                self.in_cell = self.in_cell.saturating_sub(1);
                if self.in_cell == 0 {
                    let cell = std::mem::take(&mut self.text);
                    self.cells.push(cell.split_whitespace().collect::<Vec<_>>().join(" "));
                }
            }
            "a" => self.in_local_link = false,
            "sup" => self.end_raised(),
            "tr" if self.in_cell == 0 => self.end_row(),
            _ if is_block(name) => self.block(if self.lists.is_empty() { Kind::Paragraph } else { Kind::Line }),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.in_title {
            // Pictures in a page may have titles too.
            if !self.has_title {
                self.draft.title.get_or_insert_default().push_str(text);
            }
        } else if self.skipped > 0 {
        } else if self.preformatted > 0 {
            self.text.push_str(text);
        } else {
            for c in text.chars() {
                let c = if c.is_ascii_whitespace() { ' ' } else { c };
                if c != ' ' || !(self.text.is_empty() || self.text.ends_with([' ', '\n'])) {
                    self.text.push(c);
                }
            }
        }
    }

    fn end_row(&mut self) {
        let cells = std::mem::take(&mut self.cells);
        let is_header = std::mem::take(&mut self.named_cells) == cells.len() && rows::names_columns(&cells);
        if cells.iter().all(String::is_empty) {
        } else if is_header {
            self.draft.push(Kind::Line, &cells.join(" | "));
            if !self.has_merged {
                self.header = cells;
            }
        } else {
            self.draft.push(Kind::Line, &rows::row(&self.header, &cells));
        }
    }

    fn end_raised(&mut self) {
        let Some((start, is_link)) = self.raised.take() else { return };
        // A block within it has ended the text before.
        if let Some((before, text)) = self.text.split_at_checked(start) {
            let written = notes::raised(before, text, is_link);
            self.text.replace_range(start.., &written);
        }
    }

    fn mark_item(&mut self) {
        let depth = self.lists.len().saturating_sub(1).min(8);
        self.text.push_str(&"  ".repeat(depth));
        match self.lists.last_mut() {
            Some(Some(number)) => {
                self.text.push_str(&format!("{number}. "));
                *number = number.saturating_add(1);
            }
            _ => self.text.push_str("- "),
        }
    }

    /// Ends the open block, unless it is part of a cell.
    fn block(&mut self, kind: Kind) {
        if self.in_cell > 0 {
            self.text.push(' ');
        } else if self.text.trim() == "-" && kind == Kind::Line {
            // The item begins with another block.
        } else {
            self.flush(kind);
        }
    }

    fn flush(&mut self, kind: Kind) {
        let text = std::mem::take(&mut self.text);
        let text = if self.preformatted > 0 { text.trim_matches('\n') } else { text.trim_end() };
        if text.trim() != "-" {
            self.draft.push(kind, text);
        }
    }
}

/// Whether the text of an element is not part of the document: code, controls, and what surrounds the main text.
fn is_left_out(element: &Element) -> bool {
    const LEFT_OUT: [&str; 22] = [
        "script", "style", "noscript", "template", "nav", "aside", "footer", "form", "button", "select", "svg", "math", "iframe", "object",
        "canvas", "audio", "video", "map", "dialog", "datalist", "rp", "rt",
    ];
    let role = element.attr("role").unwrap_or_default();
    LEFT_OUT.contains(&element.name())
        || ["navigation", "search", "banner", "contentinfo", "complementary"].contains(&role)
        || element.attr("hidden").is_some()
        || element.attr("aria-hidden") == Some("true")
        || element.attr("style").is_some_and(|style| style.replace(' ', "").contains("display:none"))
}

/// Whether a cell takes the place of several.
fn is_merged(cell: &Element) -> bool {
    ["colspan", "rowspan"].iter().filter_map(|name| cell.attr(name)).any(|span| !matches!(span.trim(), "" | "1"))
}

fn is_block(name: &str) -> bool {
    const BLOCKS: [&str; 34] = [
        "address",
        "article",
        "blockquote",
        "body",
        "caption",
        "center",
        "dd",
        "details",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hgroup",
        "hr",
        "legend",
        "main",
        "option",
        "p",
        "section",
        "summary",
        "table",
        "tbody",
        "tfoot",
        "thead",
        "tr",
    ];
    BLOCKS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(html: &str) -> Vec<(Kind, String)> {
        read(html).blocks.into_iter().map(|block| (block.kind, block.text)).collect()
    }

    #[test]
    fn heading_is_the_title_of_a_page_without_a_real_one() {
        for title in ["Untitled-1", "about:blank", "index.html"] {
            let page = format!("<html><head><title>{title}</title></head><body><h2>Pets</h2><p>Cats are allowed.</p></body></html>");
            assert_eq!(read(&page).title.as_deref(), Some("Pets"), "{title}");
        }
    }

    #[test]
    fn page_keeps_text_and_loses_scripts_and_navigation() {
        let page = "<!doctype html><html><head><title>The  Page</title><style>p{}</style></head><body><nav><a href='/x'>Menu</a></nav>\
            <h1>One</h1><p>Some <b>bold</b>\n text, <a href='https://a.example/'>linked</a>.<br>Next.</p><script>alert(1)</script>\
            <ul><li>a<ul><li>inner</li></ul></li><li><p>b</p></li></ul><ol start=3><li>x</ol>\
            <table><tr><th>k<th>v</tr><tr><td><p>1</p><td>2</tr></table><pre>a\n  b</pre><p hidden>no</p><footer>imprint</footer></body>";
        let draft = read(page);
        assert_eq!(draft.title.as_deref(), Some("The  Page"));
        assert_eq!(draft.links, ["https://a.example/"]);
        use Kind::{Heading, Line, Paragraph};
        let expected = [
            (Heading(1), "One"),
            (Paragraph, "Some bold text, linked.\nNext."),
            (Line, "- a"),
            (Line, "  - inner"),
            (Line, "- b"),
            (Line, "3. x"),
            (Line, "k | v"),
            (Line, "k: 1 | v: 2"),
            (Paragraph, "a\n  b"),
        ];
        assert_eq!(blocks(page), expected.map(|(kind, text)| (kind, text.to_owned())));
    }

    #[test]
    fn raised_marks_of_notes_do_not_join_words_and_numbers() {
        let page = "<p>Within 30<sup>1</sup> days<sup>2</sup> of 10<sup>6</sup> m<sup>2</sup>, on the 1<sup>st</sup>, with 30<sup><a href='#n3'>3</a></sup> pets\
            <a href='#n4'><sup>[4]</sup></a> and H<sub>2</sub>O.</p>";
        let expected = "Within 30¹ days of 10⁶ m², on the 1st, with 30 pets and H2O.";
        assert_eq!(blocks(page), [(Kind::Paragraph, expected.to_owned())]);
    }

    #[test]
    fn rows_have_the_names_of_their_columns() {
        let page = "<table><thead><tr><th>Plan</th><th>Price</th></tr></thead><tr><td>Pro</td><td>€20</td></tr><tr><td>Team</td><td></td></tr></table>\
            <table><tr><th></th><th>Basic</th></tr><tr><th>Price</th><td>€10</td></tr></table>\
            <table><tr><th>Deposit</th><td>€500</td></tr><tr><td>Rent</td><td>€900</td></tr></table>";
        let lines =
            ["Plan | Price", "Plan: Pro | Price: €20", "Plan: Team", " | Basic", "Price | Basic: €10", "Deposit | €500", "Rent | €900"];
        assert_eq!(blocks(page), lines.map(|line| (Kind::Line, line.to_owned())));
    }

    #[test]
    fn rows_of_tables_with_merged_cells_have_no_names() {
        for (merged, row) in [("colspan=2", "Pro | €20"), ("rowspan=\"2\"", "Pro | €20"), ("colspan=1", "Plan: Pro | Price: €20")] {
            let page = format!(
                "<table><tr><th>Plan<th>Price<tr><td>Pro<td>€20<tr><td {merged}>On request</table>\
                <table><tr><th>Size<th>Fee<tr><td>Big<td>€9</table>"
            );
            let lines = ["Plan | Price", row, "On request", "Size | Fee", "Size: Big | Fee: €9"];
            assert_eq!(blocks(&page), lines.map(|line| (Kind::Line, line.to_owned())), "{merged}");
        }
    }

    #[test]
    fn main_element_is_preferred_if_it_has_most_of_the_text() {
        let text = "long text ".repeat(20);
        let found = blocks(&format!("<div>Cookies</div><main><p>{text}</p></main>"));
        assert_eq!(found.len(), 1);
        let found = blocks(&format!("<p>{text}</p><article>Teaser</article>"));
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn declared_encoding_is_found() {
        assert_eq!(declared_encoding(b"<meta charset=\"koi8-r\">"), Some(encoding_rs::KOI8_R));
        assert_eq!(declared_encoding(b"<?xml version='1.0' encoding='iso-8859-1'?>"), Some(encoding_rs::WINDOWS_1252));
        assert_eq!(declared_encoding(b"<p>"), None);
    }

    #[test]
    fn deep_nesting_is_read() {
        let depth = 2_000;
        let page = format!("{}deep{}", "<div>".repeat(depth), "</div>".repeat(depth));
        assert_eq!(blocks(&page), [(Kind::Paragraph, "deep".to_owned())]);
    }
}
