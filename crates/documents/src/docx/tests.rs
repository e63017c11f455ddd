//! Tests with generated files.

use crate::draft::Kind::{self, Heading, Line, Paragraph};
use crate::samples::{archive, docx, docx_with};

use super::*;

fn blocks(file: &[u8]) -> Vec<(Kind, String)> {
    read(file).unwrap().blocks.into_iter().map(|block| (block.kind, block.text)).collect()
}

fn paragraph(style: &str, text: &str) -> String {
    format!("<w:p><w:pPr><w:pStyle w:val=\"{style}\"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>")
}

const STYLES: &str = "<w:styles xmlns:w=\"w\">\
    <w:style w:type=\"paragraph\" w:styleId=\"berschrift1\"><w:name w:val=\"heading 1\"/></w:style>\
    <w:style w:type=\"paragraph\" w:styleId=\"Own\"><w:name w:val=\"My heading\"/><w:basedOn w:val=\"Loop\"/><w:pPr><w:outlineLvl w:val=\"1\"/></w:pPr></w:style>\
    <w:style w:type=\"paragraph\" w:styleId=\"Loop\"><w:name w:val=\"Loop\"/><w:basedOn w:val=\"Own\"/></w:style>\
    <w:style w:type=\"paragraph\" w:styleId=\"TOC1\"><w:name w:val=\"toc 1\"/></w:style>\
    </w:styles>";

const NUMBERING: &str = "<w:numbering xmlns:w=\"w\"><w:abstractNum w:abstractNumId=\"7\">\
    <w:lvl w:ilvl=\"0\"><w:start w:val=\"1\"/><w:numFmt w:val=\"decimal\"/><w:lvlText w:val=\"%1.\"/></w:lvl>\
    <w:lvl w:ilvl=\"1\"><w:start w:val=\"1\"/><w:numFmt w:val=\"lowerLetter\"/><w:lvlText w:val=\"%1%2)\"/></w:lvl></w:abstractNum>\
    <w:abstractNum w:abstractNumId=\"8\"><w:lvl w:ilvl=\"0\"><w:numFmt w:val=\"bullet\"/><w:lvlText w:val=\"·\"/></w:lvl></w:abstractNum>\
    <w:num w:numId=\"1\"><w:abstractNumId w:val=\"7\"/></w:num><w:num w:numId=\"2\"><w:abstractNumId w:val=\"8\"/></w:num></w:numbering>";

fn item(list: u8, level: u8, text: &str) -> String {
    format!(
        "<w:p><w:pPr><w:numPr><w:ilvl w:val=\"{level}\"/><w:numId w:val=\"{list}\"/></w:numPr></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"
    )
}

#[test]
fn headings_lists_and_tables_are_read() {
    let body = [
        paragraph("TOC1", "Contents 1"),
        paragraph("berschrift1", "Birds &amp; worms"),
        paragraph("Own", "Second"),
        item(1, 0, "one"),
        item(1, 1, "inner"),
        item(1, 0, "two"),
        item(2, 0, "point"),
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc><w:tc><w:p/></w:tc>\
         <w:tc><w:tbl><w:tr><w:tc><w:p><w:r><w:t>deep</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:tc></w:tr></w:tbl>"
            .to_owned(),
    ];
    let file = docx_with(&body.concat(), &[("word/styles.xml", STYLES.as_bytes()), ("word/numbering.xml", NUMBERING.as_bytes())]);
    let expected = [
        (Heading(1), "Birds & worms"),
        (Heading(2), "Second"),
        (Line, "1. one"),
        (Line, "  1a) inner"),
        (Line, "2. two"),
        (Line, "- point"),
        (Line, "a b |  | deep"),
    ];
    assert_eq!(blocks(&file), expected.map(|(kind, text)| (kind, text.to_owned())));
    assert_eq!(read(&file).unwrap().title.as_deref(), Some("Birds & worms"));
    let core = "<cp:coreProperties><dc:title>C:\\Users\\anna\\birds</dc:title></cp:coreProperties>";
    let parts: [(&str, &[u8]); 2] = [("word/styles.xml", STYLES.as_bytes()), ("docProps/core.xml", core.as_bytes())];
    assert_eq!(read(&docx_with(&body.concat(), &parts)).unwrap().title.as_deref(), Some("Birds & worms"));
}

