//! Tests with generated files.

use recall_ports::{Chunking, ParsedDocument};

use crate::parse;
use crate::samples::{TextLine, content, pdf, pdf_with};

use super::*;

fn parsed(file: Vec<u8>) -> Result<ParsedDocument, ParseError> {
    parse(file, "", Chunking { size: 1024, overlap: 200 })
}

fn texts(document: &ParsedDocument) -> Vec<&str> {
    document.sections.iter().map(|section| section.text.as_str().trim_end()).collect()
}

/// A page of running text with a header and a page number.
fn page(number: usize) -> String {
    let sentence =
        ["Owls hunt at night", "Ducks swim on lakes", "Storks nest on roofs", "Wrens are small birds", "Geese fly south"][number % 5];
    let number = number + 1;
    let footer = format!("{number}");
    let first = format!("{sentence}, as every watcher of birds will know from his own expe-");
    let second = format!("rience in the field. {sentence} too.");
    let lines: [TextLine<'_>; 4] =
        [(50, 800, 10, "A guide to birds"), (50, 700, 10, &first), (50, 688, 10, &second), (290, 40, 10, &footer)];
    content(&lines)
}

#[test]
fn headers_and_page_numbers_are_removed_and_pages_are_known() {
    let document = parsed(pdf(&(0..5).map(page).collect::<Vec<_>>())).unwrap();
    assert_eq!(document.pages, Some(5));
    let text = texts(&document).concat();
    assert!(!text.contains("guide") && !text.contains('4'), "{text}");
    assert!(text.contains("Ducks swim on lakes, as every watcher of birds will know from his own experience in the field."), "{text}");
    assert_eq!(document.chunks[0].pages, Some(1..=5));
}

#[test]
fn headings_are_found_by_size_and_title_in_metadata() {
    let body = "Text of the paragraph that is long enough to be the most frequent size of all.";
    let other = "Another paragraph, because a text that is repeated on every page is a header.";
    let pages = [
        content(&[(50, 780, 24, "Birds of the North"), (50, 740, 16, "1 Owls"), (50, 700, 10, body)]),
        content(&[(50, 740, 16, "2 Ducks"), (50, 700, 10, other)]),
    ];
    let document = parsed(pdf_with(&pages, "", "/Info << /Title (Stated title) >>")).unwrap();
    assert_eq!(document.title.as_ref().unwrap().as_str(), "Stated title");
    let headings: Vec<_> =
        document.sections.iter().map(|s| (s.heading.as_ref().unwrap().as_str(), s.level, s.pages.clone().unwrap())).collect();
    assert_eq!(headings, [("1 Owls", 2, 1..=1), ("2 Ducks", 2, 2..=2)]);
    for stated in ["thesis.dvi", "about:blank", "Microsoft Word - birds", "birds_of_the_north_v2"] {
        let untitled = parsed(pdf_with(&pages, "", &format!("/Info << /Title ({stated}) >>"))).unwrap();
        assert_eq!(untitled.title.unwrap().as_str(), "Birds of the North", "{stated}");
    }
}

#[test]
fn bookmarks_are_headings_even_in_a_circle() {
    let pages: Vec<_> =
        ["Owls", "Ducks"].iter().map(|name| content(&[(50, 740, 10, name), (50, 700, 10, &format!("{name} are birds."))])).collect();
    let mut file = crate::samples::PdfFile::default();
    file.add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>");
    file.add("<< /Type /Pages /Count 2 /Kids [3 0 R 9 0 R] >>");
    file.add("<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 1 0 R >> >> /Contents 4 0 R >>");
    file.stream("", pages[0].as_bytes());
    file.add("<< /First 6 0 R >>");
    file.add("<< /Title (Owls) /Dest [3 0 R /Fit] /First 6 0 R /Next 7 0 R >>");
    file.add("<< /Title (Ducks) /A << /S /GoTo /D [9 0 R /Fit] >> /Next 6 0 R >>");
    let root = file.add("<< /Type /Catalog /Pages 2 0 R /Outlines 5 0 R >>");
    file.add("<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 1 0 R >> >> /Contents 10 0 R >>");
    file.stream("", pages[1].as_bytes());
    let document = parsed(file.finish(root, "")).unwrap();
    assert_eq!(texts(&document), ["Owls\nOwls are birds.", "Ducks\nDucks are birds."]);
}

#[test]
fn replaced_text_wins_and_pagination_is_left_out() {
    let page = "/Span << /ActualText (office) >> BDC BT /F1 10 Tf 50 700 Td (o) Tj (\\256ce) Tj ET EMC\n\
        /Artifact << /Type /Pagination >> BDC BT /F1 10 Tf 50 800 Td (Header) Tj ET EMC\n\
        /Artifact << /Type /Layout >> BDC BT /F1 10 Tf 50 650 Td (Kept.) Tj ET EMC";
    let document = parsed(pdf(&[page.to_owned()])).unwrap();
    assert_eq!(texts(&document), ["office\n\nKept."]);
}

#[test]
fn links_of_annotations_are_collected() {
    let mut file = crate::samples::PdfFile::default();
    file.add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>");
    file.add("<< /Type /Pages /Count 1 /Kids [3 0 R] >>");
    file.add(
        "<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 1 0 R >> >> /Contents 4 0 R \
         /Annots [<< /Subtype /Link /A << /S /URI /URI (https://a.example/x) >> >>] >>",
    );
    file.stream("", content(&[(50, 700, 10, "Click here, or see http://b.example/y.")]).as_bytes());
    let root = file.add("<< /Type /Catalog /Pages 2 0 R >>");
    assert_eq!(parsed(file.finish(root, "")).unwrap().links, ["https://a.example/x", "http://b.example/y"]);
}

#[test]
fn turned_and_overprinted_text_is_read_once() {
    let page = "BT /F1 10 Tf 50 700 Td (Bold text) Tj ET BT /F1 10 Tf 50.2 700 Td (Bold text) Tj ET\n\
        BT /F1 10 Tf 0 1 -1 0 20 300 Tm (Along the margin) Tj ET";
    let document = parsed(pdf(&[page.to_owned()])).unwrap();
    assert_eq!(texts(&document), ["Bold text\n\nAlong the margin"]);
}

#[test]
fn scan_has_no_text_and_broken_file_is_damaged() {
    assert_eq!(parsed(pdf(&["0 0 100 100 re f".to_owned()])).unwrap_err(), ParseError::NoText);
    assert_eq!(parsed(b"%PDF-1.7\nnothing".to_vec()).unwrap_err(), ParseError::Damaged);
}

#[test]
fn codes_of_glyphs_are_no_text() {
    let words = [
        "The Landlord lets to the Tenants the apartment on the second floor.",
        "The monthly rent is payable by the third day of each month.",
        "The Tenants pay a deposit of two rents, which is returned at the end.",
    ];
    let code = |c: char| char::from(u8::try_from(u32::from(c).saturating_sub(29)).unwrap().max(32));
    let codes = words.map(|line| line.chars().map(code).collect::<String>().replace(['(', ')', '\\'], " "));
    let codes = codes.each_ref().map(String::as_str);
    let page = |[a, b, c]: [&str; 3]| pdf(&[content(&[(50, 700, 10, a), (50, 688, 10, b), (50, 676, 10, c)])]);
    assert!(parsed(page(words)).is_ok());
    let whole = page(codes);
    assert_eq!(parsed(whole.clone()).unwrap_err(), ParseError::NoText);
    let cut = whole[..whole.len() - 10].to_vec();
    assert_eq!(parsed(cut).unwrap_err(), ParseError::Damaged);
}

#[test]
fn raised_numbers_of_notes_are_left_out() {
    let page = "BT /F1 10 Tf 50 700 Td (It is the default location.) Tj /F1 6 Tf 3 Ts (16) Tj 0 Ts /F1 10 Tf ( It has 20 m) Tj /F1 6 Tf 3 Ts (2) Tj ET";
    let text = texts(&parsed(pdf(&[page.to_owned()])).unwrap()).concat();
    assert_eq!(text, "It is the default location. It has 20 m2");
}

#[test]
fn sentence_continues_on_the_next_page_behind_a_short_line() {
    let pages = [
        content(&[
            (50, 100, 10, "The garden is open from 8:00 to 20:00 in summer and the gardener, who has worked for the"),
            (50, 88, 10, "house since 2010, is called"),
        ]),
        content(&[(50, 780, 10, "Rosa Lind. She waters the roses every morning.")]),
    ];
    let document = parsed(pdf(&pages)).unwrap();
    assert!(texts(&document)[0].contains("is called Rosa Lind. She waters"), "{:?}", texts(&document));
    assert_eq!(document.chunks[0].pages, Some(1..=2));
}

#[test]
fn row_of_numbers_is_no_heading() {
    let body = "Text of the paragraph that is long enough to be the most frequent size of all.";
    let page = content(&[
        (50, 740, 16, "Results"),
        (50, 700, 10, body),
        (50, 660, 14, "Nap 83 % 71 %"),
        (50, 640, 14, "Control 81 % 58 %"),
        (50, 600, 10, body),
    ]);
    let document = parsed(pdf(&[page])).unwrap();
    let headings: Vec<_> = document.sections.iter().filter_map(|s| s.heading.as_ref().map(|h| h.as_str())).collect();
    assert_eq!(headings, ["Results"]);
}
