//! Points of whole passages.

use std::sync::LazyLock;

use uuid::Uuid;

use super::*;
use recall_domain::{Chunk, Document, DocumentId, DocumentStatus, MessageId, PointKind, Timestamp};
use recall_ports::ComparedDocument;

static COMPARER: LazyLock<AlignmentComparer> = LazyLock::new(|| AlignmentComparer::new(LocalEmbedder::load().unwrap()));

fn document(n: u128, filename: &str) -> ComparedDocument {
    let document = Document {
        id: DocumentId(Uuid::from_u128(n)),
        collection: "default".to_owned(),
        path: None,
        version: u32::try_from(n).unwrap(),
        is_current: true,
        filename: filename.into(),
        media_type: None,
        bytes: 1,
        sha256: String::new(),
        status: DocumentStatus::Completed,
        error: None,
        title: None,
        pages: None,
        links: Vec::new(),
        summary: None,
        viewed_at: None,
        chunk_count: 1,
        stored: 1,
        understood: 1,
        chunk_chars: 1024,
        chunk_overlap: 200,
        has_original: false,
        created_at: Timestamp::default(),
        updated_at: Timestamp::default(),
    };
    ComparedDocument { document, shared: false }
}

fn passage(document: usize, text: &str) -> ComparedPassage {
    let chunk = Chunk {
        id: MessageId(Uuid::from_u128(document as u128 + 100)),
        document: DocumentId(Uuid::from_u128(document as u128 + 1)),
        position: 0,
        section: 0,
        heading: None,
        char_offset: 0,
        pages: None,
        text: text.into(),
    };
    ComparedPassage { document, chunk }
}

/// Compares two passages. Points that say the opposite of what is expected fail in the caller.
fn compare(question: Option<&str>, left: &str, right: &str) -> Vec<ComparisonPoint> {
    let task = ComparisonTask {
        question: question.map(UserText::from),
        documents: vec![document(1, "old.md"), document(2, "new.md")],
        groups: vec![vec![passage(0, left), passage(1, right)]],
    };
    COMPARER.points(&task)
}

fn texts(points: &[ComparisonPoint], kind: PointKind) -> Vec<&str> {
    points.iter().filter(|p| p.kind == kind).map(|p| p.text.as_str()).collect()
}

#[test]
fn other_amounts_dates_names_and_denials_are_differences() {
    for (left, right, what) in [
        ("Employees have 30 days of paid leave a year.", "Employees have 25 days of paid leave each year.", ": 30 days against 25 days"),
        ("The contract ends on 31 March 2024.", "The contract ends on 30 June 2024.", ": 31 March 2024 against 30 June 2024"),
        ("Expenses are approved by Dana Reyes.", "Expenses are approved by Tom Webb.", ": Dana Reyes against Tom Webb"),
        ("Leave is approved by Dana Reyes at Lumen Labs.", "Leave is approved by Tom Webb.", ": Dana Reyes, Lumen Labs against Tom Webb"),
        ("Flights must be booked by the office.", "Flights may be booked by employees themselves.", ": must against may"),
        ("Dogs are allowed in the office.", "Dogs are not allowed in the office.", ""),
        ("A second signature is mandatory for travel.", "A second signature is optional for travel.", ": mandatory against optional"),
    ] {
        let points = compare(None, left, right);
        assert_eq!(texts(&points, PointKind::Similarity), [""; 0], "{left}");
        let found = texts(&points, PointKind::Difference);
        assert!(matches!(found.as_slice(), [one] if one.contains("but new.md says") && one.ends_with(&format!("[2]{what}"))), "{found:?}");
        assert!(points.iter().all(|p| p.citations.len() == 2 && p.silent.is_empty()));
    }
}

#[test]
fn same_content_in_other_words_is_a_similarity() {
    for (left, right) in [
        ("Passwords must have at least 12 characters.", "Passwords must have at least 12 characters."),
        ("Reports are due within two weeks of the trip.", "Reports are due within 14 days of the trip."),
    ] {
        let points = compare(None, left, right);
        assert_eq!(texts(&points, PointKind::Difference), [""; 0], "{left}");
        assert_eq!(texts(&points, PointKind::Similarity).len(), 1, "{left}");
    }
}

#[test]
fn sentence_without_a_counterpart_names_the_silent_document() {
    let shared = "Employees have 30 days of paid leave a year.";
    let points = compare(None, &format!("{shared} The parking garage closes at 22:00 on weekdays."), shared);
    let found = texts(&points, PointKind::Difference);
    assert_eq!(found, ["Only old.md says “The parking garage closes at 22:00 on weekdays” [1]"]);
    let point = points.iter().find(|p| p.kind == PointKind::Difference).unwrap();
    assert_eq!(point.silent, [DocumentId(Uuid::from_u128(2))]);
    assert_eq!(point.citations[0].excerpt.as_str(), "The parking garage closes at 22:00 on weekdays.");
}

#[test]
fn unrelated_passages_have_no_pairs() {
    let points = compare(None, "The cat sleeps on the warm windowsill.", "Invoices are archived for ten years.");
    assert_eq!(texts(&points, PointKind::Similarity), [""; 0]);
    assert!(texts(&points, PointKind::Difference).iter().all(|text| text.starts_with("Only")));
}

#[test]
fn question_raises_the_importance_of_what_it_asks() {
    let left = "Employees have 30 days of paid leave a year. The office opens at 08:00 in the morning.";
    let right = "Employees have 25 days of paid leave a year. The office opens at 09:00 in the morning.";
    let points = compare(Some("How many days of leave do employees have?"), left, right);
    let importance = |word: &str| points.iter().find(|p| p.text.as_str().contains(word)).unwrap().importance;
    assert!(importance("leave") > importance("opens"));
}

#[test]
fn versions_of_one_file_are_named_by_their_version() {
    let task = ComparisonTask {
        question: None,
        documents: vec![document(1, "rules.md"), document(2, "rules.md")],
        groups: vec![vec![passage(0, "Employees have 30 days of leave."), passage(1, "Employees have 25 days of leave.")]],
    };
    let points = COMPARER.points(&task);
    assert!(points[0].text.as_str().starts_with("rules.md (version 1) says"), "{:?}", points[0].text.as_str());
}

#[test]
fn empty_and_odd_passages_are_compared() {
    for text in ["", "\n\n", "…", "12", "? ? ?", "- - -\n• •"] {
        assert_eq!(compare(None, text, text), vec![], "{text:?}");
    }
}