#[test]
fn runs_notes_links_and_changes_are_read_as_shown() {
    let body = "<w:p><w:pPr><w:tabs><w:tab w:val=\"left\"/></w:tabs></w:pPr><w:r><w:t xml:space=\"preserve\">Kept </w:t></w:r>\
        <w:del><w:r><w:delText>deleted</w:delText><w:t>deleted</w:t></w:r></w:del><w:ins><w:r><w:t>inserted</w:t></w:r></w:ins>\
        <w:r><w:tab/><w:t>x</w:t><w:br/><w:t>y</w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r>\
        <w:r><w:rPr><w:vanish w:val=\"0\"/></w:rPr><w:t>shown</w:t></w:r>\
        <w:hyperlink r:id=\"rId5\"><w:r><w:t>link</w:t></w:r></w:hyperlink><w:r><w:footnoteReference w:id=\"2\"/></w:r>\
        <w:r><w:instrText>HYPERLINK \"https://field.example\"</w:instrText></w:r>\
        <mc:AlternateContent><mc:Choice><w:txbxContent><w:p><w:r><w:t>box</w:t></w:r></w:p></w:txbxContent></mc:Choice>\
        <mc:Fallback><w:p><w:r><w:t>box</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent></w:p>";
    let rels =
        "<Relationships><Relationship Id=\"rId5\" Target=\"https://a.example/?x=1&amp;y=2\" TargetMode=\"External\"/></Relationships>";
    let notes = "<w:footnotes><w:footnote w:type=\"separator\" w:id=\"0\"><w:p/></w:footnote>\
        <w:footnote w:id=\"2\"><w:p><w:r><w:t>The note.</w:t></w:r></w:p></w:footnote></w:footnotes>";
    let core = "<cp:coreProperties><dc:title>Stated title</dc:title><dc:creator>x</dc:creator></cp:coreProperties>";
    let parts: [(&str, &[u8]); 3] = [
        ("word/_rels/document.xml.rels", rels.as_bytes()),
        ("word/footnotes.xml", notes.as_bytes()),
        ("docProps/core.xml", core.as_bytes()),
    ];
    let file = docx_with(body, &parts);
    let draft = read(&file).unwrap();
    assert_eq!(draft.title.as_deref(), Some("Stated title"));
    assert_eq!(draft.links, ["https://a.example/?x=1&y=2", "https://field.example"]);
    let expected = [(Paragraph, "box"), (Paragraph, "Kept inserted\tx\nyshownlink[2]"), (Paragraph, "[2] The note.")];
    assert_eq!(blocks(&file), expected.map(|(kind, text)| (kind, text.to_owned())));
}

#[test]
fn raised_numbers_of_notes_are_left_out() {
    let raised = |text: &str| format!("<w:r><w:rPr><w:vertAlign w:val=\"superscript\"/></w:rPr><w:t>{text}</w:t></w:r>");
    let body = format!(
        "<w:p><w:r><w:t>Maria Castellanos</w:t></w:r>{}<w:r><w:t xml:space=\"preserve\"> has 20 m</w:t></w:r>{}</w:p>",
        raised("1"),
        raised("2")
    );
    assert_eq!(blocks(&docx(&body)), [(Paragraph, "Maria Castellanos has 20 m²".to_owned())]);
}

