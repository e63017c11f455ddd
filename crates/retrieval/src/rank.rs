//! Fuses the rankings of keyword and vector search. Uses row numbers and scores only.

use std::cmp::Ordering;

/// Parameters of the ranking.
///
/// The defaults are common or round values. Those for surrounding messages, speaker and prior were chosen on long
/// conversations of two people and checked on others. Halving or doubling one changes recall@10 by about one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuning {
    /// BM25: saturation of repeated terms.
    pub k1: f32,
    /// BM25: discount of long rows, 0 to 1.
    pub b: f32,
    /// Weights of terms in the messages before, nearest first, 0 to 1.
    pub before: [f32; 4],
    /// Weights of terms in the messages after, nearest first, 0 to 1.
    pub after: [f32; 2],
    /// Share of the previous message that counts as length of a row, 0 to 1.
    pub length_before: f32,
    /// Weight of a speaker's name as a term. Speakers seldom say their own name.
    pub speaker_term: f32,
    /// Share of the keyword score in the fused score. The vector score has the rest.
    pub keyword: f32,
    /// Boost of messages by speakers that the question names.
    pub speaker: f32,
    /// Share of the better neighbour's score that is added to a row's score.
    pub neighbour: f32,
    /// Factor of the score from graph search.
    pub graph: f32,
    /// Boost of a row with several names; less for fewer names.
    pub names: f32,
    /// Boost of a long row, by the logarithm of its length.
    pub length: f32,
    /// Penalty of a row that is a question.
    pub asks: f32,
    /// Penalty of a question to the server, and of an answer that only quotes.
    ///
    /// A repeated question has all words of the first one. So the penalty is larger than the difference between good hits.
    pub consults: f32,
    /// Minimum number of rows from each ranking. Min-max scaling over few candidates would exaggerate their differences.
    pub pool: usize,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            k1: 1.2,
            b: 0.75,
            before: [0.4, 0.4, 0.2, 0.2],
            after: [0.2, 0.2],
            length_before: 0.4,
            speaker_term: 0.5,
            keyword: 0.4,
            speaker: 0.25,
            neighbour: 0.15,
            graph: 0.1,
            names: 0.1,
            length: 0.12,
            asks: 0.05,
            consults: 0.5,
            pool: 200,
        }
    }
}

/// Orders by falling score, then by falling row, so that equal scores have one order.
fn compare(a: &(f32, u32), b: &(f32, u32)) -> Ordering {
    b.0.total_cmp(&a.0).then(b.1.cmp(&a.1))
}

/// Keeps the best `size` of a stream of rows in linear time.
pub(super) struct Top {
    size: usize,
    kept: Vec<(f32, u32)>,
    /// A score below this is not among the best.
    floor: f32,
}

impl Top {
    pub(super) fn new(size: usize) -> Self {
        Self { size: size.max(1), kept: Vec::with_capacity(size.max(1) * 2), floor: f32::NEG_INFINITY }
    }

    /// Returns the score below which [`Self::offer`] has no effect.
    pub(super) fn floor(&self) -> f32 {
        self.floor
    }

    pub(super) fn offer(&mut self, row: u32, score: f32) {
        if score < self.floor {
            return;
        }
        self.kept.push((score, row));
        if self.kept.len() >= self.size * 2 {
            self.truncate();
        }
    }

    fn truncate(&mut self) {
        if self.kept.len() > self.size {
            let (_, last, _) = self.kept.select_nth_unstable_by(self.size - 1, compare);
            self.floor = last.0;
            self.kept.truncate(self.size);
        }
    }

    /// Returns the best rows, unordered.
    pub(super) fn rows(mut self) -> Vec<u32> {
        self.truncate();
        self.kept.into_iter().map(|(_, row)| row).collect()
    }
}

/// A candidate row with the inputs of its score.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Candidate {
    pub(super) row: u32,
    /// BM25 score; 0 if no term matches.
    pub(super) keyword: f32,
    /// BM25 score as if both searched indexes were one.
    pub(super) joint_keyword: f32,
    /// Cosine similarity, if the row has a vector.
    pub(super) vector: Option<f32>,
    /// Whether the question names its speaker.
    pub(super) named: bool,
    /// Score from graph search, 0 to 1.
    pub(super) graph: f32,
    /// Score that does not depend on the question.
    pub(super) prior: f32,
    /// Rows before and after it in its session.
    pub(super) neighbours: [u32; 2],
}

