//! Compares passages of documents without a language model: [`AlignmentComparer`].
//!
//! It pairs the sentences of two passages by meaning. A pair that differs in a quantity, a date, a name, a negation, or in what it demands,
//! allows or forbids is a difference, and any other pair is a similarity. A sentence without a counterpart is a difference too, if it says
//! something definite.
//!
//! - `sentence` splits a passage and reads what its sentences say.
//! - `values` finds quantities, dates and versions in a sentence, with `numbers`, `units` and `dates`.
//! - `stance` finds what it demands, allows or forbids, and words that exclude each other.
//! - `synonyms` joins words that mean the same.
//! - `align` pairs sentences and finds how a pair differs.
//! - `wording` writes points with their citations.

mod align;
mod dates;
mod numbers;
mod sentence;
mod stance;
mod synonyms;
mod units;
mod values;
mod wording;

use async_trait::async_trait;

use self::{
    align::{Conflict, Pair},
    sentence::Sentence,
    wording::Writer,
};
use recall_domain::{Caller, Chunk, ComparisonPoint, UserText};
use recall_embedding::LocalEmbedder;
use recall_ports::{AnswerError, ComparedPassage, ComparedPoints, Comparer, ComparisonTask};

/// Groups that are compared in one step.
const GROUPS: usize = 16;
/// Most one-sided sentences that a passage contributes.
const ONE_SIDED: usize = 2;
/// Importance of a contradiction, of a sentence without a counterpart, and of a pair that agrees, before the question is considered.
const CONTRADICTION: f32 = 1.0;
const SILENCE: f32 = 0.5;
/// The same for a sentence of a passage that resembles none of the other documents, such as a new section.
const NEW: f32 = 0.6;
const AGREEMENT: f32 = 0.8;

/// A [`Comparer`] that aligns sentences.
pub struct AlignmentComparer {
    embedder: LocalEmbedder,
}

impl AlignmentComparer {
    /// Creates a comparer that measures the similarity of sentences with `embedder`.
    pub fn new(embedder: LocalEmbedder) -> Self {
        Self { embedder }
    }

    /// Returns the points of all groups: a pure function of the task.
    pub fn points(&self, task: &ComparisonTask) -> Vec<ComparisonPoint> {
        let question = task.question.as_ref().map(|question| self.read(question));
        let writer = Writer { documents: &task.documents };
        let relevance = |sentence: &Sentence| question.as_ref().map_or(1.0, |q| 0.4 + 0.6 * sentence.relevance(q));
        let mut points = Vec::new();
        for group in &task.groups {
            let read: Vec<(&ComparedPassage, Vec<Sentence>)> =
                group.iter().map(|passage| (passage, self.read_passage(&passage.chunk))).collect();
            match read.as_slice() {
                [(passage, sentences)] => {
                    let silent: Vec<usize> = (0..task.documents.len()).filter(|d| *d != passage.document).collect();
                    for sentence in most_telling(sentences.iter(), question.as_ref()) {
                        points.push(writer.one_sided(passage, sentence, &silent, NEW * relevance(sentence)));
                    }
                }
                [(left, of_left), (right, of_right)] => {
                    let aligned = align::align(of_left, of_right, question.is_some());
                    for Pair { left: a, right: b, score, conflict } in &aligned.pairs {
                        let weight = relevance(a).max(relevance(b)) * score.min(1.0);
                        points.extend(match conflict {
                            Some(conflict) => Some(writer.contradiction((left, a), (right, b), conflict, CONTRADICTION * weight)),
                            None if a.opposes(b) || !a.shares_terms(b) => None,
                            None if *score >= align::CLOSE => Some(writer.similarity((left, a), (right, b), AGREEMENT * weight)),
                            // They speak of the same, and need not agree.
                            None => question.as_ref().map(|_| writer.neighbours((left, a), (right, b), AGREEMENT * weight)),
                        });
                    }
                    for (passage, sentences, other) in [(left, &aligned.only_left, right), (right, &aligned.only_right, left)] {
                        for sentence in most_telling(sentences.iter().copied(), question.as_ref()) {
                            points.push(writer.one_sided(passage, sentence, &[other.document], SILENCE * relevance(sentence)));
                        }
                    }
                }
                _ => {}
            }
        }
        points.retain(ComparisonPoint::is_balanced);
        points
    }

    /// Reads the sentences of a chunk, without the headings above them.
    fn read_passage(&self, chunk: &Chunk) -> Vec<Sentence> {
        let body = chunk.text.as_str().get(chunk.headings().len()..).unwrap_or_default();
        sentence::split(body).map(|s| Sentence::read(s, &self.embedder)).filter(Sentence::says_something).collect()
    }

    fn read(&self, text: &UserText) -> Sentence {
        Sentence::read(text.as_str(), &self.embedder)
    }
}

/// Returns at most [`ONE_SIDED`] sentences: those nearest to the question, or those that say the most: values and names first, then the number
/// of terms.
fn most_telling<'s>(sentences: impl Iterator<Item = &'s Sentence>, question: Option<&Sentence>) -> Vec<&'s Sentence> {
    let mut ranked: Vec<&Sentence> = sentences.collect();
    match question {
        Some(question) => ranked.sort_by(|a, b| b.relevance(question).total_cmp(&a.relevance(question))),
        None => ranked.sort_by_key(|s| std::cmp::Reverse((s.values.len() + s.names.len() > 0, s.terms.len()))),
    }
    ranked.truncate(ONE_SIDED);
    ranked
}

#[async_trait]
impl Comparer for AlignmentComparer {
    fn name(&self) -> &str {
        recall_domain::comparison::ALIGNMENT
    }

    fn groups_at_once(&self) -> usize {
        GROUPS
    }

    async fn compare(&self, _caller: &Caller, task: &ComparisonTask) -> Result<ComparedPoints, AnswerError> {
        Ok(ComparedPoints { points: self.points(task), comparer: None })
    }
}

#[cfg(test)]
mod tests;
