//! Files that are made to hurt a parser, or that it cannot read.

use std::io::Write;

use super::samples::{PdfFile, archive, content, docx, docx_with, pdf, pdf_with};
use super::*;

/// Less than a bomb needs, so that the test is fast.
const SMALL: ChildLimits = ChildLimits { memory: 128 << 20, seconds: 1, children: 2 };

fn deflated_zeros(megabytes: usize) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    let block = vec![b' '; 1 << 20];
    (0..megabytes).for_each(|_| encoder.write_all(&block).unwrap());
    encoder.finish().unwrap()
}

/// A page whose content is the object 4.
fn one_page(file: &mut PdfFile, resources: &str) {
    file.add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>");
    file.add("<< /Type /Pages /Count 1 /Kids [3 0 R] >>");
    file.add(format!("<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 1 0 R >> {resources} >> /Contents 4 0 R >>"));
}

#[tokio::test]
async fn zip_bomb_is_too_complex() {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    writer.start_file("word/document.xml", zip::write::SimpleFileOptions::default().compression_level(Some(1))).unwrap();
    writer.write_all(b"<w:document><w:body><w:p><w:r><w:t>").unwrap();
    let block = vec![b' '; 1 << 20];
    (0..257).for_each(|_| writer.write_all(&block).unwrap());
    let bomb = writer.finish().unwrap().into_inner();
    assert!(bomb.len() < 4 << 20);
    assert_eq!(parse(&bomb, "").await.unwrap_err(), ParseError::TooComplex);
}

#[tokio::test]
async fn pdf_stream_bomb_is_too_complex() {
    let mut file = PdfFile::default();
    one_page(&mut file, "");
    file.stream("/Filter /FlateDecode", &deflated_zeros(300));
    let root = file.add("<< /Type /Catalog /Pages 2 0 R >>");
    assert_eq!(parse_with(ChildLimits { seconds: 20, ..SMALL }, &file.finish(root, ""), "").await.unwrap_err(), ParseError::TooComplex);
}

#[tokio::test]
async fn forms_that_multiply_are_stopped_by_processor_time() {
    let mut file = PdfFile::default();
    one_page(&mut file, "/XObject << /X 5 0 R >>");
    file.stream("", b"/X Do");
    for next in 6..=18 {
        let entries = format!(
            "/Type /XObject /Subtype /Form /BBox [0 0 595 842] /Resources << /Font << /F1 1 0 R >> /XObject << /X {next} 0 R >> >>"
        );
        file.stream(&entries, "/X Do ".repeat(20).as_bytes());
    }
    file.stream("/Type /XObject /Subtype /Form /BBox [0 0 595 842]", content(&[(50, 50, 10, "boom")]).as_bytes());
    let root = file.add("<< /Type /Catalog /Pages 2 0 R >>");
    assert_eq!(parse_with(SMALL, &file.finish(root, ""), "").await.unwrap_err(), ParseError::TooComplex);
}

#[tokio::test]
async fn entities_that_multiply_are_not_expanded() {
    let entities: String = (1..30).map(|n| format!("<!ENTITY e{n} \"&e{};&e{};&e{};\">", n - 1, n - 1, n - 1)).collect();
    let main = format!(
        "<!DOCTYPE d [<!ENTITY e0 \"ha\">{entities}]><w:document><w:p><w:r><w:t>Before &e29; after.</w:t></w:r></w:p></w:document>"
    );
    let document = parse(&archive(&[("word/document.xml", main.as_bytes())]), "").await.unwrap();
    assert_eq!(text(&document), "Before  after.");
}

#[tokio::test]
async fn deep_nesting_ends_no_process_but_the_child() {
    let depth = 100_000;
    let html = format!("<!doctype html>{}deep{}", "<div><b>".repeat(depth), "</b></div>".repeat(depth));
    let xml = docx(&format!("{}<w:p><w:r><w:t>deep</w:t></w:r></w:p>{}", "<w:sdt>".repeat(depth), "</w:sdt>".repeat(depth)));
    let quotes = format!("{}deep", "> ".repeat(depth));
    let lists: String = (0..2_000).map(|n| format!("{}- deep\n", "  ".repeat(n))).collect();
    let arrays = pdf_with(&[content(&[(50, 700, 10, "deep")])], &format!("/X {}{}", "[".repeat(depth), "]".repeat(depth)), "");
    let given: [(&[u8], &str); 5] =
        [(html.as_bytes(), ""), (&xml, ""), (quotes.as_bytes(), "a.md"), (lists.as_bytes(), "a.md"), (&arrays, "")];
    for (bytes, name) in given {
        match parse_with(ChildLimits { seconds: 5, ..LIMITS }, bytes, name).await {
            Ok(document) => assert!(text(&document).contains("deep")),
            Err(error) => assert!(matches!(error, ParseError::TooComplex | ParseError::Damaged), "{error:?}"),
        }
    }
}

