//! Tests of headings and paragraphs.

use super::*;

fn line(text: &str, x: f32, end: f32, y: f32, size: f32) -> Line {
    let text = text.to_owned();
    Line { text, x, end, y, size, is_bold: false, is_monospace: false, glyph_width: None, is_upright: true, has_cells: false, right: 500.0 }
}

fn page() -> Vec<Line> {
    vec![
        line("1 Introduction", 50.0, 200.0, 50.0, 16.0),
        line("The first paragraph has two lines and a hyphen-", 50.0, 500.0, 80.0, 10.0),
        line("ated word in it.", 50.0, 150.0, 92.0, 10.0),
        line("An indented paragraph follows, which goes on", 65.0, 500.0, 104.0, 10.0),
        line("• an item that needs two lines to be", 60.0, 500.0, 116.0, 10.0),
        line("complete", 70.0, 120.0, 128.0, 10.0),
        line("• another", 60.0, 120.0, 140.0, 10.0),
        line("A paragraph at the end of the page that does not", 50.0, 500.0, 170.0, 10.0),
    ]
}

fn texts(blocks: &[Block]) -> Vec<(Kind, &str)> {
    blocks.iter().map(|block| (block.kind, block.text.as_str())).collect()
}

#[test]
fn headings_paragraphs_and_items_are_told_apart() {
    let pages = [page(), vec![line("end there.", 50.0, 120.0, 50.0, 10.0)]];
    let blocks = Flow::new(&pages, &[]).blocks();
    use Kind::{Heading, Line, Paragraph};
    assert_eq!(
        texts(&blocks),
        [
            (Heading(1), "1 Introduction"),
            (Paragraph, "The first paragraph has two lines and a hyphenated word in it."),
            (Paragraph, "An indented paragraph follows, which goes on"),
            (Line, "• an item that needs two lines to be complete"),
            (Line, "• another"),
            (Paragraph, "A paragraph at the end of the page that does not end there."),
        ]
    );
    assert_eq!(blocks[5].pages, [(0, 1), (49, 2)]);
    assert_eq!(&blocks[5].text[49..], "end there.");
}

#[test]
fn bookmarks_decide_which_lines_are_headings() {
    let mut lines = page();
    lines[0].size = 10.0;
    let bookmark = |title: &str, level| Bookmark { title: title.to_owned(), level, page: 0 };
    let pages = [lines];
    let blocks = Flow::new(&pages, &[bookmark("Introduction", 2)]).blocks();
    assert_eq!(texts(&blocks)[0], (Kind::Heading(2), "1 Introduction"));
}

#[test]
fn code_keeps_its_lines_and_indentation() {
    let mut code = vec![line("if x:", 50.0, 80.0, 50.0, 10.0), line("return", 74.0, 110.0, 62.0, 10.0)];
    code.iter_mut().for_each(|line| line.is_monospace = true);
    let pages = [code];
    let blocks = Flow::new(&pages, &[]).blocks();
    assert_eq!(texts(&blocks), [(Kind::Paragraph, "if x:\n    return")]);
}

#[test]
fn entries_of_a_table_of_contents_are_lines_and_no_headings() {
    let entry = |text: &str, y| line(text, 50.0, 500.0, y, 16.0);
    let pages = [
        vec![entry("1 Owls ........ 2", 50.0), entry("2 Ducks . . . . . 3", 70.0)],
        vec![line("Text of the document in its usual size, which is most of it.", 50.0, 500.0, 50.0, 10.0)],
    ];
    let blocks = Flow::new(&pages, &[]).blocks();
    assert_eq!(texts(&blocks)[..2], [(Kind::Line, "1 Owls ........ 2"), (Kind::Line, "2 Ducks . . . . . 3")]);
}

#[test]
fn title_is_found_with_or_without_its_number_and_not_within_a_sentence() {
    let keys = ["theend", "21firststeps", "moreoffirststeps", "firststeps"].map(str::to_owned);
    assert_eq!(find_title(&keys, "firststeps", |_| false), Some((3, 1)));
    assert_eq!(find_title(&keys, "firststeps", |line| line == 3), Some((1, 1)));
    assert_eq!(find_title(&keys[..1], "21end", |_| false), None);
    assert_eq!(find_title(&["chapter2".to_owned(), "ducks".to_owned()], "ducks", |_| false), Some((1, 1)));
}
