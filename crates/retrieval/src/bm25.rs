//! BM25 over messages and the messages around them. Depends on rows and their order in a session, not on vectors.

use super::{
    postings::{NONE, Postings},
    rank::Tuning,
    runs::Runs,
    user_index::DOCUMENT,
};

/// The data of rows that BM25 needs.
pub(super) struct Rows<'a> {
    /// Length of each row in terms.
    pub(super) lengths: &'a [f32],
    /// The row before it in its session, or [`NONE`].
    pub(super) previous: &'a [u32],
    /// The row after it in its session, or [`NONE`].
    pub(super) next: &'a [u32],
    /// Number of the speaker of each row; that of a chunk is [`DOCUMENT`].
    pub(super) speakers: &'a [u32],
    /// Number and lengths of the rows.
    ///
    /// If another index is searched at the same time, its rows are included: the rarity of a term and the average length are those of both
    /// together, so that scores are comparable.
    pub(super) totals: Totals,
}

/// Number of rows and the sum of their lengths, for messages and for chunks of documents.
///
/// A chunk is several times as long as a message. Compared with the average of both, each message would count as short
/// and each chunk as long.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    messages: (usize, f64),
    chunks: (usize, f64),
}

impl Totals {
    /// Adds a row.
    pub(super) fn add(&mut self, is_chunk: bool, length: f32) {
        let (rows, sum) = if is_chunk { &mut self.chunks } else { &mut self.messages };
        *rows += 1;
        *sum += f64::from(length);
    }

    /// Returns the totals of two indexes together.
    pub(super) fn with(self, other: Self) -> Self {
        let both = |a: (usize, f64), b: (usize, f64)| (a.0 + b.0, a.1 + b.1);
        Self { messages: both(self.messages, other.messages), chunks: both(self.chunks, other.chunks) }
    }

    fn rows(self) -> usize {
        self.messages.0 + self.chunks.0
    }

    /// Returns the average length of a message with the part of the message before it that counts, and of a chunk.
    fn averages(self, length_before: f32) -> [f32; 2] {
        let average = |(rows, sum): (usize, f64), share: f32| ((sum / rows.max(1) as f64) as f32 * share).max(1.0);
        [average(self.messages, 1.0 + length_before), average(self.chunks, 1.0)]
    }
}

/// A term, or the rows that have it, with a weight.
pub(super) struct Weighted<T> {
    pub(super) item: T,
    /// Factor of its score.
    pub(super) weight: f32,
    /// Number of rows of the other index that have it.
    pub(super) other_rows: usize,
}

/// Returns the BM25 score of every row (Robertson et al. 1994), 0 where nothing matches.
///
/// A row counts as its own terms plus, at a discount, those of the messages around it, summed before saturation. An
/// answer rarely repeats the words of its question, and a subject is often named only once. A chunk counts as its own terms
/// alone, because it is linked to no other row. `tags` are rows that count as having one more term: a date word, or a speaker.
pub(super) fn bm25(postings: &Postings, rows: &Rows<'_>, terms: &[Weighted<&str>], tags: &[Weighted<&Runs>], tuning: &Tuning) -> Vec<f32> {
    let mut scorer = Scorer::new(rows, tuning);
    for term in terms {
        let entries = postings.entries(term.item);
        for entry in entries {
            scorer.count_around(entry.row(), entry.count());
        }
        scorer.add_scores(entries.len() + term.other_rows, term.weight);
    }
    for tag in tags {
        for row in tag.item.iter() {
            scorer.count(row, 1.0);
        }
        scorer.add_scores(tag.item.len() + tag.other_rows, tag.weight);
    }
    scorer.scores
}

/// Sums the scores of rows, one term after the other.
struct Scorer<'a> {
    rows: &'a Rows<'a>,
    tuning: &'a Tuning,
    /// Average length of messages and of chunks.
    averages: [f32; 2],
    scores: Vec<f32>,
    /// Counts of the current term.
    counts: Vec<f32>,
    /// Rows whose count is not 0, each once.
    touched: Vec<u32>,
}

impl<'a> Scorer<'a> {
    fn new(rows: &'a Rows<'a>, tuning: &'a Tuning) -> Self {
        let count = rows.lengths.len();
        let averages = rows.totals.averages(tuning.length_before);
        Self { rows, tuning, averages, scores: vec![0.0; count], counts: vec![0.0; count], touched: Vec::new() }
    }

    fn count(&mut self, row: u32, count: f32) {
        let Some(sum) = self.counts.get_mut(row as usize) else { return };
        if *sum == 0.0 {
            self.touched.push(row);
        }
        *sum += count;
    }

    /// Counts a term for the row that has it and for the rows around it.
    fn count_around(&mut self, row: u32, count: f32) {
        self.count(row, count);
        for (links, shares) in [(self.rows.next, &self.tuning.before[..]), (self.rows.previous, &self.tuning.after[..])] {
            let mut at = row;
            for share in shares {
                at = links.get(at as usize).copied().unwrap_or(NONE);
                if at == NONE {
                    break;
                }
                self.count(at, share * count);
            }
        }
    }

