//! Checks and orders the points of a comparison.

use std::collections::{HashMap, HashSet};

use super::Compared;
use crate::{failure::Failure, use_cases::UseCases};
use recall_domain::{ComparisonPoint, DocumentId, PointKind, UserText};
use recall_text::terms;

/// Most points of one kind.
const MAX_POINTS: usize = 20;
/// Most points that are checked for silence: some of them will be removed.
const MAX_CHECKED: usize = 60;
/// Chunks of a silent document that are read for each point, those nearest to the cited words first.
const NEAREST: u32 = 5;
/// By how much a pair of sentences must be more important than another one with the same sentence.
const BETTER: f32 = 0.1;
/// A document is not silent if one of its chunks has this share of the cited words.
const SAYS_IT: f64 = 0.7;

impl UseCases {
    /// Returns the most important points of each kind. A point that calls a document silent is removed if the document speaks about it.
    ///
    /// With a question, only points that bear on it remain.
    pub(super) async fn report(
        &self,
        compared: &[Compared],
        question: Option<&UserText>,
        points: Vec<ComparisonPoint>,
    ) -> Result<Vec<ComparisonPoint>, Failure> {
        let mut points = match question {
            Some(question) => self.narrow(compared, question, points).await?,
            None => points,
        };
        // What two documents say about one matter comes before what one says alone.
        points.sort_by(|a, b| a.silent.len().cmp(&b.silent.len()).then(b.importance.total_cmp(&a.importance)));
        let (mut seen, mut said) = (HashSet::new(), HashSet::new());
        points.retain(|point| seen.insert((point.kind, key(point))));
        let (mut kept, mut counts, mut checked) = (Vec::new(), HashMap::<PointKind, usize>::new(), 0);
        let mut pairs = Pairs::default();
        for mut point in points {
            if counts.get(&point.kind).is_some_and(|count| *count >= MAX_POINTS) {
                continue;
            }
            let cited = key(&point);
            if point.silent.is_empty() {
                if point.kind != PointKind::Insight && pairs.has_better(&cited, point.importance) {
                    continue;
                }
                pairs.add(&cited, point.importance);
                said.extend(cited);
            } else {
                checked += 1;
                if checked > MAX_CHECKED || cited.iter().all(|words| said.contains(words)) {
                    continue;
                }
                let mut silent = Vec::new();
                for document in &point.silent {
                    if !self.speaks_about(compared, *document, &point).await? {
                        silent.push(*document);
                    }
                }
                point.silent = silent;
            }
            if point.is_balanced() {
                *counts.entry(point.kind).or_default() += 1;
                kept.push(point);
            }
        }
        if let Some(question) = question.filter(|_| kept.is_empty()) {
            kept.push(self.direct_point(compared, question).await?);
        }
        Ok(kept)
    }

    /// Whether a chunk of the document has most of the words that the point cites.
    async fn speaks_about(&self, compared: &[Compared], document: DocumentId, point: &ComparisonPoint) -> Result<bool, Failure> {
        let Some(of) = compared.iter().find(|c| c.document.document.id == document) else { return Ok(true) };
        for citation in &point.citations {
            let wanted: HashSet<String> = terms(citation.excerpt.as_str()).into_iter().map(|(term, _)| term).collect();
            if wanted.is_empty() {
                continue;
            }
            let text = UserText::from(citation.excerpt.as_str());
            for chunk in self.asked_chunks(of, &text, NEAREST).await? {
                let found: HashSet<String> = terms(chunk.text.as_str()).into_iter().map(|(term, _)| term).collect();
                if wanted.intersection(&found).count() as f64 >= SAYS_IT * wanted.len() as f64 {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// A document, and words that are cited of it.
type Cited = (Option<DocumentId>, String);

/// The pairs of sentences so far: for a sentence and another document, how important its best pair is.
#[derive(Default)]
struct Pairs(HashMap<(Cited, Option<DocumentId>), f32>);

impl Pairs {
    fn keys(cited: &[Cited]) -> impl Iterator<Item = (Cited, Option<DocumentId>)> {
        cited.iter().flat_map(|one| cited.iter().filter(|other| other.0 != one.0).map(|other| (one.clone(), other.0)))
    }

    /// Whether a sentence has a clearly better counterpart in the other document: the chunks of a document are compared with several ones.
    fn has_better(&self, cited: &[Cited], importance: f32) -> bool {
        Self::keys(cited).any(|key| self.0.get(&key).is_some_and(|best| *best > importance + BETTER))
    }

    fn add(&mut self, cited: &[Cited], importance: f32) {
        for key in Self::keys(cited) {
            self.0.entry(key).and_modify(|best| *best = best.max(importance)).or_insert(importance);
        }
    }
}

/// What two points have in common if they say the same: overlapping chunks repeat the sentences that they cite.
fn key(point: &ComparisonPoint) -> Vec<Cited> {
    let cited = point.citations.iter().map(|c| (c.chunk.as_ref().map(|chunk| chunk.document_id), c.excerpt.as_str().to_lowercase()));
    let mut cited: Vec<_> = cited.collect();
    cited.sort();
    cited
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentence_with_a_better_counterpart_has_no_other_pair() {
        let id = |n: u128| Some(DocumentId(uuid::Uuid::from_u128(n)));
        let cited = |left: &str, right: &str| vec![(id(1), left.to_owned()), (id(2), right.to_owned())];
        let mut pairs = Pairs::default();
        pairs.add(&cited("business class is allowed", "business class is not allowed"), 0.75);
        assert!(pairs.has_better(&cited("business class is allowed", "first class is allowed"), 0.6));
        assert!(!pairs.has_better(&cited("business class is allowed", "business class is forbidden"), 0.7));
        assert!(!pairs.has_better(&cited("first class is allowed", "second class is allowed"), 0.6));
        let third = vec![(id(1), "business class is allowed".to_owned()), (id(3), "first class is allowed".to_owned())];
        assert!(!pairs.has_better(&third, 0.6), "another document");
    }
}