/// Returns a function that scales values to 0..1. If all are equal, it returns 0, because they rank nothing.
fn min_max(values: impl Iterator<Item = f32> + Clone) -> impl Fn(f32) -> f32 {
    let low = values.clone().fold(f32::INFINITY, f32::min);
    let high = values.fold(f32::NEG_INFINITY, f32::max);
    let span = high - low;
    move |v| if span > 0.0 { (v - low) / span } else { 0.0 }
}

/// Returns the fused scores, 0 to 1, of candidates sorted by row, in the same order.
///
/// `use_keyword` and `use_vector` tell which searches were requested and found something. A search that did not leaves
/// its share to the other. Without both, the score from graph search decides.
pub(super) fn fuse(candidates: &[Candidate], use_keyword: bool, use_vector: bool, tuning: &Tuning) -> Vec<f32> {
    let share = match (use_keyword, use_vector) {
        (true, true) => tuning.keyword,
        (true, false) => 1.0,
        (false, _) => 0.0,
    };
    let keyword = min_max(candidates.iter().map(|c| c.keyword));
    let vector = min_max(candidates.iter().filter_map(|c| c.vector));
    let base: Vec<f32> = candidates
        .iter()
        .map(|c| {
            let by_words = if use_keyword { share * keyword(c.keyword) } else { 0.0 };
            let by_meaning = if use_vector { (1.0 - share) * c.vector.map_or(0.0, &vector) } else { 0.0 };
            by_words + by_meaning
        })
        .collect();
    let base_of = |row: u32| candidates.binary_search_by_key(&row, |c| c.row).map_or(0.0, |i| base[i]);
    let most = 1.0 + tuning.speaker + tuning.neighbour + tuning.graph + tuning.names + tuning.length;
    candidates
        .iter()
        .zip(&base)
        .map(|(c, base)| {
            let neighbour = c.neighbours.iter().map(|r| base_of(*r)).fold(0.0, f32::max);
            let named = if c.named { tuning.speaker } else { 0.0 };
            let graph = tuning.graph * c.graph.clamp(0.0, 1.0);
            ((base + named + tuning.neighbour * neighbour + graph + c.prior) / most).clamp(0.0, 1.0)
        })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn top_keeps_the_same_rows_as_a_full_sort(scores in prop::collection::vec(-5..5_i8, 0..300), size in 1..40_usize) {
            let mut top = Top::new(size);
            let mut all: Vec<(f32, u32)> = scores.iter().enumerate().map(|(i, s)| (f32::from(*s), i as u32)).collect();
            all.iter().for_each(|(s, r)| top.offer(*r, *s));
            all.sort_by(compare);
            let mut expected: Vec<u32> = all.iter().take(size).map(|(_, r)| *r).collect();
            let mut found = top.rows();
            expected.sort_unstable();
            found.sort_unstable();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn fused_scores_stay_between_0_and_1(
            pool in prop::collection::vec((0.0_f32..50.0, prop::option::of(-1.0_f32..1.0), any::<bool>(), 0.0_f32..1.0, -0.1_f32..0.3), 0..50),
            keyword: bool, vector: bool,
        ) {
            let pool: Vec<Candidate> = pool.into_iter().enumerate().map(|(i, (keyword, vector, named, graph, prior))| {
                let row = i as u32;
                Candidate { row, keyword, vector, named, graph, prior, neighbours: [row.wrapping_sub(1), row + 1], ..Candidate::default() }
            }).collect();
            for score in fuse(&pool, keyword, vector, &Tuning::default()) {
                prop_assert!((0.0..=1.0).contains(&score));
            }
        }
    }

    #[test]
    fn better_keyword_score_ranks_higher() {
        let pool =
            [0.0, 1.0, 3.0].map(|keyword| Candidate { keyword, vector: Some(0.3), neighbours: [u32::MAX; 2], ..Candidate::default() });
        let scores = fuse(&pool, true, true, &Tuning::default());
        assert!(scores[0] < scores[1] && scores[1] < scores[2]);
    }
}
