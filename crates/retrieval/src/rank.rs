//! Two rankings, by words and by meaning, to one. Works on row numbers and scores only.

use std::cmp::Ordering;

/// The numbers of the ranking: common or round values. Those of the messages around, of the speaker and of the prior were
/// chosen on long two-person conversations and checked on other talk; half or double as large they change recall@10 by about a
/// point.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuning {
    /// BM25: how fast repetition of a term saturates.
    pub k1: f32,
    /// BM25: how much long rows are discounted, 0 to 1.
    pub b: f32,
    /// How much a term of the messages before counts, the nearest first, 0 to 1.
    pub before: [f32; 4],
    /// How much a term of the messages after counts, the nearest first, 0 to 1.
    pub after: [f32; 2],
    /// How much of the message before counts as length of a row, 0 to 1.
    pub length_before: f32,
    /// How much the name of a speaker counts as a term. Who says something seldom says their name.
    pub speaker_term: f32,
    /// Share of the keyword score in the fused score; meaning has the rest.
    pub keyword: f32,
    /// Added for the speaker named in the question.
    pub speaker: f32,
    /// Share of the better neighbour's score that is added.
    pub neighbour: f32,
    /// Added, times its score, for what graph search found.
    pub graph: f32,
    /// Added for a row with several names, in parts for fewer.
    pub names: f32,
    /// Added for a long row, by the logarithm of its length.
    pub length: f32,
    /// Taken from a row that asks.
    pub asks: f32,
    /// How many of each ranking are fused at least. Min-max scaling over few candidates would blow up their differences.
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
            pool: 200,
        }
    }
}

/// Higher score first, then the newer row, so that equal scores have one order.
fn better(a: &(f32, u32), b: &(f32, u32)) -> Ordering {
    b.0.total_cmp(&a.0).then(b.1.cmp(&a.1))
}

/// Keeps the best `size` of a stream of rows in linear time.
pub(super) struct Top {
    size: usize,
    kept: Vec<(f32, u32)>,
    /// What is below it cannot be among the best any more.
    floor: f32,
}

impl Top {
    pub(super) fn new(size: usize) -> Self {
        Self { size: size.max(1), kept: Vec::with_capacity(size.max(1) * 2), floor: f32::NEG_INFINITY }
    }

    /// A score below this need not be offered.
    pub(super) fn floor(&self) -> f32 {
        self.floor
    }

    pub(super) fn offer(&mut self, row: u32, score: f32) {
        if score < self.floor {
            return;
        }
        self.kept.push((score, row));
        if self.kept.len() >= self.size * 2 {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.kept.len() > self.size {
            let (_, last, _) = self.kept.select_nth_unstable_by(self.size - 1, better);
            self.floor = last.0;
            self.kept.truncate(self.size);
        }
    }

    /// The rows kept, in no order.
    pub(super) fn rows(mut self) -> Vec<u32> {
        self.cut();
        self.kept.into_iter().map(|(_, row)| row).collect()
    }
}

/// One row that may be an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Candidate {
    pub(super) row: u32,
    /// BM25, 0 when no term matches.
    pub(super) keyword: f32,
    /// BM25 as if a memory that is searched with this one were one with it.
    pub(super) joint_keyword: f32,
    /// Cosine, when the row has a vector.
    pub(super) vector: Option<f32>,
    /// Whether its speaker is named in the question.
    pub(super) named: bool,
    /// Graph search's score, 0 to 1.
    pub(super) graph: f32,
    /// How likely it answers anything.
    pub(super) prior: f32,
    /// Rows before and after it in its session.
    pub(super) neighbours: [u32; 2],
}

/// Scales to 0..1 over the pool; all equal gives 0, since then the way tells nothing apart.
fn min_max(values: impl Iterator<Item = f32> + Clone) -> impl Fn(f32) -> f32 {
    let low = values.clone().fold(f32::INFINITY, f32::min);
    let high = values.fold(f32::NEG_INFINITY, f32::max);
    let span = high - low;
    move |v| if span > 0.0 { (v - low) / span } else { 0.0 }
}

/// Fused scores, 0 to 1, of candidates that are sorted by row, in their order.
///
/// `use_keyword` and `use_vector` say which ways were asked for and had something to compare with; a way that was
/// not leaves its share to the other. Without either the graph's score alone decides.
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
            let beside = c.neighbours.iter().map(|r| base_of(*r)).fold(0.0, f32::max);
            let named = if c.named { tuning.speaker } else { 0.0 };
            let graph = tuning.graph * c.graph.clamp(0.0, 1.0);
            ((base + named + tuning.neighbour * beside + graph + c.prior) / most).clamp(0.0, 1.0)
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
        fn top_keeps_what_a_full_sort_keeps(scores in prop::collection::vec(-5..5_i8, 0..300), size in 1..40_usize) {
            let mut top = Top::new(size);
            let mut all: Vec<(f32, u32)> = scores.iter().enumerate().map(|(i, s)| (f32::from(*s), i as u32)).collect();
            all.iter().for_each(|(s, r)| top.offer(*r, *s));
            all.sort_by(better);
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
    fn a_better_keyword_score_ranks_higher_all_else_equal() {
        let pool =
            [0.0, 1.0, 3.0].map(|keyword| Candidate { keyword, vector: Some(0.3), neighbours: [u32::MAX; 2], ..Candidate::default() });
        let scores = fuse(&pool, true, true, &Tuning::default());
        assert!(scores[0] < scores[1] && scores[1] < scores[2]);
    }
}
