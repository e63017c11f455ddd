//! Writes points with their citations.

use super::{Conflict, sentence::Sentence};
use recall_domain::{Citation, CitedChunk, ComparisonPoint, PointKind, UserText};
use recall_ports::{ComparedDocument, ComparedPassage};

/// Longest quotation of a sentence, in characters.
const QUOTED: usize = 300;

/// Writes points about some documents.
pub(super) struct Writer<'d> {
    pub(super) documents: &'d [ComparedDocument],
}

/// A sentence and its passage.
type Quoted<'q> = (&'q ComparedPassage, &'q Sentence);

impl Writer<'_> {
    pub(super) fn similarity(&self, left: Quoted<'_>, right: Quoted<'_>, importance: f32) -> ComparisonPoint {
        let (a, b) = (quotation(left.1), quotation(right.1));
        let text = match a.eq_ignore_ascii_case(&b) {
            true => format!("{} and {} say “{a}” [1] [2]", self.name(left.0), self.name(right.0)),
            false => format!("{} says “{a}” [1], and {} says “{b}” [2]", self.name(left.0), self.name(right.0)),
        };
        let citations = vec![self.citation(1, left), self.citation(2, right)];
        ComparisonPoint { kind: PointKind::Similarity, text: text.into(), citations, silent: Vec::new(), importance }
    }

    /// Two sentences about the same that need not agree.
    pub(super) fn neighbours(&self, left: Quoted<'_>, right: Quoted<'_>, importance: f32) -> ComparisonPoint {
        ComparisonPoint { kind: PointKind::Insight, ..self.similarity(left, right, importance) }
    }

    pub(super) fn contradiction(&self, left: Quoted<'_>, right: Quoted<'_>, conflict: &Conflict, importance: f32) -> ComparisonPoint {
        let (a, b) = (quotation(left.1), quotation(right.1));
        let what = match conflict {
            Conflict::Against(pairs) => {
                let pairs: Vec<String> = pairs.iter().map(|(one, other)| format!("{one} against {other}")).collect();
                format!(": {}", pairs.join("; "))
            }
            Conflict::Denied => String::new(),
            Conflict::Excepted(is_left, exception) => {
                format!(": only {} says “{exception}”", self.name(if *is_left { left.0 } else { right.0 }))
            }
        };
        let text = format!("{} says “{a}” [1], but {} says “{b}” [2]{what}", self.name(left.0), self.name(right.0));
        let citations = vec![self.citation(1, left), self.citation(2, right)];
        ComparisonPoint { kind: PointKind::Difference, text: text.into(), citations, silent: Vec::new(), importance }
    }

    pub(super) fn one_sided(&self, passage: &ComparedPassage, sentence: &Sentence, silent: &[usize], importance: f32) -> ComparisonPoint {
        let text = format!("Only {} says “{}” [1]", self.name(passage), quotation(sentence));
        ComparisonPoint {
            kind: PointKind::Difference,
            text: text.into(),
            citations: vec![self.citation(1, (passage, sentence))],
            silent: silent.iter().filter_map(|d| self.documents.get(*d)).map(|d| d.document.id).collect(),
            importance,
        }
    }

    /// Returns the name of a document: that of its file, with the version if another compared file has the same name.
    fn name(&self, passage: &ComparedPassage) -> String {
        let Some(ComparedDocument { document, .. }) = self.documents.get(passage.document) else { return String::new() };
        let name = document.filename.as_str();
        let same = self.documents.iter().filter(|d| d.document.filename == document.filename).count();
        if same > 1 { format!("{name} (version {})", document.version) } else { name.to_owned() }
    }

    fn citation(&self, index: u32, (passage, sentence): Quoted<'_>) -> Citation {
        let document = self.documents.get(passage.document);
        let mut citation = Citation {
            index,
            message_id: None,
            chunk: None,
            fact_id: None,
            excerpt: UserText::from(sentence.text.clone()),
            shared: document.is_some_and(|d| d.shared),
        };
        citation.cite(CitedChunk {
            chunk_id: passage.chunk.id,
            document_id: passage.chunk.document,
            filename: document.map_or_else(|| UserText::from(""), |d| d.document.filename.clone()),
            pages: passage.chunk.pages,
        });
        citation
    }
}

/// Returns a sentence without its final period, cut at a word if it is long.
fn quotation(sentence: &Sentence) -> String {
    let text = sentence.text.trim_end_matches('.');
    if text.chars().count() <= QUOTED {
        return text.to_owned();
    }
    let cut: String = text.chars().take(QUOTED).collect();
    let at_word = cut.rsplit_once(' ').map_or(cut.as_str(), |(head, _)| head);
    format!("{at_word}…")
}
