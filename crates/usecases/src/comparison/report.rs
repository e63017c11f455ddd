//! Checks and orders the points of a comparison.

use std::collections::{HashMap, HashSet};

use super::Compared;
use crate::{failure::Failure, use_cases::UseCases};
use recall_domain::{ComparisonPoint, DocumentId, PointKind, UserText};
use recall_text::terms;

/// Most points of one kind; differences between two documents and statements of one alone count apart, so that neither hides the other.
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
        let (mut kept, mut counts, mut checked) = (Vec::new(), HashMap::<(PointKind, bool), usize>::new(), 0);
        let mut left_out = HashMap::<(PointKind, bool), usize>::new();
        let mut pairs = Pairs::default();
        for mut point in points {
            let cited = key(&point);
            let sort = (point.kind, point.silent.is_empty());
            let is_full = counts.get(&sort).is_some_and(|count| *count >= MAX_POINTS);
            if point.silent.is_empty() {
                if point.kind != PointKind::Insight && pairs.has_better(&cited, point.importance) {
                    continue;
                }
                pairs.add(&cited, point.importance);
                said.extend(cited);
                if is_full {
                    *left_out.entry(sort).or_default() += 1;
                    continue;
                }
            } else {
                if cited.iter().all(|words| said.contains(words)) {
                    continue;
                }
                checked += 1;
                if is_full || checked > MAX_CHECKED {
                    *left_out.entry(sort).or_default() += 1;
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
                *counts.entry(sort).or_default() += 1;
                kept.push(point);
            }
        }
        remove_repetitions(&mut kept);
        if let Some(question) = question.filter(|_| kept.is_empty()) {
            kept.push(self.direct_point(compared, question).await?);
        }
        kept.extend(left_out_point(&left_out, question.is_some()));
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

/// Removes insights that cite what another point cites already.
fn remove_repetitions(points: &mut Vec<ComparisonPoint>) {
    let said: Vec<Vec<Cited>> = points.iter().filter(|p| p.kind != PointKind::Insight).map(key).collect();
    let is_said =
        |one: &Cited, other: &Cited| one.0 == other.0 && (bare(&one.1).contains(bare(&other.1)) || bare(&other.1).contains(bare(&one.1)));
    points.retain(|point| {
        let cited = key(point);
        let is_repeated = cited.len() > 1 && said.iter().any(|of| cited.iter().all(|one| of.iter().any(|other| is_said(one, other))));
        point.kind != PointKind::Insight || !is_repeated
    });
}

/// Returns cited words without their end.
fn bare(words: &str) -> &str {
    words.trim_end_matches(['.', '…', '!', ' '])
}

/// Says how many points the report leaves out: by kind, and whether they are of two documents.
fn left_out_point(left_out: &HashMap<(PointKind, bool), usize>, is_asked: bool) -> Option<ComparisonPoint> {
    let of = |kind, is_of_two| left_out.get(&(kind, is_of_two)).copied().unwrap_or_default();
    let counted = |n: usize, one: &str, many: &str| (n > 0).then(|| format!("{n} {}", if n == 1 { one } else { many }));
    let parts = [
        counted(of(PointKind::Similarity, true), "similarity", "similarities"),
        counted(of(PointKind::Difference, true), "contradiction", "contradictions"),
        // Whether the other documents are silent was not checked.
        counted(of(PointKind::Difference, false), "statement of one document", "statements of one document").map(|n| format!("up to {n}")),
        counted(of(PointKind::Insight, true) + of(PointKind::Insight, false), "insight", "insights"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let (last, others) = parts.split_last()?;
    let listed = if others.is_empty() { last.clone() } else { format!("{} and {last}", others.join(", ")) };
    let advice = if is_asked { "" } else { ". Ask a question to see what bears on it" };
    let text = format!("The report leaves out less important points: {listed}{advice}");
    Some(ComparisonPoint { kind: PointKind::Insight, text: text.into(), citations: Vec::new(), silent: Vec::new(), importance: 0.0 })
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
    use recall_domain::{Citation, CitedChunk, MessageId};

    use super::*;

    fn point(kind: PointKind, cited: &[(u128, &str)]) -> ComparisonPoint {
        let citation = |(index, (document, words)): (usize, &(u128, &str))| {
            let id = uuid::Uuid::from_u128(*document);
            let mut citation = Citation {
                index: u32::try_from(index).unwrap(),
                message_id: None,
                chunk: None,
                fact_id: None,
                excerpt: UserText::from(*words),
                shared: false,
            };
            citation.cite(CitedChunk { chunk_id: MessageId(id), document_id: DocumentId(id), filename: "a".into(), pages: None });
            citation
        };
        let citations = cited.iter().enumerate().map(citation).collect();
        ComparisonPoint { kind, text: "x".into(), citations, silent: Vec::new(), importance: 0.5 }
    }

    #[test]
    fn insight_that_cites_a_known_pair_is_a_repetition() {
        let pair = point(PointKind::Similarity, &[(1, "The bag weighs 2 kg."), (2, "The bag weighs 2000 g.")]);
        let repeated = point(PointKind::Insight, &[(1, "The bag weighs 2 kg"), (2, "the bag weighs 2000 g")]);
        let other = point(PointKind::Insight, &[(1, "The bag weighs 2 kg"), (2, "The bag is red")]);
        let mut points = vec![pair.clone(), repeated, other.clone()];
        remove_repetitions(&mut points);
        assert_eq!(points, [pair, other]);
    }

    #[test]
    fn points_that_are_left_out_are_counted() {
        assert_eq!(left_out_point(&HashMap::new(), false), None);
        let left_out =
            HashMap::from([((PointKind::Difference, true), 1), ((PointKind::Difference, false), 4), ((PointKind::Similarity, true), 2)]);
        let text = left_out_point(&left_out, false).unwrap().text;
        assert!(text.as_str().contains(": 2 similarities, 1 contradiction and up to 4 statements of one document."), "{}", text.as_str());
    }

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
