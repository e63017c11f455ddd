//! Checks the points of a model: each must quote passages of two documents, or quote one and say which is silent.

use serde::Deserialize;

use super::prompt::letter;
use crate::{citation_marks::CitationMarks, text_search::SearchableText};
use recall_domain::{Citation, CitedChunk, ComparisonPoint, DocumentId, PointKind, UserText};
use recall_ports::{ComparedPassage, ComparisonTask};

/// Most points of one reply.
const MAX_POINTS: usize = 12;
/// Longest sentence, in characters.
const MAX_TEXT: usize = 600;
/// Importance of the first point; each later one has less.
const FIRST: f32 = 0.95;
const LESS: f32 = 0.03;

/// A reply of the model.
#[derive(Deserialize)]
pub(super) struct Reply {
    pub(super) points: Vec<ProposedPoint>,
}

/// A point as the model proposes it.
#[derive(Deserialize)]
pub(super) struct ProposedPoint {
    kind: PointKind,
    text: String,
    #[serde(default)]
    quotes: Vec<Quote>,
    #[serde(default)]
    silent: Vec<String>,
}

#[derive(Deserialize)]
struct Quote {
    passage: usize,
    words: String,
}

/// Returns the points that pass the check.
pub(super) fn points(task: &ComparisonTask, proposed: Vec<ProposedPoint>) -> Vec<ComparisonPoint> {
    let passages: Vec<&ComparedPassage> = task.groups.iter().flatten().collect();
    let checked = proposed.into_iter().take(MAX_POINTS).filter_map(|point| check(task, &passages, point));
    let ranked = checked.enumerate().map(|(n, point)| ComparisonPoint { importance: FIRST - LESS * n as f32, ..point });
    ranked.filter(ComparisonPoint::is_balanced).collect()
}

fn check(task: &ComparisonTask, passages: &[&ComparedPassage], point: ProposedPoint) -> Option<ComparisonPoint> {
    let mut marks = CitationMarks::new(passages.len());
    let mut text = marks.push(point.text.trim());
    text.push_str(&marks.end());
    if text.is_empty() || text.chars().count() > MAX_TEXT {
        return None;
    }
    // A mark without words of its passage would cite something that the passage may not say.
    let citation = |n: &usize| {
        let passage = passages.get(n.checked_sub(1)?)?;
        let quote = point.quotes.iter().find(|quote| quote.passage == *n && !quote.words.trim().is_empty())?;
        let found = SearchableText::new(passage.chunk.text.as_str());
        let excerpt = found.piece(found.find_passage(&quote.words)?);
        Some(cite(task, passage, u32::try_from(*n).ok()?, excerpt))
    };
    let citations: Option<Vec<Citation>> = marks.cited().iter().map(citation).collect();
    let citations = citations?;
    let is_cited = |id: DocumentId| citations.iter().any(|c| c.chunk.as_ref().is_some_and(|chunk| chunk.document_id == id));
    let named = task.documents.iter().enumerate().filter(|(n, _)| point.silent.iter().any(|silent| silent.trim() == letter(*n)));
    let silent = named.map(|(_, of)| of.document.id).filter(|id| !is_cited(*id)).collect();
    Some(ComparisonPoint { kind: point.kind, text: text.into(), citations, silent, importance: 0.0 })
}

fn cite(task: &ComparisonTask, passage: &ComparedPassage, index: u32, excerpt: String) -> Citation {
    let document = task.documents.get(passage.document);
    let shared = document.is_some_and(|of| of.shared);
    let mut citation = Citation { index, message_id: None, chunk: None, fact_id: None, excerpt: UserText::from(excerpt), shared };
    citation.cite(CitedChunk {
        chunk_id: passage.chunk.id,
        document_id: passage.chunk.document,
        filename: document.map_or_else(|| UserText::from(""), |of| of.document.filename.clone()),
        pages: passage.chunk.pages,
    });
    citation
}

#[cfg(test)]
mod tests {
    use recall_domain::{Chunk, Document, DocumentStatus, MessageId, Timestamp};
    use recall_ports::ComparedDocument;
    use uuid::Uuid;

    use super::*;

    fn task() -> ComparisonTask {
        let document = |n: u128| ComparedDocument {
            document: Document {
                id: DocumentId(Uuid::from_u128(n)),
                collection: "default".to_owned(),
                path: None,
                version: 1,
                is_current: true,
                filename: format!("{n}.pdf").into(),
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
            },
            shared: false,
        };
        let passage = |document: usize, text: &str| ComparedPassage {
            document,
            chunk: Chunk {
                id: MessageId(Uuid::from_u128(100 + document as u128)),
                document: DocumentId(Uuid::from_u128(document as u128)),
                position: 0,
                section: 0,
                heading: None,
                char_offset: 0,
                pages: None,
                text: text.into(),
            },
        };
        ComparisonTask {
            question: None,
            documents: vec![document(0), document(1)],
            groups: vec![vec![passage(0, "Leave is 30 days\nper year."), passage(1, "Leave is 25 days a year.")]],
        }
    }

    fn checked(json: &str) -> Vec<ComparisonPoint> {
        let reply: Reply = serde_json::from_str(&format!(r#"{{"points":[{json}]}}"#)).unwrap();
        points(&task(), reply.points)
    }

    const QUOTES: &str = r#""quotes":[{"passage":1,"words":"30 days per year"},{"passage":2,"words":"25 days"}]"#;

    #[test]
    fn point_with_quotes_of_both_documents_passes() {
        let found = checked(&format!(r#"{{"kind":"difference","text":"0.pdf says 30 [1], 1.pdf 25 [2].",{QUOTES},"silent":[]}}"#));
        let excerpts: Vec<&str> = found.iter().flat_map(|p| &p.citations).map(|c| c.excerpt.as_str()).collect();
        assert_eq!(excerpts, ["30 days\nper year", "25 days"]);
        assert_eq!(found[0].citations[1].index, 2);
    }

    #[test]
    fn point_that_names_the_silent_document_passes() {
        let found = checked(&format!(r#"{{"kind":"difference","text":"Only 0.pdf says it [1].",{QUOTES},"silent":["B","A","Z"]}}"#));
        assert_eq!(found[0].silent, [DocumentId(Uuid::from_u128(1))]);
    }

    #[test]
    fn unsupported_points_are_removed() {
        for (why, json) in [
            ("one document only", format!(r#"{{"kind":"similarity","text":"Says it [1].",{QUOTES},"silent":[]}}"#)),
            ("no citation", format!(r#"{{"kind":"insight","text":"Both agree.",{QUOTES},"silent":["A","B"]}}"#)),
            ("a passage that does not exist", format!(r#"{{"kind":"similarity","text":"Both [1] [7].",{QUOTES},"silent":[]}}"#)),
            (
                "words that are not in the passage",
                r#"{"kind":"similarity","text":"Both [1] [2].","quotes":[{"passage":1,"words":"40 days"},{"passage":2,"words":"25 days"}]}"#
                    .to_owned(),
            ),
        ] {
            assert_eq!(checked(&json), vec![], "{why}");
        }
    }
}
