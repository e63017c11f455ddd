//! Documents parsed in child processes: formats, hostile files, limits and random damage.

mod fuzz;
mod hostile;
mod limits;
#[path = "../../../crates/documents/src/samples.rs"]
mod samples;

use std::{path::Path, sync::Arc};

use recall_documents::{ChildLimits, ChildParser};
use recall_ports::{Chunking, DocumentFormat, DocumentParser, ParseError, ParsedDocument};

const CHUNKING: Chunking = Chunking { size: 1024, overlap: 200 };
const LIMITS: ChildLimits = ChildLimits { memory: 512 << 20, seconds: 60, children: 2 };

fn parser(limits: ChildLimits) -> Arc<ChildParser> {
    Arc::new(ChildParser::new(env!("CARGO_BIN_EXE_recall").into(), limits))
}

async fn parse_with(limits: ChildLimits, bytes: &[u8], name: &str) -> Result<ParsedDocument, ParseError> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    parser(limits).parse(file.path(), name, CHUNKING).await
}

async fn parse(bytes: &[u8], name: &str) -> Result<ParsedDocument, ParseError> {
    parse_with(LIMITS, bytes, name).await
}

fn text(document: &ParsedDocument) -> String {
    document.sections.iter().map(|section| section.text.as_str()).collect()
}

#[tokio::test]
async fn child_process_parses_every_format() {
    let pdf = samples::pdf(&[samples::content(&[(50, 700, 12, "Storks nest on roofs.")])]);
    let docx = samples::docx("<w:p><w:r><w:t>Storks nest on roofs.</w:t></w:r></w:p>");
    let given: [(&[u8], &str, DocumentFormat); 5] = [
        (&pdf, "a.txt", DocumentFormat::Pdf),
        (&docx, "a.pdf", DocumentFormat::Docx),
        (b"<!doctype html><p>Storks nest on <b>roofs</b>.", "a", DocumentFormat::Html),
        (b"Storks *nest* on roofs.", "a.md", DocumentFormat::Markdown),
        (b"Storks nest on roofs.", "a", DocumentFormat::PlainText),
    ];
    for (bytes, name, format) in given {
        let document = parse(bytes, name).await.unwrap();
        assert_eq!((document.format, text(&document).as_str()), (format, "Storks nest on roofs."));
        assert_eq!((document.chunks.len(), document.chunks[0].text.as_str()), (1, "Storks nest on roofs."));
    }
}

#[tokio::test]
async fn chunks_have_exact_offsets_after_the_child_process() {
    let sentences: String = (0..200).map(|n| format!("Sentence number {n} is about Zoë and naïve birds 🦆.\n\n")).collect();
    let document = parse(format!("# Früh\n\n{sentences}# Spät\n\n{sentences}").as_bytes(), "a.md").await.unwrap();
    let all: Vec<char> = text(&document).chars().collect();
    assert!(document.chunks.len() > 15);
    for chunk in &document.chunks {
        let at = usize::try_from(chunk.char_offset).unwrap();
        let length = chunk.text.as_str().chars().count();
        assert!(length <= CHUNKING.size);
        assert_eq!(all[at..at + length].iter().collect::<String>(), chunk.text.as_str());
    }
}

#[tokio::test]
async fn missing_file_or_program_may_be_tried_again() {
    let parsed = parser(LIMITS).parse(Path::new("/nowhere/at/all"), "", CHUNKING).await;
    assert!(matches!(parsed, Err(ParseError::Transient(_))), "{parsed:?}");
    let nothing = ChildParser::new("/nowhere/at/all".into(), LIMITS);
    let file = tempfile::NamedTempFile::new().unwrap();
    let parsed = nothing.parse(file.path(), "", CHUNKING).await;
    assert!(matches!(parsed, Err(ParseError::Transient(_))), "{parsed:?}");
}

#[test]
fn parse_command_shows_sections_and_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("birds.md");
    std::fs::write(&file, "# Birds\n\nOwls hunt.\n\n## Storks\n\nThey nest on roofs.\n").unwrap();
    let shown = super::server::recall().arg("parse").arg(&file).output().unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(
        shown.status.success() && text.contains("title     Birds\n") && text.contains("## Storks\n  18+26: Storks They nest"),
        "{text}"
    );
    let json = super::server::recall().args(["parse", "--json"]).arg(&file).output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["sections"][1]["heading"], "Storks");

    std::fs::write(&file, [0, 1, 2, 3]).unwrap();
    let refused = super::server::recall().arg("parse").arg(&file).output().unwrap();
    assert!(!refused.status.success());
    assert!(String::from_utf8(refused.stderr).unwrap().contains("The format of this file is not supported."));
}