    /// Adds the scores of the current term, which `frequency` rows have, and resets its counts.
    fn add_scores(&mut self, frequency: usize, weight: f32) {
        let Self { rows, tuning, averages: [of_messages, of_chunks], scores, counts, touched } = self;
        let (n, df) = (rows.totals.rows() as f32, frequency as f32);
        let idf = (1.0 + (n - df + 0.5).max(0.0) / (df + 0.5)).ln();
        let factor = weight * idf * (tuning.k1 + 1.0);
        for row in touched.drain(..) {
            let row = row as usize;
            let tf = std::mem::take(&mut counts[row]);
            let before = rows.lengths.get(rows.previous[row] as usize).copied().unwrap_or(0.0);
            let length = rows.lengths[row] + tuning.length_before * before;
            let average = if rows.speakers.get(row) == Some(&DOCUMENT) { *of_chunks } else { *of_messages };
            scores[row] += factor * tf / (tf + tuning.k1 * (1.0 - tuning.b + tuning.b * length / average));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Computes the formula row by row, without shortcuts.
    fn by_definition(texts: &[Vec<u8>], sessions: &[u8], query_terms: &[(&str, f32)], tuning: &Tuning) -> Vec<f32> {
        let length = |i: usize| texts[i].len() as f32;
        let around = |i: usize| -> Vec<usize> { (0..texts.len()).filter(|j| sessions[*j] == sessions[i]).collect() };
        let before = |i: usize| around(i).into_iter().rfind(|j| *j < i).map_or(0.0, length);
        let average = ((0..texts.len()).map(length).sum::<f32>() / texts.len() as f32 * (1.0 + tuning.length_before)).max(1.0);
        let score = |i: usize| {
            let own = around(i);
            let place = own.iter().position(|j| *j == i).unwrap();
            let long = length(i) + tuning.length_before * before(i);
            let one = |(term, weight): &(&str, f32)| {
                let count = |j: usize| texts[j].iter().filter(|w| w.to_string() == **term).count() as f32;
                let share = |other: usize| match other.cmp(&place) {
                    std::cmp::Ordering::Equal => 1.0,
                    std::cmp::Ordering::Less => tuning.before.get(place - other - 1).copied().unwrap_or(0.0),
                    std::cmp::Ordering::Greater => tuning.after.get(other - place - 1).copied().unwrap_or(0.0),
                };
                let tf: f32 = own.iter().enumerate().map(|(other, j)| share(other) * count(*j)).sum();
                let df = (0..texts.len()).filter(|j| count(*j) > 0.0).count() as f32;
                let idf = (1.0 + (texts.len() as f32 - df + 0.5).max(0.0) / (df + 0.5)).ln();
                weight * idf * tf * (tuning.k1 + 1.0) / (tf + tuning.k1 * (1.0 - tuning.b + tuning.b * long / average))
            };
            query_terms.iter().map(one).sum()
        };
        (0..texts.len()).map(score).collect()
    }

    proptest! {
        #[test]
        fn scores_match_the_formula(
            texts in prop::collection::vec((prop::collection::vec(0..6_u8, 0..6), 0..3_u8), 1..40), query_terms in prop::collection::vec(0..7_u8, 1..4),
        ) {
            let (texts, sessions): (Vec<_>, Vec<_>) = texts.into_iter().unzip();
            let mut postings = Postings::default();
            let (mut lengths, mut previous, mut next) = (Vec::new(), Vec::new(), vec![NONE; texts.len()]);
            for (row, text) in texts.iter().enumerate() {
                let mut terms: Vec<(String, u32)> = Vec::new();
                for word in text {
                    let word = word.to_string();
                    match terms.iter_mut().find(|(t, _)| *t == word) {
                        Some((_, n)) => *n += 1,
                        None => terms.push((word, 1)),
                    }
                }
                lengths.push(postings.push(row as u32, &terms));
                let before = (0..row).rev().find(|j| sessions[*j] == sessions[row]);
                previous.push(before.map_or(NONE, |j| j as u32));
                if let Some(before) = before {
                    next[before] = row as u32;
                }
            }
            let mut totals = Totals::default();
            lengths.iter().for_each(|length| totals.add(false, *length));
            let speakers = vec![0; lengths.len()];
            let rows = Rows { lengths: &lengths, previous: &previous, next: &next, speakers: &speakers, totals };
            let mut query_terms: Vec<String> = query_terms.iter().map(u8::to_string).collect();
            query_terms.dedup();
            let query_terms: Vec<(&str, f32)> = query_terms.iter().enumerate().map(|(i, t)| (t.as_str(), 1.0 / (i + 1) as f32)).collect();
            let tuning = Tuning::default();
            let weighted: Vec<_> = query_terms.iter().map(|(term, weight)| Weighted { item: *term, weight: *weight, other_rows: 0 }).collect();
            let found = bm25(&postings, &rows, &weighted, &[], &tuning);
            for (a, b) in found.iter().zip(by_definition(&texts, &sessions, &query_terms, &tuning)) {
                prop_assert!((a - b).abs() < 1e-3, "{} is not {}", a, b);
            }
        }
    }
}