#[tokio::test]
async fn circle_in_the_tree_of_pages_ends() {
    let mut file = PdfFile::default();
    file.add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>");
    file.add("<< /Type /Pages /Count 2 /Kids [3 0 R 2 0 R 5 0 R] >>");
    file.add("<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 1 0 R >> >> /Contents 4 0 R >>");
    file.stream("", content(&[(50, 700, 10, "The only page.")]).as_bytes());
    file.add("<< /Type /Pages /Parent 2 0 R /Kids [2 0 R 5 0 R 3 0 R] >>");
    let root = file.add("<< /Type /Catalog /Pages 2 0 R >>");
    let document = parse(&file.finish(root, ""), "").await.unwrap();
    assert!(text(&document).starts_with("The only page."));
}

#[tokio::test]
async fn broken_table_of_objects_is_rebuilt() {
    let mut file = pdf(&[content(&[(50, 700, 10, "Still readable.")])]);
    let at = file.windows(9).rposition(|w| w == b"startxref").unwrap();
    file.truncate(at);
    file.extend(b"startxref\n99999999\n%%EOF");
    assert_eq!(text(&parse(&file, "").await.unwrap()), "Still readable.");
    // The end of the file is missing, with the table and the last objects.
    let whole = pdf(&(0..20).map(|n| content(&[(50, 700, 10, &format!("Page {n} of a broken file."))])).collect::<Vec<_>>());
    match parse(&whole[..whole.len() / 2], "").await {
        Ok(half) => assert!(text(&half).contains("of a broken file.")),
        Err(error) => assert_eq!(error, ParseError::Damaged),
    }
}

#[tokio::test]
async fn ten_thousand_pages_are_read() {
    let pages: Vec<String> =
        (0..10_000).map(|n| content(&[(50, 700, 10, &format!("Bird {n} is different from the other ones."))])).collect();
    let document = parse(&pdf(&pages), "").await.unwrap();
    assert_eq!(document.pages, Some(10_000));
    assert!(text(&document).contains("Bird 9999 is different"));
    assert_eq!(document.chunks.last().unwrap().pages.as_ref().unwrap().end(), &10_000);
}

#[tokio::test]
async fn more_pages_than_are_read_are_refused() {
    let mut file = PdfFile::default();
    file.add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>");
    // Direct objects, so that the same page counts every time.
    file.add(format!("<< /Type /Pages /Count 20001 /Kids [{}] >>", "<< /Type /Page >> ".repeat(20_001)));
    let root = file.add("<< /Type /Catalog /Pages 2 0 R >>");
    assert_eq!(parse(&file.finish(root, ""), "").await.unwrap_err(), ParseError::TooComplex);
}

#[tokio::test]
async fn files_with_passwords_are_encrypted() {
    let entry = "5A".repeat(32);
    let encrypt = format!("/ID [<00><00>] /Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -4 /O <{entry}> /U <{entry}> >>");
    let file = pdf_with(&[content(&[(50, 700, 10, "secret")])], "", &encrypt);
    assert_eq!(parse(&file, "").await.unwrap_err(), ParseError::Encrypted);
    let package: Vec<u8> = "EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let office = [&b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"[..], &[0; 512], &package].concat();
    assert_eq!(parse(&office, "a.docx").await.unwrap_err(), ParseError::Encrypted);
}

#[tokio::test]
async fn files_without_text_say_so() {
    assert_eq!(parse(b"", "a.pdf").await.unwrap_err(), ParseError::NoText);
    assert_eq!(parse(&pdf(&["0 0 100 100 re f".to_owned()]), "").await.unwrap_err(), ParseError::NoText);
    assert_eq!(parse(&docx("<w:p/>"), "").await.unwrap_err(), ParseError::NoText);
    assert_eq!(parse(b"<!doctype html><script>x</script>", "").await.unwrap_err(), ParseError::NoText);
}

#[tokio::test]
async fn other_and_broken_files_are_refused() {
    assert_eq!(parse(&archive(&[("xl/workbook.xml", b"<x/>")]), "a.docx").await.unwrap_err(), ParseError::UnknownFormat);
    assert_eq!(parse(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a.pdf").await.unwrap_err(), ParseError::UnknownFormat);
    assert_eq!(parse(b"%PDF-1.4\n", "").await.unwrap_err(), ParseError::Damaged);
    assert_eq!(parse(&docx_with("<w:p><w:r><w:t>never closed", &[]), "").await.unwrap_err(), ParseError::Damaged);
    let whole = docx("<w:p><w:r><w:t>cut</w:t></w:r></w:p>");
    assert_eq!(parse(&whole[..whole.len() / 2], "").await.unwrap_err(), ParseError::Damaged);
}