#[test]
fn header_row_names_the_cells_below() {
    let row = |properties: &str, cells: [&str; 2]| {
        let cells = cells.map(|cell| format!("<w:tc><w:p><w:r><w:t>{cell}</w:t></w:r></w:p></w:tc>")).concat();
        format!("<w:tr><w:trPr>{properties}</w:trPr>{cells}</w:tr>")
    };
    let table = |properties: &str| format!("<w:tbl>{}{}</w:tbl>", row(properties, ["Plan", "Price"]), row("", ["Pro", "20"]));
    let lines = |texts: [&str; 2]| texts.map(|text| (Line, text.to_owned()));
    assert_eq!(blocks(&docx(&table("<w:tblHeader/>"))), lines(["Plan | Price", "Plan: Pro | Price: 20"]));
    assert_eq!(blocks(&docx(&table(""))), lines(["Plan | Price", "Pro | 20"]));
    // Cells of a table with merged cells may be below those of others.
    for merged in ["<w:vMerge/>", "<w:gridSpan w:val=\"2\"/>"] {
        let cell = format!("<w:tr><w:tc><w:tcPr>{merged}</w:tcPr><w:p><w:r><w:t>Team</w:t></w:r></w:p></w:tc></w:tr></w:tbl>");
        let found = blocks(&docx(&table("<w:tblHeader/>").replace("</w:tbl>", &cell)));
        assert_eq!(found, ["Plan | Price", "Pro | 20", "Team"].map(|text| (Line, text.to_owned())), "{merged}");
    }
    let single = table("<w:tblHeader/>").replace("<w:p>", "<w:tcPr><w:gridSpan w:val=\"1\"/></w:tcPr><w:p>");
    assert_eq!(blocks(&docx(&single)), lines(["Plan | Price", "Plan: Pro | Price: 20"]));
}

#[test]
fn headers_and_footers_are_read_once() {
    let text = |text: &str| format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>");
    let page = "<w:p><w:r><w:t>Page</w:t></w:r><w:r><w:instrText> PAGE </w:instrText></w:r><w:r><w:t>7 of many</w:t></w:r></w:p>";
    let hidden = "<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>Hidden remark</w:t></w:r></w:p>";
    let header = format!("<w:hdr>{}{}{}{hidden}{page}</w:hdr>", text("Acme  Ltd, version 3"), text("Garden rules"), text("–"));
    let footer = format!("<w:ftr>{}{}</w:ftr>", text("Acme Ltd, version 3"), text("Valid from May 2026"));
    let relation = |kind: &str, target: &str| format!("<Relationship Id=\"{target}\" Type=\"http://x/{kind}\" Target=\"{target}\"/>");
    let targets = [("header", "header0.xml"), ("header", "header1.xml"), ("header", "header2.xml"), ("footer", "/word/footer1.xml")];
    let rels = targets.map(|(kind, target)| relation(kind, target)).concat();
    let rels = format!("<Relationships>{rels}</Relationships>");
    let parts: [(&str, &[u8]); 5] = [
        ("word/_rels/document.xml.rels", rels.as_bytes()),
        // A damaged one is left out.
        ("word/header0.xml", b"<w:hdr><w:p><w:del></w:hdr>"),
        ("word/header1.xml", header.as_bytes()),
        ("word/header2.xml", header.as_bytes()),
        ("word/footer1.xml", footer.as_bytes()),
    ];
    let file = docx_with(&[text("Garden rules"), text("Water the plants.")].concat(), &parts);
    let expected = ["Acme Ltd, version 3", "Valid from May 2026", "Garden rules", "Water the plants."];
    assert_eq!(blocks(&file), expected.map(|text| (Paragraph, text.to_owned())));
}

#[test]
fn only_text_documents_are_recognised() {
    assert_eq!(is_document(&docx("")), Ok(true));
    assert_eq!(is_document(&archive(&[("xl/workbook.xml", b"<x/>")])), Ok(false));
    let moved = "<Relationships><Relationship Type=\"http://x/officeDocument\" Target=\"/word/document2.xml\"/></Relationships>";
    assert_eq!(is_document(&archive(&[("_rels/.rels", moved.as_bytes()), ("word/document2.xml", b"<x/>")])), Ok(true));
    assert_eq!(is_document(b"PK\x03\x04 broken"), Err(ParseError::Damaged));
}

#[test]
fn entities_of_a_document_are_not_expanded() {
    let main = "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\"><!ENTITY file SYSTEM \"file:///etc/passwd\">]>\
        <w:document><w:body><w:p><w:r><w:t>x&b;&file;&amp;&#65;y</w:t></w:r></w:p></w:body></w:document>";
    assert_eq!(blocks(&archive(&[("word/document.xml", main.as_bytes())])), [(Paragraph, "x&Ay".to_owned())]);
}

#[test]
fn broken_xml_is_damaged() {
    assert_eq!(read(&docx("<w:p><w:r>")).unwrap_err(), ParseError::Damaged);
    assert_eq!(read(&docx(&"<w:txbxContent><w:p>".repeat(100))).unwrap_err(), ParseError::TooComplex);
}
