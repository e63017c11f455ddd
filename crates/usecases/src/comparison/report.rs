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
/// A document is not silent if one of its chunks has this share of the cited words.
const SAYS_IT: f64 = 0.7;

impl UseCases {
    /// Returns the most important points of each kind. A point that calls a document silent is removed if the document speaks about it.
    pub(super) async fn report(&self, compared: &[Compared], mut points: Vec<ComparisonPoint>) -> Result<Vec<ComparisonPoint>, Failure> {
        // What two documents say about one matter comes before what one says alone.
        points.sort_by(|a, b| a.silent.len().cmp(&b.silent.len()).then(b.importance.total_cmp(&a.importance)));
        let (mut seen, mut said) = (HashSet::new(), HashSet::new());
        points.retain(|point| seen.insert((point.kind, key(point))));
        let (mut kept, mut counts, mut checked) = (Vec::new(), HashMap::<PointKind, usize>::new(), 0);
        for mut point in points {
            if counts.get(&point.kind).is_some_and(|count| *count >= MAX_POINTS) {
                continue;
            }
            let cited = key(&point);
            if point.silent.is_empty() {
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

/// What two points have in common if they say the same: overlapping chunks repeat the sentences that they cite.
fn key(point: &ComparisonPoint) -> Vec<(Option<DocumentId>, String)> {
    let cited = point.citations.iter().map(|c| (c.chunk.as_ref().map(|chunk| chunk.document_id), c.excerpt.as_str().to_lowercase()));
    let mut cited: Vec<_> = cited.collect();
    cited.sort();
    cited
}
